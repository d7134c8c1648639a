"""The wire forms that the scripted server speaks: how an answer looks, whole and streamed, how an
error looks, and what a real provider would refuse in a request. One class a protocol."""
import json
import re
import struct
import urllib.parse
import zlib


AS_WRITTEN = "\0number:"


def compact(value):
    """Numbers that parsed_arguments() took are written as they were."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return re.sub(r'"\\u0000number:([^"]*)"', r"\1", text)


class Reply:
    """One step of the script: what to answer and how to break."""

    def __init__(self, step):
        self.step = step
        self.text = step.get("text", "")
        if "size" in step:
            unit = self.text or "lorem ipsum "
            self.text = (unit * (step["size"] // len(unit) + 1))[:step["size"]]
        self.tools = step.get("tools", [])
        self.reasoning = step.get("reasoning", "")
        self.usage = {"input": 10, "output": 5, "cache_read": 0, "cache_write": 0, "reasoning": 0,
                      **step.get("usage", {})}
        self.usage_as = step.get("usage_as")
        self.stop = step.get("stop") or ("tool_use" if self.tools else "end_turn")

    def stop_word(self, words):
        return words.get(self.stop, self.stop)

    def call_id(self, index, number):
        return self.tools[index].get("id") or f"call_{number}_{index + 1}"

    def arguments(self, index):
        tool = self.tools[index]
        return tool["raw"] if "raw" in tool else compact(tool.get("arguments", {}))

    def parsed_arguments(self, index):
        """For servers that send an object: text that is none comes as text."""
        try:
            return json.loads(self.arguments(index), parse_int=AS_WRITTEN.__add__,
                              parse_float=AS_WRITTEN.__add__)
        except ValueError:
            return self.arguments(index)

    def text_pieces(self):
        width = max(7, len(self.text) // 40)
        return [self.text[at:at + width] for at in range(0, len(self.text), width)]


COUNTS = {"usage", "usageMetadata", "prompt_eval_count", "eval_count"}


def counts_as(way, value, inside=False):
    """The value with its counts of tokens as text, or without them."""
    if isinstance(value, list):
        return [counts_as(way, one, inside) for one in value]
    if isinstance(value, dict):
        return {key: counts_as(way, one, inside or key in COUNTS) for key, one in value.items()
                if way != "missing" or key not in COUNTS}
    return f"{value} tokens" if inside and way == "text" and isinstance(value, int) else value


def anthropic_usage(usage):
    return {"input_tokens": usage["input"] - usage["cache_read"] - usage["cache_write"],
            "cache_read_input_tokens": usage["cache_read"],
            "cache_creation_input_tokens": usage["cache_write"], "output_tokens": usage["output"]}


def anthropic_whole(reply, number):
    content = []
    if reply.reasoning:
        content.append({"type": "thinking", "thinking": reply.reasoning, "signature": "c2ln"})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    for index, tool in enumerate(reply.tools):
        given = reply.parsed_arguments(index)
        content.append({"type": "tool_use", "id": reply.call_id(index, number), "name": tool["name"],
                        "input": given if isinstance(given, dict) else tool.get("arguments", {})})
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "model-1",
            "content": content, "stop_reason": reply.stop_word(Anthropic.stops), "stop_sequence": None,
            "usage": anthropic_usage(reply.usage)}


def anthropic_events(reply, number):
    usage = anthropic_usage(reply.usage)
    so_far = 1 if 0 < usage["output_tokens"] <= 20_000_000 else usage["output_tokens"]
    yield "message_start", {"message": {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "model-1",
        "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {**usage, "output_tokens": so_far}}}
    yield "ping", {}
    index = 0
    if reply.reasoning:
        yield "content_block_start", {"index": index, "content_block": {
            "type": "thinking", "thinking": "", "signature": ""}}
        yield "content_block_delta", {"index": index, "delta": {
            "type": "thinking_delta", "thinking": reply.reasoning}}
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
    yield "message_delta", {"delta": {"stop_reason": reply.stop_word(Anthropic.stops), "stop_sequence": None},
                            "usage": {"output_tokens": reply.usage["output"]}}
    yield "message_stop", {}


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


def reported_cost(usage):
    return {key: usage[key] for key in ("cost", "cost_in_usd_ticks") if key in usage}


def openai_usage(usage):
    return {"prompt_tokens": usage["input"], "completion_tokens": usage["output"],
            "total_tokens": usage["input"] + usage["output"], **reported_cost(usage),
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
            "choices": [{"index": 0, "message": message, "finish_reason": reply.stop_word(OpenaiChat.stops)}],
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
    yield chunk({}, reply.stop_word(OpenaiChat.stops))
    yield None, {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1,
                 "model": "model-1", "choices": [], "usage": openai_usage(reply.usage)}
    yield None, "[DONE]"


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


def responses_usage(usage):
    return {"input_tokens": usage["input"], "output_tokens": usage["output"],
            "total_tokens": usage["input"] + usage["output"], **reported_cost(usage),
            "input_tokens_details": {"cached_tokens": usage["cache_read"]},
            "output_tokens_details": {"reasoning_tokens": usage["reasoning"]}}


def responses_items(reply, number):
    if reply.reasoning:
        yield {"type": "reasoning", "id": f"rs_{number}", "encrypted_content": "c2ln",
               "summary": [{"type": "summary_text", "text": reply.reasoning}]}
    if reply.text:
        yield {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": reply.text, "annotations": []}]}
    for index, tool in enumerate(reply.tools):
        yield {"type": "function_call", "id": f"fc_{number}_{index}", "call_id": reply.call_id(index, number),
               "name": tool["name"], "arguments": reply.arguments(index), "status": "completed"}


def responses_whole(reply, number):
    word = reply.stop_word(OpenaiResponses.stops)
    is_cut = word in ("max_output_tokens", "content_filter")
    return {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "model-1", "error": None,
            "status": "incomplete" if is_cut else word if word == "abort" else "completed",
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
            yield "response.reasoning_summary_text.delta", {**at, "delta": reply.reasoning}
        else:
            half = len(item["arguments"]) // 2
            for piece in (item["arguments"][:half], item["arguments"][half:]):
                yield "response.function_call_arguments.delta", {**at, "delta": piece}
        yield "response.output_item.done", {**at, "item": item}
    yield f"response.{whole['status']}", {"response": whole}


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


def gemini_object(reply, parts, finish=None, last=True):
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    usage = reply.usage
    thoughts = usage["reasoning"]
    meta = {"promptTokenCount": usage["input"], "candidatesTokenCount": usage["output"] - thoughts,
            "thoughtsTokenCount": thoughts, "cachedContentTokenCount": usage["cache_read"],
            "totalTokenCount": usage["input"] + usage["output"]}
    return {"candidates": [candidate], "usageMetadata": meta if last else {"trafficType": "ON_DEMAND"},
            "modelVersion": "model-1", "responseId": "r"}


def gemini_calls(reply, number):
    for index, tool in enumerate(reply.tools):
        call = {"name": tool["name"], "id": reply.call_id(index, number)}
        if "raw" in tool or tool.get("arguments"):
            call["args"] = reply.parsed_arguments(index)
        part = {"functionCall": call}
        if index == 0:
            part["thoughtSignature"] = "c2ln"
        yield part


def gemini_whole(reply, number):
    parts = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
    parts += [{"text": reply.text}] if reply.text else []
    return gemini_object(reply, parts + list(gemini_calls(reply, number)), reply.stop_word(Gemini.stops))


def gemini_events(reply, number):
    parts = [{"text": reply.reasoning, "thought": True}] if reply.reasoning else []
    parts += [{"text": piece} for piece in reply.text_pieces()] + list(gemini_calls(reply, number))
    for part in parts:
        yield None, gemini_object(reply, [part], last=False)
    yield None, gemini_object(reply, [{"text": ""}], reply.stop_word(Gemini.stops))


def gemini_faults(body):
    roles = [turn["role"] for turn in body["contents"]]
    if roles[0] != "user" or any(one == other for one, other in zip(roles, roles[1:])):
        yield f"roles do not take turns: {roles}"
    for at, turn in enumerate(body["contents"]):
        asked = [part["functionCall"]["name"] for part in turn["parts"] if "functionCall" in part]
        results = body["contents"][at + 1]["parts"] if at + 1 < len(body["contents"]) else []
        given = [part["functionResponse"]["name"] for part in results if "functionResponse" in part]
        if asked != given and (asked or turn["role"] == "model"):
            yield f"tool calls {asked} have the results {given}"
        if asked and next(part for part in turn["parts"] if "functionCall" in part).get("thoughtSignature") != "c2ln":
            yield "the first call lacks its thoughtSignature"


def ollama_line(reply, message, done=False):
    line = {"model": "model-1", "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": "", **message}, "done": done}
    if done:
        line |= {"done_reason": reply.stop_word(Ollama.stops), "prompt_eval_count": reply.usage["input"],
                 "eval_count": reply.usage["output"], "total_duration": 5, "eval_duration": 3}
    return line


def ollama_calls(reply, number):
    return [{"id": reply.call_id(index, number), "function": {
        "index": index, "name": tool["name"], "arguments": reply.parsed_arguments(index)}}
        for index, tool in enumerate(reply.tools)]


def ollama_whole(reply, number):
    message = {"content": reply.text}
    if reply.reasoning:
        message["thinking"] = reply.reasoning
    if reply.tools:
        message["tool_calls"] = ollama_calls(reply, number)
    return ollama_line(reply, message, done=True)


def ollama_events(reply, number):
    if reply.reasoning:
        yield None, ollama_line(reply, {"thinking": reply.reasoning})
    for piece in reply.text_pieces():
        yield None, ollama_line(reply, {"content": piece})
    for call in ollama_calls(reply, number):
        yield None, ollama_line(reply, {"tool_calls": [call]})
    yield None, ollama_line(reply, {}, done=True)


def ollama_faults(body):
    if not isinstance(body.get("stream"), bool):
        yield "stream is not said: the server's default is to stream"
    if body.get("options", {}).get("num_ctx", 0) < len(compact(body["messages"])) // 4:
        yield "num_ctx does not hold the prompt: the server cuts it without a word"
    open_calls = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if not open_calls or message["tool_name"] != open_calls.pop(0):
                yield f"a result without its call: {message['tool_name']}"
        elif open_calls:
            yield f"calls without a result: {open_calls}"
            open_calls = []
        for call in message.get("tool_calls") or []:
            open_calls.append(call["function"]["name"])
            if not isinstance(call["function"]["arguments"], dict):
                yield "arguments are no object"
    if open_calls:
        yield f"calls without a result: {open_calls}"


def bedrock_usage(usage):
    return {"inputTokens": usage["input"] - usage["cache_read"] - usage["cache_write"],
            "cacheReadInputTokens": usage["cache_read"], "cacheWriteInputTokens": usage["cache_write"],
            "outputTokens": usage["output"], "totalTokens": usage["input"] + usage["output"]}


def bedrock_whole(reply, number):
    content = []
    if reply.reasoning:
        content.append({"reasoningContent": {"reasoningText": {"text": reply.reasoning, "signature": "c2ln"}}})
    if reply.text:
        content.append({"text": reply.text})
    for index, tool in enumerate(reply.tools):
        content.append({"toolUse": {"toolUseId": reply.call_id(index, number), "name": tool["name"],
                                    "input": reply.parsed_arguments(index)}})
    return {"output": {"message": {"role": "assistant", "content": content}},
            "stopReason": reply.stop_word(Bedrock.stops), "usage": bedrock_usage(reply.usage),
            "metrics": {"latencyMs": 1}}


def bedrock_events(reply, number):
    def delta(index, inside):
        return "contentBlockDelta", {"contentBlockIndex": index, "delta": inside, "p": "abc"}
    yield "messageStart", {"role": "assistant"}
    index = 0
    if reply.reasoning:
        yield delta(index, {"reasoningContent": {"text": reply.reasoning}})
        yield delta(index, {"reasoningContent": {"signature": "c2ln"}})
        yield "contentBlockStop", {"contentBlockIndex": index}
        index += 1
    if reply.text:
        for piece in reply.text_pieces():
            yield delta(index, {"text": piece})
        yield "contentBlockStop", {"contentBlockIndex": index}
        index += 1
    for at, tool in enumerate(reply.tools):
        yield "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": {
            "toolUseId": reply.call_id(at, number), "name": tool["name"]}}}
        arguments = reply.arguments(at)
        half = len(arguments) // 2
        for piece in (arguments[:half], arguments[half:]):
            yield delta(index, {"toolUse": {"input": piece}})
        yield "contentBlockStop", {"contentBlockIndex": index}
        index += 1
    yield "messageStop", {"stopReason": reply.stop_word(Bedrock.stops)}
    yield "metadata", {"usage": bedrock_usage(reply.usage), "metrics": {"latencyMs": 1}}


def bedrock_faults(body):
    roles = [turn["role"] for turn in body["messages"]]
    if roles[0] != "user" or any(one == other for one, other in zip(roles, roles[1:])):
        yield f"roles do not take turns: {roles}"
    for at, turn in enumerate(body["messages"]):
        if any("text" in block and not block["text"].strip() for block in turn["content"]):
            yield "a blank text block"
        asked = [block["toolUse"]["toolUseId"] for block in turn["content"] if "toolUse" in block]
        results = body["messages"][at + 1]["content"] if at + 1 < len(body["messages"]) else []
        given = [block["toolResult"]["toolUseId"] for block in results if "toolResult" in block]
        if asked != given and (asked or turn["role"] == "assistant"):
            yield f"tool calls {asked} have the results {given}"


def frame(headers, payload):
    """One frame of Amazon's event stream."""
    packed = b"".join(struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
                      for name, value in headers.items())
    prelude = struct.pack("!II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + packed + payload
    return message + struct.pack("!I", zlib.crc32(message))


# ---- the table ----

class Protocol:
    """What most of them share: server-sent events that are named as in their data."""
    stops, messages_key, whole_kind, stream_kind = {}, "messages", "application/json", "text/event-stream"

    @classmethod
    def event(cls, name, data):
        return f"event: {name}\ndata: {compact({'type': name, **data})}\n\n".encode()

    @classmethod
    def error(cls, error):
        return {"error": {"message": error.get("message", "the request failed"), "type": error.get("type", "error"),
                          "param": None, "code": error.get("code")}}

    @classmethod
    def error_event(cls, error):
        return f"event: error\ndata: {compact(cls.error(error))}\n\n".encode()

    @classmethod
    def error_headers(cls, error):
        return {}

    @classmethod
    def is_streamed(cls, request):
        return bool(request.body and request.body.get("stream"))

    @classmethod
    def model(cls, request):
        return (request.body or {}).get("model")

    @classmethod
    def tool_names(cls, body):
        return [tool.get("name") or tool.get("function", {}).get("name") for tool in body.get("tools", [])]


class Anthropic(Protocol):
    stops = {"pause": "pause_turn", "context_window": "model_context_window_exceeded", "content_filter": "refusal"}
    whole, events, faults = staticmethod(anthropic_whole), staticmethod(anthropic_events), staticmethod(anthropic_faults)

    @classmethod
    def error(cls, error):
        return {"type": "error", "error": {"type": error.get("type", "error"),
                                           "message": error.get("message", "the request failed")}}


class OpenaiChat(Protocol):
    stops = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "stop_sequence": "stop",
             "refusal": "content_filter"}
    whole, events, faults = staticmethod(openai_whole), staticmethod(openai_events), staticmethod(openai_faults)

    @classmethod
    def event(cls, name, data):
        return f"data: {data if isinstance(data, str) else compact(data)}\n\n".encode()

    @classmethod
    def error_event(cls, error):
        return cls.event(None, cls.error(error))


class OpenaiResponses(Protocol):
    stops = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
    messages_key = "input"
    whole, events, faults = staticmethod(responses_whole), staticmethod(responses_events), staticmethod(responses_faults)


class Gemini(Protocol):
    stops = {"end_turn": "STOP", "tool_use": "STOP", "stop_sequence": "STOP", "max_tokens": "MAX_TOKENS",
             "content_filter": "SAFETY", "refusal": "PROHIBITED_CONTENT",
             "malformed_tool_call": "MALFORMED_FUNCTION_CALL"}
    messages_key = "contents"
    whole, events, faults = staticmethod(gemini_whole), staticmethod(gemini_events), staticmethod(gemini_faults)

    @classmethod
    def event(cls, name, data):
        return f"data: {compact(data)}\r\n\r\n".encode()

    @classmethod
    def error(cls, error):
        return {"error": {"code": error.get("code", 500), "message": error.get("message", "the request failed"),
                          "status": error.get("type", "INTERNAL").upper()}}

    @classmethod
    def error_event(cls, error):
        return cls.event(None, cls.error(error))

    @classmethod
    def is_streamed(cls, request):
        return ":streamGenerateContent" in request.path

    @classmethod
    def model(cls, request):
        return request.path.rpartition("/")[2].partition(":")[0]

    @classmethod
    def tool_names(cls, body):
        return [tool["name"] for group in body.get("tools", []) for tool in group["functionDeclarations"]]


class Ollama(Protocol):
    stops = {"end_turn": "stop", "tool_use": "stop", "stop_sequence": "stop", "max_tokens": "length"}
    stream_kind = "application/x-ndjson"
    whole, events, faults = staticmethod(ollama_whole), staticmethod(ollama_events), staticmethod(ollama_faults)

    @classmethod
    def event(cls, name, data):
        return compact(data).encode() + b"\n"

    @classmethod
    def error(cls, error):
        return {"error": error.get("message", "the request failed")}

    @classmethod
    def error_event(cls, error):
        return cls.event(None, cls.error(error))


class Bedrock(Protocol):
    stops = {"content_filter": "content_filtered", "refusal": "content_filtered",
             "context_window": "model_context_window_exceeded", "malformed_tool_call": "malformed_tool_use"}
    stream_kind = "application/vnd.amazon.eventstream"
    whole, events, faults = staticmethod(bedrock_whole), staticmethod(bedrock_events), staticmethod(bedrock_faults)

    @classmethod
    def event(cls, name, data):
        return frame({":message-type": "event", ":event-type": name, ":content-type": "application/json"},
                     compact(data).encode())

    @classmethod
    def error(cls, error):
        return {"message": error.get("message", "the request failed")}

    @classmethod
    def error_event(cls, error):
        return frame({":message-type": "exception", ":exception-type": error.get("type", "internalServerException"),
                      ":content-type": "application/json"}, compact(cls.error(error)).encode())

    @classmethod
    def error_headers(cls, error):
        return {"x-amzn-errortype": error["type"] + ":http://internal.amazon.com/"} if "type" in error else {}

    @classmethod
    def is_streamed(cls, request):
        return request.path.endswith("/converse-stream")

    @classmethod
    def model(cls, request):
        return urllib.parse.unquote(request.path.split("/")[-2])

    @classmethod
    def tool_names(cls, body):
        return [tool["toolSpec"]["name"] for tool in body.get("toolConfig", {}).get("tools", []) if "toolSpec" in tool]


def protocol_of(path):
    """A request's protocol is seen from its path."""
    last = path.partition("?")[0].rpartition("/")[2]
    if "GenerateContent" in last or "generateContent" in last:
        return Gemini
    return {"messages": Anthropic, "responses": OpenaiResponses, "chat": Ollama, "converse": Bedrock,
            "converse-stream": Bedrock}.get(last, OpenaiChat)
