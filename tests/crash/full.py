#!/usr/bin/env python3
"""Fills the disk for a moment under what runs other agents, and carries it on: nothing is lost, nothing is done twice.

    tests/crash/full.py --points LIBRARY [--errand PATH] [--step N] [-j N] [--patience N] [-v]

A flow, a run that hands over and one with a sub-agent, each with calls that append a line to a file. LIBRARY (points.cpp)
has the disk full at each single point at which the process writes, for one write or a few. What ends with 74 then is
carried on with `errand resume` to its end. Each call has left its line once, or twice where its own record was lost and it
is one of a flow's command; the answer is that of a run that nobody disturbed."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch, left_behind  # noqa: E402

ROOT = HERE.parent.parent
MOMENTS = (1, 3)  # writes that fail in a row
STORAGE = 74


def agent(name, replies, more=""):
    """Its file and its script, by their names."""
    return {f"{name}.yaml": f"version: 1\nname: {name}\ndescription: Does it.\nmodel: {{name: replay/{name}.replay.yaml, cost: {{input: 1, output: 10}}}}\n"
                            f"tools: [shell]\npermissions: {{default: allow}}\n{more}",
            f"{name}.replay.yaml": "version: 1\nreplies:\n" + "".join(f"  - {{{reply}, usage: {{input: 0, output: 100}}}}\n" for reply in replies)}


def call(name, arguments):
    return f"tool_calls: [{{name: {name}, arguments: {json.dumps(arguments)}}}]"


WORKER = agent("worker", [call("shell", {"command": "echo worked >>log"}), "text: Worked."])
SUBJECTS = {
    "flow": WORKER | agent("other", [call("shell", {"command": "echo other >>log"}), "text: Other."]) | {
        "main.yaml": 'version: 1\nname: main\nflow: "(worker | other) >> last >> worker2"\nsteps:\n  - {name: worker, agent: worker.yaml, prompt: Work.}\n'
                     '  - {name: other, agent: other.yaml, prompt: Work.}\n  - {name: last, run: "echo last >>log"}\n'
                     '  - {name: worker2, agent: worker.yaml, prompt: Again.}\n'},
    "hand-over": WORKER | agent("main", [call("shell", {"command": "echo main >>log"}), call("handoff_to_worker", {"message": "Go on."})],
                                "handoffs: [worker.yaml]\n"),
    "sub-agent": WORKER | agent("main", [call("worker", {"prompt": "Work."}), "text: Done."], "sub_agents: {worker: worker.yaml}\n"),
}


class Trial:
    def __init__(self, options, folder, subject):
        self.options, self.folder, self.work = options, folder, folder / "work"
        self.work.mkdir(parents=True)
        (folder / "home").mkdir()
        for name, text in SUBJECTS[subject].items():
            (self.work / name).write_text(text)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "TMPDIR": str(folder)}

    def run(self, *words, **faults):
        preload = {"LD_PRELOAD": str(self.options.points)} if faults else {}
        done = subprocess.run([self.options.errand, *words, "-q", "-o", "json"], cwd=self.work, stdin=subprocess.DEVNULL,
                              env=self.environment | preload | {name: str(value) for name, value in faults.items()},
                              capture_output=True, timeout=60 * self.options.patience)
        return done.returncode, json.loads(done.stdout or b"{}"), done.stderr.decode()

    def begin(self, **faults):
        return self.run("run", "main.yaml", *([] if (self.work / "other.yaml").exists() else ["Go."]), **faults)

    def lines(self):
        log = self.work / "log"
        return sorted(log.read_text().split()) if log.exists() else []


def whole(options, folder, subject):
    """How many points there are, the answer, and what the calls leave."""
    trial = Trial(options, folder, subject)
    count = folder / "count"
    code, result, said = trial.begin(CRASH_COUNT=count)
    if code != 0:
        raise SystemExit(f"{subject}: exit code {code}: {said}")
    return int(count.read_text()), result["text"], trial.lines()


def disturbed(options, folder, subject, point, moment, undisturbed):
    _, answer, lines = undisturbed
    trial = Trial(options, folder, subject)
    code, result, said = trial.begin(CRASH_FULL=point, CRASH_FULL_FOR=moment)
    found = []
    if code == STORAGE:
        code, result, said = trial.run("resume", "--last")
        if result["error"] and result["error"]["code"] == "storage.not_found":
            code, result, said = trial.begin()  # nothing of it was kept
    if code != 0 or result["text"] != answer:
        found.append(f"exit code {code}, {result.get('text')!r}: {said}")
    left = trial.lines()
    again = [line for line in left if left.count(line) > lines.count(line) and line != "last"]
    if set(left) != set(lines) or again:
        found.append(f"the calls left {left}, and {lines} where nobody disturbs them")
    found += [f"left behind: {one}" for one in left_behind(folder)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=lambda path: pathlib.Path(path).resolve(), default=ROOT / "build" / "release" / "errand")
    parser.add_argument("--points", type=lambda path: pathlib.Path(path).resolve(), metavar="LIBRARY", required=True)
    parser.add_argument("--step", type=int, default=1, help="each so manieth point")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=float, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    scratch = Scratch("full")
    passed = failed = 0
    try:
        for subject in SUBJECTS:
            undisturbed = whole(options, scratch.path / subject, subject)
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                trials = {f"{subject}, {moment} from point {point}": pool.submit(
                    disturbed, options, scratch.path / f"{subject} {point} {moment}", subject, point, moment, undisturbed)
                    for point in range(1, undisturbed[0] + 1, options.step) for moment in MOMENTS}
                for name, trial in trials.items():
                    found = trial.result()
                    passed, failed = passed + (not found), failed + bool(found)
                    for line in found:
                        print(f"FAIL {name}: {line}", flush=True)
                    if options.verbose and not found:
                        print(f"ok   {name}", flush=True)
    finally:
        scratch.close()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
