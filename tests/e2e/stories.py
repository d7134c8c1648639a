#!/usr/bin/env python3
"""Trees of flows, agents and sub-agents by chance, whose calls wait for somebody, carried on until they have ended.

    tests/e2e/stories.py [--errand PATH] [--stories N] [--seed N] [--patience N] [-v]

Some members fail, by a limit, an empty answer, one that does not fit, or in their own words; some calls are denied. Each
tree is played four times: as it is, with a kill switch that is laid and lifted, with SIGTERM and with SIGKILL in between.
Whoever answers chooses which run, and whether the whole goes on at once. What the docs say must come of it: the exit
code; each call that was allowed is made once, none that was denied, and none behind the end; each request is made and
billed once, where nothing was killed; nothing waits at the end, and no run is left parked."""
import collections
import json
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from flow_members import Server, options_of, play  # noqa: E402

TOKENS = 5           # of an answer, at a dollar for a million
MOST_COMMANDS = 150  # until a story that has not ended is wrong
# How an agent ends, beside well, and with which exit code.
FAILURES = {"limit": 80, "empty": 112, "unfit": 111, "task_failed": 1}
TOOL = """  - name: {name}
    description: Writes it down.
    command: [sh, -c, "cat >>notes; echo >>notes"]
    parameters: {{type: object, properties: {{id: {{type: string}}}}, required: [id]}}
"""


class Agent:
    """`turns`: what each answer calls, as (kind, the call's id or the sub-agent)."""

    def __init__(self, chance, name, depth, is_whole=False):
        self.name, self.members, self.turns = name, [], []
        notes = 0
        for _ in range(chance.randint(0, 2)):
            calls = []
            for _ in range(chance.randint(1, 3)):
                kind = chance.choice(["note", "ask", "ask", "call"])
                if kind == "call" and depth > 0 and len(self.members) < 3:
                    self.members.append(Agent(chance, f"{name}{'abc'[len(self.members)]}", depth - 1))
                    calls.append(("call", self.members[-1]))
                else:
                    notes += 1
                    calls.append((kind if kind == "ask" else "note", f"{name}-{notes}"))
            self.turns.append(calls)
        fails = chance.random() < (0.1 if is_whole else 0.35)
        self.failure = chance.choice(["empty", "task_failed"] if is_whole else sorted(FAILURES)) if fails else None

    def text(self, base_url):
        text = f"""version: 1
name: {self.name}
model: {{name: local/m, protocol: openai_chat, base_url: "{base_url}", stream: false, cost: {{input: 0, output: 1}}}}
retry: {{max_attempts: 1}}
instructions: I am {self.name}.
permissions: {{default: allow, ask: [ask]}}
sandbox: off
guardrails: {{kill_switch: kill}}
tools:
  - task_failed
""" + TOOL.format(name="note") + TOOL.format(name="ask")
        if self.members:
            text += "sub_agents:\n" + "".join(f"  {one.name}: {one.name}.yaml\n" for one in self.members)
        if self.failure == "limit":
            text += f"limits: {{max_turns: {len(self.turns) + 1}}}\n"
        if self.failure == "unfit":
            text += "output: {schema: {type: object, required: [x]}, repair_attempts: 0}\n"
        return text

    def answer(self, turn, called):
        def call(name, arguments, at):
            return {"id": f"{self.name}_{turn}_{at}", "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)}}

        if turn < len(self.turns):
            return [call(what.name, {"prompt": "go"}, at) if kind == "call" else call(kind, {"id": what}, at)
                    for at, (kind, what) in enumerate(self.turns[turn])]
        if self.failure == "limit":
            return [call("note", {"id": f"{self.name}-last"}, 0)]
        if self.failure == "task_failed" and "task_failed" not in called:
            return [call("task_failed", {"reason": "no"}, 0)]
        return "" if self.failure == "empty" else f"{self.name} is done"

    def play(self, told):
        for turn, calls in enumerate(self.turns):
            told.requests[self.name, turn] = 1
            for kind, what in calls:
                if kind == "call":
                    what.play(told)
                elif kind == "note" or told.is_allowed(what):
                    told.notes.add(what)
        told.requests[self.name, len(self.turns)] = 2 if self.failure == "empty" else 1  # asked once more
        if self.failure == "limit":
            told.notes.add(f"{self.name}-last")
        return FAILURES.get(self.failure, 0)


class Flow:
    def __init__(self, chance, name, depth):
        self.name = name
        self.members = [member(chance, f"{name}{'abc'[at]}", depth - 1) for at in range(chance.randint(1, 3))]
        self.goes_on = [chance.random() < 0.4 for _ in self.members]
        self.is_beside = chance.random() < 0.4

    def text(self, _):
        steps = "".join(f"  - {{name: {one.name}, agent: {one.name}.yaml, prompt: go"
                        f"{', on_error: continue' if goes_on else ''}{', needs: []' if self.is_beside else ''}}}\n"
                        for one, goes_on in zip(self.members, self.goes_on))
        return f"version: 1\nname: {self.name}\nsteps:\n{steps}"

    def play(self, told):
        code = 0
        for one, goes_on in zip(self.members, self.goes_on):
            code = one.play(told)
            if code != 0 and not goes_on:
                told.is_known = told.is_known and not self.is_beside  # how far the others came
                return code
        return code


def member(chance, name, depth):
    return Flow(chance, name, depth) if depth > 0 and chance.random() < 0.35 else Agent(chance, name, depth)


def all_of(whole):
    return [whole, *(one for each in whole.members for one in all_of(each))]


class Told:
    """What must come of a tree: `requests`, how often each (name, turn); `is_known`: it is known whole."""

    def __init__(self, whole, is_allowed):
        self.is_allowed, self.requests, self.notes, self.is_known = is_allowed, {}, set(), True
        self.code = whole.play(self)


class Story:
    def __init__(self, options, folder, number, how):
        chance = random.Random(f"{options.seed} {number}")
        depth = chance.randint(1, 3)
        self.whole = Flow(chance, "r", depth) if chance.random() < 0.4 else Agent(chance, "r", depth, is_whole=True)
        denied = chance.randrange(10**6)
        self.is_allowed = lambda call: random.Random(f"{denied} {call}").random() < 0.7
        self.options, self.how, self.work = options, how, folder / "work"
        self.chance = random.Random(f"{options.seed} {number} {how}")
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "TMPDIR": str(folder)}
        self.commands, self.requests, self.lock = 0, collections.Counter(), threading.Lock()
        self.agents = {one.name: one for one in all_of(self.whole)}
        for one in (folder / "home", self.work):
            one.mkdir(parents=True)

    def answer(self, request):
        name = request["messages"][0]["content"].split("I am ")[1].split(".")[0]
        said = [one for one in request["messages"] if one["role"] == "assistant"]
        called = {call["function"]["name"] for one in said for call in one.get("tool_calls", [])}
        if self.is_killed():
            time.sleep(0.02)
        with self.lock:
            self.requests[name, len(said)] += 1
        answer = self.agents[name].answer(len(said), called)
        return ({"role": "assistant", "content": None, "tool_calls": answer} if isinstance(answer, list)
                else {"role": "assistant", "content": answer}), TOKENS

    def is_killed(self):
        return self.how in ("SIGKILL", "SIGTERM")

    def errand(self, *words, may_be_killed=True):
        self.commands += 1
        if self.commands > MOST_COMMANDS:
            raise AssertionError(f"it has not ended after {MOST_COMMANDS} commands")
        process = subprocess.Popen([self.options.errand, *words, "-o", "json"], cwd=self.work, env=self.environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            if may_be_killed and self.is_killed() and self.chance.random() < 0.6:
                try:
                    process.wait(self.chance.uniform(0.01, 0.25))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.Signals[self.how])
            out, err = process.communicate(timeout=60 * self.options.patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"`{' '.join(words)}` does not end") from None
        return process.returncode, json.loads(out) if out.strip() else None, err

    def begin(self):
        return self.errand("run", "r.yaml", "go", "--session", "s")

    def carry_on(self):
        code, result, err = self.errand("resume", "s")
        if code == 74 and ("there is no run" in err or "there is no journal" in err):
            return self.begin()
        if code == 2 and "ended as" in err and self.how == "SIGKILL":  # it came behind the end
            run = next(one for one in self.runs() if one["session"] == "s")
            return run["exit_code"], run, err
        return code, result, err

    def runs(self):
        return self.errand("runs", "list", may_be_killed=False)[1]["runs"]

    def play(self):
        """The end of the whole: its exit code, its result and what it said."""
        server = Server(self.answer)
        try:
            for one in all_of(self.whole):
                (self.work / f"{one.name}.yaml").write_text(one.text(f"http://127.0.0.1:{server.server_port}/v1"))
            code, result, err = self.begin()
            while True:
                switch = self.work / "kill"
                if self.how == "kill switch" and self.chance.random() < 0.4:
                    switch.touch()
                if code in (-signal.SIGKILL, -signal.SIGTERM, 96):
                    if self.chance.random() < 0.7:
                        switch.unlink(missing_ok=True)
                    code, result, err = self.carry_on()
                elif code == 92:
                    code, result, err = self.settle(code, result, err)
                else:
                    return code, result, err
        finally:
            server.shutdown()
            server.server_close()

    def settle(self, code, result, err):
        pending = self.errand("runs", "pending", may_be_killed=False)[1]
        if not pending["calls"]:
            if not pending["answered"] and not self.is_killed():
                raise AssertionError("92, and nothing is pending")
            return self.carry_on()
        run = self.chance.choice(pending["calls"])["run_id"]
        calls = [one for one in pending["calls"] if one["run_id"] == run]
        words = []
        for one in self.chance.sample(calls, self.chance.randint(1, len(calls))):
            words += ["--approve" if self.is_allowed(one["arguments"]["id"]) else "--deny", one["call_id"]]
        answered = self.errand("resume", run, *words)
        if answered[0] in (2, 70, 78):
            raise AssertionError(f"the answer is refused: {answered[2]}")
        if result and run == result["run_id"]:  # the whole is a run that waits itself
            return answered
        return self.carry_on() if self.chance.random() < 0.5 else (code, result, err)

    def check(self):
        code, result, err = self.play()
        told = Told(self.whole, self.is_allowed)
        notes = [json.loads(line)["id"] for line in (self.work / "notes").read_text().split()] if (
            self.work / "notes").exists() else []
        found = [f"`{one}` was done twice" for one, times in collections.Counter(notes).items() if times > 1]
        found += [f"`{one}` was denied, and done" for one in notes
                  if one in self.asked() and not self.is_allowed(one)]
        if told.is_known:
            found += self.compare(told, code, err, set(notes))
            if not self.is_killed() and round(result["cost_usd"] * 1e6) != TOKENS * self.requests.total():
                found.append(f"{self.requests.total()} requests, and {result['cost_usd']} on the bill")
        return found

    def asked(self):
        return {what for one in all_of(self.whole) if isinstance(one, Agent)
                for calls in one.turns for kind, what in calls if kind == "ask"}

    def compare(self, told, code, err, notes):
        found = [] if code == told.code else [f"exit code {code}, expected {told.code}: {err[-400:]}"]
        if notes - told.notes:
            found.append(f"done, and not to be: {sorted(notes - told.notes)}")
        if told.notes - notes and not self.is_killed():
            found.append(f"not done: {sorted(told.notes - notes)}")
        failed_by_word = {(one.name, len(one.turns) + 1) for one in self.agents.values()
                          if isinstance(one, Agent) and one.failure == "task_failed"}
        for request in {*self.requests, *told.requests} - failed_by_word:
            times, most = self.requests[request], told.requests.get(request, 0)
            if (times == 0) != (most == 0) or (times > most and not self.is_killed()):
                found.append(f"request {request} was made {times} times, expected {most}")
        pending = self.errand("runs", "pending", may_be_killed=False)[1]
        found += [f"pending at the end: {one}" for one in pending["calls"] + pending["answered"]]
        return found + [f"{one['session']} is left {one['status']}" for one in self.runs()
                        if one["status"] in ("parked", "running")]


def story(options, folder, number, how):
    try:
        return Story(options, folder, number, how).check()
    except AssertionError as error:
        return [str(error)]


def main():
    options = options_of(__doc__, "stories")
    return play("stories", options, [
        (f"story {number}, {how} (seed {options.seed})", story, (number, how))
        for number in range(options.stories) for how in ("as it is", "kill switch", "SIGTERM", "SIGKILL")])


if __name__ == "__main__":
    sys.exit(main())
