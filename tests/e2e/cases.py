"""What a case is: its folder, its command lines, and what it expects of them. README.md tells the format.

Nothing of a case may go unread: whatever this cannot make sense of is one of its `mistakes`, and what it
expects is handed out by `Expectations`, which know in the end what nobody asked for."""
import pathlib
import re
import shlex
import tomllib
import zlib

import server as scripted

HERE = pathlib.Path(__file__).resolve().parent
PROTOCOLS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini", "ollama", "bedrock")
FORMATS = ("text", "json", "jsonl")
RESULT_KEYS = ["schema", "status", "exit_code", "exit_name", "text", "output", "partial", "stop", "error",
               "usage", "cost_usd", "turns", "tool_calls", "denials", "model", "fallbacks", "over_budget",
               "run_id", "resume_cmd", "trace_id", "duration_ms", "models", "usage_estimated"]
SOME_RESULTS_KEYS = ("members", "missing_servers")  # of a flow's result, and of a run that went without MCP servers
TAGS = ("slow", "threads")
NEEDS = ("openssl", "jq", "plain", "user", "network_namespace", "mount_namespace", "sandbox")

SETTINGS = {"formats", "protocol", "stream", "tags", "needs", "timeout_s"}
COMMAND_KEYS = {"exit", "result", "events", "event", "no_events", "stdout_contains", "stdout_lacks",
                "stderr_contains", "stderr_lacks", "stdout_json", "max_seconds", "max_rss_mb"}
CASE_KEYS = {"requests", "request", "connections", "prefix_stable", "files", "left"}
REQUEST_KEYS = {"path", "model", "headers", "body", "after_ms", "same_as"}
# Each item of these is compared for itself.
PARTED = {"event", "no_events", "stdout_contains", "stdout_lacks", "stderr_contains", "stderr_lacks", "request",
          "files"}
AREA_FILES = {"agent.yaml", "agent.md", "script.yaml"}  # those of an area are for its cases without
GOLDENS = ("stdout", "stderr", "screen")
FILES = AREA_FILES | {"cmd", "files", "server.toml", "expect.toml"}


def find_cases(top=HERE):
    """Every case, AREA/NAME below this folder; and (name, problem) of what lies there and is none."""
    cases, strays = [], []
    for area in sorted(path for path in top.iterdir() if path.is_dir() and path.name != "__pycache__"):
        for path in sorted(area.iterdir()):
            name = f"{area.name}/{path.name}"
            if (path / "cmd").is_file():
                cases.append(Case(path))
            elif not path.is_dir() and path.name not in AREA_FILES:
                strays.append((name, f"no case reads this file; an area has only {sorted(AREA_FILES)}"))
            elif path.is_dir() and not all(inner.is_dir() for inner in path.rglob("*")):
                strays.append((name, "this is not a case: it has no file `cmd`"))
    return cases, strays


# ---- what may be expected ----

def is_text(value):
    return isinstance(value, str)


def is_number(value):
    return type(value) in (int, float)


def is_count(value):
    return type(value) is int


def is_texts(value):
    return isinstance(value, list) and all(map(is_text, value))


def is_text_or_texts(value):
    return is_text(value) or is_texts(value)


def is_table(value):
    return isinstance(value, dict)


def is_tables(value):
    return isinstance(value, list) and all(map(is_table, value))


def is_exit(value):
    """One exit code, or "75|76"."""
    return is_count(value) or is_text(value) and re.fullmatch(r"\d+(\|\d+)+", value) is not None


def is_exits(value):
    return is_exit(value) or isinstance(value, list) and all(map(is_exit, value))


def is_prefix(value):
    return isinstance(value, bool) or value == "tools_grow"


KINDS = {"formats": is_text_or_texts, "protocol": is_text_or_texts, "tags": is_texts, "needs": is_texts,
         "timeout_s": is_number, "max_seconds": is_number, "max_rss_mb": is_number, "exit": is_exits,
         "requests": is_count, "connections": is_count, "prefix_stable": is_prefix, "result": is_table, "stdout_json": is_table,
         "files": is_table, "event": is_tables, "request": is_tables, "command": is_table, "events": is_texts,
         "no_events": is_texts, "left": is_texts, "stdout_contains": is_texts, "stdout_lacks": is_texts,
         "stderr_contains": is_texts, "stderr_lacks": is_texts}


def is_idle(value):
    """Whether this fits whatever comes: an empty table, a pattern of anything."""
    if isinstance(value, str) and value.startswith("~"):
        return all(re.search(value[1:], text) for text in ("", "\0", "\n"))
    return value == {}


def idle_parts(value, path):
    if is_idle(value):
        yield path
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from idle_parts(one, f"{path}.{key}")
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from idle_parts(one, f"{path}[{at + 1}]")


class Expectations:
    """A table of what is expected. What is handed out counts as compared: ask only where you compare."""

    def __init__(self, table, label=""):
        self.table, self.label = table, label
        self.left = [part for key in table for part in self._parts(key)]

    def _parts(self, key):
        value = self.table[key]
        if key not in PARTED:
            return [(key, None)]
        return [(key, at) for at in (value if isinstance(value, dict) else range(1, len(value) + 1))]

    def _handed_out(self, part):
        if part in self.left:
            self.left.remove(part)

    def take(self, key):
        """What is expected; None where nothing is."""
        self._handed_out((key, None))
        return self.table.get(key)

    def each(self, key):
        """(its name or its number from 1, what is expected) of each part."""
        value = self.table.get(key, [])
        for at, one in value.items() if isinstance(value, dict) else enumerate(value, start=1):
            self._handed_out((key, at))
            yield at, one

    def uncompared(self):
        return [self.label + (key if at is None else f"{key}[{at!r}]") for key, at in self.left]


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.name = f"{folder.parent.name}/{folder.name}"
        self.mistakes = []
        self.filled = set()  # which of PROTOCOL and STREAM one of its files has
        self.expect = self._well_formed(self._toml("expect.toml"))
        self.script = self._toml("server.toml")
        try:
            self.steps = parse_cmd((folder / "cmd").read_text())
        except (OSError, ValueError, IndexError) as error:
            self.steps = []
            self.mistakes.append(f"cmd: {error}")
        if not self.steps and not self.mistakes:
            self.mistakes.append("cmd: there is no line that runs anything")
        self.lines = [step for step in self.steps if step.words is not None]
        self.tags, self.needs = self.expect.get("tags", []), self._needs()
        self.overall = Expectations({key: self.expect[key] for key in CASE_KEYS & set(self.expect)})
        self.expected = [self._of_command(number) for number in range(1, len(self.lines) + 1)]
        self._check_expect()
        self._check_files()
        self.mistakes += [f"server.toml: {mistake}" for mistake in scripted.mistakes(self.script)]

    def _toml(self, name):
        file = self.folder / name
        try:
            return tomllib.loads(file.read_text()) if file.exists() else {}
        except ValueError as error:
            self.mistakes.append(f"{name}: {error}")
            return {}

    def _well_formed(self, table, place=""):
        """Without what has not the form that it must have: that is said, and nobody trips over it."""
        bad = {key for key, value in table.items() if key in KINDS and not KINDS[key](value)}
        self.mistakes += [f"expect.toml: `{place}{key}` has not the form that README.md shows" for key in sorted(bad)]
        table = {key: value for key, value in table.items() if key not in bad}
        if not place and "command" in table:
            table["command"] = {number: self._well_formed(own, f"command.{number}.") if is_table(own) else {}
                                for number, own in table["command"].items()}
        return table

    def _needs(self):
        terminals = any("pty" in (step.stdin[0], step.stdout[0], step.stderr[0]) for step in self.lines)
        return self.expect.get("needs", []) + (["pty"] if terminals else [])

    def _of_command(self, number):
        """What is expected of the command line with this number: what the top says of all, and its own."""
        alone = len(self.lines) == 1
        own = self.expect.get("command", {}).get(str(number), {})
        table = {key: self.expect[key] for key in COMMAND_KEYS & set(self.expect)}
        for key in sorted(set(table) & set(own)):
            self.mistakes.append(f"expect.toml: `{key}` stands at the top and in command.{number}")
        table |= {key: value for key, value in own.items() if key in COMMAND_KEYS}
        exits = table.get("exit", 0)
        if isinstance(exits, list):
            if len(exits) != len(self.lines):
                self.mistakes.append(f"expect.toml: {len(exits)} exit codes for {len(self.lines)} command lines")
                exits = 0
            else:
                exits = exits[number - 1]
        table["exit"] = exits
        for name in GOLDENS:
            file = self.folder / (name if alone else f"{name}.{number}")
            if file.exists():
                table[name] = file
        return Expectations(table, "" if alone else f"command {number}: ")

    def _say(self, text):
        self.mistakes.append(f"expect.toml: {text}")

    def _check_expect(self):
        expect, own = self.expect, self.expect.get("command", {})
        if unknown := set(expect) - SETTINGS - COMMAND_KEYS - CASE_KEYS - {"command"}:
            self._say(f"unknown keys {sorted(unknown)}")
        if not self.lines and (odd := COMMAND_KEYS & set(expect)):
            self._say(f"no errand line for {sorted(odd)}")
        if own and len(self.lines) == 1:
            self._say("[command.N] where there is one errand line: its keys stand at the top")
        for number, table in own.items():
            if number not in map(str, range(1, len(self.lines) + 1)):
                self._say(f"there is no errand line {number}")
            if unknown := set(table) - COMMAND_KEYS:
                self._say(f"unknown keys in command.{number}: {sorted(unknown)}")
        for table in (expect, *own.values()):
            for key in sorted((COMMAND_KEYS | CASE_KEYS) & set(table)):
                for path in self._idle(key, table[key]):
                    self._say(f"`{path}` expects nothing")
            if unknown := set(table.get("result", {})) - {*RESULT_KEYS, *SOME_RESULTS_KEYS}:
                self._say(f"a result has no {sorted(unknown)}")
        self._check_requests()
        self._check_settings()

    @staticmethod
    def _idle(key, value):
        """What of this expectation would hold whatever came."""
        if (value == [] and key != "left") or (key == "prefix_stable" and not value):
            return [key]
        if key.endswith(("_contains", "_lacks")):
            return [f"{key}[{at}]" for at, one in enumerate(value, start=1) if not one]
        # An empty request stands for one that was made, before those that are looked at.
        if key == "request":
            value = [one or "made" for one in value[:-1]] + value[-1:]
        return idle_parts(value, key)

    def _check_requests(self):
        for number, request in enumerate(self.expect.get("request", []), start=1):
            if unknown := set(request) - REQUEST_KEYS:
                self._say(f"unknown keys in request {number}: {sorted(unknown)}")
            if any(name != name.lower() for name in request.get("headers", {})):
                self._say(f"request {number}: names of headers are in lower case")
            if number == 1 and "after_ms" in request:
                self._say("after_ms: there is no request before the first")

    def _check_settings(self):
        for name, wanted, known in (("tags", self.tags, TAGS), ("needs", self.needs, (*NEEDS, "pty")),
                                    ("formats", self._formats(), (None, *FORMATS)),
                                    ("protocol", self._protocols(), PROTOCOLS)):
            if unknown := [one for one in wanted if one not in known]:
                self._say(f"unknown {name}: {unknown}")
        if self.expect.get("stream", True) not in (True, False, "both"):
            self._say(f"unknown stream: {self.expect['stream']}")

    def _check_files(self):
        several = len(self.lines) > 1
        goldens = {f"{name}.{number}" if several else name for name in GOLDENS
                   for number in range(1, len(self.lines) + 1)}
        for name in sorted({path.name for path in self.folder.iterdir()} - FILES - goldens):
            of = "; with several errand lines it is stdout.1, stdout.2, …" if name in GOLDENS else ""
            self.mistakes.append(f"nobody reads the file {name}{of}")

    def _formats(self):
        asked = self.expect.get("formats")
        return FORMATS if asked == "all" else asked if isinstance(asked, list) else [asked]  # None: as the line says

    def _protocols(self):
        asked = self.expect.get("protocol", "openai_chat")
        return PROTOCOLS if asked == "all" else asked if isinstance(asked, list) else [asked]

    def variants(self, all_of_them=True):
        """(format or None, protocol, stream): every format once, every wire form once; or one of each, other ones for
        other cases."""
        asked = self.expect.get("stream", True)
        streams = (True, False) if asked == "both" else (asked,)
        wire = [(protocol, stream) for protocol in self._protocols() for stream in streams]
        formats = self._formats()
        if not all_of_them:
            number = zlib.crc32(self.name.encode())
            formats = [formats[number % len(formats)]]
            wire = [wire[number % len(wire)]]
        first = [(form, *wire[0]) for form in formats]
        return first + [(formats[0] if formats[0] and len(formats) == 1 else "jsonl", *form) for form in wire[1:]]

    def agent_file(self, name):
        """The case's own file, or the one of its area."""
        for folder in (self.folder, self.folder.parent):
            if (folder / name).exists():
                return folder / name
        return None

    def uncompared(self):
        """What was expected, and no variant has compared it."""
        found = [f"this was never compared: {name}" for part in (self.overall, *self.expected)
                 for name in part.uncompared()]
        for name, key, matters in (("PROTOCOL", "protocol", len(self._protocols()) > 1),
                                   ("STREAM", "stream", "stream" in self.expect)):
            if matters and name not in self.filled:
                found.append(f"`{key}` changes nothing: the case has no {{{{{name}}}}}")
        return found


class Step:
    """One errand command line, or a shell line that prepares something, with its surroundings."""

    def __init__(self, words=None, shell=None):
        self.words, self.shell = words, shell
        self.env, self.limits, self.signals, self.typed, self.hang_up = {}, {}, [], [], None
        self.stdin, self.stdout, self.stderr, self.together = ["null"], ["pipe"], ["pipe"], 1


STREAMS = {"stdin": ("empty", "open", "pty", "text", "file"), "stdout": ("full", "closed", "gone", "pty", "head", "beside"),
           "stderr": ("full", "closed", "gone", "pty")}
MOMENTS = ("request", "file", "event", "stderr", "ms")


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
        elif verb in STREAMS and words[1] in STREAMS[verb]:
            pending[verb] = words[1:]
        elif verb == "together":
            pending[verb] = int(words[1])
        elif verb == "signal" and words[2] == "after" and words[3] in MOMENTS and len(words) == 5:
            pending.setdefault("signals", []).append(words[1:])
        elif verb == "type" and words[2] == "after" and len(words) == 4:
            pending.setdefault("typed", []).append(words[1:])
        elif verb == "hang_up" and words[1] == "after" and len(words) == 3:
            pending[verb] = words[2]
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
            raise ValueError(f"unknown line: {line}")
    if pending:
        raise ValueError(f"no errand line after {sorted(pending)}")
    return steps
