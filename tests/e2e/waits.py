#!/usr/bin/env python3
"""Servers that send and say nothing, in every protocol: every wait ends, by the deadline that it is under.

    tests/e2e/waits.py [--errand PATH] [-k PATTERN] [-j N] [-v]

A cell is a protocol, what the server goes on sending for ever, and when it begins. It ends with exit code 75 (or as
said), and its message names the deadline: what holds off one that it must not hold off ends later, by another name."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
from dialects import Reply, protocol_of  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
PROTOCOLS = ("anthropic_messages", "bedrock", "gemini", "ollama", "openai_chat", "openai_responses")
SSE = ("anthropic_messages", "gemini", "openai_chat", "openai_responses")
PACE_S, PATIENCE_S = 0.05, 90
FIRST_BYTE, IDLE, REQUEST, CONNECT = "first_byte", "idle", "request", "connect"
# Each another time, so that the message says which one it was.
TIMES = {CONNECT: "700ms", FIRST_BYTE: "800ms", IDLE: "900ms", REQUEST: "2s"}
BEGUN = 3  # events of an answer that are sent before it drips

EMPTY = {
    "anthropic_messages": ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": ""}}),
    "bedrock": ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ""}, "p": "abc"}),
    "gemini": (None, {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0}]}),
    "ollama": (None, {"model": "m", "message": {"role": "assistant", "content": ""}, "done": False}),
    "openai_chat": (None, {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": None}]}),
    "openai_responses": ("response.output_text.delta", {"output_index": 0, "delta": ""}),
}
PINGS = {"anthropic_messages": ("ping", {}), "openai_responses": ("keepalive", {"sequence_number": 1})}
TEXT = {
    "anthropic_messages": ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "a"}}),
    "bedrock": ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "a"}}),
    "gemini": (None, {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}, "index": 0}]}),
    "ollama": (None, {"model": "m", "message": {"role": "assistant", "content": "a"}, "done": False}),
    "openai_chat": (None, {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}),
    "openai_responses": ("response.output_text.delta", {"output_index": 0, "delta": "a"}),
}
# What drips: (in which protocols, what ends it at the start, what ends it in the middle)
DRIPS = {
    "1xx": (PROTOCOLS, FIRST_BYTE, None),
    "header lines": (PROTOCOLS, FIRST_BYTE, None),
    "blank lines": (("ollama", *SSE), FIRST_BYTE, IDLE),
    "comments": (SSE, FIRST_BYTE, REQUEST),
    "pings": (tuple(PINGS), FIRST_BYTE, REQUEST),
    "empty deltas": (PROTOCOLS, FIRST_BYTE, IDLE),
    "letters of an event": (PROTOCOLS, FIRST_BYTE, IDLE),
    "text": (PROTOCOLS, None, REQUEST),
}
START, MIDDLE = "at the start", "in the middle"


class Dripping:
    """A server that reads one request a connection, and then sends until the client leaves."""

    def __init__(self, talk):
        self.talk = talk
        self.closing = threading.Event()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(16)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.talk(self, connection)
            except OSError:
                pass

    def pause(self, seconds=PACE_S):
        if self.closing.wait(seconds):
            raise OSError

    def close(self):
        self.closing.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def read_request(connection):
    """The path of a request that has been read whole."""
    reader = connection.makefile("rb")
    path = reader.readline().decode("latin-1").split()[1]
    length = 0
    while (line := reader.readline().strip().lower()):
        if line.startswith(b"content-length:"):
            length = int(line[15:])
    reader.read(length)
    return path


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def forever(server, connection, pieces):
    while True:
        for piece in pieces:
            connection.sendall(piece)
            server.pause()


def dripper(name, drip, moment):
    def talk(server, connection):
        protocol = protocol_of(read_request(connection))
        if drip == "1xx":
            forever(server, connection, [b"HTTP/1.1 102 Processing\r\nx-at: 1\r\n\r\n"])
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        if drip == "header lines":
            forever(server, connection, [b"x-more: 1\r\n"])
        connection.sendall(f"content-type: {protocol.stream_kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        if moment == MIDDLE:
            events = list(protocol.events(Reply({"text": "This is how an answer begins, and then it does not end."}), 1))
            for event in events[:BEGUN + 1]:
                connection.sendall(chunk(protocol.event(*event)))
        if drip == "blank lines":
            pieces = [b"\n"]
        elif drip == "comments":
            pieces = [b": still at work\n\n"]
        elif drip == "letters of an event":
            event = protocol.event(*TEXT[name])
            at = len(event) // 2
            connection.sendall(chunk(event[:at]))
            pieces = [event[at:at + 1]] * 4000 if name != "bedrock" else [bytes([byte]) for byte in event[at:-5]]
            for piece in pieces:
                connection.sendall(chunk(piece))
                server.pause()
            server.pause(PATIENCE_S)
        else:
            event = protocol.event(*{"pings": PINGS, "empty deltas": EMPTY, "text": TEXT}[drip][name])
            pieces = [event[:9], event[9:]]  # a network does not keep their borders
        forever(server, connection, [chunk(piece) for piece in pieces])
    return talk


# ---- the ways of a connection ----

def silent(server, _):
    server.pause(PATIENCE_S)


def dripping_tunnel(server, connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 Connection established\r\n")
    forever(server, connection, [b"x-more: 1\r\n"])


def dripping_page(server, connection):
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n")
    forever(server, connection, [chunk(b"a")])


def unread_upload(server, connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    server.pause(PATIENCE_S)


def dripping_document(server, connection):
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    forever(server, connection, [chunk(b" ")])


def dripping_error(server, connection):
    read_request(connection)
    connection.sendall(b"HTTP/1.1 500 No\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n")
    forever(server, connection, [chunk(b"a")])


AGENT = """version: 1
name: waits
model:
  name: local/model-1
  protocol: {protocol}
  base_url: {base}
  stream: {stream}
  timeouts: {{connect: 700ms, first_byte: 800ms, idle: 900ms, request: 2s}}
retry: {{max_attempts: 1}}
sandbox: {{required: []}}
"""
WEB = """version: 1
name: waits
model: replay/script.yaml
permissions: {{default: allow}}
tools: [{{web_fetch: {{allow_hosts: ["127.0.0.1:{port}"], timeout: 800ms}}}}]
"""
WEB_SCRIPT = """version: 1
replies:
  - tool_calls: [{{name: web_fetch, arguments: {{url: "http://127.0.0.1:{port}/"}}}}]
  - text: Done.
"""


def base_of(protocol, url):
    return url + ("" if protocol in ("ollama", "bedrock") else "/v1")


class Cell:
    def __init__(self, name, talk, wanted, protocol="openai_chat", stream=True, base=None, env=None, prompt="go"):
        self.name, self.talk, self.wanted, self.protocol, self.stream = name, talk, wanted, protocol, stream
        self.base, self.env, self.prompt = base, env or {}, prompt

    def files(self, port):
        url = (self.base or "http://127.0.0.1:{port}").format(port=port)
        yield "agent.yaml", AGENT.format(protocol=self.protocol, base=base_of(self.protocol, url),
                                         stream="true" if self.stream else "false")

    def command(self, port):
        return ["run", "-o", "json", "--no-session", "agent.yaml", "--prompt-file", "prompt.txt"]

    def judge(self, code, out):
        error = json.loads(out)["error"]
        if code != 75 or error["code"] != "provider.timeout":
            return f"exit code {code}, {error['code']}: {error['message']}"
        if not error["message"].endswith(f"within {TIMES[self.wanted]}"):
            return f"not ended by `{self.wanted}`: {error['message']}"
        return None


class RefusalCell(Cell):
    """The status says what happened; of the words about it, those that have come are enough. Its code is the same by
    whatever deadline that is seen: only `idle` comes within our patience."""

    def files(self, port):
        for name, text in super().files(port):
            yield name, text.replace("request: 2s", "request: 10m")

    def judge(self, code, out):
        error = json.loads(out)["error"]
        return None if code == 75 and error["code"] == "provider.unavailable" and error["http_status"] == 500 else \
            f"exit code {code}, {error['code']}: {error['message']}"


class WebCell(Cell):
    def files(self, port):
        yield "agent.yaml", WEB.format(port=port)
        yield "script.yaml", WEB_SCRIPT.format(port=port)

    def command(self, port):
        return ["run", "-o", "jsonl", "--no-session", "agent.yaml", "go"]

    def judge(self, code, out):
        calls = [event for line in out.splitlines() if (event := json.loads(line))["type"] == "tool.finished"]
        codes = [call.get("code") for call in calls]
        return None if code == 0 and codes == ["tool.timeout"] else f"exit code {code}, {codes}"


def cells():
    for protocol in PROTOCOLS:
        for drip, (those, start, middle) in DRIPS.items():
            for moment, wanted in ((START, start), (MIDDLE, middle)):
                if protocol in those and wanted:
                    yield Cell(f"{protocol}: {drip} {moment}", dripper(protocol, drip, moment), wanted, protocol)
        yield Cell(f"{protocol}: an answer that is not streamed", dripping_document, REQUEST, protocol, stream=False)
        yield RefusalCell(f"{protocol}: the text of an error", dripping_error, IDLE, protocol)
    through = {"base": "http://model.example", "env": {"http_proxy": "http://127.0.0.1:{port}"}}
    for drip, (those, start, middle) in DRIPS.items():
        for moment, wanted in ((START, start), (MIDDLE, middle)):
            if "openai_chat" in those and wanted:
                yield Cell(f"proxy: {drip} {moment}", dripper("openai_chat", drip, moment), wanted, **through)
    tunnel = {"base": "https://model.example", "env": {"https_proxy": "http://127.0.0.1:{port}"}}
    yield Cell("proxy: says nothing to CONNECT", silent, CONNECT, **tunnel)
    yield Cell("proxy: header lines to CONNECT", dripping_tunnel, CONNECT, **tunnel)
    yield Cell("connection: a TLS handshake that stalls", silent, CONNECT, base="https://127.0.0.1:{port}")
    yield Cell("connection: an upload that nobody reads", unread_upload, FIRST_BYTE, prompt="word " * 3_000_000)
    yield WebCell("web_fetch: a page that drips", dripping_page, None)


def play(errand, scratch, cell):
    """What is wrong, or None."""
    server = Dripping(cell.talk)
    with tempfile.TemporaryDirectory(dir=scratch.path) as folder:
        work, home = (pathlib.Path(folder) / name for name in ("work", "home"))
        work.mkdir()
        home.mkdir()
        (work / "prompt.txt").write_text(cell.prompt)
        for name, text in cell.files(server.port):
            (work / name).write_text(text)
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": folder}
        env |= {name: value.format(port=server.port) for name, value in cell.env.items()}
        try:
            done = subprocess.run([errand, *cell.command(server.port)], cwd=work, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=PATIENCE_S, env=env)
        except subprocess.TimeoutExpired:
            return f"still waiting after {PATIENCE_S} s"
        finally:
            server.close()
        scratch.hold()
        try:
            return cell.judge(done.returncode, done.stdout)
        except (ValueError, KeyError, TypeError) as error:
            return f"exit code {done.returncode}, no result: {error!r}: {done.stderr.decode()[-300:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only cells whose name has this")
    parser.add_argument("-j", "--jobs", type=int, default=16, help="cells only wait")
    parser.add_argument("-v", "--verbose", action="store_true", help="print all cells")
    options = parser.parse_args()
    errand = options.errand.resolve()
    rows = [cell for cell in cells() if options.k in cell.name]
    if not rows:
        sys.exit(f"waits: no cell has `{options.k}` in its name")
    with Scratch("waits") as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda cell: play(errand, scratch, cell), rows))
    for cell, wrong in zip(rows, found):
        if wrong or options.verbose:
            print(f"{'FAIL' if wrong else 'ok  '} {cell.name} ({cell.wanted or 'as said'})")
        if wrong:
            print(f"    {wrong}")
    failed = sum(wrong is not None for wrong in found)
    print(f"{len(rows) - failed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
