#!/usr/bin/env python3
"""Fills the disk for a moment under what runs other agents, and carries it on: nothing is lost, nothing is done twice.

    tests/crash/full.py --points LIBRARY [--errand PATH] [--step N] [-j N] [--patience N] [-v]

A flow, a run that hands over and one with a sub-agent, each with calls that append a line to a file. LIBRARY (points.cpp)
has the disk full at each single point at which the process writes, for one write or a few. What ends with 74 then is
carried on with `errand resume` to its end. No call has left its line twice, but for a flow's command whose record was
lost; one is missing only where the model was told of a call that was stopped or cut off. The answer is that of a run that nobody
disturbed, and what it cost is at least that: what was paid for and could not be recorded comes on top. All members have ended well."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from model import Model, completion  # noqa: E402
from scratch import Scratch, left_behind  # noqa: E402

ROOT = HERE.parent.parent
MOMENTS = (1, 3)  # writes that fail in a row
STORAGE = 74


def agent(name, more=""):
    return (f"version: 1\nname: {name}\ndescription: Does it.\nmodel: {{name: local/{name}, protocol: openai_chat, base_url: \"@BASE@\", "
            f"api_key_env: TEST_KEY, stream: false, cost: {{input: 1, output: 10}}}}\ntools: [shell]\npermissions: {{default: allow}}\n{more}")


def call(name, **arguments):
    return {"name": name, "arguments": json.dumps(arguments)}


# What each model says, by the number of results that it has seen.
SAID = {
    "worker": [call("shell", command="echo worked >>log"), "Worked."],
    "other": [call("shell", command="echo other >>log"), "Other."],
    "giver": [call("shell", command="echo given >>log"), call("handoff_to_worker", message="Go on.")],
    "lead": [call("worker", prompt="Work."), "Done."],
}
FILES = {"worker.yaml": agent("worker"), "other.yaml": agent("other")}
SUBJECTS = {
    "flow": '''version: 1
name: flow
flow: "(worker | other) >> last >> again"
steps:
  - {name: worker, agent: worker.yaml, prompt: Work.}
  - {name: other, agent: other.yaml, prompt: Work.}
  - {name: last, run: "echo last >>log"}
  - {name: again, agent: worker.yaml, prompt: Again.}
''',
    "hand-over": agent("giver", "handoffs: [worker.yaml]\nprompt: Go.\n"),
    "sub-agent": agent("lead", "sub_agents: {worker: worker.yaml}\nprompt: Go.\n"),
}


def answer(request):
    said = SAID[request["model"]][sum(message["role"] == "tool" for message in request["messages"])]
    if isinstance(said, str):
        return completion({"role": "assistant", "content": said})
    return completion({"role": "assistant", "content": None, "tool_calls": [
        {"id": f"c{len(request['messages'])}", "type": "function", "function": said}]})


class Trial:
    def __init__(self, options, folder, subject):
        self.options, self.folder, self.work = options, folder, folder / "work"
        self.work.mkdir(parents=True)
        (folder / "home").mkdir()
        for name, text in (FILES | {"main.yaml": SUBJECTS[subject]}).items():
            (self.work / name).write_text(text.replace("@BASE@", f"http://127.0.0.1:{options.port}/v1"))
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "TMPDIR": str(folder), "TEST_KEY": "k"}

    def run(self, *words, **faults):
        preload = {"LD_PRELOAD": str(self.options.points)} if faults else {}
        done = subprocess.run([self.options.errand, *words, "-q", "-o", "json"], cwd=self.work, stdin=subprocess.DEVNULL,
                              env=self.environment | preload | {name: str(value) for name, value in faults.items()},
                              capture_output=True, timeout=60 * self.options.patience)
        return done.returncode, json.loads(done.stdout or b"{}"), done.stderr.decode()

    def cut_off(self):
        """How many calls the models were told of that were stopped or cut off: they may have taken effect, or not."""
        base = sqlite3.connect(next((self.folder / "home").rglob("journal.db")))
        (count,) = base.execute("SELECT count(*) FROM events WHERE type = 'tool.finished' AND json_extract(json, '$.status') <> 'ok'").fetchone()
        base.close()
        return count

    def lines(self):
        log = self.work / "log"
        return sorted(log.read_text().split()) if log.exists() else []


def whole(options, folder, subject):
    """How many points there are, the result, and what the calls leave."""
    trial = Trial(options, folder, subject)
    count = folder / "count"
    code, result, said = trial.run("run", "main.yaml", CRASH_COUNT=count)
    if code != 0:
        raise SystemExit(f"{subject}: exit code {code}: {said}")
    return int(count.read_text()), result, collections.Counter(trial.lines())


def disturbed(options, folder, subject, point, moment, undisturbed):
    _, whole, lines = undisturbed
    trial = Trial(options, folder, subject)
    code, result, said = trial.run("run", "main.yaml", CRASH_FULL=point, CRASH_FULL_FOR=moment)
    found = []
    if code == STORAGE:
        code, result, said = trial.run("resume", "--last")
        if result["error"] and result["error"]["code"] == "storage.not_found":
            code, result, said = trial.run("run", "main.yaml")  # nothing of it was kept
    if code != 0 or result["text"] != whole["text"]:
        found.append(f"exit code {code}, {result.get('text')!r}: {said}")
    elif result["cost_usd"] < whole["cost_usd"] - 1e-9 or result["turns"] < whole["turns"]:
        found.append(f"{result['turns']} turns, ${result['cost_usd']}, and {whole['turns']}, ${whole['cost_usd']} where nobody disturbs them")
    found += [f"{member['member']} ended as {member['exit_name']}" for member in result.get("members", []) if member["exit_code"] != 0]
    left = collections.Counter(trial.lines())
    again = {line: count for line, count in (left - lines).items() if line != "last"}
    if again or (lines - left).total() > trial.cut_off():
        found.append(f"the calls left {dict(left)}, and {dict(lines)} where nobody disturbs them")
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
    options.port = Model(answer).server_port
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
