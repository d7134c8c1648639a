#!/usr/bin/env python3
"""Fails when README.md is longer than one reads at once, when a link of a Markdown file leads to no file or no heading
of this checkout, and when README.md does not link a page of docs/.

    tests/check_pages.py [TREE]"""
import pathlib
import re
import subprocess
import sys

README_LINES = 150
FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")


def anchors_of(text):
    """The anchors that a forge makes of the headings."""
    found = []
    for heading in re.findall(r"^#+ +(.*)$", FENCED.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        count = sum(other == anchor or re.fullmatch(re.escape(anchor) + r"-\d+", other) is not None for other in found)
        found.append(f"{anchor}-{count}" if count else anchor)
    return found


def links_of(text):
    """(line, target) of each link, but for those in code and to other sites."""
    blank = re.sub(r"`[^`\n]+`", lambda code: " " * len(code[0]),
                   FENCED.sub(lambda block: "\n" * block[0].count("\n"), text))
    for link in LINK.finditer(blank):
        if not re.match(r"[a-z]+:", link[1]):
            yield blank.count("\n", 0, link.start()) + 1, link[1]


def pages_of(tree):
    said = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=tree, capture_output=True,
                          text=True, check=True).stdout
    return [path for path in map(pathlib.Path, said.splitlines())
            if (tree / path).is_file() and not re.match(r"tests/\w+/.*/", str(path))]


def check(tree):
    """What is wrong, a line each."""
    linked = set()
    for page in pages_of(tree):
        text = (tree / page).read_text()
        if str(page) == "README.md" and (lines := text.count("\n")) > README_LINES:
            yield f"README.md has {lines} lines, more than {README_LINES}: docs/ has room"
        for number, target in links_of(text):
            name, _, anchor = target.partition("#")
            file = (tree / page.parent / name if name else tree / page).resolve()
            if not file.exists():
                yield f"{page}:{number}: there is no {target}"
            elif anchor and anchor not in anchors_of(file.read_text()):
                yield f"{page}:{number}: {name or page} has no heading #{anchor}"
            if str(page) == "README.md":
                linked.add(file)
    for page in pages_of(tree):
        if page.parts[0] == "docs" and (tree / page).resolve() not in linked:
            yield f"README.md does not link {page}"


def main():
    tree = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    wrong = list(check(tree))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
