#!/usr/bin/env python3
"""That the runner looks at what a case expects: with a program of three lines in errand's place, whatever is
wrong, was never compared or is known to nobody must fail.

    tests/e2e/run_test.py"""
import importlib.util
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import mutants  # noqa: E402
import run  # noqa: E402
from cases import HERE, RESULT_KEYS, Case, find_cases  # noqa: E402
from scratch import Scratch, processes  # noqa: E402

ERRAND = """#!/bin/sh
# say OUT ERR CODE; run: the files that the test wrote; ask ADDRESS…: a request to each
case $1 in
  say) printf %s "$2"; printf %s "$3" >&2; exit "${4:-0}" ;;
  run) case $* in *jsonl*) cat events ;; *json*) cat result; exit "$(sed 's/.*"exit_code": \\([0-9]*\\).*/\\1/' result)" ;; *) echo Hello. ;; esac ;;
  ask) shift; exec python3 "${0%errand}ask.py" "$@" ;;
  sleep) exec sleep "$2" ;;
  hog) exec python3 -c 'hog = bytearray(50000000)' ;;
  prompt) printf "$2" >&2; head -n 1 ;;
esac
"""
# Answers what runners ask before they begin, and is then as slow as can be.
WAITS = """#!/bin/sh
case $1 in
  --version) echo 1.0 ;;
  doctor) echo '{"sandbox": {"missing": []}}' ;;
  schema) echo '{"oneOf": []}' ;;
  *) sleep 4242 ;;
esac
"""
MAKES_ANEW = """import os, signal, sys, threading, time
sys.path.append(sys.argv[1])
from scratch import Scratch
scratch = Scratch("anew")
def make():
    while scratch.path.exists():
        pass
    os.makedirs(scratch.path / "1" / "work")
    scratch.hold()
threading.Thread(target=make, daemon=True).start()
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""
ASK = """import json, sys, urllib.request
messages = [{"role": "user", "content": "hi"}]
body = json.dumps({"model": "m", "messages": messages}, separators=(",", ":")).encode()
for address in sys.argv[1:]:
    request = urllib.request.Request(address, body, {"Content-Type": "application/json", "X-Case": "one"})
    urllib.request.urlopen(request).read()
"""
RESULT = {key: None for key in RESULT_KEYS} | {"status": "ok", "exit_code": 0, "text": "Hello.", "partial": False,
                                               "turns": 1, "usage": {"input": 3}}
EVENTS = [{"type": "run.started", "schema": "errand.events/1"}, {"type": "turn.started", "turn": 1},
          {"type": "model.requested", "turn": 1}, {"type": "model.delta", "kind": "text", "text": "Hel"},
          {"type": "model.delta", "kind": "text", "text": "lo."},
          {"type": "model.responded", "turn": 1, "text": "Hello.", "stop_reason": "end_turn", "tool_calls": [],
           "usage": {"input": 3}},
          {"type": "run.finished", "result": RESULT}]
KEEP = """import json, os, sqlite3, sys
base = sqlite3.connect(os.environ["HOME"] + "/journal.db")
base.execute("create table events (run_id, seq, time, type, json)")
finished = {"type": "run.finished", "result": json.load(open("kept"))}
base.execute("insert into events values ('r', 1, 0, 'run.finished', ?)", [json.dumps(finished)])
base.commit()
"""
HOLDS = "holds"  # what a case that is in order comes to


class Runner(unittest.TestCase):
    def setUp(self):
        scratch = Scratch("e2e-test")
        self.addCleanup(scratch.close)
        self.top = scratch.path
        program = self.top / "errand"
        program.write_text(ERRAND)
        program.chmod(0o755)
        (self.top / "ask.py").write_text(ASK)
        self.options = types.SimpleNamespace(
            errand=program, version="1.0", certificate=None, sanitized=False, patience=1, verbose=False, scratch=scratch,
            fold=None, event_types={"run.started", "turn.started", "run.finished", "tool.started"}, lacking={},
            missing_layers=["mounts"], has_sandbox=True)
        self.made = 0

    def judge(self, cmd, expect="", server="", files=None, events=EVENTS):
        """What the runner says of this case; `HOLDS` where it has nothing to say."""
        self.judged = run.run_case(self.case(cmd, expect, server, files, events), self.options)
        return "\n".join(self.judged.wrong) or HOLDS

    def case(self, cmd, expect="", server="", files=None, events=EVENTS):
        self.made += 1
        folder = self.top / f"case-{self.made}"
        (folder / "files").mkdir(parents=True)
        lines = [json.dumps({"v": 1, "run": "r", "seq": seq, **event}) for seq, event in enumerate(events, start=1)]
        (folder / "files" / "events").write_text("\n".join(lines) + "\n")
        (folder / "files" / "result").write_text(json.dumps(RESULT) + "\n")
        for name, text in {"cmd": cmd, "expect.toml": expect, "server.toml": server, **(files or {})}.items():
            (folder / name).write_text(text)
        return Case(folder)

    def each(self, cmd, rows, server="", files=None):
        """rows: (the expectations, what the runner says of them)."""
        for expect, said in rows:
            with self.subTest(expect):
                self.assertIn(said, self.judge(cmd, expect, server, files))

    def test_what_a_command_prints(self):
        self.each('errand say one two 3', [
            ('exit = 3', HOLDS),
            ('exit = 4', "exit code 3, expected 4"),
            ('exit = "3|4"', HOLDS),
            ('exit = 3\nstdout_contains = ["one"]\nstderr_contains = ["two"]', HOLDS),
            ('exit = 3\nstdout_contains = ["one", "two"]', "stdout lacks 'two'"),
            ('exit = 3\nstderr_contains = ["one"]', "stderr lacks 'one'"),
            ('exit = 3\nstdout_lacks = ["two"]\nstderr_lacks = ["one"]', HOLDS),
            ('exit = 3\nstdout_lacks = ["one"]', "stdout has 'one'"),
            ('exit = 3\nstderr_lacks = ["two"]', "stderr has 'two'"),
        ])
        self.each("""errand say '{"a": {"b": 1}}'""", [
            ('[stdout_json]\na = {b = 1}', HOLDS), ('[stdout_json]\na = {b = 2}', "stdout.a.b: expected 2"),
            ('[stdout_json]\na = {c = 1}', "stdout.a.c: missing")])

    def test_warnings_of_the_machine(self):
        warning = "errand say '' 'warning: the sandbox has no layer `%s` on this machine: x'"
        self.assertIn(HOLDS, self.judge(warning % "mounts", 'stderr_lacks = ["warning"]'))
        self.assertIn("stderr has", self.judge(warning % "files", 'stderr_lacks = ["warning"]'))

    def test_goldens(self):
        self.assertIn(HOLDS, self.judge("errand say one two", files={"stdout": "one", "stderr": "two"}))
        self.assertIn("stdout differs", self.judge("errand say one two", files={"stdout": "two"}))
        self.assertIn("stderr differs", self.judge("errand say one two", files={"stderr": "one"}))
        self.assertIn("never compared: stdout", self.judge("errand run", 'formats = "json"', files={"stdout": "x"}))

    def test_times_in_goldens(self):
        """What the machine took is blanked out where it is known to stand; every other time is compared."""
        for said, golden in (
                ("turn 1: 10 in, 5 out, tool_use, 0.3 s", "turn 1: 10 in, 5 out, tool_use, {{MS}}"),
                ("  shell: ok, 4 bytes, 12s", "  shell: ok, 4 bytes, {{MS}}"),
                ("  exit 3, 33 bytes, 0.1 s", "  exit 3, 33 bytes, {{MS}}"),
                ("  test2: ok, 0.1 s", "  test2: ok, {{MS}}"),
                ("  fix[0]: reader[1]: ok, 2 turns, $0.07, 0.1 s", "  fix[0]: reader[1]: ok, 2 turns, $0.07, {{MS}}"),
                ("  billing[1]: max_turns (80), 1 turn, 0.1 s", "  billing[1]: max_turns (80), 1 turn, {{MS}}"),
                ("  check make: failed: exit status 1 (0.1 s)", "  check make: failed: exit status 1 ({{MS}})"),
                ("a/1 failed before and is skipped for 59s: b/2 is asked",
                 "a/1 failed before and is skipped for {{MS}}: b/2 is asked"),
                ("errand: ok (0): 1 turn, 0 tool calls, 9 tokens in, 5 out, $0.01, 1h2m3s, over budget",
                 "errand: ok (0): 1 turn, 0 tool calls, 9 tokens in, 5 out, $0.01, {{MS}}, over budget"),
                ("errand: timeout (124), retry: maybe: Give it more. (1 turn, 0 tool calls, 9 tokens in, 5 out, 1.0 s)",
                 "errand: timeout (124), retry: maybe: Give it more. (1 turn, 0 tool calls, 9 tokens in, 5 out, {{MS}})"),
                *((line, line) for line in (
                    "retry 1 of 1 in 2.0 s: sorry", "the run took longer than 400ms",
                    "a/1 failed: sorry; b/2 is asked instead, for 1m", "  shell: timed_out: ran longer than 5s",
                    "a message, 5s", "write `30s` or `30m`"))):
            with self.subTest(said):
                cmd = "errand say '' " + shlex.quote(said)
                self.assertEqual(HOLDS, self.judge(cmd, files={"stderr": golden}))
                for other in (re.sub(r"\d", "8", golden), "{{MS}} " + golden):
                    self.assertIn("stderr differs", self.judge(cmd, files={"stderr": other}))
        self.assertEqual(HOLDS, self.judge("errand say 'turn 1: 5s'", files={"stdout": "turn 1: 5s"}))
        self.assertIn("stdout differs", self.judge("errand say 'turn 1: 5s'", files={"stdout": "turn 1: {{MS}}"}))

    def test_result_and_events(self):
        self.each("errand run -o json", [
            ('[result]\ntext = "Hello."', HOLDS), ('[result]\ntext = "Bye."', "result.text: expected 'Bye.'"),
            ('[result]\ntexxt = "<absent>"', "a result has no ['texxt']"),
            ('[[event]]\ntype = "turn.started"', "never compared: event[1]"),
            ('events = ["run.started"]', "never compared: events"),
            ('no_events = ["tool.started"]', "never compared: no_events[1]")])
        self.each("errand run -o jsonl", [
            ('[result]\nturns = 1', HOLDS), ('[result]\nturns = 2', "result.turns: expected 2"),
            ('events = ["run.started", "turn.started", "model.requested", "model.responded", "run.finished"]', HOLDS),
            ('events = ["run.started", "run.finished"]', "events"),
            ('no_events = ["tool.started"]', HOLDS), ('no_events = ["turn.started"]', "there is an event turn.started"),
            ('no_events = ["turn.strated"]', "no event is called turn.strated"),
            ('[[event]]\ntype = "turn.started"\nturn = 1', HOLDS),
            ('[[event]]\ntype = "turn.started"\nturn = 2', "no event (in this order)"),
            ('[[event]]\ntype = "turn.started"\n[[event]]\ntype = "run.started"', "no event (in this order)")])

    def test_events_that_do_not_fit_together(self):
        *before, responded, finished = EVENTS
        for events, said in (
                (EVENTS, HOLDS),
                ([*before, finished], "0 answers, and the result has 1 turns"),
                ([*before, responded | {"usage": {"input": 2}}, finished], "the events have 2 input tokens, the result 3"),
                ([*before, responded, responded, finished], "2 answers, and the result has 1 turns"),
                ([event for event in EVENTS if event["type"] != "turn.started"],
                 "a request of turn 1 while None went on"),
                ([event for event in EVENTS if event["type"] != "model.requested"],
                 "an answer of turn 1, asked for in None"),
                ([*before[:-1], responded, finished], "the answer 'Hello.' came as 'Hel'")):
            with self.subTest(said):
                self.assertIn(said, self.judge("errand run -o jsonl", events=events))

    def test_mutants(self):
        """Each expectation is turned round and noticed; so is each lie."""
        expect = ('stdout_contains = ["Hello."]\nevents = ["run.started", "turn.started", "model.requested", '
                  '"model.responded", "run.finished"]\nno_events = ["tool.started"]\nleft = ["events", "result"]\n'
                  '[result]\ntext = "~^Hello"\nturns = 1\n[[event]]\ntype = "model.responded"\n'
                  '[files]\nresult = "!~Bye"\ngone = "<absent>"\n')
        judged, report = mutants.try_case(self.case("errand run -o jsonl", expect), self.options)
        self.assertEqual([], judged.wrong)
        self.assertEqual({"exit", "stdout_contains[0]", "events", "no_events[0]", "left", "result.text", "result.turns",
                          "event[0].type", "event, one more", "files.result", "files.gone"}, report.expectations)
        self.assertEqual(set(), (report.expectations | report.lies) - report.noticed - {"no model.delta (jsonl)"})
        self.assertIn("another exit code (jsonl)", report.lies)
        self.assertIn("a token more (jsonl)", report.lies)
        self.assertIn("no model.responded (jsonl)", report.lies)

    def test_mutants_that_nobody_notices(self):
        with unittest.mock.patch.object(run, "mismatch", lambda *_: None):  # a comparison that is always content
            _, report = mutants.try_case(self.case("errand run -o json", '[result]\ntext = "Hello."'), self.options)
        self.assertEqual({"result.text"}, report.expectations - report.noticed)

    def test_only_as_text_nothing_is_compared(self):
        for expect, name in (('[result]\ntext = "nonsense"', "result"), ('events = ["nonsense"]', "events"),
                             ('no_events = ["turn.started"]', "no_events[1]"),
                             ('[[event]]\ntype = "x"\n[[event]]\ntype = "y"', "event[2]")):
            with self.subTest(name):
                self.assertIn("never compared: " + name, self.judge("errand run", expect))
                self.assertNotIn("never compared", self.judge("errand run", 'formats = "all"\n' + expect))

    def test_files(self):
        self.each("sh echo two >one\nerrand say", [
            ('files = {one = "two\\n", gone = "<absent>"}', HOLDS), ('files = {one = "three"}', "expected 'three'"),
            ('files = {gone = "x"}', "gone is not there"), ('files = {one = "<absent>"}', "one is there"),
            ('left = ["events", "one", "result"]', HOLDS), ('left = []', "the working folder holds")])

    def test_limits(self):
        self.each("errand sleep 0.2", [('max_seconds = 5', HOLDS), ('max_seconds = 0.1', "it took 0.2 s")])
        self.each("errand sleep 5", [('timeout_s = 0.2', "it did not end within 0.2 s")])
        self.each("errand hog", [('max_rss_mb = 500', HOLDS), ('max_rss_mb = 20', "allowed are 20")])

    def test_requests(self):
        two = '[[reply]]\ntext = "a"\n[[reply]]\ntext = "b"\n'
        self.each("errand ask {{BASE}}/chat/completions {{BASE}}/chat/completions", [
            ('requests = 2', HOLDS), ('requests = 1', "the server saw 2 requests"),
            ('connections = 2', HOLDS), ('connections = 1', "2 connections"),
            ('prefix_stable = true', HOLDS), ('prefix_stable = "tools_grow"', HOLDS),
            ('[[request]]\npath = "/v1/chat/completions"\nmodel = "m"\nheaders = {x-case = "one"}', HOLDS),
            ('[[request]]\n[[request]]\nbody = {messages = [{content = "hi"}]}', HOLDS),
            ('[[request]]\nmodel = "n"', "request 1.model: expected 'n'"),
            ('[[request]]\nheaders = {x-case = "two"}', "request 1.headers.x-case"),
            ('[[request]]\n[[request]]\nbody = {messages = [{content = "ho"}]}', "request 2.body.messages[0].content"),
            ('[[request]]\n[[request]]\n[[request]]\nmodel = "m"', "request 3 was not made"),
            ('[[request]]\n[[request]]\nafter_ms = 5000', "after the one before"),
            ('[[request]]\nafter_ms = 5', "there is no request before the first"),
            ('[[request]]\n[[request]]\nsame_as = 1', HOLDS),
            ('[[request]]\n[[request]]\nsame_as = 3', "request 2 is not, byte by byte, request 3"),
            ('[[request]]\nheaders = {X-Case = "<absent>"}', "names of headers are in lower case"),
            ('[[request]]\nmodle = "<absent>"', "unknown keys in request 1: ['modle']")], server=two)
        one = "errand ask {{BASE}}/chat/completions"
        self.assertIn("nobody asked for the last 1 replies", self.judge(one, server=two))
        self.assertIn("request 1 has no reply", self.judge(one + " || true", 'exit = "0|1"'))
        self.assertIn("there are no two requests",
                      self.judge(one, "prefix_stable = true", '[[reply]]\ntext = "a"\nrepeat = "forever"'))

    def test_each_command_has_its_own_output(self):
        cmd = "errand say one\nerrand say two '' 3"
        self.each(cmd, [
            ('exit = [0, 3]', HOLDS), ('exit = [0, 3, 0]', "3 exit codes for 2 command lines"),
            ('exit = [0, 4]', "command 2: exit code 3, expected 4"),
            ('[command.2]\nexit = 3\nstdout_contains = ["two"]', HOLDS),
            ('exit = [0, 3]\n[command.1]\nstdout_contains = ["two"]', "command 1: stdout lacks 'two'"),
            ('exit = [0, 3]\nstdout_contains = ["one"]', "command 2: stdout lacks 'one'"),
            ('exit = [0, 3]\nstdout_lacks = ["three"]', HOLDS),
            ('exit = [0, 3]\nstdout_lacks = ["two"]', "command 2: stdout has 'two'"),
            ('exit = [0, 3]\n[command.3]\nexit = 1', "there is no errand line 3"),
            ('exit = [0, 3]\n[command.1]\nrequests = 1', "unknown keys in command.1: ['requests']"),
            ('exit = 3\n[command.1]\nexit = 3', "`exit` stands at the top and in command.1"),
            ('exit = [0, 3]\n[command.2]\nresult = {turns = 1}', "never compared: command 2: result"),
        ])
        self.assertIn(HOLDS, self.judge(cmd, "exit = [0, 3]", files={"stdout.1": "one", "stdout.2": "two"}))
        self.assertIn("stdout.1 differs", self.judge(cmd, "exit = [0, 3]", files={"stdout.1": "two"}))
        self.assertIn("nobody reads the file stdout;", self.judge(cmd, "exit = [0, 3]", files={"stdout": "onetwo"}))
        self.assertIn("[command.N] where there is one", self.judge("errand say", "[command.1]\nexit = 0"))

    def test_what_nobody_knows(self):
        self.each("errand say", [
            ('exitt = 0', "unknown keys ['exitt']"), ('formats = "yaml"', "unknown formats"),
            ('protocol = "smtp"', "unknown protocol"), ('stream = "maybe"', "unknown stream"),
            ('needs = ["luck"]', "unknown needs"), ('tags = ["thread"]', "unknown tags"), ('exit = ', "expect.toml: "),
            ('protocol = "all"', "the case has no {{PROTOCOL}}"), ('stream = "both"', "the case has no {{STREAM}}")])
        for server, said in (
                ('replies = []', "unknown keys ['replies']"), ('[[reply]]\ntextt = "x"', "unknown keys ['textt']"),
                ('[[reply]]\ntools = [{nam = "x"}]', "unknown keys in a tool's call: ['nam']"),
                ('[[reply]]\nusage = {inputs = 1}', "unknown keys in `usage`"),
                ('[[reply]]\nstatus = 400\nerror = {msg = "x"}', "unknown keys in `error`"),
                ('[[reply]]\nfault = "rest"', "unknown fault"), ('[[reply]]\nstop = "enough"', "unknown stop"),
                ('[[reply]]\nafter = 3', "after without a fault"),
                ('[[reply]]\nstatus = 400\ntext = "x"', "nobody reads ['text']"),
                ('[[reply]]\nrepeat = "forever"\n[[reply]]', "what follows `forever`")):
            with self.subTest(server):
                self.assertIn(said, self.judge("errand say", server=server))
        for cmd in ("errnd say", "stdin keyboard\nerrand say", "signal TERM after lunch 1\nerrand say",
                    "errand say\nstdout full", 'type "y" before "x"\nerrand say', "limit\nerrand say"):
            with self.subTest(cmd):
                self.assertIn("cmd: ", self.judge(cmd))
        self.assertIn("nobody reads the file expct.toml", self.judge("errand say", files={"expct.toml": ""}))

    def test_what_holds_whatever_comes(self):
        self.each("errand say", [
            (expect, f"`{path}` expects nothing") for expect, path in (
                ('stdout_contains = []', "stdout_contains"), ('stdout_contains = ["a", ""]', "stdout_contains[2]"),
                ('[result]', "result"), ('[result]\nusage = {}', "result.usage"), ('events = []', "events"),
                ('[result]\ntext = "~"', "result.text"), ('[result]\ntext = "~(?s).*"', "result.text"),
                ('[[event]]', "event[1]"), ('[[event]]\ntype = "x"\n[[event]]\nresult = {}', "event[2].result"),
                ('[[request]]', "request[1]"), ('[[request]]\nbody = {}', "request[1].body"),
                ('[[request]]\nbody = {messages = [{}]}', "request[1].body.messages[1]"),
                ('[[request]]\nmodel = "m"\n[[request]]', "request[2]"),
                ('[stdout_json]\nfiles = [{}]', "stdout_json.files[1]"), ('files = {a = "~"}', "files.a"),
                ('prefix_stable = false', "prefix_stable"))])
        self.assertIn("no line that runs anything", self.judge("# errand say"))

    def test_the_form_of_what_is_expected(self):
        self.each("errand say", [
            (expect, "has not the form") for expect in (
                'exit = "0|"', 'exit = ""', 'exit = "|"', 'exit = true', 'exit = [0, "x"]', 'requests = "2"',
                'stdout_contains = "one"', 'no_events = "tool.started"', 'result = "ok"', 'event = {type = "x"}',
                'files = ["a"]', 'left = "a"', 'prefix_stable = "tools"', 'max_seconds = "5"', 'tags = "slow"')])
        self.assertIn("`command.2.exit` has not", self.judge("errand say\nerrand say", '[command.2]\nexit = "0|"'))

    def test_what_is_no_case(self):
        for name in ("one/good/cmd", "one/good/agent.yaml", "one/agent.yaml", "one/script.yml", "one/bad/cmdd",
                     "one/bad/files/cmd", "README.md"):
            file = self.top / "cases" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("errand say\n")
        (self.top / "cases" / "one" / "left_behind" / "files").mkdir(parents=True)
        cases, strays = find_cases(self.top / "cases")
        self.assertEqual(["one/good"], [case.name for case in cases])
        self.assertEqual(["one/bad", "one/script.yml"], [name for name, _ in strays])

    def test_filters_that_choose_nothing(self):
        attacks = HERE.parent / "attacks" / "run.py"
        for words, said in (([HERE / "run.py", "-k", "zz_nothing"], "no case has `zz_nothing`"),
                            ([HERE / "run.py", "-k", "http/", "-k", "zz_nothing"], "no case has `zz_nothing`"),
                            ([HERE / "run.py", "-t", "thread"], "invalid choice: 'thread'"),
                            ([HERE / "run.py", "-k", "http/", "-t", "threads"], "the tag `threads`"),
                            ([HERE / "fault_matrix.py", "-k", "zz_nothing"], "no cell has `zz_nothing`"),
                            ([attacks, "-k", "zz_nothing"], "no attack has `zz_nothing`")):
            with self.subTest(words):
                done = subprocess.run([sys.executable, *words, "--errand", "/bin/true"], capture_output=True,
                                      text=True, timeout=60)
                self.assertNotEqual(0, done.returncode)
                self.assertIn(said, done.stderr)

    def test_what_fails_beside_others_is_worked_on_once_more(self):
        def judged_in(again, ends):
            left = {name: list(all_of_it) for name, all_of_it in ends.items()}
            cases = [types.SimpleNamespace(name=name) for name in ends]

            def work(case):
                return types.SimpleNamespace(skipped=None, wrong=left[case.name].pop(0))
            options = types.SimpleNamespace(jobs=2, again=again)
            with unittest.mock.patch("builtins.print"):
                return {case.name: judged.wrong for case, judged in run.each(cases, work, options)}
        ends = {"good": [[]], "held up": [["late"], []], "bad": [["wrong"], ["wrong"]]}
        self.assertEqual(judged_in(0, ends), {"good": [], "held up": ["late"], "bad": ["wrong"]})
        self.assertEqual(judged_in(2, ends), {"good": [], "held up": [], "bad": ["wrong"]})
        self.assertEqual(judged_in(1, ends), {"good": [], "held up": [], "bad": ["wrong"]})

    def test_attacks_that_prove_nothing(self):
        sys.path.append(str(HERE.parent / "attacks"))
        spec = importlib.util.spec_from_file_location("attacks", HERE.parent / "attacks" / "run.py")
        attacks = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(attacks)
        whole = 'about = "x"\ncommand = "true"\nworked = "true"\n'
        for text, said in ((whole, ""), (whole + 'lacks = ["mounts,landlock_abi_2"]\nusers = ["root"]', ""),
                           (whole + 'comand = "x"', "unknown keys ['comand']"), ('about = "x"\nworked = "x"', "`command`"),
                           ('about = "x"\ncommand = "x"', "there is no `worked`"), (whole + 'worked', "attack.toml: "),
                           (whole + 'tool = "web_fetch"', "there is no `arguments`"),
                           (whole + 'users = ["rot"]', "users: nobody knows ['rot']"), (whole + "users = []", "empty"),
                           (whole + 'lacks = ["mount"]', "lacks: nobody knows ['mount']"),
                           (whole + 'stderr = {mounts = "x"}', "stderr: nobody knows ['mounts']"),
                           (whole + 'machine_says = {rot = "x"}', "machine_says: nobody knows ['rot']")):
            with self.subTest(text):
                (self.top / "attack.toml").write_text(text)
                mistakes = "\n".join(attacks.Attack(self.top).mistakes)
                self.assertTrue(said in mistakes if said else not mistakes, mistakes)

    def test_signals_end_it_and_all_that_is_its_own(self):
        program = self.top / "waits"
        program.write_text(WAITS)
        program.chmod(0o755)
        for number, runner in ((signal.SIGINT, "e2e/run.py -k commands/"), (signal.SIGTERM, "e2e/run.py -k commands/"),
                               (signal.SIGTERM, "e2e/fault_matrix.py"), (signal.SIGTERM, "attacks/run.py"),
                               (signal.SIGTERM, "e2e/closed_descriptors.py")):
            with self.subTest(runner, signal=number):
                self.interrupt(runner.split(), program, number)

    def test_what_is_made_anew_while_it_ends(self):
        """shutil.copytree, for one, makes the folders above what it copies to."""
        done = subprocess.run([sys.executable, "-c", MAKES_ANEW, HERE.parent / "support"], capture_output=True,
                              text=True, timeout=60, env=os.environ | {"TMPDIR": str(self.top)})
        self.assertEqual((128 + signal.SIGTERM, ""), (done.returncode, done.stderr))
        self.assertEqual([], list(self.top.glob("errand-anew-*")))

    def interrupt(self, words, program, number):
        shelf = self.top / f"{words[0].replace('/', '-')}-{number}"
        shelf.mkdir(mode=0o755)
        runner = subprocess.Popen(
            [sys.executable, HERE.parent / words[0], *words[1:], "--errand", program], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": str(shelf)}, start_new_session=True)
        self.addCleanup(runner.kill)
        deadline = time.monotonic() + 60
        while not any("sleep 4242" in command for _, command in processes(str(shelf), shelf)) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertIsNone(runner.poll(), "it was over before the signal")
        begin = time.monotonic()
        runner.send_signal(number)
        said, _ = runner.communicate(timeout=20)
        self.assertLess(time.monotonic() - begin, 5)  # two, on a machine that has time
        self.assertEqual(128 + number, runner.returncode)
        self.assertNotIn("Traceback", said)
        self.assertEqual([], list(shelf.iterdir()))
        self.assertEqual([], processes(str(shelf), shelf))

    def test_what_is_said_is_what_was_kept(self):
        ended = RESULT | {"run_id": "r", "status": "failed", "exit_code": 111, "error": {"code": "a"}}
        early = ended | {"status": "error", "exit_code": 77, "text": "", "error": {"code": "b"}}
        for kept, said, words in [(ended, ended, HOLDS), (ended, early, HOLDS),
                                  (ended, ended | {"model": "m"}, "the journal has another result"),
                                  (ended, early | {"turns": 2}, "the journal has another result"),
                                  (ended, early | {"text": "More."}, "the journal has another result"),
                                  (ended, early | {"error": ended["error"]}, "the journal has another result")]:
            with self.subTest(said):
                files = {"files/keep.py": KEEP, "files/kept": json.dumps(kept),
                         "files/said": json.dumps(said) + "\n"}
                self.assertIn(words, self.judge("sh python3 keep.py\nsh mv said result\nerrand run -o json",
                                                f"exit = {said['exit_code']}", files=files))

    def test_what_was_never_done(self):
        self.assertIn("it was over before this: signal", self.judge("signal TERM after request 1\nerrand say"))
        self.assertEqual(HOLDS, self.judge("signal TERM after ms 50\nerrand sleep 5", "exit = 143"))

    @unittest.skipIf(run.lack_of_terminals(), "no pseudo-terminals here")
    def test_what_was_never_typed(self):
        typed = 'stdin pty\nstderr pty\ntype "y\\n" after "Sure?"\n'
        self.assertIn(HOLDS, self.judge(typed + 'errand prompt "Sure? "', 'stdout_contains = ["y"]'))
        self.assertIn("it was over before this: type", self.judge(typed + "errand say '' no"))

    def test_where_errand_refuses_to_run_tools(self):
        self.assertIn("exit code 93", self.judge("errand say '' '' 93"))
        self.options.has_sandbox, self.options.lacking = False, {"sandbox": "errand runs no tools here"}
        self.assertEqual(HOLDS, self.judge("errand say '' '' 93", "exit = 93"))
        self.judge("errand say '' '' 93")
        self.assertIn("errand runs no tools here", self.judged.skipped)

    def test_what_the_machine_lacks_is_skipped(self):
        self.options.lacking = {"pty": "there is no terminal"}
        folder = self.top / "case"
        folder.mkdir()
        (folder / "cmd").write_text("stderr pty\nerrand say")
        self.assertEqual("there is no terminal", run.run_case(Case(folder), self.options).skipped)


def main():
    program = unittest.main(exit=False, argv=sys.argv, verbosity=1)
    result = program.result
    failed = len({test.id().partition(" (")[0] for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
