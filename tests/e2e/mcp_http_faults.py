#!/usr/bin/env python3
"""MCP servers that are reached by HTTP, and do what they must not: at the start, in a list, in a call, at the end.

    tests/e2e/mcp_http_faults.py [--errand PATH] [-k PATTERN] [-j N] [-v]

mcp_rows.py says what a row is."""
import base64
import email.utils
import http.server
import json
import pathlib
import re
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent))
from mcp_rows import PATIENCE_S, play_rows, tool  # noqa: E402

MODERN = "2026-07-28"
MIRRORED = {"type": "object", "properties": {
    "n": {"type": "integer", "x-mcp-header": "Number"},
    "at": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}}}}


PAUSES = {  # that nobody can read
    "has too many calls until nobody knows": (429, "soon"),
    "has too many calls until long ago": (429, "-5"),
    "has no room for a call until nobody knows": (503, "soon"),
}


class Asked:
    """One request as the server got it."""

    def __init__(self, handler, body):
        self.method, self.path, self.headers = handler.command, handler.path, dict(handler.headers.items())
        self.body = body
        self.json = json.loads(body) if body else {}
        self.name = self.json.get("method", "an answer" if body else "")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_POST(self):
        self.serve(Asked(self, self.rfile.read(int(self.headers["Content-Length"]))))

    def do_GET(self):
        self.serve(Asked(self, b""))

    do_DELETE = do_GET

    def serve(self, asked):
        self.server.asked.append(asked)
        if asked.name == "an answer":
            self.server.answered.set()
        try:
            self.answer(asked)
        except (BrokenPipeError, ConnectionResetError):
            self.server.cut.set()
            self.close_connection = True

    def send(self, status, body=b"", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def result(self, asked, result, **headers):
        self.send(200, {"jsonrpc": "2.0", "id": asked.json["id"], "result": result}, **headers)

    def error(self, asked, code, message, status=200, data=None):
        self.send(status, {"jsonrpc": "2.0", "id": asked.json.get("id"),
                           "error": {"code": code, "message": message, **({"data": data} if data else {})}})

    def open_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, message, id=None, name=None):
        text = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
        lines = [f"id: {id}"] if id is not None else []
        lines += [f"event: {name}"] if name else []
        self.wfile.write("\n".join([*lines, f"data: {text}", "", ""]).encode())
        self.wfile.flush()

    def wait_until_cut(self):
        """The client is there until it closes its end; bytes that it sends meanwhile are of no interest."""
        self.connection.settimeout(PATIENCE_S)
        while self.connection.recv(1_000):
            pass
        self.server.cut.set()
        self.close_connection = True

    # ---- what it says ----

    def answer(self, asked):
        behaviour = self.server.behaviour
        if behaviour == "answers 500 to everything":
            self.send(500, b"out of cheese\n\x1b[31mreally")
        elif behaviour == "answers with a page":
            self.send(200, b"<html>Welcome!</html>", Content_Type="text/html")
        elif behaviour == "redirects":
            self.send(307, Location="http://127.0.0.2:9/mcp")
        elif behaviour == "redirects to a path":
            self.send(307, Location="/v2/mcp")
        elif behaviour == "redirects to a host":
            self.send(307, Location="//127.0.0.2:9/mcp")
        elif behaviour == "wants a login":
            self.send(401, b"who are you?", WWW_Authenticate="Bearer")
        elif behaviour == "accepts and says nothing":
            self.wait_until_cut()
        elif behaviour == "drips its headers":
            self.connection.sendall(b"HTTP/1.1 200 OK\r\n")
            for _ in range(PATIENCE_S * 5):
                self.connection.sendall(b"X-More: yes\r\n")
                time.sleep(0.2)
        elif behaviour == "answers without end":
            self.open_stream()
            while True:
                self.wfile.write(b"data: " + b"x" * 1_000_000)
        elif behaviour == "is busy for ever" or (behaviour == "is busy at first" and len(self.server.asked) <= 2):
            self.send(429, b"busy", Retry_After="0")
        elif behaviour == "is busy at first, in words of the protocol" and len(self.server.asked) <= 2:
            self.send(503, {"jsonrpc": "2.0", "id": asked.json["id"], "error": {"code": -32000, "message": "later"}}, Retry_After="0")
        elif behaviour == "looks at the revision of every request" and asked.headers.get(
                "MCP-Protocol-Version", "2025-11-25") != "2025-11-25":
            self.send(400, b"Bad Request: Unsupported protocol version", Content_Type="text/plain")
        elif behaviour == "is busy until nobody knows":
            self.send(429, b"busy", Retry_After="soon")
        elif behaviour == "is busy until tomorrow":
            self.send(429, b"busy", Retry_After="86400")
        elif behaviour.startswith("is of 2024"):
            self.answer_older_form(asked)
        elif asked.method == "GET":
            self.answer_get(asked)
        elif asked.method == "DELETE":
            self.send(200)
        elif behaviour == "refuses what it asked for" and "method" not in asked.json:
            self.send(500, b"no room")
        elif asked.name == "notifications/initialized" and behaviour.startswith("hears of the end of the handshake") and (
                "forgets" not in behaviour or self.server.sessions > 1):
            if behaviour.endswith("with a stream that stays open"):
                self.open_stream()
                self.server.is_late = not self.server.listed.wait(5)
            self.wait_until_cut()
        elif "id" not in asked.json or "method" not in asked.json:
            self.send(202)
        elif asked.name == "server/discover":
            self.answer_discover(asked)
        elif asked.name == "initialize":
            self.server.sessions += 1
            self.result(asked, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                "serverInfo": {"name": "fake", "version": "1"}},
                        Mcp_Session_Id=f"session-{self.server.sessions}")
        elif self.server.has_sessions() and asked.headers.get("Mcp-Session-Id") != f"session-{self.server.sessions}":
            self.error(asked, -32000, "Bad Request: no such session", status=404)
        elif asked.name == "tools/list":
            self.answer_list(asked)
        elif asked.name == "subscriptions/listen":
            self.answer_listen(asked)
        else:
            self.server.calls += 1
            self.server.called.set()
            self.answer_call(asked)

    def answer_discover(self, asked):
        if self.server.behaviour == "has no answer to what it does not know":
            self.send(202)
        elif self.server.has_sessions():
            self.error(asked, -32000, "Bad Request: no valid session", status=400)
        else:
            tells = {"listChanged": True} if "stateless, and" in self.server.behaviour else {}
            self.result(asked, {"supportedVersions": [MODERN], "capabilities": {"tools": tells},
                                "serverInfo": {"name": "fake", "version": "1"}})

    def answer_list(self, asked):
        self.server.is_late |= self.server.cut.is_set()
        self.server.listed.set()
        tools = [tool("f"), tool("g")]
        if self.waits_for_a_change() and self.server.called.is_set():
            tools = [tool("h"), *tools]
        if self.server.behaviour.startswith("wants arguments in headers"):
            tools = [tool("f", inputSchema=MIRRORED)]
        if self.server.behaviour == "wants headers that are none":
            wanted = {"empty": "", "blank": "a b", "line": "a\r\nX: y", "number": 7}
            tools = [tool("f"), tool("odd", inputSchema={"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
                     tool("list", inputSchema={"properties": {"a": {"type": "array", "items": {
                         "type": "string", "x-mcp-header": "A"}}}}),
                     tool("twice", inputSchema={"properties": {one: {"type": "string", "x-mcp-header": one}
                                                               for one in ("a", "A")}}),
                     *(tool(name, inputSchema={"properties": {"a": {"type": "string", "x-mcp-header": header}}})
                       for name, header in wanted.items())]
        self.result(asked, {"tools": tools})

    def answer_get(self, asked):
        behaviour = self.server.behaviour
        if behaviour == "adds a tool, and says so on its own stream":
            self.open_stream()
            self.tell_of_change({})
        elif asked.headers.get("Last-Event-ID") == "after-3" and not self.server.has_failed:
            self.server.has_failed = True
            self.send(500)
        elif "Last-Event-ID" in asked.headers and "which can be taken up again" in behaviour:
            self.open_stream()
            if self.server.resumed < (2 if behaviour.endswith("again") else 7):
                self.server.resumed += 1
                self.event("", id=f"after-{self.server.resumed}")
            else:
                self.event({"id": self.server.open_id, "result": self.text("did f")}, id="last")
        elif "Last-Event-ID" in asked.headers:
            self.server.resumed += 1
            self.open_stream()
            self.event("", id="again")
        elif behaviour == "opens its own stream late":
            time.sleep(0.5)
            self.open_stream()
            self.server.stream = self
            self.wait_until_cut()
        elif behaviour == "asks back on its own stream":
            self.open_stream()
            self.event({"id": "roots", "method": "roots/list"})
            self.wait_until_cut()
        else:
            self.send(405)

    def tell_of_change(self, meta):
        """Once there was a call. Whoever answers the ping has read what was before it."""
        self.server.called.wait(PATIENCE_S)
        for _ in range(5):
            self.event({"method": "notifications/tools/list_changed", "params": {"_meta": meta}})
        self.event({"id": "read", "method": "ping"})
        self.wait_until_cut()

    def answer_listen(self, asked):
        server, behaviour = self.server, self.server.behaviour
        server.listens += 1
        meta = {"io.modelcontextprotocol/subscriptionId": asked.json["id"]}
        if "refuses" in behaviour:
            self.error(asked, -32603, "Subscription limit reached")
        elif "is down" in behaviour and server.listens == 1:
            self.send(503, b"restarting")
        elif "wants a login of" in behaviour:
            self.send(401, b"who are you?", WWW_Authenticate="Bearer")
        elif "forbids" in behaviour:
            self.send(404)
        elif "never says" in behaviour:
            self.wait_until_cut()
        elif "sends garbage" in behaviour:
            self.send(200, b"<html>Welcome!</html>", Content_Type="text/html")
        else:
            self.open_stream()
            self.event({"method": "notifications/subscriptions/acknowledged", "params": {
                "notifications": asked.json["params"]["notifications"], "_meta": meta}})
            if "cuts" in behaviour and server.listens == 1:
                return
            if "ends" in behaviour and server.listens == 1:
                self.event({"id": asked.json["id"], "result": {"resultType": "complete", "_meta": meta}})
                return
            if "is listened to" in behaviour:
                server.called.set()
            self.tell_of_change(meta)

    def waits_for_a_change(self):
        behaviour = self.server.behaviour
        return "adds a tool" in behaviour or "is listened to" in behaviour

    def waits_for_an_answer(self):
        return self.waits_for_a_change() or self.server.behaviour == "asks back on its own stream"

    def answer_call(self, asked):
        server, behaviour = self.server, self.server.behaviour
        if self.waits_for_an_answer() and not server.answered.wait(PATIENCE_S):
            self.send(500, b"nobody answered")
            return
        name, id = asked.json["params"]["name"], asked.json["id"]
        done = self.text(f"did {name}")
        forgets_at_work = behaviour == "forgets its session while it works"
        if forgets_at_work and name == "f":
            server.working.set()
            server.answered.wait(PATIENCE_S)
        elif forgets_at_work and server.sessions > 1:
            server.answered.set()
        if forgets_at_work and server.sessions == 1:
            server.working.wait(PATIENCE_S)
            server.sessions += 1
            self.error(asked, -32001, "Session not found", status=404)
        elif behaviour == "streams its answers":
            self.open_stream()
            self.wfile.write(b": hello\n\n")
            self.event({"method": "notifications/progress", "params": {
                "progressToken": asked.json["params"]["_meta"]["progressToken"], "progress": 7, "total": 8,
                "message": "going"}})
            self.event({"id": id, "result": done})
            self.wait_until_cut()
        elif behaviour == "leaves out the end of its last event":
            self.open_stream()
            self.wfile.write(f"data: {json.dumps({'jsonrpc': '2.0', 'id': id, 'result': done})}\n".encode())
        elif behaviour.startswith("drips comments"):
            self.open_stream()
            for _ in range(PATIENCE_S * 10):
                self.wfile.write(b": still there\n\n")
                time.sleep(0.1)
        elif behaviour == "cuts its answer":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"jsonrpc":')
            self.close_connection = True
        elif behaviour == "ends its stream before the result":
            self.open_stream()
            self.event({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        elif behaviour.startswith("cuts its answer, which"):
            server.open_id = id
            self.open_stream()
            self.wfile.write(b"retry: 10\n")
            self.event("", id="first")
        elif (behaviour == "forgets its session" and server.calls == 2) or (
                behaviour.endswith("and forgets its session") and server.calls == 1 and "handshake" in behaviour):
            server.sessions += 1
            self.error(asked, -32001, "Session not found", status=404)
        elif behaviour == "forgets its session, and calls that a bad request" and server.calls == 2:
            server.sessions += 1
            self.error(asked, -32000, "Bad Request: No valid session ID provided", status=400)
        elif behaviour == "forgets every session":
            server.sessions += 1
            self.send(404)
        elif behaviour == "has too many calls" and server.calls == 1:
            self.send(429, b"slow down", Retry_After="0")
        elif behaviour == "has too many calls, in words of the protocol" and server.calls == 1:
            self.send(429, {"jsonrpc": "2.0", "id": asked.json["id"], "error": {"code": -32000, "message": "slow down"}})
        elif behaviour == "says no of no id":
            self.send(200, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "bad call"}})
        elif behaviour == "has too many calls for ever":
            self.send(429, b"slow down")
        elif behaviour == "has too many calls for a moment":
            server.called.set()
            self.send(429, b"slow down", Retry_After="1")
        elif behaviour.startswith("has no time for a call within"):
            self.send(503 if "no room" in behaviour else 429, b"slow down", Retry_After="2")
        elif behaviour == "has no time for a call at first, and then hangs" and server.calls == 1:
            server.begun = time.monotonic()
            time.sleep(2.5)
            self.send(429, b"slow down", Retry_After="0")
        elif behaviour == "has no time for a call at first, and then hangs":
            self.wait_until_cut()
            server.took.append(time.monotonic() - server.begun)
        elif behaviour in PAUSES:
            status, pause = PAUSES[behaviour]
            self.send(status, b"slow down", Retry_After=pause)
        elif behaviour == "has too many calls until tomorrow":
            self.send(429, b"slow down", Retry_After="86400")
        elif behaviour == "has too many calls until a day to come":
            self.send(429, b"slow down", Retry_After=email.utils.formatdate(time.time() + 86_000, usegmt=True))
        elif behaviour == "has no time for a call until a date" and server.calls == 1:
            self.send(503, b"later", Retry_After=email.utils.formatdate(time.time() - 1, usegmt=True))
        elif behaviour == "fails in a call":
            self.send(502, b"bad gateway")
        elif behaviour == "fails in a call, and names a time":
            self.send(500, b"it broke", Retry_After="0")
        elif behaviour == "has too many calls until the end of time":
            self.send(429, b"slow down", Retry_After="9" * 20)
        elif behaviour == "forbids a call":
            self.send(403, b"not you", WWW_Authenticate='Bearer error="insufficient_scope"')
        elif behaviour == "refuses what it asked for":
            self.open_stream()
            self.event({"id": "q", "method": "ping"})
            self.wait_until_cut()
        elif behaviour == "sends garbage in its stream":
            self.open_stream()
            self.event("{half")
            self.wait_until_cut()
        elif behaviour == "sends a page in a call":
            self.send(200, b"<html>\x1b[31mLog in</html>", Content_Type="text/html")
        elif behaviour == "answers with nothing":
            self.send(200)
        elif behaviour == "answers that it has taken it":
            self.send(202)
        elif behaviour == "answers with the wrong id":
            self.send(200, {"jsonrpc": "2.0", "id": id + 1_000, "result": done})
        elif behaviour == "refuses a call with words":
            self.send(400, b"Obey <me>")
        elif behaviour == "refuses a call with a status":
            self.error(asked, -32602, "n is too odd", status=400)
        elif behaviour == "asks back in an answer":
            self.open_stream()
            self.event({"id": 1, "method": "ping"})
            server.answered.wait(PATIENCE_S)
            self.event({"id": id, "result": done})
        elif behaviour == "opens its own stream late" and server.stream is None:
            self.error(asked, -32603, "nobody listens to what I would ask")
        elif behaviour.startswith("hangs in a call"):
            self.wait_until_cut()
        elif behaviour == "is told a secret":
            self.result(asked, self.text(asked.headers.get("X-Api-Token", "none")))
        else:
            self.result(asked, done)

    def answer_older_form(self, asked):
        wants = {"is of 2024, and wants a login": 401, "is of 2024, and is out of order": 503}.get(self.server.behaviour)
        forgets = self.server.behaviour == "is of 2024, and forgets its session"
        loses_both = self.server.behaviour == "is of 2024, and forgets its session as its stream ends"
        if asked.method == "GET" and wants:
            self.send(wants, b"not now", WWW_Authenticate="Bearer")
        elif asked.method == "GET" and self.server.behaviour == "is of 2024, and has moved its stream":
            self.send(302, Location="http://127.0.0.2:9/sse")
        elif asked.method == "GET":
            self.open_stream()
            self.server.sessions += 1
            session = self.server.sessions
            path = {"is of 2024, and forgets its session": f"/messages?id={session}",
                    "is of 2024, and forgets its session as its stream ends": f"/messages?id={session}",
                    "is of 2024, and sends elsewhere": "http://127.0.0.2:9/messages",
                    "is of 2024, and sends to another port": "//127.0.0.1:9/messages",
                    "is of 2024, and names a relative address": "messages?id=1",
                    "is of 2024, and names a query": "?id=1",
                    "is of 2024, and names its host": f"//127.0.0.1:{self.server.server_port}/messages"}
            if self.server.behaviour == "is of 2024, and pings by events":
                self.event("2026-11-28", name="ping")
                self.event("hello")
            if self.server.behaviour != "is of 2024, and names no address":
                self.server.stream = self
                self.event(path.get(self.server.behaviour, "/messages?id=1"), name="endpoint")
            if self.server.behaviour == "is of 2024, and names a second address":
                self.event("http://127.0.0.2:9/messages", name="endpoint")
            if self.server.behaviour == "is of 2024, and ends its stream" or (loses_both and session == 1):
                self.server.answered.wait(PATIENCE_S)
                return
            self.wait_until_cut()
        elif asked.path == "/mcp":
            self.send(405)
        elif forgets and asked.name == "tools/call" and asked.path.endswith("id=1"):
            self.send(404, b"no session")
        elif loses_both and asked.name == "tools/call" and asked.path.endswith("id=1"):
            self.server.answered.set()
            time.sleep(0.5)  # the client sees the end of the stream first
            self.send(404, b"no session")
        elif self.server.behaviour == "is of 2024, and refuses what is sent there":
            self.send(400, b"no")
        elif self.server.behaviour == "is of 2024, and answers a call at once" and asked.name == "tools/call":
            self.result(asked, self.text(f"did {asked.json['params']['name']}"))
        else:
            self.send(202, b"Accepted")
            self.answer_on_stream(asked)

    def answer_on_stream(self, asked):
        results = {"initialize": {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old"}},
                   "tools/list": {"tools": [tool("f"), tool("g")]}}
        if asked.name in results:
            self.server.stream.event({"id": asked.json["id"], "result": results[asked.name]}, name="message")
        elif asked.name == "tools/call" and self.server.behaviour == "is of 2024, and ends its stream":
            self.server.answered.set()
        elif asked.name == "tools/call":
            name = asked.json["params"]["name"]
            self.server.stream.event({"id": asked.json["id"], "result": self.text(f"did {name}")}, name="message")

    @staticmethod
    def text(words):
        return {"content": [{"type": "text", "text": words}]}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behaviour):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviour = behaviour
        self.asked, self.sessions, self.calls, self.resumed = [], 0, 0, 0
        self.has_failed = False
        self.listens = 0
        self.open_id = self.stream = None
        self.took = []
        self.called, self.working, self.answered, self.cut, self.listed = (threading.Event() for _ in range(5))
        self.is_late = False
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def has_sessions(self):
        return "stateless" not in self.behaviour and "headers" not in self.behaviour

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError, ValueError)):
            super().handle_error(request, client_address)


SERVERS = {}


def address_of(row):
    server = SERVERS[row.behaviour] = Server(row.behaviour)
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    if row.behaviour == "is not there":
        server.shutdown()
        server.server_close()
    return {"url": url}


# ---- what is true of what the server was asked ----

def asked(row, name):
    return [one for one in SERVERS[row.behaviour].asked if one.name == name]


def times(name, count):
    def check(row):
        found = len(asked(row, name))
        return None if found == count else f"{name} was asked {found} times, not {count}"
    return check


def has_headers(name, **wanted):
    def check(row):
        headers = {key.lower(): value for key, value in asked(row, name)[-1].headers.items()}
        wrong = {key: headers.get(key.replace("_", "-").lower()) for key, value in wanted.items()
                 if headers.get(key.replace("_", "-").lower()) != value}
        return f"{name} came with {wrong}, not {wanted}" if wrong else None
    return check


def listens(*counts):
    """As often as one of these, in the protocol's words, and never side by side with the same id."""
    def check(row):
        found = [one.json for one in asked(row, "subscriptions/listen")]
        if len(found) not in counts or len({one["id"] for one in found}) != len(found):
            return f"it was asked to tell of changes by {found}"
        wrong = [one for one in found if one["params"]["notifications"] != {"toolsListChanged": True}]
        return f"it was asked to tell of {wrong}" if wrong else None
    return check


def has_one_trace(trace_id=None, flags="01"):
    """Every request is a span of its own, of one trace."""
    def check(row):
        parents = [one.json["params"]["_meta"].get("traceparent", "") for one in SERVERS[row.behaviour].asked
                   if "id" in one.json and one.name != "an answer"]
        found = [re.fullmatch("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", one) for one in parents]
        if not found or None in found or len({one[2] for one in found}) != len(found):
            return f"the spans are {parents}"
        traces = {(one[1], one[3]) for one in found}
        if len(traces) != 1 or flags not in traces.copy().pop() or trace_id not in (None, traces.copy().pop()[0]):
            return f"the traces are {traces}"
        return None
    return check


def has_no_trace(row):
    found = [one.body for one in SERVERS[row.behaviour].asked
             if b"traceparent" in one.body and one.name != "server/discover"]
    return f"there is a trace in {found}" if found else None


def all_of(*checks):
    return lambda row: next((wrong for wrong in (check(row) for check in checks) if wrong), None)


def is_told_of_its_end(row):
    deleted = [one.headers.get("Mcp-Session-Id") for one in SERVERS[row.behaviour].asked if one.method == "DELETE"]
    return None if deleted == ["session-1"] else f"sessions that were ended: {deleted}"


def is_cut(row):
    return None if SERVERS[row.behaviour].cut.wait(5) else "the connection of the call was not closed"


def is_over_within(seconds):
    def check(row):
        found = SERVERS[row.behaviour].took
        return None if found and found[0] < seconds else f"all tries took {found} s"
    return check


def is_asked(times):
    def check(row):
        found = [one.name for one in SERVERS[row.behaviour].asked]
        return None if len(found) == times else f"it was asked {found}"
    return check


def is_never_asked_again(row):
    found = [(one.method, one.path) for one in SERVERS[row.behaviour].asked]
    return None if {path for _, path in found} == {"/mcp"} else f"it was asked {found}"


def answers_that_nobody_is_there(row):
    said = [one.json for one in SERVERS[row.behaviour].asked if one.name == "an answer"]
    wanted = [{"jsonrpc": "2.0", "id": "roots", "error": {"code": -32601, "message": "this client does not do that"}}]
    return None if said == wanted else f"it answered {said}"


def answers_a_ping(row):
    said = [one.json for one in SERVERS[row.behaviour].asked if one.name == "an answer"]
    return None if said == [{"jsonrpc": "2.0", "id": 1, "result": {}}] else f"it answered {said}"


def mirrored(text):
    return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="


GOOD = dict(results=["did f", "did g"])
REFUSED = dict(calls=["f", "g", "f"], one_by_one=True, results=["did f", "did g", "did f"], added={}, check=listens(1))
START = "timeouts: {start: 1s}"


def lay_the_switch(row):
    SERVERS[row.behaviour].called.wait(PATIENCE_S)
    (row.folder / "work" / "stop").touch()


ROWS = {
    "is good": dict(GOOD, revision="2025-11-25", check=all_of(
        has_no_trace, is_told_of_its_end, has_headers("tools/call", MCP_Protocol_Version="2025-11-25", Mcp_Session_Id="session-1",
                                        Mcp_Method=None, Accept="application/json, text/event-stream"))),
    "is stateless": dict(GOOD, calls=["f", "g"], one_by_one=True, revision=MODERN, check=all_of(
        has_headers("tools/call", MCP_Protocol_Version=MODERN, Mcp_Method="tools/call", Mcp_Name="g",
                    Mcp_Session_Id=None),
        times("initialize", 0), has_headers("server/discover", MCP_Protocol_Version=MODERN), listens(0),
        has_one_trace())),
    "is stateless, and in a trace": dict(
        GOOD, environment={"TRACEPARENT": f"00-{'ab' * 16}-{'cd' * 8}-00"}, check=has_one_trace("ab" * 16, "00")),
    "is stateless, and in what is no trace": dict(
        GOOD, environment={"TRACEPARENT": f"00-{'00' * 16}-{'cd' * 8}-00"}, check=has_one_trace()),
    "adds a tool, and says so on its own stream": dict(
        calls=["f", "h"], one_by_one=True, results=["did f", "did h"], added={"listed": ["mcp__s__h"]}, check=listens(0)),
    "is stateless, and adds a tool": dict(
        calls=["f", "h"], one_by_one=True, results=["did f", "did h"], added={"listed": ["mcp__s__h"]}, check=all_of(
            listens(1), is_cut, has_one_trace(),
            has_headers("subscriptions/listen", Mcp_Method="subscriptions/listen", MCP_Protocol_Version=MODERN,
                        Accept="application/json, text/event-stream"))),
    "is stateless, and cuts the stream that is listened to": dict(
        calls=["f", "h"], one_by_one=True, results=["did f", "did h"], added={"listed": ["mcp__s__h"]}, check=listens(2)),
    "is stateless, and ends the stream that is listened to": dict(
        calls=["f", "h"], one_by_one=True, results=["did f", "did h"], added={"listed": ["mcp__s__h"]}, check=listens(2)),
    "is stateless, and is down at first when it is listened to": dict(
        calls=["f", "h"], one_by_one=True, results=["did f", "did h"], added={"listed": ["mcp__s__h"]}, check=listens(2)),
    "is stateless, and refuses to be listened to": dict(
        REFUSED, said="does not tell when its tools change: Subscription limit reached (-32603)"),
    "is stateless, and forbids to be listened to": dict(
        REFUSED, said="does not tell when its tools change: answers with HTTP status 404"),
    "is stateless, and wants a login of who listens to it": dict(
        REFUSED, said="does not tell when its tools change: "),
    "is stateless, and sends garbage to who listened to it": dict(
        REFUSED, said="does not tell when its tools change: sent what is neither JSON"),
    "is stateless, and never says that it is heard": dict(GOOD, added={}, check=all_of(listens(1), is_cut)),
    "is of 2024": dict(GOOD, revision="2024-11-05"),
    "is of 2024, and says so": dict(GOOD, revision="2024-11-05", settings="type: sse", check=times("server/discover", 0)),
    "is of 2024, and wants a login": dict(code=77, said="wants a login"),
    "is of 2024, and is out of order": dict(code=69, said="answers with HTTP status 503: not now", settings="type: sse"),
    "is of 2024, and pings by events": dict(GOOD, revision="2024-11-05"),
    "is of 2024, and names a relative address": dict(GOOD, revision="2024-11-05"),
    "is of 2024, and names a query": dict(GOOD, revision="2024-11-05"),
    "is of 2024, and names its host": dict(GOOD, revision="2024-11-05"),
    "is of 2024, and answers a call at once": dict(GOOD, revision="2024-11-05"),
    "is of 2024, and forgets its session": dict(GOOD, revision="2024-11-05", check=times("initialize", 4)),
    "is of 2024, and forgets its session as its stream ends": dict(
        calls=["f"], results=["did f"], check=all_of(times("initialize", 4), times("tools/call", 2))),
    "is of 2024, and has moved its stream": dict(
        code=69, said="answers with HTTP status 302 and sends the request to http://127.0.0.2:9/sse", check=is_never_asked_again),
    "is of 2024, and names a second address": dict(GOOD, revision="2024-11-05"),
    "is of 2024, and sends elsewhere": dict(code=69, check=is_never_asked_again,
                                           said="not its own, and is not sent any: http://127.0.0.2:9/messages"),
    "is of 2024, and sends to another port": dict(code=69, settings="type: sse", check=is_never_asked_again,
                                                  said="not its own, and is not sent any: //127.0.0.1:9/messages"),
    "is of 2024, and names no address": dict(code=69, said="the MCP server `s`",
                                             settings="type: sse\n    timeouts: {start: 1s}"),
    "is of 2024, and refuses what is sent there": dict(
        code=69, said="HTTP status 400: no", check=all_of(times("initialize", 2), times("tools/list", 0))),
    "is of 2024, and ends its stream": dict(calls=["f"], results=["has ended its stream"], failed=["mcp.transport"]),
    "is not there": dict(code=69, said="refused the connection"),
    "accepts and says nothing": dict(code=69, said="did not answer within 1s", settings=START),
    "drips its headers": dict(code=69, said="did not answer within 1s", settings=START),
    "answers 500 to everything": dict(code=69, said=r"HTTP status 500: out of cheese\n\x1b[31mreally"),
    "is busy at first": dict(GOOD),
    "is busy at first, in words of the protocol": dict(GOOD),
    "looks at the revision of every request": dict(GOOD),
    "has no answer to what it does not know": dict(GOOD),
    "says no of no id": dict(calls=["f"], results=["says: bad call (-32600)"], failed=["mcp.tool_call"], check=times("tools/call", 1)),
    **{f"hears of the end of the handshake {how}": dict(
        GOOD, settings=settings, check=lambda row: "waited for longer than it may" if SERVERS[
            row.behaviour].is_late else None)
       for how, settings in (("and says nothing", START), ("with a stream that stays open", "timeouts: {start: 30s}"))},
    "hears of the end of the handshake and says nothing, and forgets its session": dict(
        calls=["f"], settings="timeouts: {start: 20s, call: 2s}", results=["did not answer within 2s"],
        check=times("initialize", 2)),
    "is busy for ever": dict(code=69, said="HTTP status 429: busy", check=is_asked(4)),
    "is busy until nobody knows": dict(code=69, said="HTTP status 429: busy", check=all_of(
        is_asked(4), lambda row: f"it says {row.said}" if "asked again" in row.said else None)),
    "is busy until tomorrow": dict(code=69, said="it may be asked again in 24h", check=is_asked(1)),
    "answers with a page": dict(code=69, said="neither JSON nor a stream of events"),
    "answers without end": dict(code=69, said="a message of more than 64 MiB", settings="timeouts: {start: 30s}"),
    "redirects": dict(code=69, said="sends the request to http://127.0.0.2:9/mcp", check=is_never_asked_again),
    "redirects to a path": dict(code=69, check=lambda row: None if f"to http://127.0.0.1:{SERVERS[row.behaviour].server_port}/v2/mcp" in row.said
                                else f"it says {row.said}"),
    "redirects to a host": dict(code=69, said="sends the request to http://127.0.0.2:9/mcp"),
    "wants a login": dict(code=77, said="wants a login: who are you?", check=times("tools/list", 0)),
    "streams its answers": dict(GOOD, output="7 of 8: going"),
    "leaves out the end of its last event": dict(GOOD),
    "drips comments in a call": dict(calls=["f"], results=["has neither answered nor reported progress for 700ms"], check=is_cut,
                                     settings="timeouts: {silence: 700ms}"),
    "cuts its answer": dict(calls=["f"], results=["broke off its answer"], failed=["mcp.transport"],
                            check=times("tools/call", 1)),
    "ends its stream before the result": dict(calls=["f"], results=["ended its answer before the result"],
                                              check=times("tools/call", 1)),
    "cuts its answer, which can be taken up again": dict(
        calls=["f"], results=["did f"], check=all_of(
            times("tools/call", 1), lambda row: None if [
                one.headers["Last-Event-ID"] for one in SERVERS[row.behaviour].asked
                if "Last-Event-ID" in one.headers] == ["first", "after-1", "after-2"] else "not taken up in order")),
    "cuts its answer, which can be taken up again many times": dict(
        calls=["f"], results=["did f"], check=all_of(
            times("tools/call", 1),
            lambda row: None if SERVERS[row.behaviour].resumed == 7 else "not taken up seven times")),
    "cuts its answer, which never goes on": dict(
        calls=["f"], results=["ended its answer before the result"], check=all_of(
            times("tools/call", 1),
            lambda row: None if SERVERS[row.behaviour].resumed == 6 else "not taken up five times without a new id")),
    "forgets its session": dict(calls=["f", "g"], one_by_one=True, results=["did f", "did g"],
                                check=all_of(times("initialize", 2), times("tools/call", 3))),
    "forgets its session, and calls that a bad request": dict(
        calls=["f", "g"], one_by_one=True, results=["did f", "did g"], check=times("initialize", 2)),
    "forgets its session while it works": dict(calls=["f", "g"], results=["did f", "did g"],
                                               check=all_of(times("initialize", 2), times("tools/call", 3))),
    "forgets every session": dict(calls=["f"], results=["HTTP status 404"], failed=["mcp.transport"],
                                  check=times("tools/call", 2)),
    "has too many calls": dict(calls=["f"], results=["did f"], check=times("tools/call", 2)),
    "has too many calls, in words of the protocol": dict(calls=["f"], results=["did f"], check=times("tools/call", 2)),
    "has too many calls for ever": dict(calls=["f"], results=["HTTP status 429: slow down"], failed=["mcp.transport"],
                                        check=times("tools/call", 4)),
    "refuses what it asked for": dict(
        calls=["f"], settings="timeouts: {call: 1s}",
        results=["did not answer within 1s; when it was told something, it answers with HTTP status 500: no room"]),
    "has too many calls for a moment": dict(
        calls=["f"], code=96, when_called=lay_the_switch,
        results=["the kill switch is on"], failed=["tool.cancelled"], check=times("tools/call", 1)),
    "has too many calls until nobody knows": dict(
        calls=["f"], results=["HTTP status 429: slow down"], failed=["mcp.transport"], never=["asked again in"],
        check=times("tools/call", 4)),
    "has too many calls until long ago": dict(
        calls=["f"], output="slow down: the call is made again in ", results=["HTTP status 429: slow down"], failed=["mcp.transport"], never=["asked again in"],
        check=times("tools/call", 4)),
    "has no room for a call until nobody knows": dict(
        calls=["f"], results=["HTTP status 503: slow down"], failed=["mcp.transport"], never=["asked again in"],
        check=times("tools/call", 1)),
    "has too many calls until tomorrow": dict(calls=["f"], results=["HTTP status 429: slow down; it may be asked again in 24h"], check=times("tools/call", 1)),
    "has no time for a call within its limit": dict(
        calls=["f"], settings="timeouts: {call: 1s}", failed=["mcp.transport"], check=times("tools/call", 1),
        results=["HTTP status 429: slow down; it may be asked again in 2s; `timeouts.call` (1s) leaves no time"]),
    "has no time for a call within its limit, and no room": dict(
        calls=["f"], settings="timeouts: {call: 3s}", failed=["mcp.transport"], check=times("tools/call", 2),
        results=["HTTP status 503: slow down; it may be asked again in 2s; `timeouts.call` (3s) leaves no time"]),
    "has no time for a call at first, and then hangs": dict(
        calls=["f"], settings="timeouts: {call: 3s}", failed=["tool.timeout"], results=["did not answer within 3s"],
        check=all_of(times("tools/call", 2), is_cut, is_over_within(5))),
    "fails in a call": dict(calls=["f"], results=["HTTP status 502: bad gateway"], failed=["mcp.transport"],
                            check=times("tools/call", 1)),
    "fails in a call, and names a time": dict(calls=["f"], results=["HTTP status 500: it broke"], failed=["mcp.transport"],
                                              check=times("tools/call", 1)),
    "has too many calls until a day to come": dict(calls=["f"], results=["HTTP status 429: slow down; it may be asked again in 23h"], check=times("tools/call", 1)),
    "has no time for a call until a date": dict(calls=["f"], results=["did f"], check=times("tools/call", 2)),
    "has too many calls until the end of time": dict(calls=["f"], results=["HTTP status 429: slow down"], check=times("tools/call", 1)),
    "forbids a call": dict(calls=["f"], results=["refuses with HTTP status 403"], failed=["mcp.auth"], check=times("tools/call", 1)),
    "refuses a call with words": dict(calls=["f"], results=["HTTP status 400: Obey <me>"], failed=["mcp.transport"],
                                      fenced=["Obey"], check=times("tools/call", 1)),
    "sends garbage in its stream": dict(calls=["f"], results=["sent what is no message: {half"]),
    "sends a page in a call": dict(calls=["f"], results=["neither JSON nor a stream of events"]),
    "answers with nothing": dict(calls=["f"], results=["ended its answer before the result"]),
    "answers that it has taken it": dict(calls=["f"], results=["ended its answer before the result"]),
    "answers with the wrong id": dict(calls=["f"], results=["ended its answer before the result; it answered a request that was never made, with the id"]),
    "refuses a call with a status": dict(calls=["f"], results=["says: n is too odd (-32602)"], failed=["mcp.tool_call"],
                                       fenced=["n is too odd"]),
    "asks back in an answer": dict(calls=["f"], results=["did f"], check=answers_a_ping),
    "opens its own stream late": dict(GOOD, revision="2025-11-25"),
    "asks back on its own stream": dict(GOOD, check=answers_that_nobody_is_there),
    "hangs in a call": dict(calls=["f"], results=["did not answer within 1s"], settings="timeouts: {call: 1s}",
                            check=all_of(times("notifications/cancelled", 1), is_cut)),
    "hangs in a call, and is stateless": dict(
        calls=["f"], results=["did not answer within 1s"], settings="timeouts: {call: 1s}",
        check=all_of(times("notifications/cancelled", 0), is_cut)),
    "hangs in a call that is interrupted": dict(calls=["f"], code=-signal.SIGINT, stop=signal.SIGINT,
                                                when_called=lambda row: SERVERS[row.behaviour].called.wait(PATIENCE_S),
                                                check=all_of(is_cut, is_told_of_its_end)),
    "is told a secret": dict(calls=["f"], results=["[redacted]"], never=["gvCx81a9Qk2"],
                             settings='headers: {X-Api-Token: "${env:A_SECRET_TOKEN}"}'),
    "wants arguments in headers": dict(
        calls=["f"], arguments={"n": 7, "at": {"city": "Zürich"}}, results=["did f"], check=has_headers(
            "tools/call", Mcp_Param_Number="7", Mcp_Param_City=mirrored("Zürich"), Mcp_Name="f")),
    "wants headers that are none": dict(
        calls=["f"], results=["did f"], tools=["mcp__s__f"], said="is not the name of a header"),
}

if __name__ == "__main__":
    sys.exit(play_rows(ROWS, address_of, __doc__, "mcp-http"))
