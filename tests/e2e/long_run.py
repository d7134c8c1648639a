#!/usr/bin/env python3
"""Runs that are longer than the model's window: 300 turns, carried on half-way, in a window of 8,192 tokens.

    tests/e2e/long_run.py [--errand PATH] [-k PATTERN] [-j JOBS] [-v]

The server counts what it is sent, a token for four bytes, and refuses what is too much. Each request is looked at:
whether it fits, each call has its result behind it, the user's words are there, and it begins as the one before,
but where the run says that the conversation was made shorter."""
import argparse
import concurrent.futures
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
TURNS, WINDOW, FILES, LINES = 300, 8192, 40, 60

AGENT = """version: 1
name: long
model: {{name: local/m, protocol: {protocol}, base_url: "{base}", stream: false, context_window: {window}}}
instructions: Read the files one by one.
tools: [read_file, todo]
limits: {{max_repeat_calls: unlimited, timeout: 5m}}
sandbox: {{required: []}}
permissions: {{default: allow}}
retry: {{max_attempts: 2, initial_delay: 1ms}}
context_management: {context}
"""
FIRST = "The word is Rosebud-4711. Read the files until I am content."
SECOND = "The colour is teal-0815. Go on reading."
SUMMARY = "\n".join(f"## {heading}\n{text}" for heading, text in [
    ("Goal", "Read the files."), ("Constraints", "One by one."), ("What was done", "Many files were read."),
    ("Decisions", "None."), ("Open steps", "The other files."), ("Facts needed", "They have 60 lines.")])
CLEAR = "{clear: {at: 60%}}"
SUM_UP = "{clear: off, summarize: {timeout: 500ms, keep_recent: 1k}, pin: [plan.md]}"
MODEL = 'model: {name: other/s, protocol: PROTOCOL, base_url: "BASE", stream: false}'
# What is managed, how summaries are answered, the window that the server has, and what must be among the actions.
ROWS = {
    "old results are cleared": (CLEAR, "ok", WINDOW, {"cleared"}),
    "old turns are summed up": (SUM_UP, "ok", WINDOW, {"summarized"}),
    "another model sums up": (SUM_UP.replace("keep_recent", MODEL + ", keep_recent"), "ok", WINDOW, {"summarized"}),
    "summaries fail": (SUM_UP, "fails", WINDOW, {"failed", "left_out"}),
    "summaries are slow": (SUM_UP.replace("500ms", "100ms"), "slow", WINDOW, {"failed", "left_out"}),
    "summaries are refused": (SUM_UP, "refuses", WINDOW, {"failed", "left_out"}),
    "summaries are too long": (SUM_UP, "too long", WINDOW, {"failed", "left_out"}),
    "an overflow comes early": (SUM_UP, "ok", 6000, {"summarized"}),
    "an overflow comes early, and summaries fail": (SUM_UP, "fails", 6000, {"failed"}),
    "nothing but leaving out": ("{clear: off, summarize: off}", "ok", WINDOW, {"left_out"}),
}


class Model(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, protocol, behaviour, window):
        super().__init__(("127.0.0.1", 0), Handler)
        self.protocol, self.behaviour, self.window = protocol, behaviour, window
        self.wrong, self.before, self.breaks, self.refused, self.turns, self.largest, self.summaries = [], [], 0, 0, 0, 0, 0
        self.answers_at = TURNS // 2
        self.question = ""
        self.done = threading.Event()

    def base(self):
        return f"http://127.0.0.1:{self.server_port}" + ("/v1" if self.protocol == "openai_chat" else "")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece

    def log_message(self, *_):
        pass

    def send(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        tokens = len(body) // 4
        request, model = json.loads(body), self.server
        words = request["messages"][0]["content"] if model.protocol == "openai_chat" else json.dumps(request.get("system"))
        try:
            if "You write the notes" in words:
                self.sum_up(request, tokens)
            else:
                self.turn(request, tokens)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def reply(self, tokens, text=None, call=None):
        model = self.server
        if model.protocol == "openai_chat":
            message = {"role": "assistant", "content": text}
            if call:
                message["tool_calls"] = [{"id": call[0], "type": "function", "function": {
                    "name": call[1], "arguments": json.dumps(call[2], separators=(",", ":"))}}]
            self.send(200, {"id": "x", "object": "chat.completion", "model": "m", "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}],
                "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}})
            return
        content = [{"type": "text", "text": text}] if text else []
        if call:
            content = [{"type": "thinking", "thinking": "I go on.", "signature": "sig-" + call[0]},
                       {"type": "tool_use", "id": call[0], "name": call[1], "input": call[2]}]
        self.send(200, {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": content,
                        "stop_reason": "tool_use" if call else "end_turn",
                        "usage": {"input_tokens": tokens, "output_tokens": 20}})

    def sum_up(self, request, tokens):
        model = self.server
        model.summaries += 1
        question = json.dumps(request["messages"])
        if question == model.question and model.behaviour == "ok":
            model.wrong.append("a summary is asked for of what is summed up already")
        model.question = question
        if request.get("tools"):
            model.wrong.append("the request for a summary offers tools")
        if tokens > WINDOW:
            model.wrong.append(f"the request for a summary has {tokens} tokens")
        if model.behaviour == "fails":
            self.send(500, {"error": {"message": "broken"}})
        elif model.behaviour == "slow":
            model.done.wait(20)
            self.reply(tokens, SUMMARY)
        else:
            self.reply(tokens, {"ok": SUMMARY, "refuses": "I cannot help with that.",
                                "too long": SUMMARY + "\nmore" * 10_000}[model.behaviour])

    def turn(self, request, tokens):
        model = self.server
        if tokens > model.window:
            model.refused += 1
            self.send(400, {"type": "error", "error": {
                "type": "invalid_request_error", "code": "context_length_exceeded",
                "message": f"prompt is too long: {tokens} tokens > {model.window} maximum"}})
            return
        model.largest = max(model.largest, tokens)
        messages = request["messages"]
        (self.check_openai if model.protocol == "openai_chat" else self.check_anthropic)(messages)
        text = json.dumps(messages)
        for fact in [FIRST] + ([SECOND] if model.answers_at == TURNS else []):
            if fact not in text:
                model.wrong.append(f"turn {model.turns + 1} has lost: {fact}")
        # A cache mark wanders with the end; nothing else changes.
        messages = json.loads(json.dumps(messages), object_hook=lambda one: {
            key: value for key, value in one.items() if key != "cache_control"})
        if self.bare(messages)[:len(model.before)] != model.before:
            model.breaks += 1
        model.before = self.bare(messages)
        model.turns += 1
        if model.turns >= model.answers_at:
            self.reply(tokens, "I have read them.")
        elif model.turns % 50 == 3:
            self.reply(tokens, call=(f"c{model.turns}", "todo", {"items": [
                {"content": f"mark-{model.turns}", "status": "pending"}]}))
        else:
            self.reply(tokens, call=(f"c{model.turns}", "read_file", {"path": f"f{model.turns % FILES}.txt"}))

    @staticmethod
    def bare(messages):
        """The parts in a row: a turn of the user's may get more of them."""
        parts = []
        for message in messages:
            content = message.get("content")
            parts += [(message["role"], json.dumps(part, sort_keys=True)) for part in content] \
                if isinstance(content, list) else [(message["role"], json.dumps(message, sort_keys=True))]
        return parts

    def check_openai(self, messages):
        open_calls = []
        for message in messages:
            if message["role"] == "tool":
                if not open_calls or open_calls.pop(0) != message["tool_call_id"]:
                    self.server.wrong.append("a result without its call")
                continue
            if open_calls:
                self.server.wrong.append("a call without its result")
            open_calls = [call["id"] for call in message.get("tool_calls") or []]
        if open_calls:
            self.server.wrong.append("a call without its result")

    def check_anthropic(self, messages):
        open_calls, role = [], None
        for message in messages:
            if message["role"] == role:
                self.server.wrong.append("two turns of one side")
            role = message["role"]
            parts = message["content"] if isinstance(message["content"], list) else []
            results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
            if results != open_calls:
                self.server.wrong.append(f"results {results} of calls {open_calls}")
            open_calls = [part["id"] for part in parts if part["type"] == "tool_use"]
            signed = [part["signature"] for part in parts if part["type"] == "thinking"]
            if open_calls and signed != ["sig-" + one for one in open_calls]:
                self.server.wrong.append("a turn has lost its signature")


def errand(options, folder, arguments):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "TMPDIR": str(folder)}
    done = subprocess.run([str(options.errand), *arguments], cwd=folder / "work", env=env, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, events, done.stderr


def try_row(options, protocol, context, behaviour, window, wanted):
    model = Model(protocol, behaviour, window)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    events, wrong = [], model.wrong
    with tempfile.TemporaryDirectory(prefix="errand-long-") as name:
        folder = pathlib.Path(name)
        (folder / "work").mkdir()
        (folder / "home").mkdir()
        work = folder / "work"
        (work / "agent.yaml").write_text(AGENT.format(
            protocol=protocol, base=model.base(), window=WINDOW,
            context=context.replace("PROTOCOL", protocol).replace("BASE", model.base())))
        (work / "plan.md").write_text("The plan: read.\n")
        for at in range(FILES):
            (work / f"f{at}.txt").write_text("".join(f"file {at} line {line} of its text\n" for line in range(LINES)))
        for arguments in (["run", "-o", "jsonl", "agent.yaml", FIRST], ["resume", "-o", "jsonl", "--last", SECOND]):
            code, more, stderr = errand(options, folder, arguments)
            events += more
            if code != 0:
                wrong.append(f"exit code {code}: {stderr[-400:]}")
                break
            model.answers_at = TURNS
    model.done.set()
    model.shutdown()
    model.server_close()
    passes = [event for event in events if event["type"] == "context.compacted"]
    actions = {event["action"] for event in passes}
    if not wanted <= actions:
        wrong.append(f"what was done is {sorted(actions)}, expected {sorted(wanted)}")
    rewritten = sum(event["action"] != "failed" for event in passes)
    if model.breaks > rewritten:
        wrong.append(f"the requests began anew {model.breaks} times, {rewritten} of them by what the log says")
    if window == WINDOW and model.refused:
        wrong.append(f"{model.refused} requests were larger than the window")
    if model.turns != TURNS:
        wrong.append(f"{model.turns} turns")
    if "{clear: off, summarize: {" in context and model.before and "mark-253" not in json.dumps(model.before):
        wrong.append("the list of steps is lost")
    counts = ", ".join(f"{sum(event['action'] == action for event in passes)} {action}" for action in sorted(actions))
    return f"{model.turns} turns, the largest request {model.largest} tokens, {model.refused} refused, {counts}", wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", dest="pattern", default="", help="only rows whose name has this")
    parser.add_argument("-j", "--jobs", type=int, default=4, help="rows at a time")
    parser.add_argument("-v", "--verbose", action="store_true", help="print all rows")
    options = parser.parse_args()
    options.errand = options.errand.resolve()
    rows = {f"{protocol}, {name}": (protocol, *row) for protocol in ("openai_chat", "anthropic_messages")
            for name, row in ROWS.items() if options.pattern in f"{protocol}, {name}"}
    if not rows:
        sys.exit(f"long_run: no row has `{options.pattern}` in its name")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for title, (text, wrong) in zip(rows, pool.map(lambda row: try_row(options, *row), rows.values())):
            failed += bool(wrong)
            if wrong or options.verbose:
                print(f"{'FAIL' if wrong else 'ok  '} {title}: {text}", flush=True)
            for one in list(dict.fromkeys(wrong))[:10]:
                print("     " + one)
    print(f"{len(rows) - failed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
