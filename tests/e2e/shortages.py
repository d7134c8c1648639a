#!/usr/bin/env python3
"""What a machine may not give, and readers that do not read: one table.

    tests/e2e/shortages.py [--errand PATH] [-v]

Descriptors (`ulimit -n`, 3 to 64), memory (`-v`), processes (`-u`) and the stacks of threads (`-s`), for
a run over HTTP with a tool, for `test` and for `tools call`: each ends in time, with 0 or with 71, which
a result says. Then pipes that nobody reads, in every format, and what ends a run there: a signal, a second
one, the deadline, a reader that goes away."""
import argparse
import fcntl
import http.server
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
MIB = 1 << 20
PATIENCE_S = 30      # with a process that ought to end; more than any of its own deadlines here
GRACE_S = 2.0        # what a stopped run waits for a reader
SLACK_S = 3.0        # of a busy machine
FULL_PIPE = 60_000   # bytes, that nobody reads
AGENT = """version: 1
name: short
model: {{name: local/short, base_url: "{base}", protocol: openai_chat, stream: {stream}}}
prompt: what is it?
tools: [shell]
permissions: {{default: allow}}
retry: {{max_attempts: 2, initial_delay: 10ms, max_delay: 20ms}}
"""
CASE = "version: 1\nagent: script.agent.yaml\nreplay: script.yaml\nexpect: {text: {equals: forty-two}}\n"
SCRIPT_AGENT = "version: 1\nname: scripted\nmodel: replay/script.yaml\nprompt: what is it?\n"
SCRIPT = "version: 1\nreplies:\n  - text: forty-two\n"
LONG = "version: 1\nreplies:\n  - text: " + "x" * 300_000 + "\n"


MANY_VALUES = b'{"more": [' + b",".join([b"0"] * 2_000_000) + b"], "


class Server(http.server.BaseHTTPRequestHandler):
    """Asks for one call of the shell, then answers; below `/large`, with far more than anybody reads."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_first = all(message["role"] != "tool" for message in body["messages"])
        call = {"id": "c1", "type": "function",
                "function": {"name": "shell", "arguments": "{\"command\": \"echo hi\"}"}}
        message = {"role": "assistant", "content": None if is_first else "forty-two",
                   **({"tool_calls": [call]} if is_first else {})}
        reply = json.dumps({"id": "r", "object": "chat.completion", "model": "short",
                            "choices": [{"index": 0, "message": message,
                                         "finish_reason": "tool_calls" if is_first else "stop"}],
                            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
        if self.path.startswith("/large"):
            reply = MANY_VALUES + reply[1:]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


class Table:
    def __init__(self, is_verbose):
        self.passed = self.failed = self.skipped = 0
        self.is_verbose = is_verbose

    def add(self, label, wrong):
        self.passed, self.failed = self.passed + (wrong is None), self.failed + (wrong is not None)
        if wrong is not None or self.is_verbose:
            print(f"{'ok  ' if wrong is None else 'FAIL'} {label}{'' if wrong is None else ': ' + wrong}", flush=True)

    def skip(self, label, why):
        self.skipped += 1
        print(f"skip {label}: {why}")


def result_in(text):
    lines = text.splitlines()
    try:
        return json.loads(lines[-1]) if len(lines) == 1 else None
    except ValueError:
        return None


def is_before_main(done):
    """The loader's own shortage: nothing of errand has run."""
    return done.returncode in (1, 127, -signal.SIGKILL, -signal.SIGSEGV) and b"error[" not in done.stderr \
        and not done.stdout


class Shortages:
    COMMANDS = {
        "run": ["run", "agent.yaml", "-o", "json"],
        "test": ["test", "one.test.yaml"],
        "tools call": ["tools", "call", "shell", '{"command": "echo hi"}'],
    }
    LARGE = {"run, a large answer": ["run", "large.agent.yaml", "-o", "json"]}

    def __init__(self, errand, table, folder, address):
        self.errand, self.table = errand, table
        self.work = folder / "work"
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "LANG": "C.UTF-8",
                            "TMPDIR": str(folder / "tmp"), "no_proxy": "*"}
        for name in ("work", "home", "tmp"):
            (folder / name).mkdir()
        (self.work / "agent.yaml").write_text(AGENT.format(base=address, stream="false"))
        large = address.replace("/v1", "/large/v1")
        (self.work / "large.agent.yaml").write_text(AGENT.format(base=large, stream="false"))
        (self.work / "script.agent.yaml").write_text(SCRIPT_AGENT)
        (self.work / "script.yaml").write_text(SCRIPT)
        (self.work / "one.test.yaml").write_text(CASE)

    def run(self, words, limits, user=None):
        def prepare():
            if user is not None:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
            for kind, value in limits:
                resource.setrlimit(kind, (value, value))
        try:
            return subprocess.run([str(self.errand), *words], cwd=self.work, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=PATIENCE_S, preexec_fn=prepare, env=self.environment)
        except subprocess.TimeoutExpired:
            return None

    @staticmethod
    def wrong_with(name, done):
        if done is None:
            return f"it still runs after {PATIENCE_S} s"
        if is_before_main(done):
            return None
        said = done.stderr.decode(errors="replace")
        if "bug in errand" in said:
            return f"it takes the blame: {said[-300:]}"
        if name == "test" and done.returncode == 1 and (b"(os_error)" in done.stdout or
                                                        b"cannot start a process" in done.stdout):
            return None  # the case's own process met the shortage, and the report says so
        if done.returncode not in (0, 71):
            return f"exit code {done.returncode}, expected 0 or 71: {said[-300:]}"
        if done.returncode == 71 and "error[os.failed]" not in said:
            return f"71 without the reason: {said[-300:]}"
        if name.startswith("run"):
            result = result_in(done.stdout.decode())
            if result is None or result["exit_code"] != done.returncode:
                return f"the result on stdout is {done.stdout[-300:]!r}"
        return None

    def play(self, label, limits, user=None, commands=None):
        for name, words in (commands or self.COMMANDS).items():
            done = self.run(words, limits, user)
            self.table.add(f"{name}, {label}", self.wrong_with(name, done))

    def play_all(self):
        for name, words in {**self.COMMANDS, **self.LARGE}.items():  # or all that follows says nothing
            done = self.run(words, [])
            self.table.add(f"{name}, no limit", None if done is not None and done.returncode == 0 else f"{done}")
        for count in range(3, 65):
            self.play(f"{count} descriptors", [(resource.RLIMIT_NOFILE, count)])
        for megabytes in (*range(16, 200, 8), 256, 320, 512):
            self.play(f"{megabytes} MiB of addresses", [(resource.RLIMIT_AS, megabytes * MIB)])
        for megabytes in range(96, 416, 8):
            self.play(f"{megabytes} MiB of addresses", [(resource.RLIMIT_AS, megabytes * MIB)], commands=self.LARGE)
        for kilobytes in (32, 64, 80, 128, 512, 1023, 1024):
            self.play(f"stacks of {kilobytes} KiB", [(resource.RLIMIT_STACK, kilobytes * 1024)])
        for megabytes in (64, 256, 1024):
            self.play(f"stacks of {megabytes} MiB in 512 MiB of addresses",
                      [(resource.RLIMIT_STACK, megabytes * MIB), (resource.RLIMIT_AS, 512 * MIB)])
        if os.getuid() != 0:
            self.table.skip("processes", "needs root, to be a user who has none yet")
            return
        user = 61_234
        for path in (self.work.parent, *self.work.parent.rglob("*")):
            os.chown(path, user, user)
        for count in (*range(1, 13), 16, 24):
            self.play(f"{count} processes", [(resource.RLIMIT_NPROC, count)], user)


class FullJournal:
    """A journal that may grow to some size, tried for many: a run that says that it is well is in it, whole."""

    def __init__(self, errand, table, folder):
        self.errand, self.table, self.folder = errand, table, folder
        (folder / "agent.yaml").write_text(SCRIPT_AGENT)
        (folder / "script.yaml").write_text("version: 1\nreplies:\n  - text: " + "x" * 9_000 + "\n")

    def errand_says(self, words, home, most=None):
        def prepare():
            if most is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": str(home)}
        return subprocess.run([str(self.errand), *words], cwd=self.folder, stdin=subprocess.DEVNULL, env=environment,
                              capture_output=True, timeout=PATIENCE_S, preexec_fn=prepare)

    def play(self, most):
        home = self.folder / f"home-{most}"
        home.mkdir()
        for _ in range(3):
            done = self.errand_says(["run", "agent.yaml", "-o", "json"], home, most)
            result = result_in(done.stdout.decode())
            if done.returncode not in (0, 74):
                return f"exit code {done.returncode}"
            if result is None or result["exit_code"] != done.returncode:
                return f"exit code {done.returncode}, and the result says {result and result['exit_code']}"
            if done.returncode == 74:
                continue
            listed = json.loads(self.errand_says(["runs", "list", "-o", "json"], home).stdout)
            if not any(run["run_id"] == result["run_id"] and run["status"] == "ok" for run in listed["runs"]):
                return "it says 0, and the journal has no such end of it"
        return None

    def play_all(self):
        for kilobytes in range(64, 200, 4):
            self.table.add(f"a journal of at most {kilobytes} KiB", self.play(kilobytes * 1024))


class Unread:
    """Nobody reads what a run writes; something ends it."""

    def __init__(self, errand, table, folder):
        self.errand, self.table, self.folder = errand, table, folder
        (folder / "agent.yaml").write_text(
            "version: 1\nname: long\nmodel: replay/long.yaml\nprompt: what is it?\n")
        (folder / "long.yaml").write_text(LONG)
        (folder / "flow.yaml").write_text("version: 1\nname: whole\nsteps: [{name: one, agent: agent.yaml}]\n")
        (folder / "case.test.yaml").write_text("version: 1\nagent: agent.yaml\nreplay: long.yaml\n"
                                               "expect: {text: {equals: \"no\"}}\n")
        os.mkfifo(folder / "pipe")
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": str(folder)}

    def wrong_with(self, words, stdout, stop, expected, seconds):
        process = subprocess.Popen([str(self.errand), *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=stdout, stderr=subprocess.PIPE, env=self.environment)
        try:
            begin = stop(process)
            process.wait(timeout=PATIENCE_S)
            took = time.monotonic() - begin
        except subprocess.TimeoutExpired:
            process.kill()
            return f"it still runs after {PATIENCE_S} s"
        finally:
            said = process.communicate()[1].decode(errors="replace")
        if process.returncode != expected:
            return f"exit code {process.returncode}, expected {expected}: {said[-300:]}"
        if took > seconds + SLACK_S:
            return f"it took {took:.1f} s, more than {seconds} s"
        return None

    @staticmethod
    def signalled(*signals):
        def stop(process):
            time.sleep(0.6)
            for number in signals:
                process.send_signal(number)
                time.sleep(0.1)
            return time.monotonic()
        return stop

    def play(self, label, words, stop, expected, seconds):
        reader, writer = os.pipe()
        try:
            self.table.add(f"unread, {label}", self.wrong_with(words, writer, stop, expected, seconds))
        finally:
            os.close(reader)
            os.close(writer)

    @staticmethod
    def wait_until_full(reader):
        end = time.monotonic() + PATIENCE_S
        waiting = bytearray(4)
        while time.monotonic() < end and int.from_bytes(waiting, sys.byteorder) < FULL_PIPE:
            time.sleep(0.01)
            fcntl.ioctl(reader, termios.FIONREAD, waiting)

    def wrong_with_gone(self, words, number, reader, stdout):
        """That signal comes, if any, and then the reader goes away: exit code, stderr and journal say what came first."""
        with open(self.folder / "stderr", "w+b") as stderr:
            process = subprocess.Popen([str(self.errand), *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=stdout, stderr=stderr, env=self.environment)
            self.wait_until_full(reader)
            if number:
                process.send_signal(number)
                time.sleep(GRACE_S / 4)
            os.close(reader)
            try:
                process.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                return f"it still runs after {PATIENCE_S} s"
        code = 128 + (number or signal.SIGPIPE)
        said = (self.folder / "stderr").read_text(errors="replace")
        runs = subprocess.run([str(self.errand), "runs", "list", "-o", "json"], cwd=self.folder, env=self.environment,
                              stdout=subprocess.PIPE).stdout
        journaled = next(run["exit_code"] for run in json.loads(runs)["runs"]
                         if "/" not in (run["session"] or ""))  # of no flow
        found = (128 - process.returncode, journaled, f"({code})" in said)
        return None if found == (code, code, True) else f"{found}, expected {code}: {said[-300:]}"

    def play_all_gone(self):
        for number in (None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for what in ("agent.yaml", "flow.yaml"):
                for form in ("text", "json", "jsonl"):
                    reader, writer = os.pipe()
                    wrong = self.wrong_with_gone(["run", what, "-o", form], number, reader, writer)
                    os.close(writer)
                    self.table.add(f"gone, {what}, {form}, {number}", wrong)
            reader = os.open(self.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
            wrong = self.wrong_with_gone(["run", "agent.yaml", "-o", "json", "--output-file", "pipe"], number, reader,
                                         subprocess.DEVNULL)
            self.table.add(f"gone, --output-file, {number}", wrong)

    def play_all(self):
        self.play_all_gone()
        for form in ("text", "json", "jsonl"):
            self.play(f"a flow, {form}, SIGTERM", ["run", "flow.yaml", "-o", form], self.signalled(signal.SIGTERM),
                      -signal.SIGTERM, GRACE_S)
            run = ["run", "agent.yaml", "-o", form]
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                self.play(f"{form}, {number.name}", run, self.signalled(number), -number, GRACE_S)
            self.play(f"{form}, SIGTERM twice", run, self.signalled(signal.SIGTERM, signal.SIGTERM),
                      -signal.SIGTERM, 0.5)
            self.play(f"{form}, --timeout", [*run, "--timeout", "1s"], lambda _: time.monotonic(), 124, 1 + GRACE_S)
        self.play("errand test, SIGTERM", ["test", "case.test.yaml", "-o", "json"], self.signalled(signal.SIGTERM), -signal.SIGTERM, GRACE_S)
        # A log that is a pipe: first nobody opens it, then nobody reads it.
        log = ["run", "agent.yaml", "-o", "jsonl", "--log-file", "pipe"]
        self.play("a log that nobody opens, SIGTERM", log, self.signalled(signal.SIGTERM), -signal.SIGTERM, GRACE_S)
        with open(os.open(self.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK), "rb"):
            wrong = self.wrong_with(log, subprocess.DEVNULL, self.signalled(signal.SIGTERM),
                                    -signal.SIGTERM, GRACE_S)
            self.table.add("unread, a log, SIGTERM", wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-v", "--verbose", action="store_true", help="also what went well")
    options = parser.parse_args()
    errand = options.errand.resolve()
    table = Table(options.verbose)
    with Scratch("shortages") as scratch:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        scratch.path.chmod(0o755)
        folders = [scratch.path / name for name in ("short", "unread", "full")]
        for folder in folders:
            folder.mkdir()
        shelf = scratch.path / "errand"  # another user has to reach it, wherever the checkout is
        shutil.copy(errand, shelf)
        Shortages(shelf, table, folders[0], f"http://127.0.0.1:{server.server_port}/v1").play_all()
        Unread(errand, table, folders[1]).play_all()
        FullJournal(errand, table, folders[2]).play_all()
        server.shutdown()
    print(f"{table.passed} passed, {table.failed} failed, {table.skipped} skipped")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
