#!/usr/bin/env python3
"""Fails when a comment or a page names a file that is not there.

    tests/check_names.py [TREE]

In the comments of C++ every glob.h, glob.cpp or files/glob.h counts; there and in Markdown what begins with a folder
of the tree, but for what is meant to be filled in (tools/builtin/NAME.cpp)."""
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r"(?:^|\s)//(.*)")
NAMED = re.compile(r"(?<![\w/.*-])(?:[\w-]+/)*[\w-]+\.(?:h|cpp)\b")
OF_THE_SYSTEM = ("linux/", "sys/", "asm/")
OF_A_PROTOCOL = ("tools/list", "tools/call")  # methods


def files_of(tree):
    said = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=tree, capture_output=True, text=True,
                          check=True).stdout
    return [path for path in map(pathlib.PurePosixPath, said.splitlines()) if (tree / path).exists()]


def named_in(path, text, of_the_tree):
    """(line, name) of each file or folder that this one names."""
    for number, line in enumerate(text.splitlines(), start=1):
        names = []
        if path.suffix == ".md":
            names = of_the_tree.findall(line)
        elif comment := COMMENT.search(line):
            names = dict.fromkeys(NAMED.findall(comment[1]) + of_the_tree.findall(comment[1]))
        for name in names:
            if "NAME" not in name and name not in OF_A_PROTOCOL and not name.startswith(OF_THE_SYSTEM):
                yield number, name


def check(tree):
    """What is named and not there, a line each."""
    files = files_of(tree)
    folders = {parent for path in files for parent in path.parents}
    known = {str(path) for path in files} | {str(folder) for folder in folders}
    bare = {path.name for path in files}
    tops = sorted(str(folder) for folder in folders if len(folder.parts) == 1 and not str(folder).startswith("."))
    of_the_tree = re.compile(rf"(?<![\w/.~-])(?:{'|'.join(map(re.escape, tops))})/[\w./-]*[\w/]")
    for path in files:
        if path.suffix not in (".h", ".cpp", ".md"):
            continue
        for number, name in named_in(path, (tree / path).read_text(errors="replace"), of_the_tree):
            if name.rstrip("/") not in (known if "/" in name else bare):
                yield f"{path}:{number}: there is no {name}"


def main():
    tree = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    wrong = list(check(tree))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
