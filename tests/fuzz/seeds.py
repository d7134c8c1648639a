#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: answers of the end-to-end tests' own server, in its forms, the command
lines of the unit tests, patches, and what clients ask of a proxy.

    tests/fuzz/seeds.py FOLDER"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import dialects  # noqa: E402

PROTOCOLS = {"anthropic_messages": dialects.Anthropic, "bedrock": dialects.Bedrock, "gemini": dialects.Gemini,
             "ollama": dialects.Ollama, "openai_chat": dialects.OpenaiChat,
             "openai_responses": dialects.OpenaiResponses}
CALL = {"name": "f", "arguments": {"path": "a.txt", "deep": [{"x": 1.5}, None, "ü"]}}
STEPS = {
    "text": {"text": "Hello, wörld. \u00df\U0001f60a"},
    "call": {"text": "I look.", "tools": [CALL, {"name": "g"}]},
    "cut_call": {"tools": [{"name": "f", "raw": "{\"cut"}], "stop": "max_tokens"},
    "thought": {"reasoning": "Hm.", "text": "So.", "usage": {"input": 9, "cache_read": 4, "reasoning": 2}},
    "refused": {"text": "I can not", "stop": "content_filter"},
    "empty": {},
}
ERROR = {"type": "overloaded_error", "message": "Overloaded, try again in 1.5s", "code": 503}
HEADERS = ("retry-after: 3", "retry-after-ms: 20", "x-should-retry: false", "x-amzn-errortype: ThrottlingException:x",
           "retry-after: Wed, 21 Oct 2015 07:28:00 GMT", "x-ratelimit-reset-tokens: 6m0s")
PATCHES = {
    "git": "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1,3 +1,4 @@ f()\n"
           " a\n-b\n+c\n+d\n \ndiff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
           "\\ No newline at end of file\n",
    "plain": "--- \"x\\303\\244\"\t2026-01-01\n+++ \"x\\303\\244\"\n@@\n a\n\n-b\n@@ -9 +9,2 @@\n+c\n d\n-- \n2.39\n",
}
OAUTH = {
    "resource": {"resource": "https://s.example/mcp", "authorization_servers": ["https://as.example"],
                 "scopes_supported": ["read", "write"]},
    "server": {"issuer": "https://as.example", "authorization_endpoint": "https://as.example/authorize",
               "token_endpoint": "https://as.example/token", "registration_endpoint": "https://as.example/register",
               "code_challenge_methods_supported": ["S256"], "scopes_supported": ["read"],
               "token_endpoint_auth_methods_supported": ["none"], "client_id_metadata_document_supported": True,
               "authorization_response_iss_parameter_supported": True},
    "tokens": {"access_token": "a-token", "token_type": "Bearer", "refresh_token": "another", "expires_in": 3600,
               "scope": "read write"},
    "refusal": {"error": "invalid_grant", "error_description": "it is over"},
    "login": {"version": 1, "server": "https://s.example/mcp", "issuer": "https://as.example", "resource": "r",
              "token_endpoint": "https://as.example/token", "client_id": "c", "client_secret": "", "client_auth": "none",
              "access_token": "a", "refresh_token": "b", "got": 1, "expires": 2, "scopes": ["read"], "wanted": []}}
CHALLENGES = {
    "bearer": 'Bearer realm="x", resource_metadata="https://s.example/m", scope="read write", error="insufficient_scope"',
    "several": 'Basic realm="a\\"b", Negotiate abc==, Bearer scope=read',
    "callback": "GET /callback?code=a%20b&state=c&iss=https%3A%2F%2Fas.example HTTP/1.1\r\nHost: x\r\n\r\n"}
SERVED = {
    "post": "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}POST /mcp?x HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
    "chunked": "POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "get": "GET /mcp HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\nDELETE /mcp HTTP/1.1\r\nHost: b\r\n\r\n"}
MIRRORED = {"n": 7, "s": "ü", "properties": {"n": {"type": "integer", "x-mcp-header": "N"},
                                             "s": {"type": "string", "x-mcp-header": "S"}}}
PROXIED = {
    "tunnel": "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nProxy-Connection: Keep-Alive\r\n\r\n",
    "plain": "GET http://[::1]:8080/a?b HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close, x\r\nX: y\r\n\r\n",
}
MCP = {
    "request": {"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {}},
    "progress": {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 3, "progress": 1}},
    "error": {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "no", "data": {"supported": ["x"]}}},
    "result": {"jsonrpc": "2.0", "id": 1, "result": {"isError": False, "structuredContent": {"a": [1, None]}, "content": [
        {"type": "text", "text": "words"}, {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "x://y", "text": "inside"}},
        {"type": "resource_link", "name": "a", "uri": "file:///a"}]}},
    "resources": {"jsonrpc": "2.0", "id": 1, "result": {
        "resources": [{"uri": "x://a", "name": "a", "title": "A", "mimeType": "text/plain", "size": 7}, {"uri": "x:\x1b"}],
        "resourceTemplates": [{"uriTemplate": "x://{a}", "description": "a\nb"}],
        "contents": [{"uri": "x://a", "text": "t"}, {"uri": "x://b", "blob": "iVBORw0KGgo=", "mimeType": "image/png"}]}},
    "prompts": {"jsonrpc": "2.0", "id": 1, "result": {
        "prompts": [{"name": "a", "description": "d", "arguments": [{"name": "x", "required": True}]}],
        "messages": [{"role": "user", "content": {"type": "text", "text": "words"}},
                     {"role": "assistant", "content": {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}},
                     {"role": "user", "content": {"type": "resource", "resource": {"uri": "x://y", "text": "inside"}}}]}},
    "batch": [{"jsonrpc": "2.0", "id": 1, "result": {"content": []}}, {"jsonrpc": "2.0", "method": "x"}],
}
COMMAND_LINES = pathlib.Path(__file__).resolve().parent.parent / "unit" / "tools" / "permissions"
CASSETTE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "tests" / "greeting.cassette"


OTHERS = (7, True, "x", [1], {"a": 1})


def with_other_types(value):
    """The value again and again, each part of it in turn something else."""
    yield from (other for other in OTHERS if type(other) is not type(value))
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        for other in with_other_types(part):
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[key] = other
            yield copy


def write(folder, name, data):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main(folder):
    for name, protocol in PROTOCOLS.items():
        for step, script in STEPS.items():
            reply = dialects.Reply(script)
            stream = b"".join(protocol.event(kind, data) for kind, data in protocol.events(reply, 1))
            write(folder / name, f"{step}.stream", b"\x07" + stream)
            write(folder / name, f"{step}.whole", b"\x07" + dialects.compact(protocol.whole(reply, 1)).encode())
        if name == "bedrock":  # its frames have checksums: the parts of others are changed by the player
            for step in ("call", "thought"):
                events = list(protocol.events(dialects.Reply(STEPS[step]), 1))
                for at, (kind, data) in enumerate(events):
                    for number, other in enumerate(with_other_types(data)):
                        changed = [*events[:at], (kind, other), *events[at + 1:]]
                        write(folder / name, f"{step}.{at}.{number}",
                              b"\x07" + b"".join(protocol.event(*one) for one in changed))
        half = list(protocol.events(dialects.Reply(STEPS["text"]), 1))[:4]
        write(folder / name, "error.stream",
              b"\x01" + b"".join(protocol.event(*one) for one in half) + protocol.error_event(ERROR))
        for at, header in enumerate(HEADERS):
            body = dialects.compact(protocol.error(ERROR)).encode()
            write(folder / "classify", f"{name}.{at}", bytes([at]) + header.encode() + b"\n" + body)
    write(folder / "classify", "html", b"\x09x: y\n<html><title>502 Bad Gateway</title></html>")
    write(folder / "cassette", "greeting", CASSETTE.read_bytes())
    for name, text in PATCHES.items():
        write(folder / "patch", name, text.encode())
    for name, message in MCP.items():
        write(folder / "mcp_message", name, dialects.compact(message).encode())
        write(folder / "mcp_http_answer", name, dialects.compact(message).encode())
        write(folder / "mcp_http_answer", f"{name}.stream",
              b": x\n\nid: 7\nretry: 5\ndata: " + dialects.compact(message).encode() + b"\n\n")
    write(folder / "mcp_http_answer", "mirrors", dialects.compact(MIRRORED).encode())
    for name, message in OAUTH.items():
        write(folder / "oauth_metadata", name, dialects.compact(message).encode())
    for name, text in CHALLENGES.items():
        write(folder / "oauth_challenge", name, text.encode())
    for name, text in SERVED.items():
        write(folder / "served_request", name, b"\x07" + text.encode())
    for name, text in PROXIED.items():
        write(folder / "proxy_request", name, text.encode())
    for file in COMMAND_LINES.glob("*_lines.txt"):
        for at, line in enumerate(file.read_text().splitlines()):
            if line.startswith(("allow ", "ask ", "deny ")):
                write(folder / "command_line", f"{file.stem}.{at}", line[7:].replace("⏎", "\n").encode())


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
