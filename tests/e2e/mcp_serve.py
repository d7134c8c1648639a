#!/usr/bin/env python3
"""`errand mcp serve` as clients see it, good ones and others: calls, endings, cancellation, garbage, and what is left.

    tests/e2e/mcp_serve.py [--errand PATH] [-k PATTERN] [-j N] [-v]

A row is a function: it starts servers in a folder of its own, and says with `expect` what must come of it. No process
of a row may be left, whatever the ending."""
import http.client
import json
import os
import pathlib
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from rows import main_over_rows  # noqa: E402
from scratch import processes  # noqa: E402

PATIENCE_S = 60
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {}}


class Wrong(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Wrong(str(what)[:700])


def agent_text(name="greeter", replies="[Hello.]", more=""):
    return f"version: 1\nname: {name}\nmodel: replay/{name}.yaml\ninstructions: x\n{more}", \
        f"version: 1\nreplies: {replies}\n"


class Place:
    """The folder of a row."""

    def __init__(self, errand, folder, most_kib):
        self.errand, self.folder, self.most_kib = errand, folder, most_kib
        self.work = folder / "work"
        for name in ("work", "home"):
            (folder / name).mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "TMPDIR": str(folder),
                            "A_SECRET_TOKEN": "gvCx81a9Qk2"}
        self.started = []

    def agent(self, name="greeter", replies="[Hello.]", more="", **files):
        text, script = agent_text(name, replies, more)
        (self.work / f"{name}.agent.yaml").write_text(text)
        (self.work / f"{name}.yaml").write_text(script)
        for file, content in files.items():
            (self.work / file).write_text(content)
        return f"{name}.agent.yaml"

    def serve(self, *words, **options):
        server = Server(self, words, **options)
        self.started.append(server)
        return server

    def run(self, *words):
        return subprocess.run([str(self.errand), *words], cwd=self.work, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)

    def runs(self):
        """Those that the journal has, the last one first."""
        listed = self.run("runs", "list", "-o", "json")
        return json.loads(listed.stdout)["runs"]

    def end(self):
        for server in self.started:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()


class Server:
    """`errand mcp serve`, and this end of its stdin and stdout."""

    def __init__(self, place, words, is_read=True):
        self.said = open(place.folder / f"stderr.{len(place.started)}", "w+")
        self.process = subprocess.Popen([str(place.errand), "mcp", "serve", *words], cwd=place.work,
                                        env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.said)
        self.messages, self.kept, self.last_id = queue.Queue(), [], 0
        if is_read:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.messages.put(json.loads(line))
        self.messages.put(None)

    def write(self, text):
        self.process.stdin.write(text if isinstance(text, bytes) else text.encode())
        self.process.stdin.flush()

    def send(self, method, params=None, number=None):
        message = {"jsonrpc": "2.0", "method": method}
        if number is not None:
            message["id"] = number
        if params is not None:
            message["params"] = params
        self.write(json.dumps(message) + "\n")

    def next(self, patience=PATIENCE_S):
        message = self.messages.get(timeout=patience)
        expect(message is not None, "the server has ended: " + self.stderr())
        return message

    def answer(self, number):
        """What answers the request; what else comes is kept."""
        for message in self.kept:
            if message.get("id", "none") == number:
                self.kept.remove(message)
                return message
        while (message := self.next()).get("id", "none") != number:
            self.kept.append(message)
        return message

    def ask(self, method, params=None):
        self.last_id += 1
        self.send(method, params, self.last_id)
        return self.answer(self.last_id)

    def begin(self, revision="2025-11-25"):
        agreed = self.ask("initialize", {"protocolVersion": revision, "capabilities": {},
                                         "clientInfo": {"name": "row", "version": "1"}})
        self.send("notifications/initialized")
        return agreed["result"]

    def call(self, name="greeter", arguments=None, meta=None):
        params = {"name": name, "arguments": {"prompt": "Do it."} if arguments is None else arguments}
        return self.ask("tools/call", {**params, **({"_meta": meta} if meta else {})})

    def start_call(self, number, name="greeter", meta=None):
        self.send("tools/call", {"name": name, "arguments": {"prompt": "Do it."},
                                 **({"_meta": meta} if meta else {})}, number)

    def progress(self):
        """The next one."""
        while (message := self.next()).get("method") != "notifications/progress":
            self.kept.append(message)
        return message["params"]

    def close(self, code=0):
        self.process.stdin.close()
        return self.wait(code)

    def wait(self, code=0):
        found = self.process.wait(timeout=PATIENCE_S)
        expect(found == code, f"exit code {found}, expected {code}: {self.stderr()}")

    def stderr(self):
        self.said.flush()
        self.said.seek(0)
        return self.said.read()


class Web:
    """A client of `errand mcp serve --http`. Each request has a connection of its own."""

    def __init__(self, place, *words, token=None, options=()):
        self.server = place.serve("--http", "0", *options, *words)
        self.token, self.session, self.last_id = token, None, 0
        until = time.monotonic() + PATIENCE_S
        while not (found := re.search(r"serving http://(\S+?):(\d+)/mcp", self.server.stderr())):
            expect(time.monotonic() < until and self.server.process.poll() is None, self.server.stderr())
            time.sleep(0.02)
        self.host, self.port = found.group(1), int(found.group(2))

    def headers(self, more):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        headers.update(more)
        return {name: value for name, value in headers.items() if value is not None}

    def open(self, body, verb="POST", path="/mcp", **more):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        text = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
        connection.request(verb, path, text, self.headers({key.replace("_", "-"): more[key] for key in more}))
        answer = connection.getresponse()
        answer.connection = connection
        return answer

    def post(self, body, **more):
        """(status, messages, headers)."""
        answer = self.open(body, **more)
        text = answer.read().decode()
        kind = answer.headers.get("Content-Type", "")
        messages = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")] \
            if kind == "text/event-stream" else [json.loads(text)] if kind == "application/json" else [text]
        answer.connection.close()
        return answer.status, messages, answer.headers

    def request(self, method, params=None):
        self.last_id += 1
        return {"jsonrpc": "2.0", "id": self.last_id, "method": method, **({"params": params} if params else {})}

    def ask(self, method, params=None, **more):
        status, messages, _ = self.post(self.request(method, params), **more)
        return status, messages[-1]

    def begin(self):
        message = self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                              "clientInfo": {"name": "row", "version": "1"}})
        status, _, headers = self.post(message)
        expect(status == 200, status)
        self.session = headers["Mcp-Session-Id"]
        status, _, _ = self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        expect(status == 202, status)

    def ask_modern(self, method, params=None, **more):
        params = {**(params or {}), "_meta": MODERN}
        headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method}
        if "name" in params:
            headers["Mcp_Name"] = params["name"]
        return self.ask(method, params, **{**headers, **more})

    def raw(self, data, wanted="\r\n", times=1):
        """What comes back for these bytes, until there is so much of it or the server closes."""
        found = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as peer:
            try:
                peer.sendall(data)
                while found.count(wanted.encode()) < times and (more := peer.recv(65536)):
                    found += more
            except (TimeoutError, ConnectionError):
                pass
        return found.decode()

    def end(self):
        self.server.process.send_signal(signal.SIGTERM)
        self.server.wait(-signal.SIGTERM)


SLOW = "[{text: Hello., delay: 50s}]"


def is_calls_text(answer, text):
    return answer["result"]["content"][0]["text"] == text and answer["result"]["isError"] is False


# ---- rows ----

def a_call_is_a_run(place):
    server = place.serve(place.agent(more="description: Greets people.\n"))
    agreed = server.begin()
    expect(agreed["protocolVersion"] == "2025-11-25" and agreed["serverInfo"]["name"] == "errand", agreed)
    expect(server.ask("ping")["result"] == {}, "ping")
    tool, = server.ask("tools/list")["result"]["tools"]
    expect(tool["name"] == "greeter" and tool["description"] == "Greets people.", tool)
    expect(tool["inputSchema"]["required"] == ["prompt"] and "outputSchema" not in tool, tool)
    answer = server.call()
    expect(is_calls_text(answer, "Hello."), answer)
    bill = answer["result"]["_meta"]["errand/result"]
    expect(bill["exit_code"] == 0 and bill["turns"] == 1, bill)
    server.close()
    run, = place.runs()
    expect(run["run_id"] == bill["run_id"] and run["exit_code"] == 0, run)


def parameters_are_checked(place):
    more = ("prompt: Greet {{ who }} {{ times }} times.\nparameters:\n  who: {type: string, required: true, "
            "enum: [Ann, Bo]}\n  times: {type: integer, default: 1}\n")
    server = place.serve(place.agent(more=more))
    server.begin()
    schema = server.ask("tools/list")["result"]["tools"][0]["inputSchema"]
    expect(schema["properties"]["who"]["enum"] == ["Ann", "Bo"], schema)
    expect(schema["properties"]["times"] == {"type": "integer", "default": 1}, schema)
    expect(schema["required"] == ["who"], schema)
    for arguments, word in (({}, "who"), ({"who": "Cy"}, "/who"), ({"who": "Bo", "times": "two"}, "/times"),
                            ({"who": "Bo", "else": 1}, "else")):
        result = server.call(arguments=arguments)["result"]
        expect(result["isError"] and word in result["content"][0]["text"], result)
        expect(result["_meta"]["errand/result"]["exit_name"] == "usage", result)
    expect(is_calls_text(server.call(arguments={"who": "Bo", "times": 2}), "Hello."), "the right ones")
    server.close()


def a_set_parameter_is_no_clients(place):
    agent = place.agent(more="prompt: Greet {{ who }}.\nparameters:\n  who: {type: string, required: true}\n")
    server = place.serve("-P", "who=Ann", agent)
    server.begin()
    schema = server.ask("tools/list")["result"]["tools"][0]["inputSchema"]
    expect("who" not in schema["properties"] and schema["required"] == [], schema)
    expect(server.call(arguments={"who": "Bo"})["result"]["isError"], "it could be set")
    expect(is_calls_text(server.call(arguments={}), "Hello."), "without it")
    server.close()


def an_ending_is_an_error_with_its_name(place):
    replies = "[{tool_calls: [{name: list_directory, arguments: {path: .}}], repeat: 3}]"
    server = place.serve(place.agent(replies=replies, more="tools: [list_directory]\nlimits: {max_turns: 1}\n"))
    server.begin()
    result = server.call()["result"]
    expect(result["isError"], result)
    text, bill = result["content"][0]["text"], result["_meta"]["errand/result"]
    expect("max_turns (80)" in text and "1 turn" in text and bill["run_id"] in text, text)
    expect(bill["exit_code"] == 80 and bill["exit_name"] == "max_turns", bill)
    server.close()


def a_time_limit_while_its_servers_start(place):
    server = place.serve(place.agent(more="limits: {timeout: 500ms}\n"
                                          "mcp_servers: {mute: {command: sleep, args: ['50']}}\n"))
    server.begin()
    result = server.call()["result"]
    bill = result["_meta"]["errand/result"]
    expect(result["isError"] and bill["exit_code"] == 124 and bill["duration_ms"] >= 500, bill)
    expect("the MCP server `mute` had not answered yet" in result["content"][0]["text"], result)
    server.close()


def what_waits_for_a_yes_says_how(place):
    replies = "[{tool_calls: [{name: write_file, arguments: {path: a, content: b}}]}, Done.]"
    server = place.serve(place.agent(replies=replies,
                                     more="tools: [write_file]\npermissions: {ask: [write_file]}\n"))
    server.begin()
    result = server.call()["result"]
    bill = result["_meta"]["errand/result"]
    expect(result["isError"] and f"errand resume {bill['run_id']}" in result["content"][0]["text"], result)
    server.close()
    (place.work / "greeter.yaml").write_text("version: 1\nreplies: [Done.]\n")
    resumed = place.run("resume", bill["run_id"], "--approve", "call_1")
    expect(resumed.returncode == 0 and (place.work / "a").read_text() == "b", resumed)


def structured_output(place):
    more = "output: {schema: {type: object, properties: {n: {type: integer}}, required: [n]}}\n"
    server = place.serve(place.agent(replies="['{\"n\": 7}']", more=more))
    server.begin()
    tool, = server.ask("tools/list")["result"]["tools"]
    expect(tool["outputSchema"]["required"] == ["n"], tool)
    result = server.call()["result"]
    expect(result["structuredContent"] == {"n": 7} and json.loads(result["content"][0]["text"]) == {"n": 7}, result)
    server.close()


def progress_is_of_its_call(place):
    replies = "[{tool_calls: [{name: list_directory, arguments: {path: .}}]}, Done.]"
    server = place.serve(place.agent(replies=replies, more="tools: [list_directory]\n"))
    server.begin()
    expect(is_calls_text(server.call(meta={"progressToken": "mine"}), "Done."), "the answer")
    progress = [message["params"] for message in server.kept]
    expect([one["progressToken"] for one in progress] == ["mine"] * len(progress), progress)
    expect([one["progress"] for one in progress] == list(range(1, len(progress) + 1)), progress)
    lines = [one["message"] for one in progress]
    expect(lines == ["turn 1", "calls list_directory", "turn 2"], lines)
    server.kept.clear()
    server.call()
    expect(server.kept == [], server.kept)
    server.close()


def calls_that_are_silent_or_wait_give_signs(place):
    server = place.serve("-j", "1", place.agent(replies=SLOW))
    server.begin()
    server.start_call(1, meta={"progressToken": "at work"})
    server.start_call(2, meta={"progressToken": "waits"})
    server.start_call(3)
    heard = {}
    while len(heard) < 2:
        progress = server.progress()
        if progress["message"] != "turn 1":
            heard[progress["progressToken"]] = progress["message"]
    expect(heard == {"at work": "is at work", "waits": "waits for other calls"}, heard)
    server.process.stdin.close()
    server.wait()


def an_id_is_free_with_its_answer(place):
    server = place.serve(place.agent())
    server.begin()
    for _ in range(40):
        server.start_call("again", "greeter")
        expect(is_calls_text(server.answer("again"), "Hello."), "by an id that has been answered")
    server.close()


def a_cancelled_call_ends_without_an_answer(place):
    server = place.serve(place.agent(replies=SLOW))
    server.begin()
    server.start_call("slow", meta={"progressToken": 1})
    server.progress()
    server.send("notifications/cancelled", {"requestId": "slow", "reason": "never mind"})
    server.send("notifications/cancelled", {"requestId": "nobody's"})
    expect(server.ask("ping")["result"] == {}, "ping")
    server.close()
    run, = place.runs()
    expect(run["exit_code"] == 143, run)
    expect(all(message.get("id") != "slow" for message in server.kept), server.kept)


def the_end_of_input_ends_runs(place):
    server = place.serve(place.agent(replies=SLOW))
    server.begin()
    server.start_call(7, meta={"progressToken": 1})
    server.progress()
    server.process.stdin.close()
    answer = server.answer(7)
    expect(answer["result"]["isError"] and "the client has closed its end" in str(answer), answer)
    server.wait()
    run, = place.runs()
    expect(run["exit_code"] == 143, run)


def a_signal_ends_all(place):
    server = place.serve(place.agent(replies=SLOW))
    server.begin()
    server.start_call(7, meta={"progressToken": 1})
    server.progress()
    server.process.send_signal(signal.SIGTERM)
    expect(server.answer(7)["result"]["_meta"]["errand/result"]["exit_code"] == 143, "the answer")
    server.wait(-signal.SIGTERM)


CLIENT = """
import json, subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for number, method, params in ((1, "initialize", {"protocolVersion": "2025-11-25"}),
                               (2, "tools/call", {"name": "greeter", "arguments": {"prompt": "x"},
                                                  "_meta": {"progressToken": 1}})):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\\n")
    server.stdin.flush()
while b"progress" not in server.stdout.readline():
    pass
print("there", flush=True)
time.sleep(60)
"""


def a_client_that_is_killed(place):
    agent = place.agent(replies=SLOW)
    with subprocess.Popen([sys.executable, "-c", CLIENT, str(place.errand), "mcp", "serve", agent], cwd=place.work,
                          env=place.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        expect(client.stdout.readline() == b"there\n", "it came to no call")
        client.kill()
    until = time.monotonic() + PATIENCE_S
    while processes(str(place.folder), place.folder) and time.monotonic() < until:
        time.sleep(0.1)
    run, = place.runs()
    expect(run["exit_code"] in (141, 143), run)


def a_reader_that_goes_while_nothing_is_said(place):
    """Its end of stdin stays open, and so does the run's tool."""
    quiet = "[{tool_calls: [{name: shell, arguments: {command: 'touch here; sleep 600'}}]}, Done.]"
    server = place.serve(place.agent(replies=quiet, more="tools: [shell]\npermissions: {default: allow}\n"), is_read=False)
    server.send("initialize", {"protocolVersion": "2025-11-25"}, 1)
    server.start_call(7)
    expect(b"protocolVersion" in server.process.stdout.readline(), "the handshake")
    until = time.monotonic() + PATIENCE_S
    while not (place.work / "here").exists() and time.monotonic() < until:
        time.sleep(0.05)
    server.process.stdout.close()
    server.wait(-signal.SIGPIPE)
    run, = place.runs()
    expect(run["exit_code"] in (141, 143), run)


def a_signal_while_nobody_reads(place):
    server = place.serve(place.agent(), is_read=False)
    server.send("initialize", {"protocolVersion": "2025-11-25"}, 1)
    expect(b"protocolVersion" in server.process.stdout.readline(), "the handshake")
    for number in range(5_000):
        server.send("tools/list", number=f"list {number}")
        if select.select([], [server.process.stdin], [], 0.3)[1] == []:
            break
    server.process.send_signal(signal.SIGTERM)
    server.wait(-signal.SIGTERM)


def two_calls_at_once(place):
    server = place.serve(place.agent("slow", SLOW), place.agent("quick"))
    server.begin()
    server.start_call("a", "slow", {"progressToken": 1})
    expect(is_calls_text(server.call("quick"), "Hello."), "beside the slow one")
    server.send("notifications/cancelled", {"requestId": "a"})
    server.close()


def so_many_calls_and_no_more(place):
    server = place.serve("-j", "1", place.agent(replies=SLOW))
    server.begin()
    server.start_call(100, meta={"progressToken": 1})
    server.progress()
    for number in range(101, 166):
        server.start_call(number)
    refused = server.answer(165)
    expect(refused["error"]["code"] == -32000, refused)
    server.start_call(100)
    expect(server.answer(100)["error"]["code"] == -32600, "an id that is taken")
    server.send("notifications/cancelled", {"requestId": 164})
    server.start_call(200)
    server.process.stdin.close()
    expect(server.answer(200)["result"]["isError"], "one that waited")
    server.wait()
    expect(len(place.runs()) == 1, place.runs())


def garbage_is_answered(place):
    server = place.serve(place.agent())
    for line, code in (("{half", -32700), ("\xff\xfe", -32700), ("[]", -32600), ("7", -32600), ("{}", -32600),
                       ('{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600),
                       ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                       ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
                       ("[" * 300 + "]" * 300, -32700)):
        server.write(line.encode("latin-1") + b"\n")
        answer = server.next()
        expect(answer["error"]["code"] == code and answer["id"] is None, f"{line[:40]}: {answer}")
    server.write(b"\n  \r\n")
    for method, params, code in (("tools/list", None, -32600), ("tools/call", {"name": "greeter"}, -32600),
                                 ("nothing", None, -32601), ("initialize", {}, -32602), ("initialize", [], -32602)):
        answer = server.ask(method, params)
        expect(answer["error"]["code"] == code, f"{method}: {answer}")
    server.begin()
    for method, params, code in (("initialize", {"protocolVersion": "2025-11-25"}, -32600),
                                 ("tools/list", {"cursor": "x"}, -32602), ("resources/list", None, -32601),
                                 ("tools/call", {"name": "nobody"}, -32602), ("tools/call", {}, -32602),
                                 ("tools/call", {"name": "greeter", "arguments": []}, -32602)):
        answer = server.ask(method, params)
        expect(answer["error"]["code"] == code, f"{method}: {answer}")
    server.write('{"jsonrpc":"2.0","id":1,"result":{}}\n')
    expect(is_calls_text(server.call(), "Hello."), "it goes on")
    server.close()


def a_line_that_is_too_long(place):
    server = place.serve(place.agent())
    server.begin()
    for _ in range(40):
        server.write(b"x" * (1 << 20))
    server.write(b"\n")
    expect(server.next()["error"]["code"] == -32600, "the long one")
    expect(is_calls_text(server.call(), "Hello."), "it goes on")
    with open(f"/proc/{server.process.pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    expect(peak < place.most_kib, f"{peak} KiB")
    server.close()


def a_list_of_messages(place):
    server = place.serve(place.agent())
    server.begin("2025-03-26")
    server.write('[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]\n')
    expect([one["result"] for one in server.next()] == [{}, {}], "both")
    call = {"jsonrpc": "2.0", "id": "c", "method": "tools/call",
            "params": {"name": "greeter", "arguments": {"prompt": "Do it."}}}
    server.write(json.dumps([call, 7, {"jsonrpc": "2.0", "method": "notifications/none"}, {"id": 3, "method": 4},
                             {"jsonrpc": "2.0", "id": "d", "method": "ping"}]) + "\n")
    answers = server.next()
    expect([one.get("id") for one in answers] == [None, 3, "d", "c"], answers)
    expect([one["error"]["code"] for one in answers[:2]] == [-32600, -32600], answers)
    expect(answers[2]["result"] == {} and is_calls_text(answers[3], "Hello."), answers)
    server.write('[{"jsonrpc":"2.0","method":"notifications/none"}]\n')
    server.write('[]\n')
    expect(server.next()["error"]["code"] == -32600, "the empty one")
    server.close()


def requests_that_cannot_be_read(place):
    server = place.serve(place.agent())
    server.begin()
    for number, text in enumerate(('"method":7', '"params":{}', '"method":"x","params":' + "[" * 300 + "]" * 300,
                                   '"method":"x\\ud800"', '"method":"x"')):
        server.write('{"jsonrpc":"2.0","id":"%d",%s}\n' % (number, text))
        expect("error" in server.answer(str(number)), text[:40])
    server.write('{"jsonrpc":"2.0","id":null,"method":"ping"}\n')
    expect(server.next()["error"]["code"] == -32600, "an id that is null")
    server.close()


def older_revisions(place):
    for revision in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"):
        server = place.serve(place.agent())
        expect(server.begin(revision)["protocolVersion"] == revision, revision)
        server.close()
    server = place.serve(place.agent())
    expect(server.begin("1999-01-01")["protocolVersion"] == "2025-11-25", "an unknown one")
    server.close()


def without_a_session(place):
    server = place.serve(place.agent())
    found = server.ask("server/discover", {"_meta": MODERN})["result"]
    expect(found["resultType"] == "complete" and "2026-07-28" in found["supportedVersions"], found)
    expect(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "errand", found)
    listed = server.ask("tools/list", {"_meta": MODERN})["result"]
    expect(listed["tools"][0]["name"] == "greeter" and listed["ttlMs"] == 0, listed)
    expect(listed["cacheScope"] == "private", listed)
    answer = server.call(meta=MODERN)
    expect(is_calls_text(answer, "Hello.") and answer["result"]["resultType"] == "complete", answer)
    for method in ("initialize", "ping", "logging/setLevel"):
        expect(server.ask(method, {"_meta": MODERN})["error"]["code"] == -32601, method)
    for lacks in MODERN:
        meta = {key: value for key, value in MODERN.items() if key != lacks}
        expect(server.ask("server/discover", {"_meta": meta})["error"]["code"] == -32602, lacks)
    other = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    refused = server.ask("tools/list", {"_meta": other})["error"]
    expect(refused["code"] == -32022 and refused["data"]["requested"] == "2099-01-01", refused)
    expect("2026-07-28" in refused["data"]["supported"], refused)
    server.close()


def a_reader_that_does_not_read(place):
    """It is heard no more once a megabyte waits for it, and holds up nobody's end."""
    server = place.serve(place.agent(), is_read=False)
    os.set_blocking(server.process.stdin.fileno(), False)
    ping = b'{"jsonrpc":"2.0","id":"' + b"x" * 1000 + b'","method":"ping"}\n'
    written, quiet = 0, time.monotonic()
    while time.monotonic() - quiet < 2:
        try:
            written += os.write(server.process.stdin.fileno(), ping * 32)
            quiet = time.monotonic()
            expect(written < 100 << 20, "everything is taken in")
        except BlockingIOError:
            time.sleep(0.05)
    with open(f"/proc/{server.process.pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    expect(peak < place.most_kib, f"{peak} KiB")
    server.process.stdin.close()
    server.wait()


def secrets_stay(place):
    server = place.serve("-v", place.agent(replies="[the token is gvCx81a9Qk2]"))
    server.begin()
    answer = server.call()
    server.close()
    expect("[redacted]" in str(answer) and "gvCx81a9Qk2" not in str(answer) + server.stderr(), answer)


def agents_that_do_not_load(place):
    (place.work / "broken.yaml").write_text("version: 1\nname: b\nmodl: x\n")
    for words, code in ((["broken.yaml"], 78), ([place.agent(), place.agent()], 2), ([], 2), (["missing.yaml"], 78),
                        ([place.agent(), "-P", "nobody=1"], 2), ([place.agent(), "-j", "65"], 2),
                        ([place.agent("n", more="parameters: {n: {type: number, default: 1}}\n"), "-P", "n=abc"], 2)):
        ended = place.run("mcp", "serve", *words)
        expect(ended.returncode == code and ended.stdout == "" and "error" in ended.stderr, f"{words}: {ended}")


def tools_of_an_agent(place):
    more = ("tools: [shell, read_file, write_file, ask_user, task_failed, read_result]\n"
            "permissions: {default: allow, ask: ['write_file(c)'], deny: ['write_file(b)']}\n")
    server = place.serve("--tools", place.agent("coder", more=more), place.agent())
    server.begin()
    tools = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
    expect(sorted(tools) == ["greeter", "read_file", "shell", "write_file"], sorted(tools))
    expect(tools["shell"]["inputSchema"]["type"] == "object", tools["shell"])
    answer = server.call("shell", {"command": "echo one two"}, {"progressToken": 1})
    expect("one two" in answer["result"]["content"][0]["text"] and not answer["result"]["isError"], answer)
    expect(server.kept[0]["params"]["message"] == "calls shell", server.kept)
    failed = server.call("shell", {"command": "exit 3"})["result"]
    expect(failed["_meta"]["errand/result"]["exit_status"] == 3 and "status 3" in str(failed["content"]), failed)
    late = server.call("shell", {"command": "sleep 49", "timeout": 1})["result"]["_meta"]["errand/result"]
    expect(late["code"] == "tool.timeout" and late["exit_status"] is None, late)
    for name, arguments, code in (("shell", {"cmd": "ls"}, "tool.invalid_parameters"),
                                  ("write_file", {"path": "b", "content": "x"}, "tool.policy_blocked"),
                                  ("write_file", {"path": "c", "content": "x"}, "tool.confirmation_required"),
                                  ("write_file", {"path": "../a", "content": "x"}, "sandbox.violation"),
                                  ("read_file", {"path": "/etc/shadow"}, "sandbox.violation")):
        result = server.call(name, arguments)["result"]
        expect(result["isError"], f"{name} {arguments}: {result}")
        bill = result["_meta"]["errand/result"]
        expect(bill["code"] == code, f"{name} {arguments}: {result}")
        expect(set(bill) == {"exit_status", "truncated", "duration_ms", "code"} and bill["exit_status"] is None, f"{name} {arguments}: {result}")
    (place.folder / "outside").mkdir()
    (place.work / "link").symlink_to("../outside/new.txt")
    refused = server.call("write_file", {"path": "link", "content": "x"})["result"]
    expect(refused["isError"] and f"write: [{place.folder / 'outside'}]" in str(refused["content"]), refused)
    expect(not server.call("write_file", {"path": "a", "content": "x"})["result"]["isError"], "inside")
    expect((place.work / "a").read_text() == "x" and not (place.folder / "a").exists(), "what was written")
    secret = server.call("shell", {"command": "echo $A_SECRET_TOKEN"})
    expect("gvCx81a9Qk2" not in str(secret), secret)
    expect(is_calls_text(server.call("greeter"), "Hello."), "the agent beside them")
    server.close()


def what_one_obeys_no_other_changes(place):
    scripts = ("deploy.sh", "keep.sh")
    files = (*scripts, "deployer.agent.yaml", "keeper.agent.yaml", "writer.agent.yaml")
    line = "; ".join(f"echo evil >>{file}" for file in files) + "; true"
    calls = f"[{{tool_calls: [{{shell: {{command: '{line}'}}}}]}}, Tried.]"
    command = "- {{name: {0}, description: d, command: [sh, {0}.sh]}}\n"
    place.agent("writer", calls, more="tools: [shell]\n")
    place.agent("deployer", more="tools:\n" + command.format("deploy"))
    keeper = place.agent("keeper", more="tools:\n- shell\n" + command.format("keep") + "permissions: {default: allow}\n",
                         **dict.fromkeys(scripts, "echo good\n"))
    server = place.serve("--tools", keeper, "writer.agent.yaml", "deployer.agent.yaml")
    server.begin()
    expect(is_calls_text(server.call("writer"), "Tried."), "the agent that writes")
    server.call("shell", {"command": line})
    for file in files:
        expect("evil" not in (place.work / file).read_text(), file)
    server.close()


def what_one_call_has_made_no_other_brings_back(place):
    """A test case names files, so that the second call does not obey the same ones as the first."""
    plants = "mkdir -p .errand; echo agent: made.yaml >new.test.yaml; touch made; until test -e began; do sleep .02; done"
    begins = "until test -e made; do sleep .02; done; touch began; until test -e ended; do sleep .02; done"
    more = "tools: [shell]\npermissions: {{default: allow}}\nhooks: {{run_start: [{{command: sh {0}.sh}}]}}\n"
    agents = [place.agent(name, f"[{{tool_calls: [{{shell: {{command: '{line}'}}}}]}}, Tried.]", more=more.format(name),
                          **{f"{name}.sh": "true"}) for name, line in (("planter", plants), ("other", begins))]
    server = place.serve(*agents)
    server.begin()
    server.start_call(1, "planter")
    ends = time.monotonic() + PATIENCE_S
    while not (place.work / "made").exists():
        expect(time.monotonic() < ends, "the first one has made nothing")
        time.sleep(0.02)
    server.start_call(2, "other")
    expect(is_calls_text(server.answer(1), "Tried."), "the one that plants")
    (place.work / "ended").touch()
    expect(is_calls_text(server.answer(2), "Tried."), "the one that came meanwhile")
    for name in ("new.test.yaml", ".errand"):
        expect(not (place.work / name).exists(), name)
    server.close()


def a_tool_that_needs_a_yes(place):
    more = "tools: [write_file]\npermissions: {ask: [write_file], deny: ['write_file(b)']}\n"
    agent = place.agent("coder", more=more)
    server = place.serve("--tools", agent)
    server.begin()
    result = server.call("write_file", {"path": "a", "content": "x"})["result"]
    expect(result["isError"] and "confirmation_required" in str(result), result)
    expect(not (place.work / "a").exists(), "it was written")
    server.close()
    server = place.serve("--tools", agent, "--yes")
    server.begin()
    expect(not server.call("write_file", {"path": "a", "content": "x"})["result"]["isError"], "with --yes")
    expect(server.call("write_file", {"path": "b", "content": "x"})["result"]["isError"], "a no stays one")
    server.close()


def tools_take_turns(place):
    """In the order in which calls came; who runs an agent does not wait for them."""
    server = place.serve("--tools", place.agent("coder", more="tools: [shell]\npermissions: {default: allow}\n"), place.agent())
    server.begin()
    calls = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
        "name": "shell", "arguments": {"command": f"echo {number} >>order"}}} for number in range(100, 130)]
    server.write("".join(json.dumps(call) + "\n" for call in calls))
    for number in range(100, 130):
        expect(not server.answer(number)["result"]["isError"], number)
    found = (place.work / "order").read_text().split()
    expect(found == [str(number) for number in range(100, 130)], found)
    for number in range(200, 210):
        server.send("tools/call", {"name": "shell", "arguments": {"command": "sleep 49"}}, number)
    expect(is_calls_text(server.call(), "Hello."), "an agent, meanwhile")
    server.process.stdin.close()
    server.wait()


def a_cancelled_call_that_waits_holds_up_nobody(place):
    server = place.serve("--tools", place.agent("coder", more="tools: [shell]\npermissions: {default: allow}\n"))
    server.begin()
    for number in (1, 2):
        server.send("tools/call", {"name": "shell", "arguments": {"command": "sleep 490"}, "_meta": {"progressToken": 1}}, number)
    server.progress()
    for number in (2, 1):
        server.send("notifications/cancelled", {"requestId": number})
    server.send("tools/call", {"name": "shell", "arguments": {"command": "echo behind"}}, 3)
    expect("behind" in str(server.answer(3)), "the next one")
    server.close()


def a_kill_switch_holds_for_tools(place):
    more = "tools: [shell]\npermissions: {default: allow}\nguardrails: {kill_switch: off.switch}\n"
    server = place.serve("--tools", place.agent("coder", more=more))
    server.begin()
    expect(not server.call("shell", {"command": "echo x >>did"})["result"]["isError"], "before")
    (place.work / "off.switch").touch()
    result = server.call("shell", {"command": "echo x >>did"})["result"]
    expect(result["isError"] and result["_meta"]["errand/result"]["code"] == "guardrail.killed", result)
    expect((place.work / "did").read_text() == "x\n", "it ran")
    (place.work / "off.switch").unlink()
    expect(not server.call("shell", {"command": "true"})["result"]["isError"], "behind it")
    server.close()


def variables_of_runs_keep_no_tool(place):
    place.environment |= {"ERRAND_TIMEOUT": "5s", "ERRAND_MAX_TURNS": "3", "ERRAND_MODEL": "replay/x.yaml"}
    server = place.serve("--tools", place.agent("coder", more="tools: [shell]\npermissions: {default: allow}\n"))
    server.begin()
    expect(not server.call("shell", {"command": "true"})["result"]["isError"], "a call")
    server.close()


def a_tool_that_is_cancelled(place):
    server = place.serve("--tools", place.agent("coder", more="tools: [shell]\npermissions: {default: allow}\n"))
    server.begin()
    server.send("tools/call", {"name": "shell", "arguments": {"command": "sleep 49"},
                               "_meta": {"progressToken": 1}}, "s")
    server.progress()
    begin = time.monotonic()
    server.send("notifications/cancelled", {"requestId": "s"})
    answer = server.call("shell", {"command": "echo next"})
    expect("next" in answer["result"]["content"][0]["text"] and time.monotonic() - begin < 45, answer)
    server.close()


def tools_that_cannot_be_served(place):
    hooks = "tools: [shell]\nhooks: {pre_tool_use: [{command: [sh, -c, 'true']}]}\n"
    for words, code in ((["--tools", place.agent("coder", more=hooks)], 78), (["--tools", "missing.yaml"], 78),
                        (["--deny", "nope", place.agent("e")], 2),
                        (["--timeout", "2s", "--tools", place.agent("b", more="tools: [shell]\n")], 2),
                        (["--tools", place.agent("c", more="tools: [shell]\n"), place.agent("shell")], 2)):
        ended = place.run("mcp", "serve", *words)
        expect(ended.returncode == code and ended.stdout == "" and "error" in ended.stderr, f"{words}: {ended}")
    alone = place.agent("d", more="tools: [shell]\nsub_agents: {kid: {description: x, instructions: x}}\n")
    ended = place.run("mcp", "serve", "--tools", alone)
    expect(ended.returncode == 0 and "the sub-agents of the agent are left out" in ended.stderr, ended)


# ---- rows over HTTP ----

def http_in_a_session(place):
    web = Web(place, place.agent())
    expect(web.ask("tools/list")[0] == 400, "without a session")
    web.begin()
    status, listed = web.ask("tools/list")
    expect(status == 200 and listed["result"]["tools"][0]["name"] == "greeter", listed)
    params = {"name": "greeter", "arguments": {"prompt": "Do it."}}
    status, messages, headers = web.post(web.request("tools/call", {**params, "_meta": {"progressToken": "t"}}))
    expect(status == 200 and headers["Content-Type"] == "text/event-stream", status)
    expect(messages[0]["method"] == "notifications/progress", messages)
    expect(messages[0]["params"] == {"progressToken": "t", "progress": 1, "message": "turn 1"}, messages)
    expect(is_calls_text(messages[-1], "Hello."), messages)
    mine, web.session = web.session, "0" * 32
    expect(web.ask("tools/list")[0] == 404, "another session")
    web.session = mine
    expect(web.post(None, verb="DELETE")[0] == 204, "its end")
    expect(web.ask("tools/list")[0] == 404, "after its end")
    web.end()


def http_without_a_session(place):
    web = Web(place, place.agent())
    status, found = web.ask_modern("server/discover")
    expect(status == 200 and found["result"]["resultType"] == "complete", found)
    status, answer = web.ask_modern("tools/call", {"name": "greeter", "arguments": {"prompt": "Do it."}})
    expect(status == 200 and is_calls_text(answer, "Hello."), answer)
    status, answer = web.ask_modern("ping")
    expect(status == 404 and answer["error"]["code"] == -32601, answer)
    for more in ({"Mcp_Method": None}, {"Mcp_Method": "TOOLS/LIST"}, {"MCP_Protocol_Version": None},
                 {"MCP_Protocol_Version": "2025-11-25"}):
        status, answer = web.ask_modern("tools/list", **more)
        expect(status == 400 and answer["error"]["code"] == -32020, f"{more}: {answer}")
    status, answer = web.ask_modern("tools/call", {"name": "greeter"}, Mcp_Name="other")
    expect(status == 400 and answer["error"]["code"] == -32020, answer)
    status, answer = web.ask("tools/list", MCP_Protocol_Version="1999-01-01")
    expect(status == 400 and answer["error"]["data"]["requested"] == "1999-01-01", answer)
    status, answer = web.ask("tools/list", MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/list")
    expect(status == 400 and answer["error"]["code"] == -32602, answer)
    web.end()


def http_from_whom(place):
    web = Web(place, place.agent())
    for more, status in (({"Host": "evil.example"}, 403), ({"Host": "localhost.evil.example"}, 403),
                         ({"Host": "127.0.0.1.evil.example:80"}, 403),
                         ({"Host": f"127.0.0.1:{web.port}@evil.example"}, 403), ({"Origin": "https://evil.example"}, 403),
                         ({"Origin": "null"}, 403), ({"Origin": "http://localhost.evil.example"}, 403),
                         ({"Origin": "http://localhost:3000"}, 403), ({"Origin": f"http://127.0.0.1:{web.port}"}, 200), ({"Host": "[::1]:9"}, 200),
                         ({"Content_Type": "text/plain"}, 415), ({"Content_Type": None}, 415),
                         ({"Accept": "application/json"}, 406), ({"Accept": "*/*"}, 200)):
        found, _ = web.ask_modern("tools/list", **more)
        expect(found == status, f"{more}: {found}")
    expect(web.post("", path="/")[0] == 404 and web.post(None, verb="GET")[0] == 405, "elsewhere")
    expect(web.post(None, verb="OPTIONS")[0] == 405, "a browser's question")
    web.end()


def http_with_a_token(place):
    token = "bWFueSBieXRlcyBvZiBpdA"
    place.environment["MY_SERVE_TOKEN"] = token
    more = "tools: [{shell: {env: ['MY_*']}}]\npermissions: {default: allow}\n"
    agent = place.agent(replies="[{tool_calls: [{name: shell, arguments: {command: env >seen}}]}, Done.]",
                        more=more)
    web = Web(place, agent, options=("--token-env", "MY_SERVE_TOKEN", "--tools", place.agent("coder", more=more)))
    for value in (None, "Bearer", "Bearer ", "Basic " + token, token, "Bearer " + token[:-1], "Bearer x" + token):
        answer = web.open(web.request("ping"), Authorization=value)
        expect(answer.status == 401 and answer.headers["WWW-Authenticate"] == "Bearer", f"{value}: {answer.status}")
    web.token = token
    expect(web.ask_modern("tools/list")[0] == 200, "with it")
    _, answer = web.ask_modern("tools/call", {"name": "greeter", "arguments": {"prompt": "x"}})
    seen = (place.work / "seen").read_text()
    expect("PATH=" in seen and "MY_SERVE_TOKEN" not in seen, f"a tool of an agent sees it: {seen} {answer}")
    _, answer = web.ask_modern("tools/call", {"name": "shell", "arguments": {"command": "env"}})
    expect("PATH=" in str(answer) and "MY_SERVE_TOKEN" not in str(answer), f"a tool by hand sees it: {answer}")
    web.end()
    for words in (["--http", "0.0.0.0:0"], ["--http", "[::]:0"], ["--token-env", "MY_SERVE_TOKEN"],
                  ["--http", "0", "--token-env", "NOBODY"], ["--http", "here"], ["--http", "70000"],
                  ["--http", "example.com:80"]):
        ended = place.run("mcp", "serve", *words, agent)
        expect(ended.returncode == 2 and ended.stdout == "", f"{words}: {ended}")


def http_for_clients_without_chunks(place):
    """Of HTTP/1.0, as proxies speak it: the end of the connection is that of the answer."""
    web = Web(place, place.agent(), options=("-q",))  # which still says a port that nobody knows
    body = json.dumps(web.request("tools/call", {"name": "greeter", "arguments": {"prompt": "x"}, "_meta": MODERN}))
    head = {"Host": f"127.0.0.1:{web.port}", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
            "Mcp-Name": "greeter", "Content-Length": len(body), **web.headers({})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    answer = web.raw(f"POST /mcp HTTP/1.0\r\n{lines}\r\n{body}".encode(), wanted="no such thing")
    said, _, text = answer.partition("\r\n\r\n")
    expect(" 200 " in said and "chunked" not in said, said)
    data = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    expect(is_calls_text(data[-1], "Hello."), text)
    expect(all(line.startswith(("data: ", "event: ", "id: ", ":")) for line in text.splitlines() if line), text)
    web.end()


def http_a_client_that_goes(place):
    """Without a session its call is cancelled; in one, the run goes on."""
    web = Web(place, place.agent("slow", SLOW), place.agent("later", "[{text: Hello., delay: 2s}]"))
    call = {"arguments": {"prompt": "x"}, "_meta": {**MODERN, "progressToken": 1}}
    for name, headers in (("slow", {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call",
                                    "Mcp_Name": "slow"}), ("later", {})):
        if name == "later":
            web.begin()
            call["_meta"] = {"progressToken": 1}
        answer = web.open(web.request("tools/call", {"name": name, **call}), **headers)
        expect(answer.readline().startswith(b"event") and b"progress" in answer.readline(), "progress")
        answer.connection.close()
        answer.close()
    wanted, found, until = {"slow": 143, "later": 0}, {}, time.monotonic() + PATIENCE_S
    while found != wanted and time.monotonic() < until:
        time.sleep(0.2)
        found = {run["agent"]: run["exit_code"] for run in place.runs()}
    expect(found == wanted, found)
    web.end()


def http_a_cancelled_call(place):
    web = Web(place, place.agent(replies=SLOW))
    web.begin()
    call = {"name": "greeter", "arguments": {"prompt": "x"}, "_meta": {"progressToken": 1}}
    answer = web.open(web.request("tools/call", call))
    answer.readline()
    expect(web.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                     "params": {"requestId": web.last_id}})[0] == 202, "the cancellation")
    expect(b'"result"' not in answer.read(), "no answer comes")
    web.end()


def http_a_signal_answers(place):
    web = Web(place, place.agent(replies=SLOW))
    web.begin()
    call = {"name": "greeter", "arguments": {"prompt": "x"}, "_meta": {"progressToken": 1}}
    answer = web.open(web.request("tools/call", call))
    answer.readline()
    web.server.process.send_signal(signal.SIGTERM)
    expect(b'"exit_code":143' in answer.read(), "the answer of what was ended")
    web.server.wait(-signal.SIGTERM)


def http_garbage(place):
    web = Web(place, place.agent())
    head = "Host: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n"
    for text, status in (("nonsense\r\n\r\n", 400), ("POST /mcp HTTP/2.0\r\n" + head + "\r\n", 400),
                         ("POST  /mcp HTTP/1.1\r\n" + head + "\r\n", 400), ("POST /mcp HTTP/1.1\r\n\r\n", 400),
                         ("POST http://x/mcp HTTP/1.1\r\n" + head + "\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Host: x\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + " folded\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Bad Name: x\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "A: \x01\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "A: 1\r\n" * 101 + "\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "A: " + "x" * 20000 + "\r\n\r\n", 431),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\nx\r\n{}\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", 413),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{}}\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n" + "1" * 300, 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Transfer-Encoding: gzip\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Content-Length: +5\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Content-Length: 5, 5\r\n\r\n", 400),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Content-Length: 99999999\r\n\r\n", 413),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Content-Length: " + "9" * 30 + "\r\n\r\n", 413),
                         ("POST /mcp HTTP/1.1\r\n" + head + "Content-Length: 2\r\n\r\n{}", 400)):
        found = web.raw(text.encode("latin-1"))
        expect(found.startswith(f"HTTP/1.1 {status} "), f"{text[:60]!r}: {found[:80]!r}")
    one = "POST /mcp HTTP/1.1\r\n" + head + "Content-Length: 1\r\n\r\n7"
    expect(web.raw((one * 3).encode(), "HTTP/1.1 400 ", 3).count("HTTP/1.1 400 ") == 3, "three in a row")
    expect("100 Continue" in web.raw(("POST /mcp HTTP/1.1\r\n" + head + "Expect: 100-continue\r\n"
                                      "Content-Length: 5\r\n\r\n").encode()), "it is told to go on")
    expect(web.ask_modern("tools/list")[0] == 200, "it goes on")
    web.end()


def http_many_who_are_slow(place):
    """Those who say nothing, half of something, or do not read hold up nobody, though they are more than have a place."""
    web = Web(place, place.agent())
    peers = []
    for number in range(200):
        peer = socket.create_connection(("127.0.0.1", web.port))
        if number % 2:
            peer.sendall(b"POST /mcp HTTP/1.1\r\nHost: local")
        peers.append(peer)
    begin = time.monotonic()
    expect(web.ask_modern("tools/list")[0] == 200, "beside them")
    expect(time.monotonic() - begin < 25, "it waited for them")  # they have 30 s
    for peer in peers:
        peer.close()
    web.end()


def http_those_without_a_token_who_are_slow(place):
    """Whoever says a byte now and then has the place of one who is let in for no longer than who says nothing."""
    place.environment["A_TOKEN"] = "bWFueSBieXRlcyBvZiBpdA"
    web = Web(place, place.agent(), token=place.environment["A_TOKEN"], options=("--token-env", "A_TOKEN"))
    done = threading.Event()
    peers = [socket.create_connection(("127.0.0.1", web.port)) for _ in range(128)]

    def drip():
        while not done.wait(0.3):
            for peer in peers:
                try:
                    peer.sendall(b"P")
                except OSError:
                    pass
    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        begin = time.monotonic()
        expect(web.ask_modern("tools/list")[0] == 200, "beside them")
        expect(time.monotonic() - begin < 25, "it waited for them")  # they have 30 s
    finally:
        done.set()
        dripping.join()
    for peer in peers:
        peer.close()
    web.end()


def errand_is_its_own_client(place):
    web = Web(place, place.agent())
    servers = f"mcp_servers:\n  s: {{url: 'http://127.0.0.1:{web.port}/mcp'}}\n"
    listed = place.run("mcp", "list", place.agent("asker", more=servers))
    expect(listed.returncode == 0 and "errand" in listed.stdout and "2026-07-28" in listed.stdout, listed)
    called = place.run("mcp", "call", "asker.agent.yaml", "mcp__s__greeter", '{"prompt": "Do it."}')
    expect(called.returncode == 0 and "Hello." in called.stdout, called)
    web.end()


def http_so_many_sessions(place):
    """Those that nobody closes make room, the one that was used last of all the last, and one with a call never."""
    web = Web(place, place.agent(), place.agent("slow", SLOW))
    sessions = []
    for _ in range(64):
        web.session = None
        web.begin()
        sessions.append(web.session)
    web.session = sessions[0]
    call = {"name": "slow", "arguments": {"prompt": "x"}, "_meta": {"progressToken": 1}}
    answer = web.open(web.request("tools/call", call))
    answer.readline()
    web.session = sessions[1]
    expect(web.ask("tools/list")[0] == 200, "the second")
    web.session = None
    web.begin()
    for session, status in ((web.session, 200), (sessions[1], 200), (sessions[2], 404), (sessions[0], 200)):
        web.session = session
        expect(web.ask("tools/list")[0] == status, f"{session} of {sessions[:3]}: not {status}")
    answer.connection.close()
    answer.close()
    web.end()


def http_so_many_calls_and_no_more(place):
    """The one too many is told when it may come again."""
    web = Web(place, place.agent(replies=SLOW), options=("-j", "1"))
    web.begin()
    call = {"name": "greeter", "arguments": {"prompt": "x"}}
    open_calls = []
    for _ in range(66):
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=PATIENCE_S)
        connection.request("POST", "/mcp", json.dumps(web.request("tools/call", call)), web.headers({}))
        open_calls.append(connection)
    answer = web.open(web.request("tools/call", call))
    expect((answer.status, answer.headers["Retry-After"]) == (503, "1"), (answer.status, answer.headers.items()))
    for connection in open_calls:
        connection.close()
    web.end()


ROWS = {name.replace("_", " "): row for name, row in list(globals().items())
        if callable(row) and getattr(row, "__code__", None) and row.__code__.co_varnames[:1] == ("place",)
        and row.__code__.co_argcount == 1}


def play(errand, scratch, name, row):
    """What is wrong with it; None: nothing."""
    folder = scratch.path / name.replace(" ", "-").replace("'", "")
    place = Place(errand, folder, 1_500_000 if scratch.sanitized else 150_000)
    try:
        row(place)
    except Wrong as wrong:
        return str(wrong)
    except (queue.Empty, subprocess.TimeoutExpired):
        return f"nothing came within {PATIENCE_S} s: {[server.stderr()[-300:] for server in place.started]}"
    except (OSError, KeyError, ValueError, TypeError) as error:
        return f"{error!r}: {[server.stderr()[-300:] for server in place.started]}"
    finally:
        place.end()
    for _ in range(200):  # as long as it may take on a slow machine
        left = processes(str(folder), folder)
        if not left:
            return None
        time.sleep(0.1)
    return f"still alive: {left}"


if __name__ == "__main__":
    sys.exit(main_over_rows("mcp-serve", __doc__, ROWS, play))
