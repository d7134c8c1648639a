#!/usr/bin/env python3
"""What ./dev makes of words that it does not know, what it installs, and that a signal ends all that it started:
in a checkout of nothing but itself, where apt-get, cmake and the tests are a few lines each.

    tests/dev_test.py"""
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parent
sys.path.append(str(TESTS / "support"))
from scratch import Scratch, processes  # noqa: E402

FAKES = {
    "bin/dpkg-query": '[ -e installed ] && echo installed',
    "bin/apt-get": 'echo "apt-get $*" >&2; exit 1',
    "bin/sudo": 'exec "$@"',
    # The unit tests take for ever to build, where `slow` is.
    "bin/cmake": 'case $* in *"--target all bench"*) [ ! -e slow ] || exec sleep 4343 ;; esac',
    "bin/ctest": 'case $* in *-N*none_such*) echo "Total Tests: 0" ;; *-N*) echo "Total Tests: 3" ;; '
                 '*) echo "ctest $*"; echo "100% tests passed, 0 tests failed out of 3" ;; esac',
    "tests/e2e/run.py": 'echo "run.py $*"; echo "FAIL some/case"; echo "0 passed, 1 failed, 0 skipped"; '
                        '[ ! -e deaf_cases ] || { trap "" TERM; sleep 4343; }; [ ! -e slow_cases ] || exec sleep 4343; exit 1',
}


class Dev(unittest.TestCase):
    def setUp(self):
        scratch = Scratch("dev-test")
        self.addCleanup(scratch.close)
        self.tree = scratch.path
        shutil.copy(TESTS.parent / "dev", self.tree)
        for name in ("build/release", "build/debug/Testing/Temporary", "tests/unit/agent"):
            (self.tree / name).mkdir(parents=True)
        (self.tree / "build/debug/Testing/Temporary/LastTest.log").touch()
        for name, lines in FAKES.items():
            file = self.tree / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"#!/bin/sh\n{lines}\n")
            file.chmod(0o755)

    def have(self, *names):
        for name in names:
            (self.tree / name).touch()

    def start(self, *words):
        environment = os.environ | {"PATH": f"{self.tree}/bin:{os.environ['PATH']}"}
        started = subprocess.Popen(["./dev", *words], cwd=self.tree, env=environment, text=True, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(started.stdout.close)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return started

    def run_dev(self, *words):
        """(its exit code, what it said)"""
        started = self.start(*words)
        said, _ = started.communicate(timeout=30)
        return started.returncode, said

    def test_words_that_it_does_not_know(self):
        for line, text in (("demo x", "too many words: `x`"), ("test deep x", "not `x`"),
                           ("test deep all x", "too many words: `x`"), ("test all x", "too many words: `x`"), ("test quik", "not `quik`"),
                           ("build release x", "too many words: `x`"), ("build fast", "no preset `fast`"),
                           ("check quick x", "too many words: `x`"), ("check quik", "not `quik`"),
                           ("fuzz soon", "not `soon`"), ("fuzz 5 6", "too many words: `6`"),
                           ("soak", "takes a number of minutes"), ("soak soon", "not `soon`"),
                           ("soak 1 --preset fast", "no preset `fast`"), ("docs x", "too many words: `x`"),
                           ("conformance x", "too many words: `x`"), ("deps x", "too many words: `x`"),
                           ("help x y", "too many words: `y`"), ("nonsense", "no command `nonsense`")):
            with self.subTest(line):
                code, said = self.run_dev(*line.split())
                self.assertEqual(1, code)
                self.assertIn(text, said)
                self.assertNotIn("apt-get", said)

    def test_help_installs_nothing(self):
        for line in ("help", "--help", "deps --help", "test -h"):
            with self.subTest(line):
                code, said = self.run_dev(*line.split())
                self.assertEqual((0, True, False), (code, "./dev demo" in said, "apt-get" in said))

    def test_what_it_installs(self):
        for line, there, wanted in (("check quick", "clang-format-19", True), ("check quick", "clang-tidy-19", False),
                                    ("check", "clang-tidy-19", True), ("test", "mandoc", True)):
            with self.subTest(line, package=there):
                self.assertEqual(wanted, there in self.run_dev(*line.split())[1])

    def test_what_is_chosen(self):
        self.have("installed")
        for line, text in (("test quick", "-R . "), ("test quick agent", "-R ^agent: "),
                           ("test quick agent a.b", r"-R ^agent:|a\.b "),
                           ("test quick agent none_such", "no unit test has `none_such`"),
                           ("test e2e", "run.py --errand build/release/errand --patience 3 -v\n"),
                           ("test e2e http/ web", "-v -k http/ -k web\n")):
            with self.subTest(line):
                code, said = self.run_dev(*line.split())
                log = self.tree / "build/debug/unit-tests.log"
                self.assertIn(text, said + (log.read_text() if log.exists() else ""))
                self.assertEqual("none_such" in line or "e2e" in line, code != 0)

    def test_one_at_a_time(self):
        self.have("installed")
        with open(self.tree / "build" / "release.lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            code, said = self.run_dev("test")
        self.assertEqual(1, code)
        self.assertIn("another ./dev test is at work in build/release", said)

    def test_the_cases_are_reported_when_they_are_done(self):
        self.have("installed", "slow")
        running = self.start("test")
        seen = ""
        while "1 failed" not in seen:  # and not only when the unit tests are built
            line = running.stdout.readline()
            self.assertTrue(line, f"it ended: {seen}")
            seen += line
        self.assertIn("FAIL some/case", seen)

    def test_a_suite_without_a_sum_has_failed(self):
        self.have("installed")
        code, said = self.run_dev("test")
        self.assertNotEqual(0, code)
        self.assertIn("FAIL build/release/waits.log ends without the sum of its tests", said)

    def test_a_signal_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                self.have("installed", "slow", "slow_cases")
                running = self.start("test")
                deadline = time.monotonic() + 20
                while len(self.sleeping()) < 2 and time.monotonic() < deadline:
                    time.sleep(0.02)
                self.assertEqual(2, len(self.sleeping()), "the cases and the build")
                begin = time.monotonic()
                os.kill(running.pid, number)  # it alone: the others are its own to end
                said, _ = running.communicate(timeout=20)
                self.assertNotIn("Terminated", said)
                self.assertLess(time.monotonic() - begin, 5)  # two, on a machine that has time
                self.assertEqual(-number, running.returncode)
                self.assertEqual([], self.sleeping())

    def test_a_signal_ends_what_will_not_end(self):
        self.have("installed", "deaf_cases")
        running = self.start("test", "e2e")
        deadline = time.monotonic() + 20
        while not self.sleeping() and time.monotonic() < deadline:
            time.sleep(0.02)
        running.terminate()
        said, _ = running.communicate(timeout=20)
        self.assertEqual((-signal.SIGTERM, []), (running.returncode, self.sleeping()))
        self.assertNotIn("line ", said)  # what bash says of a program that was killed

    def sleeping(self):
        return [command for _, command in processes(str(self.tree), self.tree) if "sleep 4343" in command]


if __name__ == "__main__":
    unittest.main()
