"""The rounds of a soak: what is run, what is done to it, and what it is given. All of it follows from the seed and
the round's number, but for the moment that a busy machine makes of a millisecond."""
import json
import pathlib
import random
import struct
import sys
import zlib

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e"))
import dialects  # noqa: E402
from cases import FORMATS, PROTOCOLS, Step  # noqa: E402
from run import SECRET  # noqa: E402

TIMEOUT_S = 5        # of each run, by its own --timeout
SECONDS = 20         # until a run that has not ended is wrong: its deadline, 2 s for a reader, a busy machine
LONG_SECONDS = 300
LONG_EVERY = 400     # rounds
DIALECTS = {"anthropic_messages": dialects.Anthropic, "bedrock": dialects.Bedrock, "gemini": dialects.Gemini,
            "ollama": dialects.Ollama, "openai_chat": dialects.OpenaiChat, "openai_responses": dialects.OpenaiResponses}
AGENT = """version: 1
name: soak
model:
  name: local/model-1
  protocol: {{PROTOCOL}}
  base_url: {{BASE}}
  api_key_env: TEST_KEY
  stream: {{STREAM}}
  timeouts: {connect: 2s, first_byte: 1500ms, idle: 1s, request: 3s}
retry: {max_attempts: 2, initial_delay: 1ms, max_delay: 100ms}
sandbox: {required: []}  # it is errand that is tested, on every machine
limits: {max_turns: 12, max_tool_calls: 30}
permissions: {default: allow}
instructions: You are a soak.
prompt: what is it?
"""
SCRIPTED = "version: 1\nname: scripted\nmodel: replay/script.yaml\nprompt: what is it?\nsandbox: {required: []}\ntools: [shell]\n"
LATER = {"later/agent.yaml": "version: 1\nname: later\nmodel: replay/script.yaml\nprompt: what is it?\n",
         "later/script.yaml": "version: 1\nreplies: [still here]\n"}
# What a tool does, in a shell; {{TOKEN}} is by which a process of the round is found, whatever it does.
TOOLS = {
    "works": "echo some words",
    "is_busy": "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo $i",
    "hangs": "sleep 300; : {{TOKEN}}",
    "forks": "for i in 1 2 3 4 5 6 7 8; do (sleep 300; : {{TOKEN}}) & done; wait",
    "prints_without_end": "yes {{TOKEN}}",
    "prints_one_line_without_end": "yes | tr -d '\\n'",
    "prints_garbage": "head -c 300000 /dev/urandom",
    "leaves_children": "(setsid sh -c 'sleep 300; : {{TOKEN}}' >/dev/null 2>&1 &) ; echo left",
    "leaves_children_with_its_output": "(setsid sh -c 'sleep 300; : {{TOKEN}}' &) ; echo left",
    "is_deaf": "trap '' HUP INT TERM; while :; do sleep 1; : {{TOKEN}}; done",
    "crashes": "kill -SEGV $$",
    "kills_its_group": "kill -KILL 0",
    "kills_its_parent": "kill -KILL $PPID",
    "closes_its_output": "exec >&- 2>&-; sleep 0.2",
    "fills_its_folder": "head -c 3000000 /dev/zero >\"$TMPDIR/big\"; mkdir -p \"$TMPDIR/a/b\"; chmod 0 \"$TMPDIR/a\"",
    "reads_without_end": "cat /dev/zero >/dev/null",
    "stops_itself": "kill -STOP $$",
}
LIMIT_TOOLS = ("works", "is_busy", "forks", "prints_garbage")
# What a hook or a guardrail says.
SAYINGS = (b"", b"\0\0\0", b"\xef\xbb\xbf{}", b"{} {}", b"log: starting\n{}", b"[]", b"null", b"1e400", b"\"block\"",
           b"{\"decision\": 1}", b"{\"decision\": \"perhaps\"}", b"{\"continue\": false", b"{\"continue\": \"no\"}",
           b"{\"hookSpecificOutput\": []}", b"{\"hookSpecificOutput\": {\"updatedInput\": 5}}", b"\xff\xfe\xfa",
           b"{\"decision\": \"block\", \"reason\": \"\xff\xff\"}", b"[" * 100_000, b"{\"a\":" * 5_000, b"x" * 3_000_000,
           b"{\"systemMessage\": \"" + b"\\u001b[2J" * 50 + b"\"}", b"{\"a\": 1" + b", \"a\": 1" * 50_000 + b"}")
POINTS = ("run_start", "pre_model", "post_model", "pre_tool_use", "post_tool_use", "notification", "pre_compact", "stop", "run_end")
CHECKS = ("input", "output", "tool_call", "tool_result")
NASTY = (b"\0", b"\xef\xbb\xbf", b"\xff\xfe", "\u202e".encode(), b"\r", b"\t", b"{{", b"{{ x }}", b"${env:HOME}", b"${env:",
         b"[" * 2_000, b"{" * 500, b'"', b"'", b"- ", b": ", b"&a *a", b"*b", b"!!binary x", b"|", b">", b"#", b"9" * 400,
         b"1e400", b"-1", b"0x", b"x" * 100_000, b"\n\n\n", b"---\n", b"...\n", b"\x1b[2J", b"\\u0000", b"\\ud800",
         b"? ", b"<<: ", b"~", b".inf", b"@pic.png", b"\xc0\xaf", b"\xf4\x90\x80\x80")
STATUSES = (301, 307, 400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504, 520, 529)
RETRY_AFTER = ({}, {}, {"retry-after": "0"}, {"retry-after": "1"}, {"retry-after": "soon"}, {"retry-after": "-5"},
               {"retry-after": "9" * 30}, {"retry-after": "date+1"}, {"retry-after-ms": "20"}, {"x-should-retry": "false"})
PNG = (b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack("!IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
       + struct.pack("!I", zlib.crc32(b"IHDR" + struct.pack("!IIBBBBB", 1, 1, 8, 0, 0, 0, 0))))


# ---- what is spoilt ----

def spoil(rng, data):
    """Bytes that are nearly these."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at, width = rng.randrange(len(data) + 1), rng.choice((1, 1, 4, 30, 300))
        how = rng.randrange(8)
        if how == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how in (1, 2, 3):
            data[at:at] = rng.choice(NASTY)
        elif how == 4:
            del data[at:at + width]
        elif how == 5:
            data[at:at] = data[at:at + width] * rng.choice((1, 1, 2, 50))
        elif how == 6 and rng.random() < 0.3:
            del data[at:]
        else:
            lines = bytes(data).split(b"\n")
            one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def spoilt(rng, text):
    """A file that is spoilt once its placeholders are filled."""
    own = random.Random(rng.random())
    return lambda fill: spoil(own, fill(text).encode() if isinstance(text, str) else text)


def wrong_types(rng, value):
    """The same JSON, but for a few values of another type."""
    if rng.random() < 0.06:
        return rng.choice((None, True, -1, 1e300, 2**70, "", "x", [], {}, [[]], {"a": []}, "\0"))
    if isinstance(value, dict):
        return {key: wrong_types(rng, one) for key, one in value.items() if rng.random() > 0.02}
    return [wrong_types(rng, one) for one in value] if isinstance(value, list) else value


# ---- what the server does ----

def words(rng):
    return {"text": rng.choice(("Everything is as it should be.", "wörld \U0001f60a", " ", "x" * 5_000, "a\nb\n\n", "\0\x1b[31m",
                                "{}", "no"))}


def calls(rng, names, count=None):
    """A reply that calls tools."""
    count = count or rng.choice((1, 1, 1, 2, 4))
    reply = {"tools": [{"name": rng.choice(names), "arguments": {"n": rng.randrange(1_000)}} for _ in range(count)]}
    return reply | ({"reasoning": "Hm."} if rng.random() < 0.2 else {}) | (words(rng) if rng.random() < 0.2 else {})


def broken_body(rng, protocol, stream):
    """An answer in the protocol's form, but for some bytes or some types."""
    dialect, reply = DIALECTS[protocol], dialects.Reply({**words(rng), "tools": [{"name": "works", "arguments": {"n": 1}}]})
    by_type = rng.random() < 0.5

    def changed(data):
        return {key: wrong_types(rng, one) for key, one in data.items()} if by_type and isinstance(data, dict) else data
    if stream:
        body = b"".join(dialect.event(name, changed(data)) for name, data in dialect.events(reply, 1))
    else:
        body = dialects.compact(changed(dialect.whole(reply, 1))).encode()
    return {"body": body if by_type else spoil(rng, body),
            "content_type": dialect.stream_kind if stream else "application/json"}


def fault(rng, protocol, stream):
    """(what it is called, the server's step)"""
    name = rng.choice(("break", "break", "error event", "status", "status", "body", "body", "body", "html", "empty", "huge",
                       "drip", "late", "usage", "stop"))
    if name == "break":
        step = {**words(rng), "fault": rng.choice(("reset", "close", "stall", "end"))}
        return step["fault"], step | ({"after": rng.randrange(8)} if step["fault"] == "end" or rng.random() < 0.7 else {})
    if name == "error event":
        return name, {**words(rng), "fault": "error_event", "after": rng.randrange(6), "stream_error": {
            "type": rng.choice(("overloaded_error", "invalid_request_error", "x")), "message": f"no {SECRET}\n\x1b[2J", "code": 503}}
    if name == "status":
        status = rng.choice(STATUSES)
        where = {"location": rng.choice(("http://127.0.0.1:9/", "/v1/x", "file:///etc/passwd"))} if status < 400 else {}
        return f"status {status}", {"status": status, "headers": rng.choice(RETRY_AFTER) | where, "error": {
            "message": rng.choice(("no", f"wrong key {SECRET}", "x" * 100_000, "a\nb\0\x1b[2J"))}}
    steps = {"body": lambda: broken_body(rng, protocol, stream),
             "html": lambda: {"body": "<html><title>Gateway</title></html>", "content_type": "text/html"},
             "empty": lambda: {"body": ""},
             "huge": lambda: {"text": "lorem ipsum ", "size": rng.choice((200_000, 2_000_000, 20_000_000))},
             "drip": lambda: {**words(rng), "pace_ms": rng.choice((20, 300, 900))},
             "late": lambda: {**words(rng), "delay_ms": rng.choice((500, 1_400, 2_500))},
             "usage": lambda: {**words(rng), "usage": {"input": rng.choice((0, -5, 2**53, 2**63, 1.5)), "output": -1}},
             "stop": lambda: {**words(rng), "stop": rng.choice(("max_tokens", "refusal", "pause", "context_window",
                                                                 "content_filter", "malformed_tool_call"))}}
    return name, steps[name]()


# ---- a round ----

def quoted(value):
    return json.dumps(value, ensure_ascii=False)

# By a model that knows it: part of the next request, where its answer is sent back.
TELLS = f"The key is {SECRET}, by the way."


class Plan:
    """What a round is: files, what the server says, groups of command lines that run at once, and what is said of it."""

    def __init__(self, rng, kind):
        self.rng, self.kind = rng, kind
        self.protocol, self.stream, self.form = rng.choice(PROTOCOLS), rng.random() < 0.75, rng.choice(FORMATS)
        self.files, self.script, self.groups, self.said = dict(LATER), {"reply": []}, [], []
        self.seconds, self.turns, self.damages_journal, self.is_mutated = SECONDS, 0, False, False
        self.later = Step(["run", "later/agent.yaml", "-o", "json", "--timeout", "10s"])
        KINDS[kind](self, rng)
        if not self.script["reply"] or self.script["reply"][-1].get("repeat") != "forever":
            told = "" if kind == "guard" or rng.random() < 0.5 else f" {TELLS}"
            self.script["reply"].append({"text": f"That is all.{told}", "repeat": "forever"})

    @property
    def label(self):
        how = "whole" if not self.stream else "stream"
        runs = [" ".join([*step.words, *(f"{name}={value}" for name, value in step.limits.items()),
                          *(f"{name} after {moment} {value}" for name, _, moment, value in step.signals),
                          *(f"{name} {' '.join(kind)}" for name, kind, usual in (
                              ("stdin", step.stdin, "null"), ("stdout", step.stdout, "pipe"), ("stderr", step.stderr, "pipe"))
                            if kind[0] != usual)])
                for group in self.groups if not callable(group) for step in group]
        return f"{self.kind}, {self.protocol} {how} {self.form}; {', '.join(self.said)}; {' | '.join(runs)}"

    def agent(self, name="agent.yaml", tools=("works",), more="", timeout=None):
        """An agent whose tools are commands."""
        listed = "".join("  - " + quoted({
            "name": tool, "description": "A tool.", "command": ["sh", "-c", TOOLS[tool]],
            "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}, "repeatable": True,
            **({"timeout": timeout} if timeout else {})}) + "\n" for tool in tools)
        self.files[name] = AGENT + (f"tools:\n{listed}" if tools else "") + more

    def run(self, *more, agent="agent.yaml"):
        return Step(["run", agent, "--timeout", f"{TIMEOUT_S}s", *more])

    def together(self, most=3):
        return [self.run() for _ in range(self.rng.randint(1, most))]


def signalled(rng, step, most=3):
    """At moments that nobody chose."""
    name = rng.choice(("KILL", "TERM", "INT", "HUP"))
    count = 1 if name == "KILL" else rng.choice((1, 1, *range(2, most + 1)))
    if rng.random() < 0.2:
        step.signals.append([name, "after", *rng.choice((("result", ""), ("request", "1"), ("request", "2")))])
        return step
    for number in range(count):
        wait = int(10 ** rng.uniform(0, 2.9)) if number == 0 else rng.choice((0, 1, 20, 200, 1_200))
        step.signals.append([name, "after", "ms", str(wait)])
    return step


def plain(plan, rng):
    """Nothing is wrong: what goes wrong now is the soak's own."""
    plan.agent(tools=("works", "is_busy"))
    plan.script["reply"] = [calls(rng, ("works", "is_busy")) for _ in range(rng.randrange(4))]
    plan.groups = [plan.together()]


def kill(plan, rng):
    tools = rng.sample(sorted(TOOLS), 3)
    plan.agent(tools=tools, timeout=rng.choice((None, "300ms")))
    plan.said = list(tools)
    plan.script["reply"] = [calls(rng, tools) | {"pace_ms": rng.choice((0, 0, 30))} for _ in range(rng.randrange(1, 5))]
    plan.groups = [[signalled(rng, step) for step in plan.together()]]


def server_fault(plan, rng):
    plan.agent(tools=("works",))
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.4:
            plan.script["reply"].append(calls(rng, ("works",)))
        name, step = fault(rng, plan.protocol, plan.stream)
        step |= {"repeat": rng.choice((1, 2))}
        plan.said.append(name)
        plan.script["reply"].append(step)
    plan.is_mutated = True  # what a spoilt answer said goes back to the server
    plan.groups = [plan.together(2)]
    if rng.random() < 0.2:
        signalled(rng, plan.groups[0][0])


def hostile_input(plan, rng):
    what = rng.choice(("agent", "agent", "prompt", "attachment", "script", "test", "recording", "schema", "check"))
    plan.said, plan.is_mutated = [what], True
    plan.agent(tools=("works",), more="hooks: {pre_tool_use: [{command: cat >/dev/null}]}\nguardrails: {output: [{find: pii}]}\n")
    plan.script["reply"] = [calls(rng, ("works",))]
    plan.groups = [[plan.run()]]
    if what == "agent":
        plan.files["agent.yaml"] = spoilt(rng, plan.files["agent.yaml"])
        plan.groups = [[Step(["check", "agent.yaml"])], [plan.run()]]
    elif what == "prompt":
        plan.files["prompt.txt"] = spoilt(rng, b"What is it, wherever it is? " * rng.choice((0, 1, 1_000)))
        plan.groups = [[plan.run("-f", "prompt.txt")]]
    elif what == "attachment":
        plan.files["pic.png"] = spoilt(rng, PNG * rng.choice((1, 1, 5_000)))
        plan.groups = [[plan.run("what is @pic.png?")]]
    elif what == "schema":
        plan.files["agent.yaml"] += "output: {schema: schema.json}\n"
        plan.files["schema.json"] = spoilt(rng, quoted({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}},
                                                        "required": ["a"], "anyOf": [{"$ref": "#/definitions/b"}],
                                                        "definitions": {"b": {"pattern": "^x"}}}))
    elif what == "check":
        agents = sorted(HERE.parent.glob("e2e/*/*/agent.yaml")) + sorted(HERE.parent.parent.glob("examples/*.yaml"))
        for number in range(8):
            plan.files[f"{number}.yaml"] = spoilt(rng, rng.choice(agents).read_text())
        plan.groups = [[Step(["check", *(f"{number}.yaml" for number in range(8))])]]
    else:
        scripted(plan, rng, what)


def scripted(plan, rng, what):
    """Replay scripts, test cases and recordings."""
    plan.files["scripted.yaml"] = SCRIPTED
    script = "version: 1\nreplies:\n  - {text: I look., tool_calls: [{shell: {command: echo hi}}], usage: {input: 5}}\n" \
             "  - {error: rate_limited, status: 429, message: slow}\n  - {text: Done., chunk_delay: 1ms, delay: 5ms}\n"
    plan.files["script.yaml"] = spoilt(rng, script) if what == "script" else script
    plan.groups = [[plan.run(agent="scripted.yaml")]]
    if what == "test":
        case = "version: 1\nagent: scripted.yaml\nreplay: script.yaml\ntimeout: 5s\nexpect:\n  text: {contains: Done}\n  tools: [shell]\n"
        plan.files["one.test.yaml"] = spoilt(rng, case)
        plan.groups = [[Step(["test", "one.test.yaml"])]]
    if what == "recording":
        plan.groups = [[plan.run("--record", "made.cassette")], harm(rng, "made.cassette"), [plan.run("--replay", "made.cassette")]]


def harm(rng, name):
    """What spoils a file of the world, where the runs before have made one."""
    own = random.Random(rng.random())

    def do(world):
        for file in sorted(world.root.rglob(name)):
            file.write_bytes(spoil(own, file.read_bytes()) if own.random() < 0.5 else cut_or_overwritten(own, file.read_bytes()))
    return do


def cut_or_overwritten(rng, data):
    """In pages, as a disk loses them."""
    at = rng.randrange(len(data) + 1) & ~0xfff
    return rng.choice((data[:at], data[:at] + rng.randbytes(4096) + data[at + 4096:], data[:at] + bytes(4096) + data[at + 4096:],
                       data[:at] + data[at + 4096:], b""))


def journal(plan, rng):
    """A journal that was cut or overwritten, once a run has ended or was killed."""
    plan.agent(tools=("works", "is_busy"))
    plan.damages_journal = True
    plan.script["reply"] = [calls(rng, ("works", "is_busy")) for _ in range(3)]
    name = rng.choice(("journal.db", "journal.db", "journal.db-wal"))
    plan.said = [name]
    first = signalled(rng, plan.run(), 1) if rng.random() < 0.5 else plan.run()
    plan.groups = [[first], harm(rng, name), plan.together(2)]


def guard(plan, rng):
    """Hooks and guardrails that answer garbage, hang, or leave something behind."""
    blocks = {"hooks": {}, "guardrails": {}}
    for number in range(rng.randrange(1, 4)):
        saying = rng.randrange(len(SAYINGS))
        plan.files[f"said-{number}"] = SAYINGS[saying]
        command = rng.choice((f"cat said-{number}", f"cat said-{number}", f"cat >/dev/null; cat said-{number}; exit 2",
                              f"cat said-{number} >&2; exit 2", f"cat said-{number}; exit 7", "sleep 300; : {{TOKEN}}",
                              f"(setsid sh -c 'sleep 300; : {{{{TOKEN}}}}' &); cat said-{number}", "kill -KILL $$", "yes",
                              "exec >&- 2>&-; sleep 0.1", "kill -KILL $PPID"))
        entry = {"command": command, "timeout": "400ms"}
        if rng.random() < 0.6:
            point = rng.choice(POINTS)
            entry |= {"kind": rng.choice(("observe", "guard", "transform"))} if rng.random() < 0.7 else {}
            entry |= {"on_error": "ignore"} if rng.random() < 0.2 else {}
            blocks["hooks"].setdefault(point, []).append(entry)
        else:
            point = rng.choice(CHECKS)
            entry |= {"action": rng.choice(("warn", "deny", "kill"))}
            blocks["guardrails"].setdefault(point, []).append(entry)
        plan.said.append(f"{point}: {command} ({SAYINGS[saying][:20]!r})")
    plan.agent(tools=("works",), more="".join(f"{name}: {quoted(block)}\n" for name, block in blocks.items() if block))
    plan.script["reply"] = [calls(rng, ("works",)) for _ in range(rng.randrange(3))]
    plan.groups = [plan.together(2)]
    if rng.random() < 0.25:
        signalled(rng, plan.groups[0][0])


def tool(plan, rng):
    tools = rng.sample(sorted(TOOLS), 4)
    plan.said = list(tools)
    plan.agent(tools=tools, timeout=rng.choice(("300ms", "300ms", "20s")))
    plan.script["reply"] = [calls(rng, tools) for _ in range(rng.randrange(1, 4))]
    plan.groups = [plan.together(2)]
    if rng.random() < 0.25:
        signalled(rng, plan.groups[0][0])


def output(plan, rng):
    """Outputs that are closed, full, gone, or that nobody reads."""
    plan.agent(tools=("works", "prints_garbage"))
    plan.script["reply"] = [calls(rng, ("works", "prints_garbage")), {"text": "y", "size": rng.choice((10, 300_000))}]
    step = plan.run()
    step.stdout = rng.choice((["pipe"], ["full"], ["closed"], ["gone"], ["head", "1"], ["unread"]))
    step.stderr = rng.choice((["pipe"], ["pipe"], ["full"], ["closed"], ["gone"], ["unread"]))
    for option in ("--output-file", "--log-file", "--record"):
        if rng.random() < 0.3:
            step.words += [option, rng.choice(("/dev/full", "none/such", "fine.out", "later"))]
    plan.groups = [[signalled(rng, step) if rng.random() < 0.3 else step]]


def limit(plan, rng):
    """Little of what a machine has: descriptors, memory, space in files."""
    plan.agent(tools=LIMIT_TOOLS)
    plan.script["reply"] = [calls(rng, LIMIT_TOOLS) for _ in range(3)]
    plan.groups = [plan.together(2)]
    kind, value = rng.choice((("nofile", rng.randrange(3, 65)), ("as", rng.randrange(24, 400) << 20),
                              ("fsize", rng.choice((0, 100, 5_000, 40_000, 300_000)))))
    for step in plan.groups[0]:
        step.limits[kind] = value
        if rng.random() < 0.3:
            step.words += ["--log-file", "run.log"]


def long(plan, rng):
    """Some hundred turns: what a turn leaves behind is its log alone."""
    plan.turns, plan.form, plan.seconds = 300, "jsonl", LONG_SECONDS
    plan.agent(tools=("works",))
    plan.files["agent.yaml"] = plan.files["agent.yaml"].replace("max_turns: 12, max_tool_calls: 30",
                                                                "max_turns: 10k, max_tool_calls: 10k")
    for number in range(plan.turns):
        if number % 20 == 19:
            plan.script["reply"].append({"status": 503, "error": {"message": "busy"}, "headers": {"retry-after-ms": "1"}})
        plan.script["reply"].append(calls(rng, ("works",), 1))
    plan.groups = [[Step(["run", "agent.yaml", "--timeout", "10m"])]]


KINDS = {"plain": plain, "kill": kill, "fault": server_fault, "input": hostile_input, "journal": journal, "guard": guard,
         "tool": tool, "output": output, "limit": limit, "long": long}
WEIGHTS = {"plain": 1, "kill": 4, "fault": 5, "input": 5, "journal": 2, "guard": 3, "tool": 3, "output": 2, "limit": 3, "long": 0}


def plan_of(seed, number, kind=None):
    """The round of that number, from 1; of that kind, where one is named."""
    rng = random.Random(f"{seed}:{number}")
    chosen = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    return Plan(rng, kind or ("long" if number % LONG_EVERY == 1 else chosen))
