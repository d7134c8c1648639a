#!/usr/bin/env python3
"""Ends flows in their middle and carries them on, until they end: no step is done twice, none is lost, no process is left.

    tests/crash/flow.py [--errand PATH] [--times N] [--seed N] [-j N] [--patience N] [-v]

A flow of 20 members: commands one after the other and side by side, agents for the items of a list, and a flow in it. The
agents ask a server on a loopback port. Each is ended at a random instant by SIGINT, SIGTERM or SIGKILL, carried on with
`errand resume`, ended again, up to three times; then it is carried on to its end. What the journals say then: a member
that has ended well never began again, each answer was asked for once but for those that nobody had recorded; and the
result is that of a flow that nobody disturbed."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from model import Model, completion  # noqa: E402
from scratch import Scratch, left_behind  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
ITEMS, TRIES = 6, 4
MEMBERS = 20  # with those of the inner flow
COMMANDS = ["begin", "left", "right", "middle", "last", "inner-begin", "inner-end"]
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)

AGENT = """version: 1
name: one
model: {{name: local/m, protocol: openai_chat, base_url: "http://127.0.0.1:{port}/v1", api_key_env: TEST_KEY, stream: false,
  cost: {{input: 1, output: 1}}}}
"""
FLOW = """version: 1
name: long
flow: "begin >> (left | right | middle) >> list >> (say | build) >> (a | b) >> last >> tell"
steps:
  - {name: begin, run: "echo begin >>log"}
  - {name: left, run: "echo left >>log; sleep 0.05"}
  - {name: right, run: "echo right >>log; sleep 0.05"}
  - {name: middle, run: "echo middle >>log"}
  - {name: list, run: "seq 6"}
  - {name: say, agent: agent.yaml, for_each: list.lines, max_parallel: 3, prompt: "Say {{ item }}."}
  - {name: build, agent: inner.yaml, prompt: "Build."}
  - {name: a, agent: agent.yaml, prompt: "a: {{ say[*].text }}"}
  - {name: b, agent: agent.yaml, prompt: "b: {{ build.text }}"}
  - {name: last, run: "echo last >>log"}
  - {name: tell, agent: agent.yaml, prompt: "{{ a.text }} {{ b.text }}"}
"""
INNER = """version: 1
name: inner
steps:
  - {name: begin, run: "echo inner-begin >>log"}
  - {name: ask, agent: agent.yaml, prompt: "{{ prompt }}"}
  - {name: more, agent: agent.yaml, prompt: "More: {{ ask.text }}"}
  - {name: end, run: "echo inner-end >>log; sleep 0.02"}
"""


class Asked(Model):
    def __init__(self, chance):
        self.chance, self.lock, self.asked = chance, threading.Lock(), collections.Counter()
        super().__init__(self.say)

    def say(self, request):
        said = request["messages"][-1]["content"]
        with self.lock:
            self.asked[said] += 1
            wait = self.chance.uniform(0, 0.03)
        time.sleep(wait)
        return completion({"role": "assistant", "content": f"<{said}>"})


def ended_before(process, err):
    """The process before it was ended when the flow's own end was in its journal."""
    return process.returncode == 2 and b"nothing of it is left to do" in err


class Trial:
    def __init__(self, options, folder, chance):
        self.options, self.folder, self.model = options, folder, Asked(chance)
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        (folder / "home").mkdir()
        (self.work / "agent.yaml").write_text(AGENT.format(port=self.model.server_port))
        (self.work / "flow.yaml").write_text(FLOW)
        (self.work / "inner.yaml").write_text(INNER)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "TMPDIR": str(folder), "TEST_KEY": "k"}
        self.begun, self.found = 0, []

    def close(self):
        self.model.shutdown()
        self.model.server_close()

    def events(self):
        """Of all runs, as (run, event), in order."""
        journal = next((self.folder / "home").rglob("journal.db"), None)
        if journal is None:
            return []
        base = sqlite3.connect(f"file:{journal}?mode=ro", uri=True, timeout=10)
        try:
            return [(run, json.loads(text)) for run, text in base.execute("SELECT run_id, json FROM events ORDER BY run_id, seq")]
        except sqlite3.Error:
            return []  # its tables are not there yet
        finally:
            base.close()

    def start(self):
        flow = next((run for run, event in self.events() if event["type"] == "run.started" and event["agent"]["name"] == "long"), None)
        words = ["resume", flow] if flow else ["run", "flow.yaml"]
        self.begun += 1
        return subprocess.Popen([self.options.errand, *words, "-q", "-o", "json"], cwd=self.work, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end_at(self, seconds, number):
        """False: it was over before."""
        process = self.start()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        _, err = process.communicate(timeout=60 * self.options.patience)
        if process.returncode not in (0, -number) and not ended_before(process, err):
            self.found.append(f"{number.name} came to exit code {process.returncode}")
        self.found += [f"left behind after {number.name}: {one}" for one in left_behind(self.folder)]
        return process.returncode == -number

    def finish(self):
        process = self.start()
        out, err = process.communicate(timeout=60 * self.options.patience)
        if ended_before(process, err):
            return next(event["result"] for _, event in reversed(self.events())
                        if event["type"] == "run.finished" and event["result"].get("members") and len(event["result"]["members"]) > 10)
        if process.returncode != 0:
            raise AssertionError(f"exit code {process.returncode}: {err.decode()}")
        return json.loads(out)

    def look(self, result):
        found = self.found
        members = [member["member"] for member in result["members"] if member["exit_code"] == 0]
        if len(members) != len(result["members"]) or len(members) + 4 != MEMBERS:
            found.append(f"members: {result['members']}")
        answers = collections.Counter()
        began, well = collections.Counter(), set()
        for run, event in self.events():
            answers[run] += event["type"] == "model.responded"
            if event["type"] in ("member.started", "member.finished"):
                member = run, event["step"], event["item"], event["round"]
            if event["type"] == "member.started":
                began[event["step"] if event["kind"] == "command" else ""] += 1
                if member in well:
                    found.append(f"{event['member']} began again when it had ended")
            elif event["type"] == "member.finished" and event["result"]["exit_code"] == 0:
                if member in well:
                    found.append(f"{event['member']} ended twice")
                well.add(member)
        if any(count != 1 for count in answers.values() if count):
            found.append(f"answers by runs: {dict(answers)}")
        if result["turns"] != sum(answers.values()):
            found.append(f"{sum(answers.values())} answers are recorded, the result has {result['turns']}")
        for said, count in self.model.asked.items():  # once a process at most
            if count > self.begun:
                found.append(f"{said!r} was asked {count} times by {self.begun} processes")
        lines = collections.Counter((self.work / "log").read_text().split())
        for name in COMMANDS:
            if not 1 <= lines[name] <= self.begun:
                found.append(f"{name} was done {lines[name]} times by {self.begun} processes")
        return found


def whole(options, folder):
    """What a flow that nobody disturbs comes to, and how long it takes."""
    trial = Trial(options, folder, random.Random(0))
    try:
        begin = time.monotonic()
        result = trial.finish()
        took = time.monotonic() - begin
        found = trial.look(result)
        if set(trial.model.asked.values()) != {1} or found:
            raise SystemExit(f"flow: {found}, asked {dict(trial.model.asked)}")
        return result, took
    finally:
        trial.close()


def disturbed(options, folder, number, undisturbed, took):
    chance = random.Random(f"{options.seed} {number}")
    trial = Trial(options, folder, random.Random(f"{options.seed} {number} waits"))
    ended = []
    try:
        for _ in range(chance.randint(1, TRIES - 1)):
            how = chance.choice(ENDS)
            if not trial.end_at(chance.uniform(0, took), how):
                break
            ended.append(how.name)
        result = trial.finish()
        found = trial.look(result)
        found += [f"{key}: {result[key]!r}, and {undisturbed[key]!r} of a flow that nobody ended"
                  for key in ("text", "turns", "usage", "cost_usd") if result[key] != undisturbed[key]]
        found += [f"left behind: {one}" for one in left_behind(folder)]
    except (AssertionError, subprocess.TimeoutExpired) as error:
        found = [str(error)]
    finally:
        trial.close()
    return ended, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=lambda path: pathlib.Path(path).resolve(), default=DEFAULT_ERRAND)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=float, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    scratch = Scratch("flow-crash")
    failed, kinds = 0, collections.Counter()
    try:
        undisturbed, took = whole(options, scratch.path / "whole")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            runs = [pool.submit(disturbed, options, scratch.path / str(number), number, undisturbed, took)
                    for number in range(options.times)]
            for number, run in enumerate(runs):
                ended, found = run.result()
                kinds.update(ended)
                failed += bool(found)
                for line in found:
                    print(f"FAIL flow {number} (seed {options.seed}; {' '.join(ended)}): {line}", flush=True)
                if options.verbose and not found:
                    print(f"ok   flow {number}: {' '.join(ended)}", flush=True)
    finally:
        scratch.close()
    print(f"ended by {', '.join(f'{name} {count} times' for name, count in sorted(kinds.items())) or 'nothing'}")
    print(f"{options.times - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
