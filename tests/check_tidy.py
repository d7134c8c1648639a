#!/usr/bin/env python3
"""clang-tidy on what is compiled of the program's own sources; fails where it finds anything.

    tests/check_tidy.py BUILD [JOBS [COMMITS]]

With COMMITS only what so many of the last commits, or changes that are not committed, have touched; all where .clang-tidy
is among that, or nobody knows. What is compiled is a source or several together. Where it found nothing, that is not looked at again for thirty days,
unless one of the sources, a header of this repository that they include, its command, .clang-tidy or a package of the
machine has changed."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path.cwd()
FOLDERS = ("agent", "cli", "config", "providers", "tools")
MEMORY = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "errand-tidy"
DAYS = 30
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def with_included(source):
    """The source and all of this repository that it includes, by their paths in it."""
    found, left = {}, [source]
    while left:
        name = os.path.relpath(ROOT / left.pop(), ROOT)
        if name not in found and (ROOT / name).is_file():
            found[name] = (ROOT / name).read_bytes()
            left += [inner.decode() for inner in INCLUDE.findall(found[name])]
    return found


def is_of_program(name):
    return name.endswith(".cpp") and name.split("/")[0] in FOLDERS


def digest(*parts):
    sum_of_all = hashlib.sha256()
    for part in parts:
        sum_of_all.update(b"%d:%s" % (len(part), part))
    return sum_of_all.hexdigest()


def machine():
    """Its packages: the check itself, and the headers of libraries."""
    packages = subprocess.run(["dpkg-query", "-W"], stdout=subprocess.PIPE, check=True).stdout
    return digest(packages, (ROOT / ".clang-tidy").read_bytes()).encode()


def check(build, source, key):
    memory = MEMORY / key
    if memory.exists():
        memory.touch()  # it is still of use
        return ""
    done = subprocess.run(["clang-tidy-19", "-quiet", "-p", build, source], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode == 0 and not done.stdout.strip():
        memory.touch()
        return ""
    return done.stdout.strip() or f"{source}: clang-tidy-19 ended with {done.returncode}: {done.stderr}"


def touched_by(commits):
    """The files; None: all."""
    files = set()
    for words in (["diff", "--name-only", "-z", f"HEAD~{commits}"], ["ls-files", "-z", "--others", "--exclude-standard"]):
        asked = subprocess.run(["git", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if asked.returncode != 0:
            return None
        files.update(asked.stdout.split("\0"))
    return None if ".clang-tidy" in files else files


def main():
    build, jobs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count()
    touched = touched_by(int(sys.argv[3])) if len(sys.argv) > 3 else None
    MEMORY.mkdir(parents=True, exist_ok=True)
    for old in MEMORY.iterdir():
        if old.stat().st_mtime < time.time() - DAYS * 86_400:
            old.unlink(missing_ok=True)
    around, keys = machine(), {}
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        source = os.path.relpath(entry["file"], ROOT)
        included = with_included(source)
        if any(map(is_of_program, included)) and (touched is None or touched & included.keys()):
            command = entry["command"].replace(str(ROOT), "").encode()
            texts = (text.replace(os.fsencode(ROOT), b"") for _, text in sorted(included.items()))
            keys[source] = digest(around, command, *map(str.encode, sorted(included)), *texts)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        findings = [text for text in pool.map(lambda one: check(build, *one), keys.items()) if text]
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings or not (keys or touched is not None) else 0


if __name__ == "__main__":
    sys.exit(main())
