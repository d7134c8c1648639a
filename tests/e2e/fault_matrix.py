#!/usr/bin/env python3
"""Every fault of a model server, in every protocol, at every moment of a run: prints what is not as it must be.

    tests/e2e/fault_matrix.py [--errand PATH] [-k PATTERN] [-j N] [-v]

`once`: the fault happens one time, then the server is well. `always`: it happens every time. A cell
is exit code, requests that the server saw, waits between attempts, and `reset` where what was
streamed was called void; -v prints them all."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import server as scripted  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
PROTOCOLS = ("anthropic_messages", "bedrock", "gemini", "ollama", "openai_chat", "openai_responses")
MOMENTS = ("first byte", "mid-stream", "between turns")
ATTEMPTS = 2

OVERLOADED = {"type": "overloaded_error", "message": "Overloaded", "code": 503}
# What the server does, where only its first byte counts and where the answer has begun; and the exit
# code of a run in which it never stops. A status has no middle.
FAULTS = {
    "reset": ({"fault": "reset"}, {"fault": "reset", "after": 5}, 75),
    "close": ({"fault": "close"}, {"fault": "close", "after": 5}, 75),
    "head cut": ({"fault": "head"}, None, 75),
    "stall": ({"fault": "stall"}, {"fault": "stall", "after": 5}, 75),
    "no end mark": ({"fault": "end", "after": 0}, {"fault": "end", "after": 5}, 75),
    "error event": ({"fault": "error_event", "after": 0, "stream_error": OVERLOADED},
                    {"fault": "error_event", "after": 5, "stream_error": OVERLOADED}, 75),
    "status 500": ({"status": 500, "error": {"message": "it broke"}}, None, 75),
    "status 503": ({"status": 503, "error": {"message": "busy"}, "headers": {"retry-after-ms": "20"}}, None, 75),
    "status 429": ({"status": 429, "error": {"message": "slow down"}, "headers": {"retry-after-ms": "20"}}, None, 75),
    "HTML": ({"body": "<html><title>Gateway</title></html>", "content_type": "text/html"}, None, 76),
    "empty 200": ({"body": ""}, None, 75),
}
CALL = {"tools": [{"name": "note", "arguments": {}}]}
ANSWER = {"text": "Everything is as it should be, as far as anybody can tell."}

AGENT = """version: 1
name: matrix
model:
  name: local/model-1
  protocol: {protocol}
  base_url: {base}
  timeouts: {{connect: 5s, first_byte: 1500ms, idle: 1500ms}}
retry: {{max_attempts: {attempts}, initial_delay: 1ms, max_delay: 2s}}
sandbox: {{required: []}}  # it is the server that is tested, on every machine
permissions: {{allow: [note]}}
tools: [{{name: note, description: Notes that it ran., command: [sh, -c, echo ran >>ran.txt; echo noted]}}]
"""


def cells(pattern):
    for protocol in PROTOCOLS:
        for fault, (first, middle, _) in FAULTS.items():
            for moment in MOMENTS:
                step = middle if moment == "mid-stream" else first
                if step is not None and pattern in f"{protocol} {fault} {moment}":
                    yield protocol, fault, moment, step


def play(errand, scratch, protocol, steps):
    """(exit code, the events, how often the tool ran, requests)."""
    server = scripted.Server({"reply": steps})
    base = server.url + ("" if protocol in ("ollama", "bedrock") else "/v1")
    with tempfile.TemporaryDirectory(dir=scratch.path) as folder:
        work, home = (pathlib.Path(folder) / name for name in ("work", "home"))
        work.mkdir()
        home.mkdir()
        (work / "agent.yaml").write_text(AGENT.format(protocol=protocol, base=base, attempts=ATTEMPTS))
        try:
            done = subprocess.run([errand, "run", "-o", "jsonl", "--no-session", "agent.yaml", "go"], cwd=work,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                  env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": folder})
        finally:
            server.close()
        events = [json.loads(line) for line in done.stdout.splitlines()]
        ran = (work / "ran.txt").read_text().count("ran") if (work / "ran.txt").exists() else 0
    return done.returncode, events, ran, len(server.requests), server.faults


def judge(errand, scratch, cell, always):
    """(what is printed, what is wrong or None)"""
    protocol, fault, moment, step = cell
    before = [CALL] if moment == "between turns" else []
    bad = [{**ANSWER, **step}] * (ATTEMPTS if always else 1)
    code, events, ran, requests, faults = play(errand, scratch, protocol, before + bad + ([] if always else [ANSWER]))
    scratch.hold()
    waits = [event["delay_ms"] for event in events if event["type"] == "model.retrying"]
    resets = sum(event["type"] == "model.reset" for event in events)
    text = f"{code:>3} {requests} req, {'+'.join(map(str, waits)) or '0'} ms{', reset' if resets else ''}"
    wanted = FAULTS[fault][2] if always else 0
    result = events[-1]["result"] if events and events[-1]["type"] == "run.finished" else None
    wrong = [what for what, holds in (
        (f"exit code {wanted}", code == wanted),
        (f"{len(before) + ATTEMPTS} requests", requests == len(before) + ATTEMPTS),
        ("a result", result is not None),
        ("one tool run", ran == len(before)),
        ("one wait", len(waits) == ATTEMPTS - 1),
        ("the whole answer", always or (result and result["text"] == ANSWER["text"])),
        ("what was streamed called void", moment != "mid-stream" or resets == ATTEMPTS - 1),
        ("no fault in the requests: " + "; ".join(faults), not faults),
    ) if not holds]
    return text, f"not as it must be: {', '.join(wrong)}" if wrong else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only cells whose protocol, fault and moment have this")
    parser.add_argument("-j", "--jobs", type=int, default=8)
    parser.add_argument("-v", "--verbose", action="store_true", help="print all cells")
    options = parser.parse_args()
    errand = options.errand.resolve()
    rows = list(cells(options.k))
    if not rows:
        sys.exit(f"fault_matrix: no cell has `{options.k}` in its name")
    with Scratch("matrix") as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        once = list(pool.map(lambda cell: judge(errand, scratch, cell, False), rows))
        always = list(pool.map(lambda cell: judge(errand, scratch, cell, True), rows))
    failed = 0
    for (protocol, fault, moment, _), *both in zip(rows, once, always):
        for which, (text, wrong) in zip(("once", "always"), both):
            failed += wrong is not None
            if wrong or options.verbose:
                print(f"{'FAIL' if wrong else 'ok  '} {protocol:<19}{fault:<13}{moment:<15}{which:<8}{text}")
            if wrong:
                print(f"    {wrong}")
    print(f"{2 * len(rows) - failed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
