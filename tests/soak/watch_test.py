#!/usr/bin/env python3
"""That the soak notices: with a program in errand's place that lies, crashes, hangs or leaves things behind, one
way at a time, each round must have its violation; and a program that does none of it must have none.

    tests/soak/watch_test.py"""
import json
import pathlib
import sys
import types
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "e2e"), str(HERE.parent / "support")]
import rounds  # noqa: E402
import watch  # noqa: E402
from cases import RESULT_KEYS, Step  # noqa: E402
from run import SECRET  # noqa: E402
from scratch import Scratch  # noqa: E402
from server import mistakes  # noqa: E402

EXITS = {0: "ok", 2: "usage", 70: "internal", 75: "provider_unavailable", 143: "sigterm"}
RESULT = {key: None for key in RESULT_KEYS} | {"schema": "errand.result/1", "status": "ok", "exit_code": 0,
                                               "text": "still here", "partial": False, "turns": 0, "usage": {}}
# errand's part is played in a few lines; the run that comes last goes well unless it is told not to.
ERRAND = """#!/usr/bin/env python3
import json, os, pathlib, signal, sqlite3, subprocess, sys, time, urllib.request
RESULT = json.loads(%r)
home, work, tmp = pathlib.Path(os.environ["HOME"]), pathlib.Path.cwd(), pathlib.Path(os.environ["TMPDIR"])
journal = home / "journal.db"
def say(code=0, **changes):
    print(json.dumps(RESULT | {"exit_code": code} | changes, separators=(",", ":")), flush=True)
def record(finished):
    base = sqlite3.connect(journal)
    base.execute("create table if not exists runs(finished)")
    base.execute("insert into runs values (?)", [finished])
    base.commit()
def ask(count, text="x"):
    for _ in range(count):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
        urllib.request.urlopen(urllib.request.Request(os.environ["SOAK_BASE"] + "/chat/completions", body)).read()
        yield
        time.sleep(0.06)
is_later = any("later/" in word for word in sys.argv)
if is_later and not (work / "spoil_later").exists():
    if not (work / "spoil_sweep").exists():
        for folder in tmp.glob("errand-*"):
            folder.rmdir()
    say()
    sys.exit(0)
exec((work / "does").read_text())
"""
EVENTS = [{"type": "run.started", "schema": "errand.events/1"}, {"type": "run.finished"}]


class Watcher(unittest.TestCase):
    def setUp(self):
        scratch = Scratch("soak-test")
        self.addCleanup(scratch.close)
        program = scratch.path / "errand"
        program.write_text(ERRAND % json.dumps(RESULT))
        program.chmod(0o755)
        self.options = types.SimpleNamespace(errand=program, scratch=scratch, certificate=None, fold=None, sanitized=False,
                                             patience=1, missing_layers=[], has_sandbox=True, lacking={})

    def judge(self, does, form="json", signals=(), files=None, turns=0, seconds=20, kind="tool"):
        """What the watcher says of a round whose run does this."""
        step = Step(["run", "agent.yaml"])
        step.signals = [list(one) for one in signals]
        step.env = {"SOAK_BASE": "{{BASE}}"}
        plan = types.SimpleNamespace(
            kind=kind, protocol="openai_chat", stream=False, form=form, files={"does": does, **(files or {})}, groups=[[step]],
            script={"reply": [{"text": "Hello.", "repeat": "forever"}]}, seconds=seconds, turns=turns,
            damages_journal=False, is_mutated=False, later=Step(["run", "later/agent.yaml", "-o", "json"]))
        return watch.play(plan, self.options, EXITS)

    def holds(self, *words, **more):
        self.assertEqual([], self.judge(*words, **more).wrong)

    def fails(self, said, *words, **more):
        wrong = "\n".join(self.judge(*words, **more).wrong)
        self.assertIn(said, wrong)

    def test_what_is_in_order(self):
        self.holds("record(1); say()")
        self.holds("print('the answer')", form="text")
        self.holds("say(75, status='error', error={}, text=''); sys.exit(75)")
        self.holds("".join(f"print({json.dumps(json.dumps(line))})\n" for line in events({})), form="jsonl")

    def test_exit_codes(self):
        self.fails("exit code 3: it is not in the table", "say(3, status='error', error={}); sys.exit(3)")
        self.fails("nothing was wrong, and the exit codes are [75]",
                   "say(75, status='error', error={}, text=''); sys.exit(75)", kind="plain")
        self.fails("the result says exit code 0, the process 2", "say(); sys.exit(2)")
        self.fails("exit code 143 means cancelled", "say(143); os.kill(os.getpid(), 15)")
        self.fails("exit code 143: it is not in the table, nor that of a signal", "os.kill(os.getpid(), 15)")
        self.fails("exit code 137: it is not", "say(); os.kill(os.getpid(), 9)")
        self.fails("without dying by the signal", "say(143, status='cancelled', error={}); sys.exit(143)")

    def test_outputs(self):
        self.fails("stdout is not one line", "print('a'); print('b')")
        self.fails("stdout is not JSON", "print('{')")
        self.fails("the result object has the keys", "print('{}')")
        self.fails("stdout is not empty on exit 75", "print('half'); sys.exit(75)", form="text")
        self.fails("-o jsonl: not JSON", "print('{')", form="jsonl")
        self.fails("do not run from run.started to run.finished", "print('{\"type\": \"run.started\"}')", form="jsonl")
        self.fails("seq does not count", "".join(
            f"print({json.dumps(json.dumps(line | {'seq': 1}))})\n" for line in events({})), form="jsonl")
        self.fails("not valid UTF-8", "sys.stdout.buffer.write(b'\\xff\\n')", form="text")

    def test_crashes_and_blame(self):
        self.fails("it crashed", "os.kill(os.getpid(), signal.SIGSEGV)")
        self.fails("it crashed", "os.abort()")
        self.fails("it takes the blame", "sys.stderr.write('This is a bug in errand'); say(2, status='error', error={}); sys.exit(2)")
        self.fails("it takes the blame", "say(70, status='error', error={}); sys.exit(70)")
        self.fails("a sanitizer complains", "sys.stderr.write('==1==ERROR: AddressSanitizer: x'); say()")
        self.fails("a sanitizer complains", "sys.stderr.write('x.cpp:1:2: runtime error: y'); say()")

    def test_ends(self):
        self.fails("run 1 did not end within 2 s", "time.sleep(30)", seconds=2)
        self.fails("did not end", "signal.signal(signal.SIGTERM, signal.SIG_IGN); next(ask(1)); time.sleep(30)",
                   signals=[("TERM", "after", "request", "1")], seconds=3)

    def test_signals(self):
        stopped = "say(143, status='cancelled', error={}); signal.signal(15, signal.SIG_DFL); os.kill(os.getpid(), 15)"
        heeds = "def stop(*_):\n  {}\nsignal.signal(15, stop)\nnext(ask(1))\ntime.sleep(30)"
        there = [("TERM", "after", "request", "1")]
        self.holds(heeds.format(stopped), signals=there)
        self.fails("stdout is not one line", heeds.format("signal.signal(15, signal.SIG_DFL); os.kill(os.getpid(), 15)"),
                   signals=there)
        self.fails("the result says exit code 0, the process 143", "say(); time.sleep(30)", signals=[("TERM", "after", "result", "")])
        self.holds("time.sleep(30)", signals=[("TERM", "after", "ms", "0")])  # before errand was there
        self.fails("stdout is not one line", "signal.pthread_sigmask(signal.SIG_BLOCK, [15]); next(ask(1))\n"
                   "while 15 not in signal.sigpending():\n  time.sleep(0.01)\nsignal.pthread_sigmask(signal.SIG_UNBLOCK, [15])",
                   signals=there)  # one that has blocked it, as errand has
        self.holds("time.sleep(30)", signals=[("KILL", "after", "ms", "300")])
        self.holds(heeds.format("pass") + "\ntime.sleep(30)",
                   signals=[*there, ("KILL", "after", "ms", "100")])

    def test_what_is_left_behind(self):
        self.fails("a process was left behind", "say(); subprocess.Popen(['sleep', '30'], stdout=-3, stderr=-3)")
        self.fails("a process was left behind", "say(); subprocess.Popen(['sleep', '30'], stdout=-3, stderr=-3, cwd='/',"
                   " env={'SOAK': os.environ['ERRAND_E2E_TOKEN']}, start_new_session=True)")
        self.holds("(tmp / 'errand-1').mkdir(); say()")
        self.holds("(tmp / 'errand-1').mkdir(); (tmp / 'errand-1').chmod(0o1700); say()", files={"spoil_sweep": ""})
        self.fails("leaves folders of dead runs: ['errand-1']", "(tmp / 'errand-1').mkdir(); say()", files={"spoil_sweep": ""})
        self.fails("a later run ends with 75", "say(75, status='error', error={}, text=''); sys.exit(75)", files={"spoil_later": ""})

    def test_the_journal(self):
        self.fails("the journal has 1 runs without an end, 0 were killed", "record(None); say()")
        self.holds("record(None); next(ask(1)); time.sleep(30)", signals=[("KILL", "after", "request", "1")])
        self.fails("the journal", "record(1); journal.write_bytes(journal.read_bytes()[:4096] + b'x' * 4096); say()")
        self.fails("the journal cannot be read", "journal.write_bytes(b'x' * 8192); say()")

    def test_the_key(self):
        self.fails("the API key is in the output", f"say(text={SECRET!r})")
        self.fails("the API key is in the output", f"sys.stderr.write({SECRET!r}); say()")
        for place in ("home", "work", "tmp"):
            self.fails("the API key is in", f"({place} / 'log').write_text('x {SECRET} y'); say()")
        self.fails("the API key is in a request's body", "next(ask(1, os.environ['TEST_KEY'])); say()")
        own = rounds.TELLS.replace(SECRET, "{os.environ['TEST_KEY']}")
        self.holds(f'next(ask(1, f"You said: {own}")); say()')

    def test_what_the_server_would_refuse(self):
        self.fails("request 1: not a POST of a JSON object",
                   "urllib.request.urlopen(os.environ['SOAK_BASE'] + '/chat/completions', b'x'); say()")

    def test_growth(self):
        turns = "kept = []\nfor _ in ask(40):\n  {}\nsay()"
        seen = self.judge(turns.format("pass"), turns=40)
        self.assertEqual([], seen.wrong)
        self.assertIn("40 turns", seen.note)
        self.fails("descriptors grow with the turns", turns.format("kept.append(open('/dev/null'))"), turns=40)
        self.fails("memory grows with the turns", turns.format("kept.append(b'x' * 500_000)"), turns=40)
        self.fails("made 10 requests, not 40", "for _ in ask(10): pass\nsay()", turns=40)


class Rounds(unittest.TestCase):
    def test_a_round_follows_from_the_seed_and_its_number(self):
        for number in range(1, 60):
            one, again = rounds.plan_of(5, number), rounds.plan_of(5, number)
            self.assertEqual((one.label, one.script), (again.label, again.script))
        self.assertNotEqual([rounds.plan_of(5, number).label for number in range(2, 20)],
                            [rounds.plan_of(6, number).label for number in range(2, 20)])

    def test_every_kind_comes(self):
        plans = [rounds.plan_of(1, number) for number in range(1, 200)]
        self.assertEqual(set(rounds.KINDS), {plan.kind for plan in plans})
        self.assertEqual(set(rounds.PROTOCOLS), {plan.protocol for plan in plans})

    def test_what_the_server_is_told_is_heeded(self):
        for number in range(1, 300):
            script = rounds.plan_of(3, number).script
            self.assertEqual([], mistakes(script), number)


def events(changes):
    """The lines of a run that went well."""
    lines = [{"v": 1, "run": "r", "seq": seq, **event} for seq, event in enumerate(EVENTS, start=1)]
    lines[-1]["result"] = RESULT | changes
    return lines


def main():
    result = unittest.main(exit=False, argv=sys.argv, verbosity=1).result
    failed = len({test.id().partition(" (")[0] for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
