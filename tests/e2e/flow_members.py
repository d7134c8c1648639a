#!/usr/bin/env python3
"""Members of a flow that run side by side, really: what no row of replies in a file can show.

    tests/e2e/flow_members.py [--errand PATH] [--rounds N] [--seed N] [--patience N] [-v]

Ten members ask a server that answers none of them before all ten are there. Of 32 members that race for the last cent,
none asks again when what has been answered is what the flow may cost: beyond the limit there is at most what was under
way at that moment. That one is played so often, each time with another limit and other answers.
Members that are each carried on by a process of their own keep to that, too."""
import argparse
import concurrent.futures
import http.server
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch, left_behind  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
MEMBERS = 32


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):  # who asked was stopped
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        message, tokens = self.server.answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        body = json.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": tokens}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Flow:
    def __init__(self, options, folder, answer):
        self.options, self.folder, self.server = options, folder, Server(answer)
        self.work = folder / "work"
        for one in (folder / "home", self.work):
            one.mkdir(parents=True)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "TMPDIR": str(folder), "TEST_KEY": "k",
                            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}}

    def write(self, members, dollars, asks=False):
        (self.work / "agent.yaml").write_text(f"""version: 1
name: member
model: {{name: local/m, protocol: openai_chat, base_url: "http://127.0.0.1:{self.server.server_port}/v1", api_key_env: TEST_KEY,
  stream: false, cost: {{input: 0, output: 1}}}}
prompt: Go.
retry: {{max_attempts: 1}}
tools: [todo]
permissions: {{{"ask: [todo]" if asks else ""}}}
""")
        (self.work / "flow.yaml").write_text(f"""version: 1
name: race
steps:
  - {{name: list, run: seq {members}}}
  - {{name: each, agent: agent.yaml, for_each: list.lines, max_parallel: {members}}}
limits: {{max_cost_usd: {dollars:.6f}}}
""")

    def run(self, *words):
        words = words or ("run", "--no-session", "flow.yaml")
        done = subprocess.run([self.options.errand, words[0], "-q", "-o", "json", *words[1:]], cwd=self.work,
                              env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120 * self.options.patience)
        return done.returncode, json.loads(done.stdout or b"null"), done.stderr.decode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def all_ten(options, folder):
    barrier = threading.Barrier(10)

    def answer(_):
        barrier.wait(60 * options.patience)
        return {"role": "assistant", "content": "So."}, 1

    flow = Flow(options, folder, answer)
    flow.write(10, 1)
    try:
        code, result, err = flow.run()
    finally:
        flow.close()
    return [] if code == 0 and result["turns"] == 10 else [f"exit code {code}: {err}"]


class Race:
    """Each answer calls a tool, so that every member asks again and again until the limit ends it."""

    def __init__(self, chance):
        self.chance, self.lock = chance, threading.Lock()
        self.largest = chance.choice([1, 10, 1000])
        self.asked = self.tokens = 0

    def answer(self, _):
        with self.lock:
            tokens = self.chance.randint(1, self.largest)
            self.asked += 1
            self.tokens += tokens
            number = self.asked
        call = {"id": f"c{number}", "type": "function", "function": {
            "name": "todo", "arguments": json.dumps({"items": [{"content": str(number), "status": "pending"}]})}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, tokens


def race(options, folder, number):
    chance = random.Random(f"{options.seed} {number}")
    course = Race(chance)
    flow = Flow(options, folder, course.answer)
    most = chance.randint(1, 3 * MEMBERS) * course.largest  # in tokens, of a dollar for a million
    flow.write(MEMBERS, most / 1e6)
    try:
        code, result, err = flow.run()
    finally:
        flow.close()
    found = []
    if code != 82 or not result or result["stop"]["limit"] != "limits.max_cost_usd":
        return [f"limit {most}: exit code {code}: {err}"]
    spent = round(result["cost_usd"] * 1e6)
    if not most <= spent < most + MEMBERS * course.largest:
        found.append(f"limit {most}, an answer {course.largest} at most: {spent} spent")
    if spent > course.tokens:
        found.append(f"{course.tokens} were answered, and {spent} counted")
    return found


def each_by_itself(options, folder):
    members, most = 4, 40
    course = Race(random.Random(options.seed))
    course.largest = 1
    are_all_there = threading.Barrier(members)
    there = set()

    def answer(asked):
        if len(asked["messages"]) > 2:
            if threading.get_ident() not in there:  # a process has one connection, and that one thread
                there.add(threading.get_ident())
                are_all_there.wait(60 * options.patience)
            time.sleep(0.03)
        return course.answer(asked)

    flow = Flow(options, folder, answer)
    flow.write(members, most / 1e6, asks=True)
    found = []
    try:
        code, _, err = flow.run("run", "--session", "race", "flow.yaml")
        if code != 92:
            return [f"exit code {code}: {err}"]
        with concurrent.futures.ThreadPoolExecutor(members) as pool:
            ends = list(pool.map(lambda at: flow.run("resume", f"race/each[{at}]", "--yes"), range(members)))
        found += [f"exit code {code} of a member: {err}" for code, _, err in ends if code != 82]
        code, result, err = flow.run("resume", "race")
    finally:
        flow.close()
    spent = round(result["cost_usd"] * 1e6) if result else None
    if code != 82 or spent != course.tokens:
        found.append(f"exit code {code}, {spent} of {course.tokens} counted: {err}")
    if course.tokens >= most + 2 * members:  # of each, one under way, and one that is not written yet
        found.append(f"limit {most}: {course.tokens} spent")
    return found


def options_of(description, counted):
    """`counted`: what is played by chance, and how often without being told."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=lambda path: pathlib.Path(path).resolve(), default=DEFAULT_ERRAND)
    parser.add_argument(f"--{counted}", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--patience", type=float, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    return parser.parse_args()


def play(name, options, cases):
    """Each case is a name, what finds what is wrong in a folder of its own, and what else that is told. The exit code."""
    scratch = Scratch(name)
    failed = played = 0
    try:
        for at, (name, case, more) in enumerate(cases):
            folder = scratch.path / str(at)
            found = case(options, folder, *more) + [f"left: {one}" for one in left_behind(folder)]
            played += 1
            failed += bool(found)
            for line in found:
                print(f"FAIL {name}: {line}", flush=True)
            if options.verbose and not found:
                print(f"ok   {name}", flush=True)
    finally:
        scratch.close()
    print(f"{played - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def main():
    options = options_of(__doc__, "rounds")
    return play("flow-members", options, [
        ("ten that are there together", all_ten, ()),
        ("four that are each carried on by themselves", each_by_itself, ()),
        *((f"race {number} (seed {options.seed})", race, (number,)) for number in range(options.rounds))])


if __name__ == "__main__":
    sys.exit(main())
