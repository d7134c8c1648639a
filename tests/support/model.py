"""A model on a loopback port, whose answer follows from the request alone."""
import http.server
import json
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(self.server.answer(request)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class KeptAlive(Handler):
    protocol_version = "HTTP/1.1"


class Model(http.server.ThreadingHTTPServer):
    """`answer` makes the body of the answer of that of a request, both as Python has JSON; in a thread of its own."""
    daemon_threads = True

    def __init__(self, answer, handler=Handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.answer = answer
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):  # whoever asked is gone
            super().handle_error(request, client_address)


def completion(message):
    """An answer of the protocol openai_chat."""
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
