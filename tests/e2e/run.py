#!/usr/bin/env python3
"""Runs the end-to-end cases: data folders that say what errand is given and what must come of it.

    tests/e2e/run.py [--errand PATH] [-k PATTERN]… [-t TAG] [-j N] [-v]

UPDATE=1 rewrites the golden files (stdout, stderr) that a case has. README.md tells the format."""
import argparse
import concurrent.futures
import copy
import fcntl
import itertools
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import threading
import time
import tomllib
import traceback
import uuid
import zlib

sys.dont_write_bytecode = True  # a test run leaves nothing in the source tree
import server as scripted  # noqa: E402
from screen import picture  # noqa: E402
from cases import FORMATS, HERE, RESULT_KEYS, SOME_RESULTS_KEYS, TAGS, find_cases  # noqa: E402
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch, end, processes  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
SECRET = "e2e-key-7f3a91c2d4"  # the provider key of every case: it must never be seen again
UNCOMPARED_EVENTS = ("model.delta", "tool.output")
RUNNING = ("run", "resume", "fork")  # commands that end with a result object
STOPPED = (124, 129, 130, 141, 143)  # by a signal or the deadline
CALLING_STOPS = ("end_turn", "tool_use", "stop_sequence", "pause", "unknown")  # the others let no call run


# Where stderr says how long something took on this machine: what stands before the time, and what behind it. Every
# other time was configured or said by the server, and is compared. So is `retry N of M in`: its jitter is below
# `retry.initial_delay`, which is 1ms in the cases that show it.
TOOK = r"(?:\d\.\d s|\d+s|\d+[hm](?:\d+[ms])*)"
MEASURED_TIMES = [re.compile(f"^({before}){TOOK}({behind})$", re.MULTILINE) for before, behind in (
    (r"turn \d+: .*, ", ""),
    (r"  (?:\S+: )*(?:ok|exit \d+|\w+ \(\d+\))(?:, \d+ bytes|, \d+ turns?(?:, .*)?)?, ", ""),  # a call, a member
    (r"  check .*: (?:passed|failed: .*) \(", r"\)"),
    (r".* failed before and is skipped for ", ": .* is asked"),  # what is left of the cooldown
    (r"errand: .*: \d+ turns?, .*, ", "(?:, over budget)?"),
    (r"errand: .* \(\d+ turns?, .*, ", r"(?:, over budget)?\)"),
)]

# On a terminal that is too narrow for it.
BROKEN_RUN_ID = re.compile(r"(?:\{[\d;]*\}\n\{[\d;]*\})?".join(
    "-" if place == "-" else "7" if place == "7" else "[0-9a-f]" for place in "xxxxxxxx-xxxx-7xxx-xxxx-xxxxxxxxxxxx"))


# Starts a command and writes the peak of its memory to a file: a child of this runner would begin with the
# runner's own peak, one of this little program begins with next to nothing.
MEASURED = """import os, signal, sys
child = os.fork()
if child == 0:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(used.ru_maxrss))
code = os.waitstatus_to_exitcode(status)
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


# ---- one run of one case ----

class World:
    """A fresh home, a fresh working folder, a clean environment and the scripted server."""
    numbers = itertools.count(1)

    def __init__(self, case, variant, options):
        self.case, self.options = case, options
        self.format, self.protocol, self.stream = variant
        self.token = uuid.uuid4().hex
        self.root = options.scratch.path / str(next(self.numbers))
        self.root.mkdir()
        self.work, self.home, self.tmp = (self.root / name for name in ("work", "home", "tmp"))
        for folder in (self.work, self.home, self.tmp):
            folder.mkdir()
        self.server = scripted.Server(case.script, options.certificate, self.root)
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
        for name in ("PROTOCOL", "STREAM"):
            if "{{%s}}" % name in text:
                self.case.filled.add(name)
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
        return re.sub(rf"\b{re.escape(self.options.version)}\b", "{{VERSION}}", text)

    def picture(self, text, step):
        """Of the terminal of `stderr pty 80x24`. What took no time took 0.0 s to 0.9 s."""
        columns = int(step.stderr[1].split("x")[0])
        shown = BROKEN_RUN_ID.sub("{{RUN_ID}}", self.normal(picture(text, columns)))
        return re.sub(r"\b\d\.\d(?=(?:\s|\{[\d;]*\})+s\b)", "{{MS}}", shown)

    def without_measured(self, text):
        """Of what stderr says; stdout says no time that was measured."""
        for place in MEASURED_TIMES:
            text = place.sub(r"\1{{MS}}\2", text)
        return text

    def of_the_machine(self, message):
        """A run warns of each layer of the sandbox that this machine has not, whatever the case is about."""
        found = re.match("the sandbox has no layer `([a-z_]+)` on this machine: ", message)
        return found is not None and found[1] in self.options.missing_layers

    def without_the_machine(self, text):
        return "".join(line for line in text.splitlines(keepends=True)
                       if not self.of_the_machine(line.removeprefix("warning: ")))

    def strays(self):
        """Processes that the case left behind: by their environment, their folder, or a word of their command."""
        return processes(self.token, self.root)

    def close(self):
        self.server.close()
        end(self.strays())
        if self.options.scratch.keep:
            print(f"  kept: {self.root}")
        else:
            shutil.rmtree(self.root, ignore_errors=True)


class Outcome:
    """What one command line did. `result` and `events` are there once they have been found to be whole."""

    def __init__(self, code, by_signal, stdout, stderr, seconds, peak_kb):
        self.code, self.by_signal, self.seconds, self.peak_kb = code, by_signal, seconds, peak_kb
        self.begin = time.time() - seconds
        self.form, self.result, self.events, self.said, self.undone = None, None, [], [], []
        self.is_replay, self.resumes = False, 0
        self.stdout, self.stderr = stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
        self.invalid_utf8 = "\ufffd" in self.stdout and b"\xef\xbf\xbd" not in stdout


class TimedOut(Exception):
    pass


class Process:
    """One started errand: feeds, reads and signals it, and never waits for ever."""

    def __init__(self, world, step, deadline):
        self.world, self.step, self.deadline = world, step, deadline
        self.opened, self.out, self.err = [], bytearray(), bytearray()
        self.undone = [f"signal {words}" for words in step.signals] + [f"type {words}" for words in step.typed]
        self.undone += [f"hang_up {step.hang_up}"] if step.hang_up else []
        words = [world.fill(word) for word in step.words]
        if world.format and words[:1] and words[0] in RUNNING and not {"-o", "--output"} & set(words):
            words[1:1] = ["-o", world.format]
        limits = {getattr(resource, "RLIMIT_" + name.upper()): value for name, value in step.limits.items()}

        closed = [number for number, how in ((1, step.stdout), (2, step.stderr)) if how[0] == "closed"]

        def in_child():
            for kind, value in limits.items():
                resource.setrlimit(kind, (value, value))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a full disk is an error, not a signal
            for number in closed:
                os.close(number)
            if controlling:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        controlling = step.stdin == ["pty", "controlling"]
        self.begin = time.monotonic()
        self.keyboard = None
        stdin, feed = self._input(step.stdin)
        stderr, stderr_reader = self._output(step.stderr)
        stdout, stdout_reader = (
            (self._own(os.dup(stderr))[0], None) if step.stdout[0] == "beside" else self._output(step.stdout))
        command = [str(world.options.errand), *words]
        self.peak = None
        if not world.options.sanitized and any("max_rss_mb" in expected.table for expected in world.case.expected):
            self.peak = world.root / uuid.uuid4().hex
            command = [sys.executable, "-SE", "-c", MEASURED, str(self.peak), *command]
        self.process = subprocess.Popen(
            command, cwd=world.work, env=world.environment(step),
            stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True,
            preexec_fn=in_child if limits or closed or controlling else None)
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
            if len(how) > 1:
                columns, rows = map(int, how[1].split("x"))
                termios.tcsetwinsize(slave, (rows, columns))
                if self.keyboard is None:
                    self.keyboard, = self._own(os.dup(master))
            return slave, master
        read, write = self._own(*os.pipe())
        if how[0] == "gone":  # a pipe without a reader
            os.close(read)
            self.opened.remove(read)
            return write, None
        return write, read

    def finish(self):
        outside = [threading.Thread(target=work, daemon=True) for work in (self._send_signals, self._type_or_hang_up)]
        for thread in outside:
            thread.start()
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
            outcome = Outcome(128 - code if code < 0 else code, code < 0, bytes(self.out), bytes(self.err),
                              time.monotonic() - self.begin, int(self.peak.read_text()) if self.peak else 0)
            for thread in outside:
                thread.join(5)
            outcome.undone = self.undone
            return outcome
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

    def _stderr_has(self, wanted, begin=0):
        """Where it has that; None: the process has ended without."""
        while (found := bytes(self.err).find(wanted.encode(), begin)) < 0:
            if time.monotonic() > self.deadline or self.process.returncode is not None:
                return None
            time.sleep(0.01)
        return found

    def _type_or_hang_up(self):
        """`type "y\n" after "Allow it?"`: each waits until stderr has its text once more."""
        seen = 0
        for text, after, wanted in self.step.typed:
            if (found := self._stderr_has(wanted, seen)) is None:
                return
            seen = found + 1
            try:
                os.write(self.keyboard, text.encode().decode("unicode_escape").encode())
            except OSError:
                return
            self.undone.remove(f"type {[text, after, wanted]}")
        if self.step.hang_up and self._stderr_has(self.step.hang_up, seen) is not None:
            self.opened.remove(self.keyboard)
            os.close(self.keyboard)
            self.undone.remove(f"hang_up {self.step.hang_up}")

    def _send_signals(self):
        """`signal TERM after request 2`: each waits for its event, in turn."""
        for name, after, kind, value in self.step.signals:
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
            self.undone.remove(f"signal {[name, after, kind, value]}")


# ---- what must have come of it ----

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


def tools_apart(raw):
    """The array of tools in a request's body, without its end, and the body without it."""
    text = raw.decode()
    if '"tools":[' not in text:
        return "", raw
    start = text.index('"tools":[') + len('"tools":')
    _, end = json.JSONDecoder().raw_decode(text, start)
    return text[start:end].rstrip("]}"), (text[:start] + "[]" + text[end:]).encode()


class Checker:
    """Collects what is wrong with one run of a case."""

    def __init__(self, case, world):
        self.case, self.world = case, world
        self.wrong, self.outcomes, self.at, self.refused = [], [], "", None
        self.seen = []  # (number, step, outcome as it came)

    def fail(self, text):
        self.wrong.append(self.at + text)

    def command(self, number, step, outcome):
        """What holds for every command line, and what the case expects of this one."""
        self.at = f"command {number}: " if len(self.case.lines) > 1 else ""
        self.seen.append((number, step, copy.copy(outcome)))
        self.outcomes.append(outcome)
        outcome.stderr = self.world.without_the_machine(outcome.stderr)
        expected = self.case.expected[number - 1]
        self.ending(outcome, expected.take("exit"))
        if step.words[:1] and step.words[0] in RUNNING and "--help" not in step.words:
            self.run_output(step, outcome)
        self.texts(outcome, expected, step)
        self.check_result(outcome, expected)
        self.check_events(outcome, expected)
        self.limits(outcome, expected)
        self.at = ""

    def ending(self, outcome, expected_exit):
        if str(outcome.code) not in str(expected_exit).split("|"):
            self.fail(f"exit code {outcome.code}, expected {expected_exit}")
            if outcome.code == 93 and not self.world.options.has_sandbox:
                self.refused = self.world.options.lacking["sandbox"]
        if outcome.code > 128 and not outcome.by_signal:
            self.fail(f"exit code {outcome.code} without dying by the signal")
        if outcome.by_signal and outcome.code in (132, 134, 135, 136, 139):
            self.fail("it crashed")
        if "ERROR: AddressSanitizer" in outcome.stderr or "ThreadSanitizer" in outcome.stderr or \
                "runtime error:" in outcome.stderr or "LeakSanitizer" in outcome.stderr:
            self.fail("a sanitizer complains:\n" + outcome.stderr[-3000:])
        if outcome.invalid_utf8:
            self.fail("stdout is not valid UTF-8")
        for what in outcome.undone:
            self.fail(f"it was over before this: {what}")

    def run_output(self, step, outcome):
        form = self.world.format or step.env.get("ERRAND_OUTPUT")
        for at, word in enumerate(step.words):
            if word in ("-o", "--output") and at + 1 < len(step.words):
                form = step.words[at + 1]
        outcome.form, outcome.is_replay = form or "text", "--replay" in step.words
        if step.stdout[0] != "pipe" or outcome.code in (137, 141):
            return
        text = outcome.stdout
        if "--output-file" in step.words and not text:
            file = self.world.work / self.world.fill(step.words[step.words.index("--output-file") + 1])
            text = file.read_text() if file.is_file() else ""
        if outcome.form == "text":
            if outcome.code not in (0, 1) and text:
                self.fail(f"stdout is not empty on exit {outcome.code}: {text!r:.200}")
            if outcome.code in (0, 1) and step.together == 1 and (result := self.result_kept(outcome.begin)):
                elsewhere = outcome.is_replay or "--output-file" in step.words
                if not elsewhere and text.rstrip("\n") != result["text"].rstrip("\n"):
                    self.fail(f"stdout is {text!r:.300}, the journal's answer {result['text']!r:.300}")
        elif outcome.form == "json":
            if text.count("\n") != 1:
                self.fail(f"-o json: stdout is not one line: {text!r:.300}")
            try:
                self.whole_result(json.loads(text), outcome)
            except ValueError:
                self.fail(f"-o json: stdout is not JSON: {text!r:.300}")
        elif outcome.form == "jsonl":
            self.event_lines(text, outcome)

    def whole_result(self, result, outcome):
        if [key for key in result if key not in SOME_RESULTS_KEYS] != RESULT_KEYS:
            self.fail(f"the result object has the keys {list(result)}")
            return
        outcome.result = result
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
        self.as_in_the_journal(result, outcome)

    def as_in_the_journal(self, result, outcome):
        """What was said of a run is what was kept of it, where it was kept."""
        if outcome.is_replay:  # it has the recorded run's number, and is not kept
            return
        kept = [event for event in self.events_kept(result["run_id"], outcome.resumes)
                if event["type"] not in UNCOMPARED_EVENTS]
        if not kept or kept[-1]["type"] != "run.finished":
            return
        if not outcome.said and self.is_early(result, kept[-1]["result"]):
            return
        if kept[-1]["result"] != result:
            self.fail(f"the journal has another result: {kept[-1]['result']}")
        said = [event["type"] for event in outcome.said if event["type"] not in UNCOMPARED_EVENTS]
        if outcome.said and said != [event["type"] for event in kept]:
            self.fail(f"the journal has other events: {[event['type'] for event in kept]}")

    def is_early(self, result, kept):
        """It was to be carried on, and ended before that: it is what it was."""
        bill = ("usage", "turns", "tool_calls", "denials", "cost_usd", "models", "members")
        return result["exit_code"] != 0 and not result["text"] and result["error"] != kept["error"] and \
            [result.get(key) for key in bill] == [kept.get(key) for key in bill]

    def events_kept(self, run, after):
        rows = self.journaled("select json from events where run_id = ? and seq > ? order by seq", run, after)
        return list(map(json.loads, rows))

    def result_kept(self, begin):
        """Of the run that ended then or later; None where none was kept."""
        rows = self.journaled("select json from events where type = 'run.finished' and time >= ?", int(begin * 1000))
        return json.loads(rows[-1])["result"] if rows else None

    def journaled(self, query, *values):
        rows = []
        for file in self.world.home.rglob("journal.db"):
            try:
                base = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)
                rows += [text for text, in base.execute(query, values)]
                base.close()
            except sqlite3.Error:
                pass  # check_journal says what is wrong with it
        return rows

    def event_lines(self, text, outcome):
        events = []
        for line in text.removesuffix("\n").split("\n"):  # not at what else Unicode calls an end of a line
            try:
                events.append(json.loads(line))
            except ValueError:
                self.fail(f"-o jsonl: not JSON: {line!r:.200}")
                return
        members = {}
        for event in events:
            if "parent" in event:
                members.setdefault(event["run"], []).append(event)
        events = [event for event in events if "parent" not in event]
        types = [event["type"] for event in events]
        if types[:1] != ["run.started"] or types[-1:] != ["run.finished"]:
            self.fail(f"events do not run from run.started to run.finished: {types[:3]} … {types[-3:]}")
            return
        if events[0].get("schema") != "errand.events/1":
            self.fail("run.started has no schema")
        outcome.resumes = resumes = events[0].get("resumes") or 0
        if [event["seq"] for event in events] != list(range(resumes + 1, resumes + len(events) + 1)):
            self.fail(f"seq does not count from {resumes + 1}")
        if len({event["run"] for event in events}) != 1 or any(event["v"] != 1 for event in events):
            self.fail("events of another run or version")
        outcome.events = [event for event in events
                          if event["type"] != "warning" or not self.world.of_the_machine(event["message"])]
        outcome.said = events
        self.whole_result(events[-1]["result"], outcome)
        for lines in members.values():
            self.member_lines(lines, {events[0]["run"], *members})
        if resumes:  # what came of the run before is in the journal
            events = [event for event in self.events_kept(events[0]["run"], 0) if event["seq"] <= resumes] + events
        if not (resumes and types == ["run.started", "run.finished"] and outcome.code != 0):  # else calls stay open
            self.calls(events)
        self.bill(events)
        self.turns(events, len(outcome.said))

    def member_lines(self, events, whole):
        """Those of a member are those of a run of its own, below one of the others."""
        first = events[0]
        if first["type"] != "run.started" or events[-1]["type"] != "run.finished" or \
                {event["parent"] for event in events} != {first["parent"]} or first["parent"] not in whole or \
                [event["seq"] for event in events] != list(range(first["seq"], first["seq"] + len(events))):
            self.fail(f"the events of the member's run {first['run']} are not whole")
            return
        if not first.get("resumes"):
            self.calls(events)
            self.bill(events)
            self.turns(events, len(events))

    def calls(self, events):
        """Each has one result, and ran only where it was started."""
        started = [event["call_id"] for event in events if event["type"] == "tool.started"]
        finished = [event["call_id"] for event in events if event["type"] == "tool.finished"]
        asked = [call["id"] for event in events if event["type"] == "model.responded"
                 and event["stop_reason"] in CALLING_STOPS
                 for call in event["tool_calls"]]
        goes_on = self.suspended(events, finished)
        if sorted(finished + list({*self.parked(events), *goes_on})) != sorted(asked):
            self.fail(f"the calls {asked} have the results {finished}")
        ran = [event["call_id"] for event in events if event["type"] == "tool.finished" and event["status"] == "ok"]
        if not set(ran) <= set(started) <= {*finished, *goes_on}:
            self.fail(f"started {started}, finished {finished}, well {ran}")

    def suspended(self, events, finished):
        """Where the run is stopped, or a sub-agent is cut off with it: the calls of the last reply that have no result yet.
        So are a hand-over and calls too many, which go on where more of them are allowed, and those that the kill
        switch kept from beginning."""
        code = events[-1]["result"]["exit_code"]
        if code == 0 or code not in (83, 87, 96, *STOPPED) and not any(
                event["call_id"] and event["call_id"] not in finished
                for event in events if event["type"] == "member.started"):
            return []
        last = next((event for event in reversed(events) if event["type"] == "model.responded"
                     and event["stop_reason"] in CALLING_STOPS), {"tool_calls": []})
        return [call["id"] for call in last["tool_calls"] if call["id"] not in finished]

    def parked(self, events):
        """The calls that wait at the end of a run, and those that they keep from running."""
        if events[-1]["result"]["exit_code"] == 0:
            return []
        ids = []
        for event in events:
            if event["type"] == "model.responded":
                ids = []
            elif event["type"] == "run.parked":
                ids = [call["call_id"] for call in event["calls"] + event["others"]]
            elif event["type"] == "tool.finished" and event["call_id"] in ids:
                ids.remove(event["call_id"])
        return ids

    def turns(self, events, said):
        """Each answer is that of a turn that began and of a request, and is what came of it piece by piece, as far as
        it was said: the last events, so many."""
        pieces, turn, asked = "", None, None
        for event in events:
            if event["type"] == "turn.started":
                turn = event["turn"]
            elif event["type"] == "model.requested":
                pieces, asked = "", event["turn"]
                if turn != asked:
                    self.fail(f"a request of turn {asked} while {turn} went on")
            elif event["type"] in ("model.retrying", "model.reset", "model.fallback"):
                pieces = ""
            elif event["type"] == "model.delta" and event["kind"] == "text":
                pieces += event["text"]
            elif event["type"] == "model.responded":
                if not turn == asked == event["turn"]:
                    self.fail(f"an answer of turn {event['turn']}, asked for in {asked}, while {turn} went on")
                if event["seq"] > events[-1]["seq"] - said and pieces != event["text"] \
                        and "[redacted]" not in event["text"]:
                    self.fail(f"the answer {event['text']!r:.200} came as {pieces!r:.200}")

    def bill(self, events):
        """What answers and judges cost is what the run costs; of a fork, those after its beginning."""
        result = events[-1]["result"]
        members = {(event["member"], event["round"]): event for event in events
                   if event["type"] == "member.finished" and not event["taken_from"]}
        ended = {name: event["result"] for name, event in members.items()}
        forks = [at for at, event in enumerate(events) if event.get("forked_from")]
        uses = [event.get("judge") or event.get("summarizer") or event
                for event in events[forks[-1] if forks else 0:-1]]
        spent = [one["usage"] for one in ended.values()]
        spent += [counted for use in uses if (counted := use.get("estimated") or use.get("usage"))]
        for name, total in result["usage"].items():
            sum_of = sum(usage[name] for usage in spent)
            if total != sum_of:
                self.fail(f"the events have {sum_of} {name} tokens, the result {total}")
        listed = {(one["member"], one["round"]): one["cost_usd"] for one in result.get("members", [])
                  if one["exit_code"] is not None}
        for name, event in members.items():
            if listed.get(name, "nothing") != event["result"]["cost_usd"]:
                self.fail(f"{name} cost {event['result']['cost_usd']}, and the result lists {listed.get(name, 'nothing')}")
        if not any(event["type"] == "run.started" and event.get("resumes") for event in events):
            begun = {(event["member"], event["round"]) for event in events if event["type"] == "member.started"}
            ended_here = {(one["member"], one["round"]) for one in result.get("members", [])
                          if one["exit_code"] is not None and not one["taken_from"]}
            untold = (ended_here - set(members)) | (set(members) - begun)
            if untold:
                self.fail(f"of what members did, no event tells: {sorted(untold)}")
        # Those of a sub-agent are its own.
        answers = sum(one["result"]["turns"] for one in members.values() if not one["call_id"]) + \
            sum(event["type"] == "model.responded" for event in events)
        if result["turns"] != answers:
            self.fail(f"{answers} answers, and the result has {result['turns']} turns")

    def texts(self, outcome, expected, step):
        shown = {"stdout": outcome.stdout, "stderr": outcome.stderr}
        for name, text in shown.items():
            for _, part in expected.each(name + "_contains"):
                if self.world.fill(part) not in text:
                    self.fail(f"{name} lacks {part!r}: {text[-600:]!r}")
            for _, part in expected.each(name + "_lacks"):
                if self.world.fill(part) in text:
                    self.fail(f"{name} has {part!r}")
            if self.world.format in (None, "text") and (golden := expected.take(name)):
                self.golden(golden, self.world.normal(self.world.without_measured(text) if name == "stderr" else text))
        if self.world.format in (None, "text") and (golden := expected.take("screen")):
            self.golden(golden, self.world.picture(outcome.stderr, step))
        if (wanted := expected.take("stdout_json")) is not None:
            try:
                self.compare(wanted, json.loads(outcome.stdout), "stdout")
            except ValueError:
                self.fail(f"stdout is not JSON: {outcome.stdout!r:.300}")

    def golden(self, file, text):
        expected = file.read_bytes().decode()
        if os.environ.get("UPDATE") == "1":
            file.write_bytes(text.encode())
        elif text != expected:
            self.fail(f"{file.name} differs:\n" + difference(expected, text))

    def compare(self, wanted, actual, name):
        if (found := mismatch(self.filled(wanted), actual, name)) is not None:
            self.fail(found)

    def filled(self, value):
        if isinstance(value, dict):
            return {key: self.filled(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.filled(one) for one in value]
        return self.world.fill(value) if isinstance(value, str) else value

    def check_result(self, outcome, expected):
        if outcome.result is not None and (wanted := expected.take("result")) is not None:
            self.compare(wanted, outcome.result, "result")

    def check_events(self, outcome, expected):
        if not outcome.events:
            return
        types = [event["type"] for event in outcome.events if event["type"] not in UNCOMPARED_EVENTS]
        if (wanted := expected.take("events")) is not None and types != wanted:
            self.fail(f"events\n      {types}, expected\n      {wanted}")
        for _, name in expected.each("no_events"):
            if name not in self.world.options.event_types:
                self.fail(f"no_events: no event is called {name}")
            if any(event["type"] == name for event in outcome.events):
                self.fail(f"there is an event {name}")
        rest = iter(outcome.events)
        for _, wanted in expected.each("event"):
            wanted, closest = self.filled(wanted), None
            for event in rest:  # goes on after the one that was found
                found = mismatch(wanted, event, "event")
                if found is None:
                    break
                if event["type"] == wanted.get("type"):
                    closest = found
            else:
                self.fail(f"no event (in this order) like {wanted}" + (f"; {closest}" if closest else ""))
                return

    def limits(self, outcome, expected):
        options = self.world.options
        if (seconds := expected.take("max_seconds")) is not None and outcome.seconds > seconds * options.patience:
            self.fail(f"it took {outcome.seconds:.1f} s, allowed are {seconds * options.patience}")
        if (allowed := expected.take("max_rss_mb")) is not None and not options.sanitized:
            if not 0 < outcome.peak_kb / 1024 <= allowed:
                self.fail(f"peak memory {outcome.peak_kb / 1024:.0f} MB, allowed are {allowed}")

    def whole_case(self):
        """What all the command lines did together."""
        self.check_strays()
        self.check_requests()
        self.check_files()
        self.check_secrets("".join(outcome.stdout + outcome.stderr for outcome in self.outcomes))
        self.check_journal()

    def check_requests(self):
        expected, server = self.case.overall, self.world.server
        seen = server.requests
        if (wanted := expected.take("requests")) is not None and len(seen) != wanted:
            self.fail(f"the server saw {len(seen)} requests, expected {wanted}")
        if (wanted := expected.take("connections")) is not None and server.connections != wanted:
            self.fail(f"{server.connections} connections, expected {wanted}")
        for number, wanted in expected.each("request"):
            if number > len(seen):
                self.fail(f"request {number} was not made")
                break
            request = seen[number - 1]
            view = {"path": request.path, "model": request.protocol.model(request), "headers": request.headers,
                    "body": {**(request.body or {}), "messages": request.messages}}
            if "after_ms" in wanted and request.at - seen[number - 2].at < wanted["after_ms"] / 1000 - 0.02:
                self.fail(f"request {number} came {request.at - seen[number - 2].at:.3f} s after the one before")
            if (other := wanted.get("same_as")) is not None and (
                    other > len(seen) or seen[other - 1].raw != request.raw):
                self.fail(f"request {number} is not, byte by byte, request {other}")
            self.compare({key: value for key, value in wanted.items() if key not in ("after_ms", "same_as")}, view,
                         f"request {number}")
        if wanted := expected.take("prefix_stable"):
            if len(seen) < 2:
                self.fail("prefix_stable: there are no two requests")
            for number, (one, next_one) in enumerate(zip(seen, seen[1:]), start=1):
                before, after = one.raw, next_one.raw
                if wanted == "tools_grow":
                    (tools, before), (more_tools, after) = tools_apart(before), tools_apart(after)
                    if not more_tools.startswith(tools):
                        self.fail(f"the tools of request {number + 1} do not begin with those of request {number}")
                end = messages_end(before)
                if before[:end] != after[:end]:
                    self.fail(f"request {number + 1} does not begin with what request {number} said")
        if left := server.unplayed():
            self.fail(f"nobody asked for the last {left} replies of server.toml")
        self.wrong += server.faults

    def check_files(self):
        expected = self.case.overall
        for name, wanted in expected.each("files"):
            file = pathlib.Path(self.world.fill(name))
            file = file if file.is_absolute() else self.world.work / file
            if wanted == "<absent>":
                if os.path.lexists(file):
                    self.fail(f"{name} is there")
                continue
            if not file.is_file():
                self.fail(f"{name} is not there")
                continue
            self.compare(wanted, file.read_text(errors="replace"), name)
        if (wanted := expected.take("left")) is not None:
            left = sorted(path.name for path in self.world.work.iterdir())
            if left != sorted(wanted):
                self.fail(f"the working folder holds {left}")

    def check_secrets(self, shown):
        """The provider's key is nowhere but in the requests' headers."""
        if SECRET in shown:
            self.fail("the API key is in the output")
        for folder in (self.world.home, self.world.work, self.world.tmp):
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink() and SECRET.encode() in path.read_bytes():
                    self.fail(f"the API key is in {path.relative_to(self.world.root)}")
        if any(SECRET.encode() in self.own_words(request.raw) for request in self.world.server.requests):
            self.fail("the API key is in a request's body")

    def own_words(self, raw):
        """Of a request, without what the server itself has said before."""
        return raw

    def check_journal(self):
        """Whatever happened, the journal is whole, and what it holds of a run is that run."""
        for file in self.world.home.rglob("journal.db"):
            try:
                base = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)
                if (state := base.execute("pragma integrity_check").fetchone()[0]) != "ok":
                    self.fail(f"the journal is damaged: {state}")
                if self.world.options.fold is not None:
                    self.check_folds(file, base)
                base.close()
            except sqlite3.Error as error:
                self.fail(f"the journal cannot be read: {error}")

    def check_folds(self, file, base):
        """The state is the fold of the events."""
        tables = [name for name, in base.execute("select name from sqlite_master")]  # none: the disk was full
        if runs := [run for run, in base.execute("select run_id from runs")] if "runs" in tables else []:
            fold = subprocess.run([self.world.options.fold, file, *runs], capture_output=True, text=True, timeout=60)
            if fold.returncode != 0:
                self.fail(f"the journal is not the run: {fold.stdout}{fold.stderr}")

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


def run_variant(case, variant, options, afterwards=None):
    """The checker of this run, with all that it found wrong; `afterwards` is called while all is still there."""
    world = World(case, variant, options)
    checker = Checker(case, world)
    limit = case.expect.get("timeout_s", 20) * options.patience
    number = 0
    try:
        deadline = time.monotonic() + limit
        for step in case.steps:
            options.scratch.hold()
            if step.shell is not None:
                done = subprocess.run(["/bin/sh", "-c", world.fill(step.shell)], cwd=world.work, timeout=limit,
                                      env=world.environment(step), stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True)
                if done.returncode != 0:
                    checker.fail(f"exit status {done.returncode} of: {step.shell}\n{done.stdout}{done.stderr}")
                continue
            number += 1
            running = [Process(world, step, deadline) for _ in range(step.together)]
            with concurrent.futures.ThreadPoolExecutor(len(running)) as pool:
                ended = list(pool.map(Process.finish, running))
            for outcome in ended:
                checker.command(number, step, outcome)
        checker.whole_case()
        if afterwards:
            afterwards(world, checker)
    except TimedOut:
        checker.fail(f"it did not end within {limit} s")
    except Exception:  # whatever a broken program makes the checks trip over is the case's failure
        checker.fail("the checks could not be made:\n" + traceback.format_exc())
    finally:
        world.close()
    if checker.wrong and checker.outcomes and options.verbose:
        checker.wrong.append("stderr was:\n" + "".join(outcome.stderr for outcome in checker.outcomes)[-3000:])
    return checker


# ---- what the machine lacks ----

def lack_of_namespaces(kind, letter):
    """As errand makes them: as root, else in a user namespace."""
    for options in ("-" + letter, "-r" + letter):
        if subprocess.run(["unshare", options, "true"], capture_output=True).returncode == 0:
            return None
    return f"no {kind} namespace can be made here"


def lack_of_terminals():
    try:
        for descriptor in pty.openpty():
            os.close(descriptor)
    except OSError as error:
        return f"no pseudo-terminals here: {error}"
    return None


def ask_the_doctor(options):
    """Which layers of the sandbox errand itself says it has not here, and whether it can do without."""
    with tempfile.TemporaryDirectory(prefix="errand-doctor-") as state:  # not what this user's journal is like
        said = subprocess.run([options.errand, "doctor", "-o", "json"], capture_output=True, timeout=20,
                              env=os.environ | {"XDG_STATE_HOME": state})
    options.missing_layers = json.loads(said.stdout)["sandbox"]["missing"]
    options.has_sandbox = said.returncode == 0
    if not options.has_sandbox:
        options.lacking["sandbox"] = "errand runs no tools here, for want of " + ", ".join(options.missing_layers)


def what_is_lacking(options):
    """{what a case may need: why it cannot have it here}."""
    found = {
        **{program: None if shutil.which(program) else f"{program} is not installed" for program in ("openssl", "jq")},
        "plain": "not with sanitizers" if options.sanitized else None,
        "user": "root may write everywhere" if os.geteuid() == 0 else None,
        "network_namespace": lack_of_namespaces("network", "n"),
        "mount_namespace": lack_of_namespaces("mount", "m"),
        "pty": lack_of_terminals(),
    }
    return {need: reason for need, reason in found.items() if reason}


# ---- one case, in all its variants ----

class Judged:
    """What came of all variants of a case."""

    def __init__(self):
        self.skipped, self.wrong, self.reached, self.codes, self.seconds = None, [], set(), set(), 0

    def take_over(self, outcomes):
        """Exit codes that were reached, each in its format, and error codes that were seen."""
        self.reached |= {(outcome.code, outcome.form) for outcome in outcomes if outcome.form}
        errors = [outcome.result["error"] for outcome in outcomes if outcome.result]
        events = [event for outcome in outcomes for event in outcome.events]
        errors += [event["error"] for event in events if event["type"] in ("model.fallback", "context.compacted")]
        errors += [event["result"]["error"] for event in events if event["type"] == "member.finished"]
        self.codes |= {error["code"] for error in errors if error} | {
            event["code"] for event in events if event["type"] == "tool.finished" and event["code"]}


def run_case(case, options, afterwards=None, variants=None):
    """All variants of a case, and then that all that it expects has been compared; or those variants alone."""
    judged, start = Judged(), time.monotonic()
    judged.wrong = list(case.mistakes)
    if judged.wrong:
        return judged
    judged.skipped = next((options.lacking[need] for need in case.needs if need in options.lacking), None)
    if judged.skipped:
        return judged
    # They differ in little that a sanitizer sees.
    for variant in variants or case.variants(all_of_them=not options.sanitized):
        checker = run_variant(case, variant, options, afterwards)
        options.scratch.hold()
        judged.skipped = judged.skipped or checker.refused
        judged.take_over(checker.outcomes)
        label = " ".join(str(part) for part in (variant[0] or "-", variant[1], "stream" if variant[2] else "whole"))
        judged.wrong += [f"[{label}] {problem}" for problem in checker.wrong]
    if not judged.wrong and not options.sanitized and not variants:
        judged.wrong = case.uncompared()
    judged.seconds = time.monotonic() - start
    return judged


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


def make_certificate(folder):
    if not shutil.which("openssl"):
        return None
    files = (f"{folder}/cert.pem", f"{folder}/key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True, timeout=60)
    return files


def chosen_cases(cases, options, tag=None):
    """The cases that have one of the patterns in their name, and the tag; of all, a part. What chooses none is a
    mistake."""
    patterns = options.k
    for pattern in patterns:
        if not any(pattern in case.name for case in cases):
            sys.exit(f"e2e: no case has `{pattern}` in its name")
    chosen = [case for case in cases if not tag or tag in case.tags]
    chosen = [case for case in chosen if not patterns or any(pattern in case.name for pattern in patterns)]
    chosen = [case for case in chosen if patterns or zlib.crc32(case.name.encode()) % options.every == 0]
    if not chosen:
        sys.exit(f"e2e: no case with such a name has the tag `{tag}`")
    return sorted(chosen, key=lambda case: "slow" not in case.tags)  # those that mostly wait start first


def journal_fold_of(errand):
    """The program of the same build that folds journals; None, and said, where it is not built."""
    program = errand.parent / "tests" / "journal_fold"
    if os.access(program, os.X_OK):
        return program
    print(f"journals are not folded: {program} is not built", file=sys.stderr)
    return None


def ask_errand(options):
    """What the runner has to know of the program, and of the machine."""
    version = subprocess.run([options.errand, "--version"], capture_output=True, text=True, timeout=20).stdout
    options.version = (version.split() or ["?"])[-1]
    options.certificate = make_certificate(options.scratch.path)
    options.lacking = what_is_lacking(options)
    ask_the_doctor(options)
    options.fold = journal_fold_of(options.errand)
    schema = json.loads(subprocess.run([options.errand, "schema", "events"], capture_output=True, check=True,
                                       timeout=20).stdout)
    options.event_types = {event["properties"]["type"]["const"] for event in schema["oneOf"]}


class Tally:
    """What came of all cases, printed as it comes."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.reached, self.codes, self.times = set(), set(), []

    def say(self, how, name, problems):
        self.passed, self.failed, self.skipped = (
            self.passed + (how == "ok"), self.failed + (how == "FAIL"), self.skipped + (how == "skip"))
        print(f"{how:<4} {name}", flush=True)
        for problem in problems:
            print(f"    {problem}", flush=True)

    def add(self, case, judged):
        self.reached |= judged.reached
        self.codes |= judged.codes
        self.times.append((judged.seconds, case.name))
        if judged.skipped:
            self.say("skip", f"{case.name}: {judged.skipped}", [])
            return
        took = f"  ({judged.seconds:.1f} s)" if judged.seconds > 5 else ""
        self.say("FAIL" if judged.wrong else "ok", case.name + took, judged.wrong)


def each(cases, work, options):
    """(case, what came of the work) of each, several at a time. The first that fail are worked on once more, alone, and
    that counts: beside others a case may be held up for longer than any that it waits for. It is said of each."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, judged in zip(cases, pool.map(work, cases)):
            if len(failed) < options.again and judged.wrong and not judged.skipped:
                failed.append((case, judged))
            else:
                yield case, judged
    for case, first in failed:
        judged = work(case)
        if not judged.wrong:
            print("\n    ".join([f"shaky {case.name}: it holds alone; beside others:", *first.wrong]), flush=True)
        yield case, judged


def run_all(chosen, strays, options):
    tally, begin = Tally(), time.monotonic()
    for name, problem in strays:
        tally.say("FAIL", name, [problem])
    for case, judged in each(chosen, lambda case: run_case(case, options), options):
        tally.add(case, judged)
    if not (options.k or options.tag or options.sanitized or options.every > 1):
        gaps = coverage(options, tally.reached, tally.codes)
        how = "ok" if not gaps else "skip" if tally.skipped else "FAIL"  # what was skipped may be what is missing
        tally.say(how, "coverage: a case for every exit code and every error code", gaps)
    for seconds, name in sorted(tally.times, reverse=True)[:options.slowest]:
        print(f"{seconds:6.1f} s  {name}")
    print(f"{time.monotonic() - begin:.0f} s")
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped", flush=True)
    return 1 if tally.failed else 0


def run_and_count(cases, work, options, summary):
    """Runs the work on each case, prints what failed, the lines of the summary and the sum; the exit code."""
    passed = failed = skipped = 0
    for case, judged in each(cases, work, options):
        is_bad = bool(judged.wrong) and not judged.skipped
        skipped, failed, passed = (
            skipped + bool(judged.skipped), failed + is_bad, passed + (not judged.skipped and not is_bad))
        if is_bad:
            print("\n    ".join([f"FAIL {case.name}", *judged.wrong]), flush=True)
    for line in summary():
        print(line)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or not cases else 0


def exit_rows(options):
    """The table of exit codes, by code."""
    said = subprocess.run([options.errand, "exit-codes", "-o", "json"], capture_output=True, text=True, check=True)
    return {row["exit_code"]: row for row in json.loads(said.stdout)["exits"]}


def add_options(parser):
    """What every program has that runs cases."""
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", action="append", default=[],
                        help="only cases whose name has this; with several, one of them")
    parser.add_argument("--every", metavar="N", type=int, default=1, help="one case of N; with -k, all")
    # Most cases wait most of the time: for a retry, a time limit, a signal.
    parser.add_argument("-j", "--jobs", type=int, default=4 * len(os.sched_getaffinity(0)))
    parser.add_argument("-v", "--verbose", action="store_true", help="show stderr of what failed")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases")
    parser.add_argument("--sanitized", action="store_true", help="the program is built with sanitizers")
    parser.add_argument("--patience", type=float, default=1, help="multiplies every time limit")
    parser.add_argument("--again", metavar="N", type=int, default=0,
                        help="work once more, alone, on the first N cases that fail beside others")


def with_errand(options, work):
    options.errand = options.errand.resolve()
    if not os.access(options.errand, os.X_OK):
        sys.exit(f"e2e: there is no program {options.errand}; ./dev build makes it")
    with Scratch("e2e") as options.scratch:
        options.scratch.keep = options.keep
        ask_errand(options)
        return work()


def main_over_cases(description, work):
    """The main function of a program that runs cases in a way of its own: `work(cases, options)`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    cases, _ = find_cases()
    return with_errand(options, lambda: work(chosen_cases(cases, options), options))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("-t", "--tag", choices=TAGS, help="only cases with this tag")
    parser.add_argument("--slowest", metavar="N", type=int, default=0, help="say which cases took longest")
    options = parser.parse_args()
    cases, strays = find_cases()
    chosen = chosen_cases(cases, options, options.tag)
    return with_errand(options, lambda: run_all(chosen, strays, options))


if __name__ == "__main__":
    sys.exit(main())
