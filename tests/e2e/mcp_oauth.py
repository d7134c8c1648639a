#!/usr/bin/env python3
"""MCP servers that want a login: an authorization server and an MCP server on loopback, a browser that says yes,
and errand between them. Each row is one story, told by command lines; tokens must come out nowhere.

    tests/e2e/mcp_oauth.py
    tests/e2e/mcp_oauth.py -k step -v
"""
import base64
import concurrent.futures
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from rows import main_over_rows  # noqa: E402

PATIENCE_S = 60


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that has gone is none of our business."""


class World:
    """Both servers on one port: what they know of each other, and what they were asked."""

    def __init__(self, **behaviour):
        self.behaviour = behaviour
        self.lock = threading.Lock()
        self.codes, self.access, self.refresh = {}, {}, {}
        self.asked, self.scopes_asked, self.faults = [], [], []
        self.busy = []  # what the token endpoint answers before it gives one: (status, headers)
        self.renewing, self.client_is_gone = threading.Event(), threading.Event()
        self.server = QuietServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def count(self, what):
        with self.lock:
            return self.asked.count(what)

    def next_busy(self):
        with self.lock:
            return self.busy.pop(0) if self.busy else None

    def tokens(self, scope):
        access, refresh = "access-" + secrets.token_hex(16), "refresh-" + secrets.token_hex(16)
        with self.lock:
            self.access[access], self.refresh[refresh] = scope, scope
        answer = {"access_token": access, "token_type": "Bearer", "scope": scope,
                  "expires_in": self.behaviour.get("lifetime", 3600)}
        return answer | ({"refresh_token": refresh} if "code" in self.behaviour.get("grants", "code") else {})

    def secrets(self):
        with self.lock:
            return list(self.access) + list(self.refresh)

    def token(self, form, authorization):
        grant = form.get("grant_type")
        if form.get("resource") != self.url + "/mcp":
            return 400, {"error": "invalid_target"}
        if grant == "client_credentials":
            if authorization != "Basic " + base64.b64encode(b"ci:a-secret-of-ci").decode():
                return 401, {"error": "invalid_client"}
            return 200, self.tokens(form.get("scope", ""))
        if grant == "refresh_token":
            if "held" in self.behaviour and not self.client_is_gone.is_set():
                if self.behaviour["held"] == "behind":
                    self.refresh.pop(form.get("refresh_token"), None)
                self.renewing.set()
                self.client_is_gone.wait(PATIENCE_S)
                if self.behaviour["held"] != "a while":
                    return 503, {"error": "temporarily_unavailable"}
            with self.lock:
                scope = self.refresh.pop(form.get("refresh_token"), None)  # good once
            return (200, self.tokens(scope)) if scope is not None else (400, {"error": "invalid_grant"})
        with self.lock:
            asked = self.codes.pop(form.get("code"), None)
        if asked is None:
            return 400, {"error": "invalid_grant"}
        challenge = base64.urlsafe_b64encode(
            hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        if challenge != asked["code_challenge"] or form.get("redirect_uri") != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant", "error_description": "not the one who asked"}
        return 200, self.tokens(asked.get("scope", ""))

    def mcp(self, message, token):
        """It tells more than it should."""
        method = message.get("method")
        if method == "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": f"crm of {token}", "version": "1"}}
        if method == "tools/list":
            return {"tools": [{"name": "f", "inputSchema": {"type": "object"}}]}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": f"did it for {token}"}]}
        return None

    def refusal(self, message, token):
        """(status, WWW-Authenticate) of a request that may not pass."""
        place = f'resource_metadata="{self.url}/.well-known/oauth-protected-resource/mcp"'
        with self.lock:
            scope = self.access.get(token)
        if scope is None:
            return 401, f'Bearer scope="read", {place}'
        if message.get("method") == "tools/call" and self.behaviour.get("call") and "write" not in scope.split():
            return 403, f'Bearer error="insufficient_scope", scope="write", {place}'
        return None

    def _handler(self):
        world = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=None, **headers):
                raw = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def is_sent_away(self, path):
                """By what stands before the MCP server and looks for a header, as a gateway does."""
                wanted = world.behaviour.get("tenant")
                is_servers = path in ("/mcp", "/.well-known/oauth-protected-resource/mcp")
                return wanted is not None and is_servers and self.headers.get("X-Tenant") != wanted

            def do_GET(self):
                path, _, query = self.path.partition("?")
                with world.lock:
                    world.asked.append(path)
                if self.is_sent_away(path):
                    return self.answer(404)
                if path == "/.well-known/oauth-protected-resource/mcp":
                    return self.answer(200, {"resource": world.url + "/mcp", "authorization_servers": [world.url]})
                if path == "/.well-known/oauth-authorization-server" and "silent" in world.behaviour:
                    world.client_is_gone.wait(PATIENCE_S)
                if path == "/.well-known/oauth-authorization-server":
                    return self.answer(200, {
                        "issuer": world.url, "authorization_endpoint": world.url + "/authorize",
                        "token_endpoint": world.url + "/token", "registration_endpoint": world.url + "/register",
                        "code_challenge_methods_supported": ["S256"],
                        "authorization_response_iss_parameter_supported": True})
                if path == "/authorize":
                    asked = dict(urllib.parse.parse_qsl(query))
                    code = secrets.token_hex(16)
                    with world.lock:
                        world.codes[code] = asked
                        world.scopes_asked.append(asked.get("scope", ""))
                    back = {"code": code, "state": asked["state"],
                            "iss": world.behaviour.get("iss", world.url)}
                    return self.answer(302, Location=asked["redirect_uri"] + "?" + urllib.parse.urlencode(back))
                return self.answer(405 if path == "/mcp" else 404)

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length", 0)))
                with world.lock:
                    world.asked.append(self.path)
                if self.is_sent_away(self.path):
                    return self.answer(404)
                if self.path == "/register":
                    return self.answer(201, {"client_id": "made-here"})
                if self.path == "/token":
                    form = dict(urllib.parse.parse_qsl(raw.decode()))
                    with world.lock:
                        world.asked.append(form.get("grant_type"))
                    if "token" in world.behaviour:
                        return self.answer(*world.behaviour["token"])
                    if busy := world.next_busy():
                        return self.answer(busy[0], {"error": "slow_down"}, **busy[1])
                    return self.answer(*world.token(form, self.headers.get("authorization", "")))
                message = json.loads(raw)
                token = self.headers.get("authorization", "").removeprefix("Bearer ")
                refusal = world.refusal(message, token)
                if refusal:
                    return self.answer(refusal[0], f"not for {token}", WWW_Authenticate=refusal[1])
                if "id" not in message:
                    return self.answer(202)
                result = world.mcp(message, token)
                known = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no"}}
                return self.answer(200, {"jsonrpc": "2.0", "id": message["id"]} | known)

            def do_DELETE(self):
                self.answer(405)

        return Handler


class Story:
    def __init__(self, errand, folder, world, oauth=""):
        self.errand, self.folder, self.world = errand, folder, world
        self.said = []
        folder.mkdir()
        (folder / "agent.yaml").write_text(
            f"version: 1\nname: e2e\nmodel: openai/gpt-5\nmcp_servers:\n"
            f"  crm: {{url: \"{world.url}/mcp{world.behaviour.get('query', '')}\"{oauth}}}\npermissions: {{allow: [\"mcp__crm__*\"]}}\n")
        self.environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "CI_SECRET": "a-secret-of-ci"}

    def run(self, *words):
        done = subprocess.run([self.errand, "mcp", *words], cwd=self.folder, env=self.environment, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.said.append(done.stdout + done.stderr)
        return done

    def expect(self, code, *words, contains=""):
        done = self.run(*words)
        if done.returncode != code or contains not in done.stdout + done.stderr:
            raise AssertionError(f"{' '.join(words)}: {done.returncode}, not {code} with `{contains}`: "
                                 f"{done.stdout}{done.stderr}")

    def log_in(self, code=0):
        with subprocess.Popen([self.errand, "mcp", "login", "agent.yaml", "crm"], cwd=self.folder,
                              env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            try:
                line = process.stderr.readline()
                if not line.startswith("Log in here: "):
                    raise AssertionError(f"login says {line}{process.stderr.read()}")
                with urllib.request.urlopen(line.removeprefix("Log in here: ").strip(), timeout=20) as page:
                    if "errand has its answer" not in page.read().decode():
                        raise AssertionError("the page says something else")
                out, err = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
        self.said.append(out + err)
        if process.returncode != code:
            raise AssertionError(f"login: {process.returncode}, not {code}: {out}{err}")

    def carry_out(self, calls):
        """A run with so many calls, one by one; what it says."""
        (self.folder / "calls.replay.yaml").write_text(
            "version: 1\nreplies:\n" + "- {tool_calls: [{mcp__crm__f: {}}]}\n" * calls + "- Done.\n")
        done = subprocess.run(
            [self.errand, "run", "agent.yaml", "-m", "replay/calls.replay.yaml", "-o", "jsonl", "Go."], cwd=self.folder,
            env=self.environment, timeout=PATIENCE_S, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.said.append(done.stdout + done.stderr)
        self.must(done.returncode == 0, f"it ended with {done.returncode}: {self.said[-1]}")
        return self.said[-1]

    def logins(self):
        return sorted((self.folder / ".local/state/errand/mcp").glob("*.json"))

    def run_out(self):
        file, = self.logins()
        login = json.loads(file.read_text())
        login["expires"] = login["got"] = 1
        file.write_text(json.dumps(login))

    def must(self, holds, what):
        if not holds:
            raise AssertionError(what)

    def check_silence(self):
        for secret in self.world.secrets() + ["a-secret-of-ci"]:
            self.must(not any(secret in text for text in self.said), "a token came out")


def missing(story):
    story.expect(77, "tools", "agent.yaml", contains="errand mcp login agent.yaml crm` makes one")


def login_and_call(story):
    story.expect(77, "tools", "agent.yaml")
    story.log_in()
    kept = story.logins()
    story.must(len(kept) == 1 and kept[0].stat().st_mode & 0o777 == 0o600, f"what is kept: {kept}")
    story.must(kept[0].parent.stat().st_mode & 0o777 == 0o700, "the folder is open")
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")
    story.expect(0, "call", "agent.yaml", "mcp__crm__f", "{}", contains="did it for [redacted]")
    story.must(story.world.count("/token") == 1, "more tokens than one were asked for")


def address_with_a_secret(story):
    story.log_in()
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")
    file, = story.logins()
    story.must("hunter2" not in file.read_text(), "the query is kept beside the login")


def logout(story):
    story.log_in()
    story.expect(0, "logout", "agent.yaml", "crm", contains="logged out")
    story.expect(0, "logout", "agent.yaml", "crm", contains="there was no login")
    story.expect(77, "tools", "agent.yaml")


def renewed_by_one(story):
    story.log_in()
    story.run_out()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: story.run("tools", "agent.yaml").returncode, range(8)))
    story.must(codes == [0] * 8, f"the codes are {codes}")
    story.must(story.world.count("refresh_token") == 1, f"renewed {story.world.count('refresh_token')} times")


@contextlib.contextmanager
def in_a_renewal(story):
    """The process that renews the login, and waits for its new token."""
    story.log_in()
    story.run_out()
    with subprocess.Popen([story.errand, "mcp", "tools", "agent.yaml"], cwd=story.folder, env=story.environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        story.must(story.world.renewing.wait(PATIENCE_S), "it was not renewed")
        yield process


def kill_in_a_renewal(story):
    """The login is as it was, and nobody waits for what is left of the dead."""
    with in_a_renewal(story) as process:
        process.kill()
    story.world.client_is_gone.set()
    story.must([file.suffix for file in story.logins()] == [".json"], f"what is left: {story.logins()}")


def killed_in_a_renewal(story):
    kill_in_a_renewal(story)
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")


def killed_before_it_has_the_new_token(story):
    kill_in_a_renewal(story)
    with story.world.lock:
        story.world.access.clear()
    story.expect(77, "tools", "agent.yaml", contains="`errand mcp login")
    story.log_in()
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")


def stopped_in_a_renewal(story):
    """It waits a moment for the new token, and not as long as for any other answer (15 s)."""
    with in_a_renewal(story) as process:
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        story.must(process.wait(PATIENCE_S) == -signal.SIGINT, f"it ended with {process.returncode}")
        story.must(time.monotonic() - begin < 10, "it waited for the authorization server")
    story.world.client_is_gone.set()
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")


def late_in_a_renewal(story):
    """Whose time is over does not take the new token from those that come later."""
    story.log_in()
    (story.folder / "calls.replay.yaml").write_text(
        "version: 1\nreplies:\n- {delay: 3s, tool_calls: [{mcp__crm__f: {}}]}\n- {delay: 3s, tool_calls: [{mcp__crm__f: {}}]}\n"
        "- Done.\n")
    with subprocess.Popen([story.errand, "run", "agent.yaml", "-m", "replay/calls.replay.yaml", "-o", "jsonl", "Go."],
                          cwd=story.folder, env=story.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        begin = process.stdout.readline()  # the servers are there
        with story.world.lock:
            story.world.access.clear()
        story.must(story.world.renewing.wait(PATIENCE_S), f"it was not renewed: {begin}")
        time.sleep(2)
        story.world.client_is_gone.set()
        out, _ = process.communicate(timeout=PATIENCE_S)
    story.said.append(out)
    story.must(process.returncode == 0, f"it ended with {process.returncode}: {out}")
    story.must("/token is asked, and has not answered" in out, f"nobody was late: {out}")
    story.must("did it for [redacted]" in out, f"the second call has no token: {out}")
    story.must(story.world.count("refresh_token") == 1, f"renewed {story.world.count('refresh_token')} times")


def logout_in_a_renewal(story):
    """It waits for the new token to be kept, which would bring the login back."""
    with in_a_renewal(story), concurrent.futures.ThreadPoolExecutor(1) as pool:
        done = pool.submit(story.run, "logout", "agent.yaml", "crm")
        time.sleep(0.5)
        story.world.client_is_gone.set()
        out = done.result().stdout
        story.must("logged out" in out, f"it says {out}")
    story.must(not story.logins(), "the login is back")
    story.expect(77, "tools", "agent.yaml")


def silent_in_a_renewal(story):
    story.log_in()
    story.run_out()
    story.expect(69, "tools", "agent.yaml",
                 contains=f"for a token, {story.world.url}/token is asked, and has not answered")
    story.must("the MCP server `crm` did not answer within 500ms" in story.said[-1], "it is not said who waits")
    story.world.client_is_gone.set()


def silent_metadata(story):
    place = f"for a token, {story.world.url}/.well-known/oauth-authorization-server is asked, and has not answered"
    story.expect(69, "tools", "agent.yaml", contains="the MCP server `crm` did not answer within 3s; " + place)
    story.must("See whether that address can be reached." in story.said[-1], "the help is about the MCP server")
    done = subprocess.run([story.errand, "run", "agent.yaml", "--timeout", "2s", "Go."], cwd=story.folder,
                          env=story.environment | {"OPENAI_API_KEY": "k"}, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    story.must(done.returncode == 124 and "`crm` had not answered yet; " + place in done.stderr,
               f"{done.returncode}: {done.stderr}")
    story.world.client_is_gone.set()


def damaged_login(story):
    story.log_in()
    file = story.logins()[0]
    whole = file.read_bytes()
    for damaged in (b"", whole[:-9], b"\xff\xfe" * 40, b"[]", b'{"access": 7}'):
        file.write_bytes(damaged)
        story.expect(77, "tools", "agent.yaml", contains="errand mcp log")
    story.log_in()
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")


def refused_token(story):
    story.log_in()
    with story.world.lock:
        story.world.access.clear()  # the server has forgotten it
    story.expect(0, "tools", "agent.yaml")
    with story.world.lock:
        story.world.access.clear()
        story.world.refresh.clear()
    story.expect(77, "tools", "agent.yaml", contains="this one is over")


def refused_refresh(story):
    """The last token is used as long as it is taken, and nobody asks for another one twice."""
    story.log_in()
    story.run_out()
    with story.world.lock:
        story.world.refresh.clear()
    over = ("warning: the MCP server `crm` has a login that is over (invalid_grant): its last token is used until that "
            "is refused, and `errand mcp login ")
    for warnings in (1, 0):
        out = story.carry_out(calls=3)
        story.must(out.count("did it for [redacted]") >= 3, f"not all calls were made: {out}")
        story.must(out.count(over) == warnings, f"the warning comes {out.count(over)} times: {out}")
    with story.world.lock:
        story.world.access.clear()
    for _ in range(2):
        story.expect(77, "tools", "agent.yaml", contains="wants a new login: this one is over")
    story.must(story.world.count("refresh_token") == 1, f"it was sent {story.world.count('refresh_token')} times")
    story.log_in()
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")


def step_up(story):
    story.log_in()
    story.expect(0, "tools", "agent.yaml")
    done = story.run("call", "agent.yaml", "mcp__crm__f", "{}")
    story.must(done.returncode != 0 and "a login for more: write" in done.stdout + done.stderr,
               f"the call says {done.returncode}: {done.stdout}{done.stderr}")
    story.log_in()
    story.expect(0, "call", "agent.yaml", "mcp__crm__f", "{}", contains="did it for [redacted]")
    story.must(story.world.scopes_asked == ["read", "read write"], f"asked for {story.world.scopes_asked}")


def wrong_issuer(story):
    story.log_in(code=77)
    story.must(story.world.count("/token") == 0 and not story.logins(), "a token was asked for")


def by_itself(story):
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")
    story.must(story.world.count("client_credentials") == 1, "not one token was asked for")
    story.must(not (story.folder / ".local/state/errand/mcp").exists(), "something was kept")
    story.environment["CI_SECRET"] = "another-secret"
    story.expect(77, "tools", "agent.yaml", contains="the MCP server `crm` cannot be given a token: http://127.0.0.1:")
    story.must("has none for the client `ci`: invalid_client" in story.said[-1], "it is not said why")


BUSY = [(429, {}), (503, {"Retry_After": "0"})]


def busy_at_the_start(story):
    story.world.busy = [*BUSY]
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")
    story.must(story.world.count("client_credentials") == 3, f"asked {story.world.count('client_credentials')} times")
    story.world.busy = [(503, {"Retry_After": "3600"})]
    story.expect(69, "tools", "agent.yaml", contains="/token answers 503; it may be asked again in 1h")
    story.world.busy = [(503, {})]  # whether that was taken is not known
    story.expect(69, "tools", "agent.yaml", contains="/token answers 503")


def busy_in_a_renewal(story):
    story.log_in()
    story.run_out()
    story.world.busy = [*BUSY]
    story.expect(0, "tools", "agent.yaml", contains="mcp__crm__f")
    story.must(story.world.count("refresh_token") == 3, f"asked {story.world.count('refresh_token')} times")


def no_token_is_given(story):
    """A sentence about the server, whoever failed."""
    story.expect(77, "tools", "agent.yaml", contains="the MCP server `crm` cannot be given a token: ")
    story.must(story.world.behaviour["said"] in story.said[-1], "it is not said why")


CI = ', oauth: {grant: client_credentials, client_id: ci, client_secret: "${env:CI_SECRET}"}'
ROWS = {  # name: (story, oauth of the agent file, behaviour of the servers)
    "missing login": (missing, "", {}),
    "login and call": (login_and_call, "", {}),
    "login behind a gateway": (login_and_call, ", headers: {X-Tenant: acme}", {"tenant": "acme"}),
    "address with a secret": (address_with_a_secret, "", {"query": "?key=hunter2"}),
    "logout": (logout, "", {}),
    "renewed by one of many": (renewed_by_one, "", {}),
    "killed in a renewal": (killed_in_a_renewal, "", {"held": "before"}),
    "killed behind a renewal": (killed_before_it_has_the_new_token, "", {"held": "behind"}),
    "stopped in a renewal": (stopped_in_a_renewal, "", {"held": "before"}),
    "late in a renewal": (late_in_a_renewal, ", timeouts: {call: 1s, silence: 1s}", {"held": "a while"}),
    "logout in a renewal": (logout_in_a_renewal, "", {"held": "a while"}),
    "silence in a renewal": (silent_in_a_renewal, ", timeouts: {start: 500ms}", {"held": "before"}),
    "silence in the metadata": (silent_metadata, CI + ", timeouts: {start: 3s}", {"grants": "client", "silent": True}),
    "damaged login": (damaged_login, "", {}),
    "refused token": (refused_token, "", {}),
    "refused refresh": (refused_refresh, "", {}),
    "step up": (step_up, "", {"call": True}),
    "wrong issuer": (wrong_issuer, "", {"iss": "https://evil.example"}),
    "client credentials": (by_itself, CI, {"grants": "client"}),
    "busy at the start": (busy_at_the_start, CI, {"grants": "client"}),
    "busy in a renewal": (busy_in_a_renewal, "", {}),
    "lifetime as text": (by_itself, CI, {"grants": "client", "lifetime": "3600"}),
    "token endpoint sends elsewhere": (no_token_is_given, CI, {"token": (307,), "said": "/token answers 307"}),
    "token endpoint answers with a list": (no_token_is_given, CI, {
        "token": (200, [1]), "said": "the authorization server's answer is not a JSON object"}),
    "token endpoint refuses and says 200": (no_token_is_given, CI, {
        "token": (200, {"error": "invalid_client", "error_description": "who?"}),
        "said": "has none for the client `ci`: invalid_client who?"}),
    "token endpoint refuses in words of its own": (no_token_is_given, CI, {
        "token": (401, {"message": "no"}), "said": "/token answers 401)"}),
}


def play(errand, scratch, name, row):
    story_of, oauth, behaviour = row
    world = World(**behaviour)
    try:
        story = Story(errand, scratch.path / name.replace(" ", "-"), world, oauth)
        story_of(story)
        story.check_silence()
    except (AssertionError, OSError, subprocess.TimeoutExpired, IndexError) as wrong:
        return str(wrong)
    finally:
        world.close()
    return None


if __name__ == "__main__":
    sys.exit(main_over_rows("mcp-oauth", __doc__, ROWS, play))
