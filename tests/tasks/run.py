#!/usr/bin/env python3
"""Runs ordinary work in the sandbox: what has to work as it is, what needs a key, what is refused.

    tests/tasks/run.py [--errand PATH] [-k PATTERN] [-j JOBS] [-v] [--table]

README.md tells the format. As root each task runs as root and as an ordinary user (with --every 2 as one of them,
in turn), for each with mounts and without them, as in a container. What is not installed is the reason why a task is skipped."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "attacks"))
import run as attacks  # noqa: E402

KEYS = {"about", "installed", "needs", "users", "home", "prepare", "command", "opens", "refused", "after",
        "with_mounts", "without_mounts"}
PLACES = ("", "mounts")  # what the kernel lacks
DONE = "the task is done"


class Task:
    def __init__(self, file):
        self.name, self.data = file.stem, tomllib.loads(file.read_text())
        if unknown := set(self.data) - KEYS:
            raise ValueError(f"{file.name}: unknown keys {sorted(unknown)}")

    def get(self, key, otherwise=""):
        return self.data.get(key, otherwise)


class World:
    """A home, a workspace and a place outside of both, of one user, gone afterwards."""

    def __init__(self, task, tested):
        self.task, self.tested = task, tested
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="errand-task-", dir="/var/tmp"))  # a task may open /tmp
        self.home, self.work, self.outside = (self.top / name for name in ("home", "work", "outside"))
        for folder in (self.home, self.work, self.outside, self.top / "tmp"):
            folder.mkdir()
        for path in (self.top, *self.top.rglob("*")):
            tested.give(path)
        is_real = task.get("home") == "real"
        self.environment = {"PATH": os.environ["PATH"] if is_real else attacks.PATH,
                            "HOME": os.environ["HOME"] if is_real else str(self.home), "OUTSIDE": str(self.outside),
                            "TMPDIR": str(self.top / "tmp"), "LANG": "C.UTF-8"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file in self.work.glob("*.pid"):  # servers of the task
            try:
                os.kill(int(file.read_text()), signal.SIGKILL)
            except (ProcessLookupError, ValueError):
                pass
        shutil.rmtree(self.top, ignore_errors=True)

    def run(self, words):
        return subprocess.run(self.tested.command(words), cwd=self.work, env=self.environment, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=400)

    def lack(self):
        for program in self.task.get("installed", []):
            if self.run(["sh", "-c", f"command -v {program}"]).returncode != 0:
                return f"{program} is not installed"
        for reason, probe in self.task.get("needs", {}).items():
            if self.run(["sh", "-c", probe]).returncode != 0:
                return reason
        return None

    def attempt(self, sandbox, lacks, opens):
        """What the tool printed, and whether the work was done."""
        if self.task.get("prepare"):
            done = self.run(["sh", "-ec", self.task.get("prepare")])
            if done.returncode != 0:
                raise RuntimeError(f"prepare: {done.stdout.strip()}")
        lines = ["version: 1", "name: worker", opens.replace("{OUTSIDE}", str(self.outside))]
        if "tools:" not in opens:
            lines.append("tools: [shell: {env: [OUTSIDE]}]")
        agent = self.work / "agent.yaml"
        agent.write_text("\n".join(lines) + "\n")
        self.tested.give(agent)
        command = f"set -e\n{self.task.get('command')}\necho {DONE}"
        words = [self.tested.errand, "tools", "call", "shell", json.dumps({"command": command, "timeout": "5m"}),
                 "--agent", agent]
        if not sandbox:
            words += ["--sandbox", "off"]
        if lacks:
            words = [attacks.PYTHON, self.tested.lacking, lacks] + words
        said = self.run(words).stdout
        stays = not self.task.get("after") or self.run(["sh", "-c", self.task.get("after")]).returncode == 0
        return said, DONE in said and stays


class Verdict:
    """What is wrong, one line each, and why something could not be tried."""

    def __init__(self, task, tested, verbose):
        self.task, self.tested, self.verbose = task, tested, verbose
        self.problems, self.skipped = [], tested.absent or tested.refusal
        if self.skipped:
            return
        with World(task, tested) as world:
            self.skipped = world.lack()
        if self.skipped:
            return
        said, is_done = self.attempt(False, "", "")
        if not is_done:
            self.skipped = f"it does not work here without a sandbox either: {last_line(said)}"
            return
        for lacks in PLACES:
            if reason := tested.lack_of_kernel(lacks):
                self.skipped = self.skipped or reason
            else:
                self.judge(lacks)

    def attempt(self, sandbox, lacks, opens):
        with World(self.task, self.tested) as world:
            try:
                return world.attempt(sandbox, lacks, opens)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                return str(error), False

    def judge(self, lacks):
        opens, refused = self.task.get("opens"), self.task.get("refused")
        said, is_done = self.attempt(True, lacks, "")
        expected = not opens and not refused
        otherwise = self.task.get("without_mounts" if lacks else "with_mounts")
        expected = otherwise == "works" if otherwise else expected
        if is_done != expected:
            self.wrong(lacks, "it works, and should not" if is_done else "it fails", said)
        if refused and not re.search(refused, said):
            self.wrong(lacks, f"nothing says {refused!r}", said)
        if opens:
            said, is_done = self.attempt(True, lacks, opens)
            if not is_done:
                self.wrong(lacks, f"it fails with `{opens}`, too", said)

    def wrong(self, lacks, what, said):
        self.problems.append(f"[{self.tested.user}{', lacks ' + lacks if lacks else ''}] {what}: {last_line(said)}")
        if self.verbose:
            self.problems += [f"    {line}" for line in said.strip()[-1500:].splitlines()]

    def show(self):
        return attacks.show(self.task.name, self.tested, self.problems, self.skipped)


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip() and not line.startswith("[exit status")]
    return lines[-1].strip() if lines else "it says nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=attacks.DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only tasks whose name has this")
    parser.add_argument("--every", metavar="N", type=int, default=1, help="one task and user of N")
    parser.add_argument("-j", metavar="JOBS", type=int, default=2, help="so many at the same time")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the output of what went wrong")
    options = parser.parse_args()
    users = ["root", "user"] if os.geteuid() == 0 else ["user"]
    count = dict.fromkeys(("passed", "failed", "skipped"), 0)
    tasks = [Task(file) for file in sorted(HERE.glob("*.toml")) if options.k in file.stem]
    with attacks.Scratch("tasks") as scratch, concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        attacks.put_on_shelf(scratch.path, options.errand)
        tested = [attacks.Tested(scratch.path, user) for user in users]
        pairs = [(task, one) for at, task in enumerate(tasks) for number, one in enumerate(tested)
                 if (at + number) % options.every == 0]
        jobs = [pool.submit(Verdict, task, one, options.verbose) for task, one in pairs
                if one.user in task.get("users", ["root", "user"])
                and (task.get("home") != "real" or one.user == users[0])]
        for job in jobs:
            count[job.result().show()] += 1
    print(", ".join(f"{number} {what}" for what, number in count.items()), flush=True)
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
