#!/usr/bin/env python3
"""Kills runs and carries them on, until they end: nothing may be lost, paid twice or done twice.

    tests/crash/run.py [--errand PATH] [--points LIBRARY] [--times N] [--every N] [--seed N] [-j N] [-v]

Each run asks a model of its own (a server on a loopback port, whose answer follows from the request alone) for eight
answers with eleven calls; three of these need approval, so that the run is parked until it is carried on with it. It is
killed (SIGKILL) at a random instant, carried on with `errand resume`, killed again, up to four times; then it is carried
on to its end. With LIBRARY (points.cpp) one run each is killed before every
single thing that the process does to the world outside: each write to the journal, each send, spawn, rename and removal;
in others the disk is full or cannot be synced from one of these points on. Compared with a run that nobody killed: the
conversation that the last request shows, the bill, the answer, what the calls have left. A call that was cut off may
have taken effect or not; the model is told of each such call, and of no other."""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from model import Model  # noqa: E402


STEPS = [["a"], ["b", "c"], ["d"], ["e", "again"], ["f", "g"], ["h"], ["i"]]
STEPS_THAT_WAIT = 2
PARKED = 92
INTERRUPTED = "tool.interrupted"


def answer(turn, protocol):
    """The answer of a turn (from 0): calls that append a line to a file each, then the end."""
    calls = STEPS[turn] if turn < len(STEPS) else []
    text = f"Turn {turn}." if calls else "All done."
    ids = [f"call-{turn}-{at}" for at in range(len(calls))]
    what = [("again", {}) if name == "again" else ("shell", {"command": f"echo {name} >>log"}) for name in calls]
    if protocol == "openai_chat":
        message = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [{"id": one, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
                                     for one, (tool, arguments) in zip(ids, what)]
        return {"id": "x", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": 100 + turn, "completion_tokens": 10}}
    if protocol == "anthropic_messages":
        blocks = [{"type": "text", "text": text}] + [{"type": "tool_use", "id": one, "name": tool, "input": arguments}
                                                     for one, (tool, arguments) in zip(ids, what)]
        return {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": blocks,
                "stop_reason": "tool_use" if calls else "end_turn", "usage": {"input_tokens": 100 + turn, "output_tokens": 10}}
    items = [{"type": "message", "id": f"m{turn}", "role": "assistant", "status": "completed",
              "content": [{"type": "output_text", "text": text, "annotations": []}]}]
    items += [{"type": "function_call", "id": "f" + one, "call_id": one, "name": tool, "status": "completed",
               "arguments": json.dumps(arguments)} for one, (tool, arguments) in zip(ids, what)]
    return {"id": "x", "object": "response", "model": "m", "status": "completed", "output": items,
            "usage": {"input_tokens": 100 + turn, "output_tokens": 10, "total_tokens": 110 + turn}}


def conversation(request, protocol):
    """What the model is shown: (said by whom, text or call or result), in order."""
    seen = []
    if protocol == "openai_responses":
        for item in request["input"]:
            kind = item.get("type", "message")
            if kind == "function_call":
                seen.append(("call", item["call_id"], json.loads(item["arguments"])))
            elif kind == "function_call_output":
                seen.append(("result", item["call_id"], item["output"]))
            elif kind == "message":
                seen.append((item["role"], "".join(part["text"] for part in item["content"])
                             if isinstance(item["content"], list) else item["content"]))
        return seen
    for message in request["messages"]:
        content = message.get("content")
        if message["role"] == "tool":
            seen.append(("result", message["tool_call_id"], content))
        elif isinstance(content, list):
            for part in content:
                if part["type"] == "text":
                    seen.append((message["role"], part["text"]))
                elif part["type"] == "tool_use":
                    seen.append(("call", part["id"], part["input"]))
                elif part["type"] == "tool_result":
                    inner = part["content"]
                    seen.append(("result", part["tool_use_id"], inner if isinstance(inner, str) else inner[0]["text"]))
        elif content:
            seen.append((message["role"], content))
        for call in message.get("tool_calls", []):
            seen.append(("call", call["id"], json.loads(call["function"]["arguments"])))
    return seen


class Asked(Model):
    def __init__(self, protocol):
        self.protocol, self.asked, self.lock = protocol, [], threading.Lock()
        super().__init__(self.say)

    def say(self, request):
        shown = conversation(request, self.protocol)
        turn = sum(1 for item in shown if item[0] == "assistant")
        with self.lock:
            self.asked.append((turn, shown))
        return answer(turn, self.protocol)


class Trial:
    def __init__(self, errand, protocol, folder):
        self.errand, self.folder, self.model = errand, pathlib.Path(folder), Asked(protocol)
        (self.folder / "home").mkdir()
        self.work = self.folder / "work"
        self.work.mkdir()
        address = f"http://127.0.0.1:{self.model.server_port}" + ("" if protocol == "anthropic_messages" else "/v1")
        (self.work / "agent.yaml").write_text(f"""version: 1
name: crash
model: {{name: local/m, protocol: {protocol}, base_url: "{address}", api_key_env: TEST_KEY, stream: false, cost: {{input: 1, output: 2}}}}
instructions: Do it.
tools:
  - shell
  - {{name: again, description: Does it again., command: [sh, -c, "name=aga; echo once more >>${{name}}in"], idempotent: true}}
permissions: {{default: allow, ask: ["shell(echo b *)", "shell(echo f *)", "shell(echo g *)"]}}
""")
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder), "TEST_KEY": "k"}

    def start(self, words, **fault):
        return subprocess.Popen([self.errand, *words], cwd=self.work, env=self.environment | fault,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def journal(self):
        return next((self.folder / "home").rglob("journal.db"), None)

    def has_run(self):
        """Whether a run has left anything that can be carried on."""
        if self.journal() is None:
            return False
        base = sqlite3.connect(f"file:{self.journal()}?mode=ro", uri=True, timeout=5)
        try:
            return base.execute("select count(*) from events").fetchone()[0] > 0
        except sqlite3.Error:
            return False  # its tables are not there yet
        finally:
            base.close()

    def results_of(self, base):
        return [event for text, in base.execute("select json from events order by seq")
                if (event := json.loads(text))["type"] in ("tool.finished", "model.responded")]

    def words(self):
        if not self.has_run():
            return ["run", "-o", "json", "agent.yaml", "Go."]
        process = self.start(["runs", "pending", "--last", "-o", "json"])
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err.decode()
        waiting = [f"--approve={call['run_id']}:{call['call_id']}" for call in json.loads(out)["calls"]]
        return ["resume", "--last", "-o", "json", *waiting]

    def kill_at(self, seconds):
        """False: it was over before, and not because it waits."""
        process = self.start(self.words())
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return True
        process.communicate()
        return process.returncode == PARKED

    def fail_at(self, library, fault, point):
        process = self.start(self.words(), LD_PRELOAD=str(library), **{fault: str(point)})
        process.communicate(timeout=60)
        return process.returncode

    def close(self):
        self.model.shutdown()
        self.model.server_close()

    def go_on(self, processes):
        for _ in range(processes):
            self.start(self.words()).communicate(timeout=60)

    def finish(self, library=None):
        """With LIBRARY, how many points each process had is in `counts`."""
        self.counts, count = [], self.folder / "count"
        fault = {"LD_PRELOAD": str(library), "CRASH_COUNT": str(count)} if library else {}
        for _ in range(1 + 2 * STEPS_THAT_WAIT):  # what had not been parked is parked first
            process = self.start(self.words(), **fault)
            out, err = process.communicate(timeout=60)
            self.counts += [int(count.read_text())] if library else []
            if process.returncode != PARKED:
                break
        if process.returncode == 2 and b"only a new message" in err:
            base = sqlite3.connect(self.journal())
            out = json.dumps(json.loads(base.execute("select json from events where type = 'run.finished' order by seq desc").fetchone()[0])["result"]).encode()
            base.close()
        elif process.returncode != 0:
            raise AssertionError(f"exit code {process.returncode}: {err.decode()}")
        return json.loads(out)


def without_cut_off(shown):
    return [(item[0], item[1], "cut off" if INTERRUPTED in item[2] else item[2]) if item[0] == "result" else item
            for item in shown]


def look(trial, result, whole):
    """What a run that was killed has against one that was not. An empty list: nothing."""
    found = []
    turns, shown = zip(*trial.model.asked)
    base = sqlite3.connect(trial.journal())
    results = trial.results_of(base)
    integrity = base.execute("pragma integrity_check").fetchone()[0]
    base.close()
    if integrity != "ok":
        found.append(f"the journal: {integrity}")
    told = {event["call_id"] for event in results if event.get("code") == INTERRUPTED}
    asked_whole = whole["shown"]
    last = without_cut_off(shown[-1])
    for mine, theirs in zip(last, asked_whole):
        if mine != theirs and not (mine[0] == "result" and mine[2] == "cut off" and mine[1] in told):
            found.append(f"the model was shown {mine}, and without a crash {theirs}")
    if len(last) != len(asked_whole):
        found.append(f"the last request has {len(last)} parts, and {len(asked_whole)} without a crash")
    for key in ("usage", "cost_usd", "turns", "tool_calls", "text", "exit_code"):
        if result[key] != whole["result"][key]:
            found.append(f"{key}: {result[key]}, and {whole['result'][key]} without a crash")
    answered = [event["turn"] for event in results if event["type"] == "model.responded"]
    if answered != list(range(1, len(STEPS) + 2)):
        found.append(f"the recorded answers are those of the turns {answered}")
    for turn in set(turns):  # an answer that is recorded is never asked for again
        if turns[::-1].index(turn) and max(at for at, one in enumerate(turns) if one == turn) > min(
                (at for at, one in enumerate(turns) if one > turn), default=len(turns)):
            found.append(f"turn {turn} was asked for again when a later one had been: {turns}")
    log = trial.work / "log"
    lines = log.read_text().split() if log.exists() else []
    for turn, names in enumerate(STEPS):
        for at, name in enumerate(names):
            count, was_told = lines.count(name), f"call-{turn}-{at}" in told
            if name == "again":
                continue
            if count > 1 or (count == 0 and not was_told):
                found.append(f"the call of {name} took effect {count} times" + (", and the model was told" if was_told else ""))
    return found


class Crashes:
    """One protocol: a run that nobody disturbs, and what others are compared with it."""

    def __init__(self, options, protocol, skipped):
        self.options, self.protocol, self.skipped, self.kills, self.cut_off = options, protocol, skipped, 0, 0
        with self.trial() as trial:
            begin = time.monotonic()
            result = trial.finish(options.points)
            self.took = time.monotonic() - begin
            self.points = trial.counts  # of each process: the run is parked on the way
            self.whole = {"result": result, "shown": trial.model.asked[-1][1]}
            alone = look(trial, result, self.whole)
            assert not alone and result["turns"] == len(STEPS) + 1, alone

    @contextlib.contextmanager
    def trial(self):
        with tempfile.TemporaryDirectory(prefix="errand-crash-") as folder:
            trial = Trial(self.options.errand, self.protocol, folder)
            try:
                yield trial
            finally:
                trial.close()

    def compare(self, trial):
        try:
            found = look(trial, trial.finish(), self.whole)
            base = sqlite3.connect(trial.journal())
            self.cut_off += sum(event.get("code") == INTERRUPTED for event in trial.results_of(base))
            base.close()
            return found
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return [str(error)]

    def at_random(self, number):
        chance = random.Random(f"{self.options.seed} {self.protocol} {number}")
        with self.trial() as trial:
            for _ in range(chance.randint(1, 4)):
                if not trial.kill_at(chance.uniform(0, self.took)):
                    break
                self.kills += 1
            return self.compare(trial)

    def at_point(self, fault, process, point):
        with self.trial() as trial:
            trial.go_on(process)
            code = trial.fail_at(self.options.points, fault, point)
            self.kills += code == -9
            if fault == "CRASH_AT" and code != -9 and point <= self.points[process] * 0.9 - 1:  # their number varies a little
                return [f"the process ended with {code} before point {point} of {self.points[process]}"]
            if code not in (-9, 0, 74, PARKED):
                return [f"exit code {code}"]
            return self.compare(trial)

    def cases(self):
        """(name, what runs it), in order."""
        for number in range(self.options.times):
            yield f"run {number} (seed {self.options.seed})", lambda number=number: self.at_random(number)
        for fault, step in (("CRASH_AT", 1), ("CRASH_FULL", 5), ("CRASH_SYNC", 5)):
            for process, points in enumerate(self.points):
                for point in range(1 + self.skipped * step, points + 1, step * self.options.every):
                    yield (f"{fault}={point} of process {process}",
                           lambda fault=fault, process=process, point=point: self.at_point(fault, process, point))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--errand", type=lambda name: pathlib.Path(name).resolve(), default=pathlib.Path("build/release/errand").resolve())
    options.add_argument("--points", type=lambda name: pathlib.Path(name).resolve(), metavar="LIBRARY")
    options.add_argument("--times", type=int, default=100, help="runs of each protocol that are killed at random")
    options.add_argument("--every", metavar="N", type=int, default=1, help="of each protocol one point of N, of each another one")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options.add_argument("-v", "--verbose", action="store_true")
    options = options.parse_args()
    failed = passed = kills = cut_off = points = 0
    for number, protocol in enumerate(("openai_chat", "anthropic_messages", "openai_responses")):
        crashes = Crashes(options, protocol, skipped=number % options.every)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for name, found in [(name, pool.submit(case)) for name, case in crashes.cases()]:
                if found := found.result():
                    failed += 1
                    print(f"FAIL {protocol}, {name}", *found, sep="\n    ", flush=True)
                else:
                    passed += 1
                    if options.verbose:
                        print(f"ok   {protocol}, {name}", flush=True)
        kills, cut_off, points = kills + crashes.kills, cut_off + crashes.cut_off, points + sum(crashes.points)
    print(f"{kills} kills, {points} points, {cut_off} calls cut off")
    if options.times >= 20 and (kills < options.times + points or cut_off == 0):
        print("FAIL the kills: too few of them came before the run was over")
        failed += 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
