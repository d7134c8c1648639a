#!/usr/bin/env python3
"""Runs the end-to-end cases: data folders that say what errand is given and what must come of it.

    tests/e2e/run.py [--errand PATH] [-k PATTERN] [-t TAG] [-j N] [-v]

UPDATE=1 rewrites the golden files (stdout, stderr) that a case has. README.md tells the format."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import pty
import re
import resource
import select
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import traceback
import uuid

sys.dont_write_bytecode = True  # a test run leaves nothing in the source tree
import server as scripted  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
PROTOCOLS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini", "ollama", "bedrock")
FORMATS = ("text", "json", "jsonl")
SECRET = "e2e-key-7f3a91c2d4"  # the provider key of every case: it must never be seen again
RESULT_KEYS = ["schema", "status", "exit_code", "exit_name", "text", "output", "partial", "stop", "error",
               "usage", "cost_usd", "turns", "tool_calls", "denials", "model", "fallbacks", "over_budget",
               "run_id", "resume_cmd", "trace_id", "duration_ms", "models"]
UNCOMPARED_EVENTS = ("model.delta", "tool.output")


# ---- what a case is ----

class Case:
    def __init__(self, folder):
        self.folder = folder
        self.name = str(folder.relative_to(HERE))
        self.expect = self._toml("expect.toml")
        self.script = self._toml("server.toml")
        self.steps = parse_cmd((folder / "cmd").read_text())
        self.tags = self.expect.get("tags", [])
        self.golden = {name: folder / name for name in ("stdout", "stderr") if (folder / name).exists()}
        unknown = set(self.expect) - EXPECTATIONS
        if unknown:
            raise ValueError(f"{self.name}/expect.toml: unknown keys {sorted(unknown)}")

    def _toml(self, name):
        file = self.folder / name
        return tomllib.loads(file.read_text()) if file.exists() else {}

    def variants(self):
        """(format or None, protocol, stream): every format once, every wire form once."""
        asked = self.expect.get("formats")
        formats = FORMATS if asked == "all" else (asked,)  # None: as the line says
        protocols = self.expect.get("protocol", "openai_chat")
        if isinstance(protocols, str):
            protocols = PROTOCOLS if protocols == "all" else [protocols]
        streams = {"both": (True, False)}.get(self.expect.get("stream", True), (self.expect.get("stream", True),))
        wire = [(protocol, stream) for protocol in protocols for stream in streams]
        first = [(form, *wire[0]) for form in formats]
        return first + [(asked if asked in FORMATS else "jsonl", *form) for form in wire[1:]]

    def agent_file(self, name):
        """The case's own file, or the one of its area."""
        for folder in (self.folder, self.folder.parent):
            if (folder / name).exists():
                return folder / name
        return None


class Step:
    """One errand command line, or a shell line that prepares something, with its surroundings."""

    def __init__(self, words=None, shell=None):
        self.words, self.shell = words, shell
        self.env, self.limits, self.signals, self.typed = {}, {}, [], []
        self.stdin, self.stdout, self.stderr, self.together = ["null"], ["pipe"], ["pipe"], 1


def parse_cmd(text):
    steps, pending, env, limits = [], {}, {}, {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(maxsplit=1) if line.startswith("sh ") else shlex.split(line)
        verb = words[0]
        if verb == "env":
            name, _, value = words[1].partition("=")
            env[name] = value
        elif verb == "unset":
            env[words[1]] = None
        elif verb == "limit":
            limits[words[1]] = int(words[2])
        elif verb in ("stdin", "stdout", "stderr"):
            pending[verb] = words[1:]
        elif verb == "together":
            pending[verb] = int(words[1])
        elif verb == "signal":
            pending.setdefault("signals", []).append(words[1:])
        elif verb == "type":
            pending.setdefault("typed", []).append(words[1:])
        elif verb == "sh":
            step = Step(shell=words[1])
            step.env = dict(env)
            steps.append(step)
        elif verb == "errand":
            step = Step(words=words[1:])
            step.env, step.limits = dict(env), dict(limits)
            for name, value in pending.items():
                setattr(step, name, value)
            pending = {}
            steps.append(step)
        else:
            raise ValueError(f"cmd: unknown line: {line}")
    return steps


# ---- one run of one case ----

class World:
    """A fresh home, a fresh working folder, a clean environment and the scripted server."""

    def __init__(self, case, variant, options):
        self.case, self.options = case, options
        self.format, self.protocol, self.stream = variant
        self.token = uuid.uuid4().hex
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="errand-e2e-"))
        self.work, self.home, self.tmp = (self.root / name for name in ("work", "home", "tmp"))
        for folder in (self.work, self.home, self.tmp):
            folder.mkdir()
        self.server = scripted.Server(case.script, options.certificate)
        # Where the imitations of OpenAI's protocol are is no folder of the others.
        base = self.server.url + ("" if self.protocol in ("ollama", "bedrock") else "/v1")
        self.names = {"SERVER": self.server.url, "BASE": base, "PORT": str(self.server.port), "DIR": str(self.work),
                      "HOME": str(self.home), "TMP": str(self.tmp), "TOKEN": self.token, "PROTOCOL": self.protocol,
                      "STREAM": "true" if self.stream else "false",
                      "CA": options.certificate[0] if options.certificate else "",
                      "SOURCE": str(HERE.parent.parent), "ERRAND": str(options.errand)}
        files = case.folder / "files"
        if files.exists():
            shutil.copytree(files, self.work, dirs_exist_ok=True, symlinks=True)
        for name in ("agent.yaml", "agent.md", "script.yaml"):
            source = case.agent_file(name)
            if source and not (self.work / name).exists():
                (self.work / name).write_text(self.fill(source.read_text()))

    def fill(self, text):
        return re.sub(r"\{\{(%s)\}\}" % "|".join(self.names), lambda m: self.names[m[1]], text)

    def environment(self, step):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "TMPDIR": str(self.tmp),
               "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "TEST_KEY": SECRET,
               "ERRAND_E2E_TOKEN": self.token,
               **{name: os.environ[name] for name in os.environ if re.fullmatch("[AUTL]+SAN_OPTIONS", name)}}
        for name, value in step.env.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = self.fill(value)
        return env

    def normal(self, text):
        """What differs from run to run becomes a placeholder."""
        text = text.replace(self.server.url, "{{SERVER}}")
        for name in ("DIR", "TMP", "HOME"):
            text = text.replace(self.names[name], "{{%s}}" % name)
        text = re.sub(rf"\b127\.0\.0\.1:{self.server.port}\b|\bport {self.server.port}\b", "{{SERVER}}", text)
        text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", "{{RUN_ID}}", text)
        text = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "{{TIME}}", text)
        text = re.sub(r"\b\d+(\.\d+)? ?m?s\b", "{{MS}}", text)
        return re.sub(rf"\b{re.escape(self.options.version)}\b", "{{VERSION}}", text)

    def strays(self):
        """Processes that the case left behind: by their environment, their folder, or a word of their command."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                ours = (self.token.encode() in (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                        or os.readlink(entry / "cwd").startswith(str(self.root)))
                if ours and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                continue
        return found

    def close(self):
        self.server.close()
        for number, _ in self.strays():
            try:
                os.kill(number, signal.SIGKILL)
            except OSError:
                pass
        if self.options.keep:
            print(f"  kept: {self.root}")
        else:
            shutil.rmtree(self.root, ignore_errors=True)


class Outcome:
    def __init__(self, code, by_signal, stdout, stderr, seconds, peak_kb):
        self.code, self.by_signal, self.seconds, self.peak_kb = code, by_signal, seconds, peak_kb
        self.stdout, self.stderr = stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
        self.invalid_utf8 = "\ufffd" in self.stdout and b"\xef\xbf\xbd" not in stdout


class TimedOut(Exception):
    pass


class Process:
    """One started errand: feeds, reads and signals it, and never waits for ever."""

    def __init__(self, world, step, deadline):
        self.world, self.step, self.deadline = world, step, deadline
        self.opened, self.out, self.err = [], bytearray(), bytearray()
        words = [world.fill(word) for word in step.words]
        if world.format and words[:1] == ["run"] and not {"-o", "--output"} & set(words):
            words[1:1] = ["-o", world.format]
        limits = {getattr(resource, "RLIMIT_" + name.upper()): value for name, value in step.limits.items()}

        closed = [number for number, how in ((1, step.stdout), (2, step.stderr)) if how[0] == "closed"]

        def in_child():
            for kind, value in limits.items():
                resource.setrlimit(kind, (value, value))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a full disk is an error, not a signal
            for number in closed:
                os.close(number)
        self.begin = time.monotonic()
        stdin, feed = self._input(step.stdin)
        stdout, stdout_reader = self._output(step.stdout)
        stderr, stderr_reader = self._output(step.stderr)
        self.process = subprocess.Popen(
            [str(world.options.errand), *words], cwd=world.work, env=world.environment(step),
            stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True,
            preexec_fn=in_child if limits or closed else None)
        for descriptor in (stdin, stdout, stderr):
            if descriptor in self.opened:
                os.close(descriptor)
                self.opened.remove(descriptor)
        self.readers = {}
        if stdout_reader is not None:
            self.readers[stdout_reader] = self.out
        if stderr_reader is not None:
            self.readers[stderr_reader] = self.err
        self.head = int(step.stdout[1]) if step.stdout[0] == "head" else None
        self.stdout_reader = stdout_reader
        if feed is not None:
            threading.Thread(target=self._feed, args=feed, daemon=True).start()
        self.peak_kb = 0
        if "max_rss_mb" in world.case.expect:
            threading.Thread(target=self._watch_memory, daemon=True).start()

    def _own(self, *descriptors):
        self.opened += descriptors
        return descriptors

    def _input(self, how):
        if how[0] == "null":
            return self._own(os.open("/dev/null", os.O_RDONLY))[0], None
        if how[0] == "pty":
            self.keyboard, slave = self._own(*pty.openpty())
            return slave, None
        if how[0] == "file":
            return self._own(os.open(self.world.work / how[1], os.O_RDONLY))[0], None
        read, write = self._own(*os.pipe())
        if how[0] == "open":  # a pipe that nobody writes to and nobody closes
            return read, None
        text = {"empty": "", "text": how[-1]}[how[0]]
        self.opened.remove(write)
        return read, (write, self.world.fill(text).encode())

    @staticmethod
    def _feed(descriptor, data):
        try:
            with os.fdopen(descriptor, "wb") as pipe:
                pipe.write(data)
        except OSError:
            pass

    def _output(self, how):
        if how[0] in ("full", "closed"):
            return self._own(os.open("/dev/full", os.O_WRONLY))[0], None
        if how[0] == "pty":
            master, slave = self._own(*pty.openpty())
            return slave, master
        read, write = self._own(*os.pipe())
        if how[0] == "gone":  # a pipe without a reader
            os.close(read)
            self.opened.remove(read)
            return write, None
        return write, read

    def finish(self):
        threading.Thread(target=self._send_signals, daemon=True).start()
        threading.Thread(target=self._type, daemon=True).start()
        try:
            self._read_to_end()
            while True:
                pid, status = os.waitpid(self.process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > self.deadline:
                    raise TimedOut
                time.sleep(0.005)
            code = os.waitstatus_to_exitcode(status)
            self.process.returncode = code
            return Outcome(128 - code if code < 0 else code, code < 0, bytes(self.out), bytes(self.err),
                           time.monotonic() - self.begin, self.peak_kb)
        finally:
            if self.process.returncode is None:
                try:
                    os.killpg(self.process.pid, signal.SIGKILL)
                except OSError:
                    pass
                self.process.wait()
            for descriptor in self.opened:
                os.close(descriptor)
            self.opened = []

    def _read_to_end(self):
        readers = dict(self.readers)
        while readers:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimedOut
            poll = select.poll()  # select() takes no descriptor above 1023
            for descriptor in readers:
                poll.register(descriptor, select.POLLIN)
            for descriptor, _ in poll.poll(min(left, 0.2) * 1000):
                try:
                    data = os.read(descriptor, 65536)
                except OSError:  # a pseudo-terminal whose other side is closed
                    data = b""
                readers[descriptor] += data
                at_head = (descriptor == self.stdout_reader and self.head is not None
                           and self.out.count(b"\n") >= self.head)
                if not data or at_head:
                    del readers[descriptor]
                    os.close(descriptor)
                    self.opened.remove(descriptor)

    def _watch_memory(self):
        """The peak of the program's own memory; getrusage's would be this process's at the start."""
        try:
            while self.process.returncode is None:
                status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
                peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1])
                if f"Name:\t{self.world.options.errand.name}\n" in status:
                    self.peak_kb = max(self.peak_kb, peak)
                time.sleep(0.003)
        except (OSError, TypeError):  # it has ended
            pass

    def _type(self):
        """`type "y\n" after "Allow it?"`: each waits until stderr has its text once more."""
        seen = 0
        for text, after, wanted in self.step.typed:
            assert after == "after"
            while (found := bytes(self.err).find(wanted.encode(), seen)) < 0:
                if time.monotonic() > self.deadline or self.process.returncode is not None:
                    return
                time.sleep(0.01)
            seen = found + 1
            try:
                os.write(self.keyboard, text.encode().decode("unicode_escape").encode())
            except OSError:
                return

    def _send_signals(self):
        """`signal TERM after request 2`: each waits for its event, in turn."""
        for name, after, kind, value in self.step.signals:
            assert after == "after"
            while time.monotonic() < self.deadline and self.process.returncode is None:
                if kind == "request" and self.world.server.wait_for_requests(int(value), time.monotonic() + 0.05):
                    break
                if kind == "file" and (self.world.work / value).exists():
                    break
                if kind == "event" and f'"type":"{value}"'.encode() in bytes(self.out):
                    break
                if kind == "stderr" and value.encode() in bytes(self.err):
                    break
                if kind == "ms":
                    time.sleep(int(value) / 1000)
                    break
                time.sleep(0.01)
            else:
                return
            try:
                os.kill(self.process.pid, getattr(signal, "SIG" + name))
            except OSError:
                return


# ---- what must have come of it ----

EXPECTATIONS = {"exit", "formats", "protocol", "stream", "tags", "needs", "timeout_s", "result", "events",
                "event", "no_events", "requests", "request", "connections", "prefix_stable", "files",
                "left", "stdout_contains", "stdout_lacks", "stderr_contains", "stderr_lacks", "max_rss_mb",
                "max_seconds", "stdout_json", "broken_requests"}


def mismatch(expected, actual, path=""):
    """None where `actual` holds all that `expected` says; else where they part."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{path}: expected a map, got {actual!r:.200}"
        for key, value in expected.items():
            if value == "<absent>":
                if key in actual:
                    return f"{path}.{key}: expected to be absent, is {actual[key]!r:.200}"
                continue
            if key not in actual:
                return f"{path}.{key}: missing"
            if (found := mismatch(value, actual[key], f"{path}.{key}")) is not None:
                return found
        return None
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{path}: expected {len(expected)} items, got {actual!r:.300}"
        for at, (one, other) in enumerate(zip(expected, actual)):
            if (found := mismatch(one, other, f"{path}[{at}]")) is not None:
                return found
        return None
    if isinstance(expected, str):
        if expected == "<null>":
            good = actual is None
        elif expected == "<any>":
            good = actual is not None
        elif expected.startswith("~"):
            text = actual if isinstance(actual, str) else json.dumps(actual)
            good = re.search(expected[1:], text) is not None
        elif expected.startswith("!~"):
            text = actual if isinstance(actual, str) else json.dumps(actual)
            good = re.search(expected[2:], text) is None
        elif re.fullmatch(r"[<>]=? ?[0-9.]+", expected) and isinstance(actual, (int, float)):
            bound = float(expected.lstrip("<>= "))
            good = {"<": actual < bound, ">": actual > bound, "<=": actual <= bound,
                    ">=": actual >= bound}[expected.rstrip(" 0123456789.")]
        else:
            good = expected == actual
        return None if good else f"{path}: expected {expected!r:.200}, got {actual!r:.300}"
    good = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return None if good else f"{path}: expected {expected!r}, got {actual!r:.300}"


def messages_end(raw):
    """Where the array of messages ends in a request's body: all before it must stay as it is."""
    text = raw.decode()
    body_keys = json.JSONDecoder(object_pairs_hook=lambda pairs: [key for key, _ in pairs]).decode(text)
    key = next((key for key in ("messages", "input", "contents") if key in body_keys), None)
    if key is None:
        return 0
    start = text.index(f'"{key}":[') + len(f'"{key}":')
    _, end = json.JSONDecoder().raw_decode(text, start)
    return len(text[:end - 1].encode())


class Checker:
    """Collects what is wrong with one run of a case."""

    def __init__(self, case, world):
        self.case, self.world, self.expect = case, world, case.expect
        self.wrong, self.results, self.events = [], [], []

    def fail(self, text):
        self.wrong.append(text)

    def step(self, step, index, outcome, expected_exit):
        """What holds for every command line."""
        if str(outcome.code) not in str(expected_exit).split("|"):
            self.fail(f"exit code {outcome.code}, expected {expected_exit}")
        if outcome.code > 128 and not outcome.by_signal:
            self.fail(f"exit code {outcome.code} without dying by the signal")
        if outcome.by_signal and outcome.code in (132, 134, 135, 136, 139):
            self.fail("it crashed")
        if "ERROR: AddressSanitizer" in outcome.stderr or "ThreadSanitizer" in outcome.stderr or \
                "runtime error:" in outcome.stderr or "LeakSanitizer" in outcome.stderr:
            self.fail("a sanitizer complains:\n" + outcome.stderr[-3000:])
        if outcome.invalid_utf8:
            self.fail("stdout is not valid UTF-8")
        is_run = step.words[:1] == ["run"] and "--help" not in step.words
        reads_all = step.stdout[0] == "pipe" and outcome.code not in (137, 141)
        if is_run and reads_all:
            self.run_output(step, outcome)

    def run_output(self, step, outcome):
        form = self.world.format or step.env.get("ERRAND_OUTPUT")
        for at, word in enumerate(step.words):
            if word in ("-o", "--output") and at + 1 < len(step.words):
                form = step.words[at + 1]
        text = outcome.stdout
        if "--output-file" in step.words and not text:
            file = self.world.work / self.world.fill(step.words[step.words.index("--output-file") + 1])
            text = file.read_text() if file.is_file() else ""
        if form in (None, "text"):
            if outcome.code not in (0, 1) and text and step.stdout[0] != "pty":
                self.fail(f"stdout is not empty on exit {outcome.code}: {text!r:.200}")
            return
        if form == "json":
            if text.count("\n") != 1:
                self.fail(f"-o json: stdout is not one line: {text!r:.300}")
            try:
                self.result(json.loads(text), outcome)
            except ValueError:
                self.fail(f"-o json: stdout is not JSON: {text!r:.300}")
        elif form == "jsonl":
            self.event_lines(text, outcome)

    def result(self, result, outcome):
        if list(result) != RESULT_KEYS:
            self.fail(f"the result object has the keys {list(result)}")
            return
        self.results.append(result)
        code = result["exit_code"]
        if code != outcome.code:
            self.fail(f"the result says exit code {code}, the process {outcome.code}")
        status = ("ok" if code == 0 else "failed" if code in (1, 85, 111, 112, 113, 114)
                  else "stopped" if code in (80, 81, 82, 83, 84, 86, 87, *range(90, 98), 124)
                  else "cancelled" if code > 128 else "error")
        if result["status"] != status:
            self.fail(f"status {result['status']}, exit code {code} means {status}")
        if (result["stop"] is not None) != (status == "stopped"):
            self.fail(f"`stop` is {result['stop']} with the status {status}")
        if (result["error"] is None) != (code == 0):
            self.fail(f"`error` is {result['error']} with exit code {code}")
        if result["partial"] and (code in (0, 1) or not result["text"]):
            self.fail("`partial` without a partial answer")

    def event_lines(self, text, outcome):
        events = []
        for line in text.splitlines():
            try:
                events.append(json.loads(line))
            except ValueError:
                self.fail(f"-o jsonl: not JSON: {line!r:.200}")
                return
        types = [event["type"] for event in events]
        if types[:1] != ["run.started"] or types[-1:] != ["run.finished"]:
            self.fail(f"events do not run from run.started to run.finished: {types[:3]} … {types[-3:]}")
            return
        if events[0].get("schema") != "errand.events/1":
            self.fail("run.started has no schema")
        if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
            self.fail("seq does not count from 1")
        if len({event["run"] for event in events}) != 1 or any(event["v"] != 1 for event in events):
            self.fail("events of another run or version")
        self.events = events
        started = [event["call_id"] for event in events if event["type"] == "tool.started"]
        finished = [event["call_id"] for event in events if event["type"] == "tool.finished"]
        asked = [call["id"] for event in events if event["type"] == "model.responded"
                 and event["stop_reason"] not in ("max_tokens", "malformed_tool_call")
                 for call in event["tool_calls"]]
        if sorted(finished) != sorted(asked):
            self.fail(f"the calls {asked} have the results {finished}")
        if not set(started) <= set(finished):
            self.fail(f"started {started}, finished {finished}")
        self.result(events[-1]["result"], outcome)

    def contents(self, outcomes):
        """What the case itself expects."""
        expect, world = self.expect, self.world
        stdout = "".join(outcome.stdout for outcome in outcomes)
        stderr = "".join(outcome.stderr for outcome in outcomes)
        for key, text in (("stdout", stdout), ("stderr", stderr)):
            for part in expect.get(key + "_contains", []):
                if world.fill(part) not in text:
                    self.fail(f"{key} lacks {part!r}: {text[-600:]!r}")
            for part in expect.get(key + "_lacks", []):
                if world.fill(part) in text:
                    self.fail(f"{key} has {part!r}")
        if world.format in (None, "text"):
            self.golden({"stdout": stdout, "stderr": stderr})
        if "stdout_json" in expect:
            try:
                found = mismatch(expect["stdout_json"], json.loads(stdout), "stdout")
                if found:
                    self.fail(found)
            except ValueError:
                self.fail(f"stdout is not JSON: {stdout!r:.300}")
        if "result" in expect:
            for result in self.results:
                if (found := mismatch(self.filled(expect["result"]), result, "result")) is not None:
                    self.fail(found)
        self.check_events()
        self.check_requests()
        self.check_files()
        for outcome in outcomes:
            if outcome.seconds > expect.get("max_seconds", 1e9):
                self.fail(f"it took {outcome.seconds:.1f} s, allowed are {expect['max_seconds']}")
            if outcome.peak_kb / 1024 > expect.get("max_rss_mb", 1e9) and not world.options.sanitized:
                self.fail(f"peak memory {outcome.peak_kb / 1024:.0f} MB, allowed are {expect['max_rss_mb']}")
        self.check_secrets(stdout + stderr)

    def filled(self, value):
        if isinstance(value, dict):
            return {key: self.filled(one) for key, one in value.items()}
        return self.world.fill(value) if isinstance(value, str) else value

    def golden(self, actual):
        for name, file in self.case.golden.items():
            text = self.world.normal(actual[name])
            expected = file.read_bytes().decode()
            if os.environ.get("UPDATE") == "1":
                file.write_bytes(text.encode())
            elif text != expected:
                self.fail(f"{name} differs:\n" + difference(expected, text))

    def check_events(self):
        if not self.events:
            return
        expect = self.expect
        types = [event["type"] for event in self.events if event["type"] not in UNCOMPARED_EVENTS]
        if "events" in expect and types != expect["events"]:
            self.fail(f"events\n      {types}, expected\n      {expect['events']}")
        for name in expect.get("no_events", []):
            if any(event["type"] == name for event in self.events):
                self.fail(f"there is an event {name}")
        at = 0
        for wanted in expect.get("event", []):
            wanted, closest = self.filled(wanted), None
            while at < len(self.events):
                found = mismatch(wanted, self.events[at], "event")
                at += 1
                if found is None:
                    break
                if self.events[at - 1]["type"] == wanted.get("type"):
                    closest = found
            else:
                self.fail(f"no event (in this order) like {wanted}" + (f"; {closest}" if closest else ""))
                return

    def check_requests(self):
        expect, seen = self.expect, self.world.server.requests
        if "requests" in expect and len(seen) != expect["requests"]:
            self.fail(f"the server saw {len(seen)} requests, expected {expect['requests']}")
        if "connections" in expect and self.world.server.connections != expect["connections"]:
            self.fail(f"{self.world.server.connections} connections, expected {expect['connections']}")
        for at, wanted in enumerate(expect.get("request", [])):
            if at >= len(seen):
                self.fail(f"request {at + 1} was not made")
                break
            view = {"path": seen[at].path, "model": seen[at].protocol.model(seen[at]),
                    "headers": seen[at].headers,
                    "body": {**(seen[at].body or {}), "messages": seen[at].messages}}
            waited = wanted.get("after_ms")
            if waited and seen[at].at - seen[at - 1].at < waited / 1000 - 0.02:
                self.fail(f"request {at + 1} came {seen[at].at - seen[at - 1].at:.3f} s after the one before")
            wanted = {key: value for key, value in wanted.items() if key != "after_ms"}
            if (found := mismatch(self.filled(wanted), view, f"request {at + 1}")) is not None:
                self.fail(found)
        if expect.get("prefix_stable"):
            for number, (one, next_one) in enumerate(zip(seen, seen[1:]), start=1):
                end = messages_end(one.raw)
                if one.raw[:end] != next_one.raw[:end]:
                    self.fail(f"request {number + 1} does not begin with what request {number} said")
        if not expect.get("broken_requests"):
            self.wrong += self.world.server.faults

    def check_files(self):
        for name, wanted in self.expect.get("files", {}).items():
            file = pathlib.Path(self.world.fill(name))
            file = file if file.is_absolute() else self.world.work / file
            if wanted == "<absent>":
                if os.path.lexists(file):
                    self.fail(f"{name} is there")
                continue
            if not file.is_file():
                self.fail(f"{name} is not there")
                continue
            text = file.read_text(errors="replace")
            if (found := mismatch(self.filled(wanted), text, name)) is not None:
                self.fail(found)
        if "left" in self.expect:
            left = sorted(path.name for path in self.world.work.iterdir())
            if left != sorted(self.expect["left"]):
                self.fail(f"the working folder holds {left}")

    def check_secrets(self, shown):
        """The provider's key is nowhere but in the requests' headers."""
        if SECRET in shown:
            self.fail("the API key is in the output")
        for folder in (self.world.home, self.world.work, self.world.tmp):
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink() and SECRET.encode() in path.read_bytes():
                    self.fail(f"the API key is in {path.relative_to(self.world.root)}")
        if any(SECRET.encode() in request.raw for request in self.world.server.requests):
            self.fail("the API key is in a request's body")

    def check_journal(self):
        """Whatever happened, the journal is whole."""
        for file in self.world.home.rglob("journal.db"):
            try:
                base = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)
                if (state := base.execute("pragma integrity_check").fetchone()[0]) != "ok":
                    self.fail(f"the journal is damaged: {state}")
                base.close()
            except sqlite3.Error as error:
                self.fail(f"the journal cannot be read: {error}")

    def check_strays(self):
        deadline = time.monotonic() + 3
        while (strays := self.world.strays()) and time.monotonic() < deadline:
            time.sleep(0.02)
        for number, command in strays:
            self.fail(f"a process was left behind: {number} {command}")


def difference(expected, actual):
    import difflib
    return "\n".join("      " + line for line in difflib.unified_diff(
        expected.split("\n"), actual.split("\n"), "expected", "actual", lineterm="", n=2))


def run_variant(case, variant, options):
    world = World(case, variant, options)
    checker = Checker(case, world)
    outcomes = []
    limit = case.expect.get("timeout_s", 20) * options.patience
    exits = case.expect.get("exit", 0)
    try:
        deadline = time.monotonic() + limit
        for index, step in enumerate(case.steps):
            if step.shell is not None:
                done = subprocess.run(["/bin/sh", "-c", world.fill(step.shell)], cwd=world.work, timeout=limit,
                                      env=world.environment(step), stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True)
                if done.returncode != 0:
                    checker.fail(f"exit status {done.returncode} of: {step.shell}\n{done.stdout}{done.stderr}")
                continue
            running = [Process(world, step, deadline) for _ in range(step.together)]
            with concurrent.futures.ThreadPoolExecutor(len(running)) as pool:
                ended = list(pool.map(Process.finish, running))
            expected = exits[len(outcomes)] if isinstance(exits, list) else exits
            outcomes.append(ended[0])
            for outcome in ended:
                checker.step(step, index, outcome, expected)
        checker.check_strays()
        checker.contents(outcomes)
        checker.check_journal()
    except TimedOut:
        checker.fail(f"it did not end within {limit} s")
    except Exception:  # whatever a broken program makes the checks trip over is the case's failure
        checker.fail("the checks could not be made:\n" + traceback.format_exc())
    finally:
        world.close()
    if checker.wrong and outcomes and options.verbose:
        checker.wrong.append("stderr was:\n" + "".join(outcome.stderr for outcome in outcomes)[-3000:])
    reached = {(result["exit_code"], variant[0]) for result in checker.results} | {
        (outcome.code, variant[0] or "text") for step, outcome in zip(
            [step for step in case.steps if step.words], outcomes) if step.words[:1] == ["run"]}
    codes = {result["error"]["code"] for result in checker.results if result.get("error")} | {
        event["code"] for event in checker.events if event["type"] == "tool.finished" and event["code"]} | {
        event["error"]["code"] for event in checker.events if event["type"] == "model.fallback"}
    return checker.wrong, reached, codes


def makes_network_namespaces():
    """As errand does it: as root, else in a user namespace."""
    return any(subprocess.run(["unshare", *options, "true"], capture_output=True).returncode == 0
               for options in (["-n"], ["-rn"]))


def missing(case, options):
    needs = case.expect.get("needs", [])
    if "openssl" in needs and not shutil.which("openssl"):
        return "openssl is not installed"
    if "plain" in needs and options.sanitized:
        return "not with sanitizers"
    if "network_namespace" in needs and not makes_network_namespaces():
        return "no network namespace can be made here"
    if "user" in needs and os.geteuid() == 0:
        return "root may write everywhere"
    return None


# ---- everything together ----

def coverage(options, reached, codes):
    """Exit codes (in each format) and error codes that exist and that no case has produced."""
    table = json.loads(subprocess.run([options.errand, "exit-codes", "-o", "json"], capture_output=True,
                                      check=True, timeout=20).stdout)
    excused = tomllib.loads((HERE / "uncovered.toml").read_text())
    built = {row["code"]: row for row in table["errors"] if row["since"]}
    exits = {row["exit_code"] for row in built.values() if row["exit_code"]} | {0, 129, 130, 141, 143}
    wrong = []
    for code in sorted(exits - {int(code) for code in excused["exits"]}):
        formats = {form for number, form in reached if number == code}
        if not formats >= set(FORMATS):
            wrong.append(f"exit code {code} has no case for {sorted(set(FORMATS) - formats)}")
    for code in sorted(set(built) - codes - set(excused["errors"])):
        wrong.append(f"no case produces {code}")
    for code in sorted(set(excused["errors"]) & codes):
        wrong.append(f"uncovered.toml excuses {code}, but a case produces it")
    for code in sorted(codes - set(built)):
        wrong.append(f"{code} was produced, but its row says that it is not yet built")
    return wrong


def make_certificate():
    if not shutil.which("openssl"):
        return None
    folder = tempfile.mkdtemp(prefix="errand-e2e-ca-")
    files = (f"{folder}/cert.pem", f"{folder}/key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True, timeout=60)
    return files


def heed_signals():
    """Signals that whoever started this ignores (nohup, a shell's &) would be ignored in every case, too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def main():
    heed_signals()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only cases whose name has this")
    parser.add_argument("-t", "--tag", help="only cases with this tag")
    parser.add_argument("-j", "--jobs", type=int, default=4)
    parser.add_argument("-v", "--verbose", action="store_true", help="show stderr of what failed")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases")
    parser.add_argument("--sanitized", action="store_true", help="the program is built with sanitizers")
    parser.add_argument("--patience", type=float, default=1, help="multiplies every time limit")
    options = parser.parse_args()
    options.errand = options.errand.resolve()
    if not os.access(options.errand, os.X_OK):
        sys.exit(f"e2e: there is no program {options.errand}; ./dev build makes it")
    version = subprocess.run([options.errand, "--version"], capture_output=True, text=True, timeout=20).stdout
    options.version = (version.split() or ["?"])[-1]
    options.certificate = make_certificate()

    cases = [Case(file.parent) for file in sorted(HERE.rglob("cmd"))]
    cases.sort(key=lambda case: "slow" not in case.tags)  # those that mostly wait start first
    chosen = [case for case in cases if options.k in case.name and (not options.tag or options.tag in case.tags)]
    passed = failed = skipped = 0
    reached, codes = set(), set()
    begin = time.monotonic()

    def run_case(case):
        start = time.monotonic()
        reason = missing(case, options)
        runs = [] if reason else [(variant, run_variant(case, variant, options)) for variant in case.variants()]
        return case, reason, runs, time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, reason, runs, seconds in pool.map(run_case, chosen):
            if reason:
                skipped += 1
                print(f"skip {case.name}: {reason}")
                continue
            wrong = []
            for variant, (problems, exits, produced) in runs:
                reached |= exits
                codes |= produced
                label = " ".join(str(part) for part in (variant[0] or "-", variant[1], "stream" if variant[2] else "whole"))
                wrong += [f"[{label}] {problem}" for problem in problems]
            passed, failed = passed + (not wrong), failed + bool(wrong)
            took = f"  ({seconds:.1f} s)" if seconds > 5 else ""
            print(f"{'FAIL' if wrong else 'ok  '} {case.name}{took}", flush=True)
            for problem in wrong:
                print(f"    {problem}", flush=True)
    if not (options.k or options.tag or options.sanitized):
        gaps = coverage(options, reached, codes)
        passed, failed = passed + (not gaps), failed + bool(gaps)
        print(f"{'FAIL' if gaps else 'ok  '} coverage: a case for every exit code and every error code")
        for gap in gaps:
            print(f"    {gap}")
    if options.certificate:
        shutil.rmtree(pathlib.Path(options.certificate[0]).parent, ignore_errors=True)
    print(f"{time.monotonic() - begin:.0f} s")
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
