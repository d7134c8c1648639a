#!/usr/bin/env python3
"""Every combination of closed standard descriptors, output formats and files: 96 runs, one table.

    tests/e2e/closed_descriptors.py [--errand PATH]

A file takes the lowest free descriptor. With standard output closed a log file would take its place,
the answer would go into the log, and the exit code would be 0."""
import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
ANSWER = "forty-two"
AGENT = "version: 1\nname: closed\nmodel: replay/script.yaml\nprompt: what is it?\n"
SCRIPT = f"version: 1\nreplies:\n  - text: {ANSWER}\n"
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT[^ ]+ (debug|info|warning|error) [a-z.]+ \{")
NAMES = {0: "stdin", 1: "stdout", 2: "stderr"}


def subsets(items):
    return itertools.chain.from_iterable(itertools.combinations(items, size) for size in range(len(items) + 1))


def answer_in(text, form):
    if form == "text":
        return text.rstrip("\n")
    try:
        last = json.loads(text.splitlines()[-1])
    except (ValueError, IndexError):
        return None
    return last["text"] if form == "json" else last["result"]["text"]


def wrong_with(errand, folder, closed, form, files):
    """None, or what one run got wrong."""
    words = [str(errand), "run", "agent.yaml", "-o", form]
    for name in files:
        words += [f"--{name}", name]

    def close():
        for number in closed:
            os.close(number)
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=30,
                          preexec_fn=close, env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"})
    has_answer = "output-file" in files or 1 not in closed
    expected = 0 if has_answer else 74
    if done.returncode != expected:
        return f"exit code {done.returncode}, expected {expected}: {done.stderr.decode()[-300:]}"
    if not has_answer and 2 not in closed and b"storage.io" not in done.stderr:
        return f"stderr does not say what failed: {done.stderr!r:.300}"
    if "output-file" in files:
        text = (folder / "output-file").read_text()
    else:
        text = done.stdout.decode()
    if has_answer and answer_in(text, form) != ANSWER:
        return f"the answer is {text!r:.300}"
    if "output-file" in files and done.stdout:
        return f"stdout has {done.stdout!r:.300}"
    if "log-file" in files:
        lines = (folder / "log-file").read_text().splitlines()
        foreign = [line for line in lines if not LOG_LINE.match(line)]
        if foreign or not lines:
            return f"the log has {foreign or 'no line'!r:.300}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    errand = parser.parse_args().errand.resolve()
    with Scratch("closed") as scratch:
        return run_all(errand, scratch)


def run_all(errand, scratch):
    passed = failed = 0
    for closed in subsets((0, 1, 2)):
        for form, files in itertools.product(("text", "json", "jsonl"), subsets(("log-file", "output-file"))):
            with tempfile.TemporaryDirectory(dir=scratch.path) as name:
                folder = pathlib.Path(name)
                (folder / "agent.yaml").write_text(AGENT)
                (folder / "script.yaml").write_text(SCRIPT)
                wrong = wrong_with(errand, folder, closed, form, files)
            scratch.hold()
            label = f"{'+'.join(NAMES[number] for number in closed) or 'none'} closed, {form}, {' '.join(files) or 'no file'}"
            passed, failed = passed + (wrong is None), failed + (wrong is not None)
            print(f"{'ok  ' if wrong is None else 'FAIL'} {label}{'' if wrong is None else ': ' + wrong}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
