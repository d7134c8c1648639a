#!/usr/bin/env python3
"""What suite.py makes of the suite's checks and of skipped.toml.

    tests/conformance/suite_test.py"""
import contextlib
import io
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import suite  # noqa: E402

GOOD, BAD, WARNED, NOT_ASKED = "SUCCESS", "FAILURE", "WARNING", "SKIPPED"


class Judging(unittest.TestCase):
    def judge(self, checks, *skipped, holds=None):
        """What is said, and the sums."""
        holds = holds if holds is not None else BAD not in checks.values()
        scenario = suite.Scenario("server", "2026-07-28", "pong", holds)
        scenario.checks = [{"id": name, "status": status, "description": f"about {name}"} for name, status in checks.items()]
        report = suite.Report(is_verbose=True)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            report.judge(scenario, [suite.Skipped(**{"side": "server", "scenarios": ["pong"], "reason": "why", **one})
                                    for one in skipped])
            report.say_skipped("2026-07-28 server")
        return said.getvalue(), (report.passed, report.failed, report.skipped)

    def test_one_that_is_on_no_list(self):
        for checks, holds, words, sums in (
                ({"a": GOOD, "b": NOT_ASKED}, True, "ok   2026-07-28 server pong\n", (1, 0, 0)),
                ({"a": GOOD, "b": BAD}, False, "pong: b: about b", (0, 1, 0)),
                ({"a": GOOD, "b": WARNED}, True, "pong: b: about b", (0, 1, 0)),
                ({"a": GOOD}, False, "the client failed", (0, 1, 0)),
                ({"a": NOT_ASKED, suite.OF_ALL: GOOD}, True, "nothing of it was checked", (0, 1, 0)),
                ({}, True, "nothing of it was checked", (0, 1, 0))):
            with self.subTest(checks, holds=holds):
                said, found = self.judge(checks, holds=holds)
                self.assertIn(words, said)
                self.assertEqual(sums, found)

    def test_a_whole_one_that_is_skipped(self):
        for checks, words, sums in (
                ({"a": BAD}, "skip 2026-07-28 server pong: why\n", (0, 0, 1)),
                ({"a": NOT_ASKED}, "skip 2026-07-28 server pong: why\n", (0, 0, 1)),
                ({"a": GOOD}, "passes, and is in skipped.toml", (0, 1, 0)),
                ({"a": BAD, suite.OF_ALL: BAD}, "about " + suite.OF_ALL, (0, 1, 0))):
            with self.subTest(checks):
                said, found = self.judge(checks, {})
                self.assertIn(words, said)
                self.assertEqual(sums, found)

    def test_checks_that_are_skipped(self):
        for checks, words, sums in (
                ({"a": GOOD, "b": BAD, "c": WARNED}, "skip 2026-07-28 server pong (b), pong (c): why\n", (1, 0, 2)),
                ({"a": BAD, "b": BAD, "c": BAD}, "pong: a: about a", (0, 1, 0)),
                ({"a": GOOD, "b": GOOD, "c": BAD}, "passes b, which is in skipped.toml", (0, 1, 0)),
                ({"b": BAD, "c": BAD}, "nothing of it was checked", (0, 1, 0))):
            with self.subTest(checks):
                said, found = self.judge(checks, {"checks": ["b", "c"]})
                self.assertIn(words, said)
                self.assertEqual(sums, found)

    def test_the_list_of_others(self):
        for other in ({"side": "client"}, {"scenarios": ["ping"]}, {"revisions": ["2025-11-25"]}):
            with self.subTest(other):
                self.assertEqual((1, 0, 0), self.judge({"a": GOOD}, other)[1])


def main():
    result = unittest.main(exit=False, verbosity=1).result
    failed = len({test.id().partition(" (")[0] for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
