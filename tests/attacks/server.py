"""The network behind the firewall: a page with a secret, and one that leads there. `server.py NAME …`
listens on the loopback, writes the ports to the files, its process id to server.pid, and answers in
the background, for a minute."""
import http.server
import os
import pathlib
import sys
import threading


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open("asked", "a", encoding="ascii") as log:
            log.write(self.path + "\n")
        inner = pathlib.Path("port").read_text(encoding="ascii")
        if self.path.startswith("/lead"):
            self.send_response(302)
            self.send_header("Location", f"http://{self.path[6:]}:{inner}/secret")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"inner-secret-5d1f")

    def log_message(self, *_):
        pass


servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) for _ in sys.argv[1:]]
for name, server in zip(sys.argv[1:], servers):
    pathlib.Path(name).write_text(str(server.server_port), encoding="ascii")
child = os.fork()  # they listen already: whoever started this can go on
if child:
    pathlib.Path("server.pid").write_text(str(child), encoding="ascii")
    sys.exit()
nowhere = os.open(os.devnull, os.O_RDWR)
for descriptor in range(3):
    os.dup2(nowhere, descriptor)
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
threading.Event().wait(60)
