"""A scripted LLM server: speaks Anthropic Messages, OpenAI Chat and Responses on one loopback port,
streamed or not, and breaks where its script says so. One server a case; see README.md for the
script."""
import email.utils
import json
import random
import socket
import ssl
import struct
import threading
import time

STOP_WORDS = {
    "anthropic": {"pause": "pause_turn", "context_window": "model_context_window_exceeded",
                  "content_filter": "refusal"},
    "openai": {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length",
               "stop_sequence": "stop", "refusal": "content_filter"},
    "responses": {"max_tokens": "max_output_tokens", "refusal": "content_filter"},
}
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests",
           500: "Internal Server Error", 503: "Service Unavailable"}
STALL_LIMIT_S = 60


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Reply:
    """One step of the script: what to answer and how to break."""

    def __init__(self, step):
        self.step = step
        self.text = step.get("text", "")
        if "size" in step:
            unit = self.text or "lorem ipsum "
            self.text = (unit * (step["size"] // len(unit) + 1))[:step["size"]]
        self.tools = step.get("tools", [])
        self.usage = {"input": 10, "output": 5, "cache_read": 0, "cache_write": 0, "reasoning": 0,
                      **step.get("usage", {})}
        self.stop = step.get("stop") or ("tool_use" if self.tools else "end_turn")

    def stop_word(self, dialect):
        return STOP_WORDS[dialect].get(self.stop, self.stop)

    def call_id(self, index, number):
        return self.tools[index].get("id") or f"call_{number}_{index + 1}"

    def arguments(self, index):
        tool = self.tools[index]
        return tool["raw"] if "raw" in tool else compact(tool.get("arguments", {}))

    def text_pieces(self):
        width = max(7, len(self.text) // 40)
        return [self.text[at:at + width] for at in range(0, len(self.text), width)]


def anthropic_usage(usage):
    return {"input_tokens": usage["input"] - usage["cache_read"] - usage["cache_write"],
            "cache_read_input_tokens": usage["cache_read"],
            "cache_creation_input_tokens": usage["cache_write"], "output_tokens": usage["output"]}


def anthropic_whole(reply, number):
    content = []
    if reply.step.get("reasoning"):
        content.append({"type": "thinking", "thinking": reply.step["reasoning"], "signature": "c2ln"})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for index, tool in enumerate(reply.tools):
        content.append({"type": "tool_use", "id": reply.call_id(index, number),
                        "name": tool["name"], "input": tool.get("arguments", {})})
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "model-1",
            "content": content, "stop_reason": reply.stop_word("anthropic"), "stop_sequence": None,
            "usage": anthropic_usage(reply.usage)}


def anthropic_events(reply, number):
    usage = anthropic_usage(reply.usage)
    yield "message_start", {"message": {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "model-1",
        "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1}}}
    yield "ping", {}
    index = 0
    if reply.step.get("reasoning"):
        yield "content_block_start", {"index": index, "content_block": {
            "type": "thinking", "thinking": "", "signature": ""}}
        yield "content_block_delta", {"index": index, "delta": {
            "type": "thinking_delta", "thinking": reply.step["reasoning"]}}
        yield "content_block_delta", {"index": index, "delta": {
            "type": "signature_delta", "signature": "c2ln"}}
        yield "content_block_stop", {"index": index}
        index += 1
    if reply.text:
        yield "content_block_start", {"index": index, "content_block": {"type": "text", "text": ""}}
        for piece in reply.text_pieces():
            yield "content_block_delta", {"index": index, "delta": {"type": "text_delta", "text": piece}}
        yield "content_block_stop", {"index": index}
        index += 1
    for at, tool in enumerate(reply.tools):
        yield "content_block_start", {"index": index, "content_block": {
            "type": "tool_use", "id": reply.call_id(at, number), "name": tool["name"], "input": {}}}
        arguments = reply.arguments(at)
        half = len(arguments) // 2
        for piece in ("", arguments[:half], arguments[half:]):
            yield "content_block_delta", {"index": index, "delta": {
                "type": "input_json_delta", "partial_json": piece}}
        yield "content_block_stop", {"index": index}
        index += 1
    yield "message_delta", {"delta": {"stop_reason": reply.stop_word("anthropic"), "stop_sequence": None},
                            "usage": {"output_tokens": reply.usage["output"]}}
    yield "message_stop", {}


def openai_usage(usage):
    return {"prompt_tokens": usage["input"], "completion_tokens": usage["output"],
            "total_tokens": usage["input"] + usage["output"],
            "prompt_tokens_details": {"cached_tokens": usage["cache_read"]},
            "completion_tokens_details": {"reasoning_tokens": usage["reasoning"]}}


def openai_whole(reply, number):
    message = {"role": "assistant", "content": reply.text or None}
    if reply.tools:
        message["tool_calls"] = [
            {"id": reply.call_id(index, number), "type": "function",
             "function": {"name": tool["name"], "arguments": reply.arguments(index)}}
            for index, tool in enumerate(reply.tools)]
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "model-1",
            "choices": [{"index": 0, "message": message, "finish_reason": reply.stop_word("openai")}],
            "usage": openai_usage(reply.usage)}


def openai_events(reply, number):
    def chunk(delta, finish=None):
        return None, {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1,
                      "model": "model-1",
                      "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    yield chunk({"role": "assistant", "content": ""})
    for piece in reply.text_pieces():
        yield chunk({"content": piece})
    for index, tool in enumerate(reply.tools):
        yield chunk({"tool_calls": [{"index": index, "id": reply.call_id(index, number), "type": "function",
                                     "function": {"name": tool["name"], "arguments": ""}}]})
        arguments = reply.arguments(index)
        half = len(arguments) // 2
        for piece in (arguments[:half], arguments[half:]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, reply.stop_word("openai"))
    yield None, {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1,
                 "model": "model-1", "choices": [], "usage": openai_usage(reply.usage)}
    yield None, "[DONE]"


def responses_usage(usage):
    return {"input_tokens": usage["input"], "output_tokens": usage["output"],
            "total_tokens": usage["input"] + usage["output"],
            "input_tokens_details": {"cached_tokens": usage["cache_read"]},
            "output_tokens_details": {"reasoning_tokens": usage["reasoning"]}}


def responses_items(reply, number):
    if reply.step.get("reasoning"):
        yield {"type": "reasoning", "id": f"rs_{number}", "encrypted_content": "c2ln",
               "summary": [{"type": "summary_text", "text": reply.step["reasoning"]}]}
    if reply.text:
        yield {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": reply.text, "annotations": []}]}
    for index, tool in enumerate(reply.tools):
        yield {"type": "function_call", "id": f"fc_{number}_{index}", "call_id": reply.call_id(index, number),
               "name": tool["name"], "arguments": reply.arguments(index), "status": "completed"}


def responses_whole(reply, number):
    word = reply.stop_word("responses")
    is_cut = word in ("max_output_tokens", "content_filter")
    return {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "model-1", "error": None,
            "status": "incomplete" if is_cut else "completed",
            "incomplete_details": {"reason": word} if is_cut else None,
            "output": list(responses_items(reply, number)), "usage": responses_usage(reply.usage)}


def responses_events(reply, number):
    whole = responses_whole(reply, number)
    begun = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield "response.created", {"response": begun}
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        empty = {"message": {"content": []}, "reasoning": {"summary": []}, "function_call": {"arguments": ""}}
        yield "response.output_item.added", {**at, "item": {**item, **empty[item["type"]]}}
        if item["type"] == "message":
            for piece in reply.text_pieces():
                yield "response.output_text.delta", {**at, "content_index": 0, "delta": piece}
        elif item["type"] == "reasoning":
            yield "response.reasoning_summary_text.delta", {**at, "delta": reply.step["reasoning"]}
        else:
            half = len(item["arguments"]) // 2
            for piece in (item["arguments"][:half], item["arguments"][half:]):
                yield "response.function_call_arguments.delta", {**at, "delta": piece}
        yield "response.output_item.done", {**at, "item": item}
    yield f"response.{whole['status']}", {"response": whole}


DIALECTS = {"anthropic": (anthropic_whole, anthropic_events), "openai": (openai_whole, openai_events),
            "responses": (responses_whole, responses_events)}


def sse(name, data, dialect):
    if dialect != "openai":
        return f"event: {name}\ndata: {compact({'type': name, **data})}\n\n"
    return f"data: {data if isinstance(data, str) else compact(data)}\n\n"


def error_body(error, dialect):
    kind = error.get("type", "error")
    message = error.get("message", "the request failed")
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "param": None, "code": error.get("code")}}


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
    def dialect(self):
        return {"messages": "anthropic", "responses": "responses"}.get(self.path.rpartition("/")[2], "openai")

    @property
    def messages(self):
        return (self.body or {}).get("input" if self.dialect == "responses" else "messages")


class Server:
    """Plays `script` (the parsed server.toml). `requests` is what it saw; `faults` what was wrong
    with it, beyond what a case looks for itself."""

    def __init__(self, script, certificate=None):
        self.script = script
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

    def close(self):
        self.closing.set()
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
        reply, dialect = Reply(step), request.dialect
        status, fault, after = step.get("status", 200), step.get("fault"), step.get("after", 0)
        self._sleep(step.get("delay_ms", 0) / 1000)
        if fault in ("reset", "close", "stall") and "after" not in step:
            self._break(connection, fault)
        streamed = bool(request.body and request.body.get("stream")) and status == 200
        if "body" in step or "error" in step or status != 200:
            body = step["body"] if "body" in step else compact(error_body(step.get("error", {}), dialect))
            kind = step.get("content_type", "application/json")
            pieces = [body.encode()]
        elif streamed:
            kind = "text/event-stream"
            events = list(DIALECTS[dialect][1](reply, number))
            pieces = [sse(name, data, dialect).encode() for name, data in events]
        else:
            kind = "application/json"
            body = compact(DIALECTS[dialect][0](reply, number)).encode()
            width = max(64, len(body) // 50)
            pieces = [body[at:at + width] for at in range(0, len(body), width)]
        chunked = streamed and "body" not in step
        head = f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}\r\ncontent-type: {kind}\r\n"
        for name, value in step.get("headers", {}).items():
            head += f"{name}: {self._header(str(value))}\r\n"
        if chunked:
            head += "transfer-encoding: chunked\r\n\r\n"
        else:
            head += f"content-length: {sum(map(len, pieces))}\r\n\r\n"
        connection.sendall(head.encode())
        if fault in ("reset", "close", "stall", "end", "error_event"):
            pieces = pieces[:after] if after >= 0 else pieces[:after or None]
        self._send(connection, pieces, chunked, step.get("pace_ms", 0) / 1000, number)
        if fault == "error_event":
            data = error_body(step["stream_error"], dialect)
            line = (f"data: {compact(data)}\n\n" if dialect == "openai"
                    else f"event: error\ndata: {compact(data)}\n\n")
            self._send(connection, [line.encode()], chunked, 0, number)
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
    if request.method != "POST" or not isinstance(body, dict):
        return [fault("not a POST of a JSON object")]
    if not isinstance(request.messages, list) or not request.messages:
        return [fault("no messages")]
    found = []
    names = [tool.get("name") or tool.get("function", {}).get("name") for tool in body.get("tools", [])]
    if names != sorted(names):
        found.append(fault("tools are not sorted"))
    check = {"anthropic": anthropic_faults, "openai": openai_faults, "responses": responses_faults}[request.dialect]
    return found + [fault(text) for text in check(body)]


def anthropic_faults(body):
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens is missing"
    roles = [message["role"] for message in body["messages"]]
    if roles[0] != "user" or ("assistant", "assistant") in zip(roles, roles[1:]):
        yield f"roles do not take turns: {roles}"
    blocks = [message["content"] if isinstance(message["content"], list)
              else [{"type": "text", "text": message["content"]}] for message in body["messages"]]
    if any(block["type"] == "text" and not block["text"].strip() for turn in blocks for block in turn):
        yield "an empty text block"
    for at, turn in enumerate(blocks):
        asked = [block["id"] for block in turn if block["type"] == "tool_use"]
        results = blocks[at + 1] if at + 1 < len(blocks) else []
        given = [block["tool_use_id"] for block in results if block["type"] == "tool_result"]
        if asked != given and (asked or roles[at] == "assistant"):
            yield f"tool calls {asked} have the results {given}"


def openai_faults(body):
    open_calls = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if not open_calls or message["tool_call_id"] != open_calls.pop(0):
                yield f"a result without its call: {message['tool_call_id']}"
        elif open_calls:
            yield f"calls without a result: {open_calls}"
            open_calls = []
        if message["role"] == "assistant":
            open_calls = [call["id"] for call in message.get("tool_calls") or []]
    if open_calls:
        yield f"calls without a result: {open_calls}"


def responses_faults(body):
    if body.get("store") is not False:
        yield "the server is not told to keep nothing"
    open_calls = []
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "function_call":
            open_calls.append(item["call_id"])
        elif kind == "function_call_output":
            if not open_calls or item["call_id"] != open_calls.pop(0):
                yield f"a result without its call: {item['call_id']}"
        elif open_calls:
            yield f"calls without a result: {open_calls}"
            open_calls = []
        if "id" in item and "encrypted_content" not in item:
            yield f"an id that the server does not know: {item['id']}"
    if open_calls:
        yield f"calls without a result: {open_calls}"
