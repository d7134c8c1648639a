"""A scripted LLM server: speaks all protocols of dialects.py on one loopback port, streamed or not,
and breaks where its script says so. One server a case; see README.md for the script."""
import email.utils
import json
import random
import socket
import ssl
import struct
import threading
import time

import aws
from dialects import Reply, compact, counts_as, protocol_of

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests",
           500: "Internal Server Error", 503: "Service Unavailable"}
STALL_LIMIT_S = 60

# What a script may say: a key that nobody reads is a mistake.
SCRIPT_KEYS = {"reply", "refuse", "tls", "https_url", "signed_with"}
ANSWER_KEYS = {"text", "reasoning", "size", "tools", "stop", "usage", "usage_as"}
REPLY_KEYS = ANSWER_KEYS | {"status", "error", "headers", "body", "content_type", "delay_ms", "pace_ms", "repeat",
                            "fault", "after", "stream_error", "touch"}
TABLES = {"usage": {"input", "output", "cache_read", "cache_write", "reasoning", "cost", "cost_in_usd_ticks"},
          "error": {"type", "code", "message"}, "stream_error": {"type", "code", "message"}}
TOOL_KEYS = {"name", "arguments", "raw", "id"}
FAULTS = {"reset", "close", "stall", "head", "end", "error_event"}
STOPS = {"end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause", "context_window",
         "content_filter", "malformed_tool_call", "abort"}


def mistakes(script):
    """What a script says and nobody would heed."""
    found = [f"unknown keys {sorted(unknown)}"] if (unknown := set(script) - SCRIPT_KEYS) else []
    for number, step in enumerate(script.get("reply", []), start=1):
        found += [f"reply {number}: {mistake}" for mistake in reply_mistakes(step)]
        if step.get("repeat") == "forever" and number < len(script["reply"]):
            found.append(f"reply {number}: what follows `forever` is never asked for")
    return found


def reply_mistakes(step):
    if unknown := set(step) - REPLY_KEYS:
        yield f"unknown keys {sorted(unknown)}"
    for name, known in TABLES.items():
        if unknown := set(step.get(name, {})) - known:
            yield f"unknown keys in `{name}`: {sorted(unknown)}"
    for tool in step.get("tools", []):
        if unknown := set(tool) - TOOL_KEYS:
            yield f"unknown keys in a tool's call: {sorted(unknown)}"
        if {"arguments", "raw"} <= set(tool):
            yield "arguments and raw in one tool's call"
    if step.get("fault", "end") not in FAULTS:
        yield f"unknown fault {step['fault']}"
    if step.get("usage_as") not in (None, "text", "missing"):
        raise ValueError(f"unknown usage_as {step['usage_as']!r}")
    if step.get("stop", "end_turn") not in STOPS:
        yield f"unknown stop {step['stop']}"
    is_error = "body" in step or "error" in step or step.get("status", 200) != 200
    if is_error and (unread := ANSWER_KEYS & set(step)):
        yield f"the answer is an error or a body, and nobody reads {sorted(unread)}"
    if not is_error and "content_type" in step:
        yield "content_type without a body"
    if "body" in step and "error" in step:
        yield "body and error"
    if "after" in step and "fault" not in step:
        yield "after without a fault"
    if ("stream_error" in step) != (step.get("fault") == "error_event"):
        yield "stream_error and the fault error_event belong together"


class Gone(Exception):
    """The client closed, or the step says that the connection is over."""


class Request:
    def __init__(self, method, path, headers, raw, at):
        self.method, self.path, self.headers, self.raw, self.at = method, path, headers, raw, at
        try:
            self.body = json.loads(raw)
        except ValueError:
            self.body = None
        self.client_left = False

    @property
    def protocol(self):
        return protocol_of(self.path)

    @property
    def messages(self):
        return (self.body or {}).get(self.protocol.messages_key)


class Server:
    """Plays `script` (the parsed server.toml). `requests` is what it saw; `faults` what was wrong
    with it, beyond what a case looks for itself. What a reply touches is below `root`."""

    def __init__(self, script, certificate=None, root=None):
        self.script, self.root = script, root
        self.steps = self._unrolled(script.get("reply", []))
        self.requests, self.faults, self.connections = [], [], 0
        self.changed = threading.Condition()
        self.closing = threading.Event()
        self.sockets = set()
        self.tls = None
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        if script.get("tls"):
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*certificate)
        if not script.get("refuse"):  # bound but not listening: connections are refused
            self.listener.listen(256)
            threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        scheme = "https" if self.script.get("tls") or self.script.get("https_url") else "http"
        return f"{scheme}://127.0.0.1:{self.port}"

    def wait_for_requests(self, count, deadline):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.requests) >= count,
                                         max(0, deadline - time.monotonic()))

    def unplayed(self):
        """How many replies nobody has asked for; one that may come for ever need not come."""
        forever = bool(self.steps) and self.steps[-1].get("repeat") == "forever"
        return max(0, len(self.steps) - forever - len(self.requests))

    def close(self):
        self.closing.set()
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        except OSError:  # it never listened
            pass
        self.listener.close()
        with self.changed:
            sockets = list(self.sockets)
        for connection in sockets:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @staticmethod
    def _unrolled(replies):
        steps = []
        for step in replies:
            steps += [step] * (1 if step.get("repeat") == "forever" else step.get("repeat", 1))
        return steps

    def _accept(self):
        while not self.closing.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with self.changed:
            self.connections += 1
            self.sockets.add(connection)
        plain, reader = connection, None
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            reader = connection.makefile("rb")
            while not self.closing.is_set():
                request = self._read(reader)
                if request is None:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                    break
                number, step = self._next_step(request)
                try:
                    self._answer(connection, request, step, number)
                except (BrokenPipeError, ConnectionResetError):
                    request.client_left = True
                    break
        except (Gone, OSError, ValueError, ssl.SSLError):
            pass
        finally:
            with self.changed:
                self.sockets.discard(plain)
                self.changed.notify_all()
            if reader:
                reader.close()
            connection.close()

    def _read(self, reader):
        if reader.peek(1)[:1] == b"\x16":  # a TLS greeting to a plain port
            return None
        line = reader.readline().decode("latin-1").split()
        if len(line) < 2:
            return None
        headers = {}
        while (header := reader.readline().decode("latin-1").strip()):
            name, _, value = header.partition(":")
            headers[name.strip().lower()] = value.strip()
        raw = reader.read(int(headers.get("content-length", 0)))
        return Request(line[0], line[1], headers, raw, time.monotonic())

    def _next_step(self, request):
        with self.changed:
            self.requests.append(request)
            number = len(self.requests)
            self.faults += protocol_faults(request, number)
            if "signed_with" in self.script and not aws.is_signed(request, self.script["signed_with"]):
                self.faults.append(f"request {number}: the signature is wrong")
            if number <= len(self.steps):
                step = self.steps[number - 1]
            elif self.steps and self.script["reply"][-1].get("repeat") == "forever":
                step = self.steps[-1]
            else:
                self.faults.append(f"request {number} has no reply in server.toml")
                step = {"status": 400, "error": {"message": "the script is over"}}
            self.changed.notify_all()
        return number, step

    def _sleep(self, seconds):
        if self.closing.wait(seconds):
            raise Gone

    def _answer(self, connection, request, step, number):
        reply, protocol = Reply(step), request.protocol
        status, fault, after = step.get("status", 200), step.get("fault"), step.get("after", 0)
        self._sleep(step.get("delay_ms", 0) / 1000)
        if "touch" in step:
            (self.root / step["touch"]).touch()
        if fault in ("reset", "close", "stall") and "after" not in step:
            self._break(connection, fault)
        streamed = protocol.is_streamed(request) and status == 200
        headers = dict(step.get("headers", {}))
        if "body" in step or "error" in step or status != 200:
            error = step.get("error", {})
            body = step["body"] if "body" in step else compact(protocol.error(error))
            headers = {**protocol.error_headers(error), **headers}
            kind = step.get("content_type", "application/json")
            pieces = [body if isinstance(body, bytes) else body.encode()]
        elif streamed:
            kind = protocol.stream_kind
            pieces = [protocol.event(name, counts_as(reply.usage_as, data))
                      for name, data in protocol.events(reply, number)]
        else:
            kind = "application/json"
            body = compact(counts_as(reply.usage_as, protocol.whole(reply, number))).encode()
            width = max(8, len(body) // 50)
            pieces = [body[at:at + width] for at in range(0, len(body), width)]
        chunked = streamed and "body" not in step
        head = f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}\r\ncontent-type: {kind}\r\n"
        for name, value in headers.items():
            head += f"{name}: {self._header(str(value))}\r\n"
        if chunked:
            head += "transfer-encoding: chunked\r\n\r\n"
        else:
            head += f"content-length: {sum(map(len, pieces))}\r\n\r\n"
        if fault == "head":
            connection.sendall(head.encode()[:-len("\r\n\r\n") - 3])
            self._break(connection, "close")
        connection.sendall(head.encode())
        if fault in ("reset", "close", "stall", "end", "error_event"):
            pieces = pieces[:after] if after >= 0 else pieces[:after or None]
        self._send(connection, pieces, chunked, step.get("pace_ms", 0) / 1000, number)
        if fault == "error_event":
            self._send(connection, [protocol.error_event(step["stream_error"])], chunked, 0, number)
        elif fault in ("reset", "close", "stall"):
            self._break(connection, fault)
        if chunked:
            connection.sendall(b"0\r\n\r\n")

    @staticmethod
    def _header(value):
        """`+2s` in an HTTP date and in a clock time: the moment two seconds from now."""
        if value.startswith("date+"):
            return email.utils.formatdate(time.time() + float(value[5:]), usegmt=True)
        if value.startswith("rfc3339+"):
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + float(value[8:])))
        return value

    def _send(self, connection, pieces, chunked, pace, seed):
        """Events in pieces of odd sizes: a network does not keep their borders."""
        odd = random.Random(seed)
        for piece in pieces:
            parts = [piece]
            if chunked and len(piece) < 4096:
                cut = odd.randrange(1, len(piece))
                parts = [piece[:cut], piece[cut:]]
            for part in parts:
                connection.sendall(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
            if pace:
                self._sleep(pace)

    def _break(self, connection, fault):
        if fault == "stall":
            connection.settimeout(STALL_LIMIT_S)
            try:
                connection.recv(1)  # comes back when the client gives up
            except OSError:
                pass
        elif fault == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Gone


def protocol_faults(request, number):
    """What a real provider would refuse, whatever the case is about."""
    def fault(text):
        return f"request {number}: {text}"
    body = request.body
    if request.method in ("GET", "CONNECT"):  # the latter to a proxy
        return []
    if request.method != "POST" or not isinstance(body, dict):
        return [fault("not a POST of a JSON object")]
    if "jsonrpc" in body:  # for an MCP server that it stands for
        return []
    if not isinstance(request.messages, list) or not request.messages:
        return [fault("no messages")]
    found = []
    names = request.protocol.tool_names(body)
    added = next((at for at in range(1, len(names)) if names[at] < names[at - 1]), len(names))
    if not all(name.startswith("mcp__") or name == "find_tools" for name in names[added:]):
        found.append(fault("tools are not sorted, but for those that were added"))
    return found + [fault(text) for text in request.protocol.faults(body)]
