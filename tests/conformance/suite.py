#!/usr/bin/env python3
"""The official conformance suite of the Model Context Protocol against errand, as a client (client.py) and as a server
(`errand mcp serve`), in both revisions. Every scenario that a revision has is run; what errand does not pass is in
skipped.toml, with the reason. One that is there and passes is a failure, too.

    tests/conformance/suite.py --errand build/release/errand [-k WORD] [-v]
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tomllib

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import packages  # noqa: E402
from scratch import Scratch, left_behind  # noqa: E402

REVISIONS = ("2025-11-25", "2026-07-28")
SUITE = "@modelcontextprotocol/conformance/dist/index.js"
OF_ALL = "wire-schema-valid"  # a check that each scenario has beside its own
SUITE_S = 300
SCENARIO_MS = 90_000
START_S = 20

# Agents by the names of tools that scenarios call: what they reply, and what else their files say.
AGENTS = {
    "test_simple_text": ([{"text": "This is a simple text response for testing."}], {}),
    "test_error_handling": ([], {}),  # the script has no reply
    "test_tool_with_progress": ([{"tool_calls": [{"name": "glob", "arguments": {"pattern": "*"}}]}, {"text": "done"}],
                                {"tools": ["glob"]}),
    "test_logging_tool": ([{"text": "done"}], {}),
    "test_streaming_elicitation": ([{"text": "done"}], {}),
}


class Scenario:
    def __init__(self, side, revision, name, holds):
        self.side, self.revision, self.name = side, revision, name
        self.holds = holds  # the suite's own verdict
        self.checks = []

    @property
    def title(self):
        return f"{self.revision} {self.side} {self.name}"

    def bad(self):
        """Checks that failed, or that the suite warns of: what a server or client should do."""
        return {check["id"]: check.get("errorMessage") or check["description"] for check in self.checks
                if check["status"] in ("FAILURE", "WARNING")}

    def wrong(self, pardoned=()):
        """What is wrong with it, but for checks that are pardoned; empty: it passes."""
        bad = self.bad()
        left = {name: why for name, why in bad.items() if name not in pardoned}
        if left:
            return "; ".join(f"{name}: {why}" for name, why in left.items())
        if not self.holds and not bad:
            return "the client failed"
        if not any(check["status"] == "SUCCESS" and check["id"] != OF_ALL for check in self.checks):
            return "nothing of it was checked"
        return ""


class Skipped:
    """An entry of skipped.toml: scenarios, or some checks of one."""

    def __init__(self, side, scenarios, reason, revisions=REVISIONS, checks=()):
        self.side, self.scenarios, self.reason, self.revisions = side, scenarios, reason, revisions
        self.checks = set(checks)

    def covers(self, scenario):
        return (self.side == scenario.side and scenario.name in self.scenarios and scenario.revision in self.revisions)


class Report:
    def __init__(self, is_verbose):
        self.is_verbose = is_verbose
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.pardoned = {}  # by the reason

    def ok(self, title):
        self.passed += 1
        if self.is_verbose:
            print(f"ok   {title}", flush=True)

    def fail(self, title, why):
        self.failed += 1
        print(f"FAIL {title}: {why}", flush=True)

    def skip(self, what, why):
        self.skipped += 1
        self.pardoned.setdefault(why, []).append(what)

    def say_skipped(self, title):
        """A line for each reason."""
        for why, names in self.pardoned.items():
            print(f"skip {title} {', '.join(names)}: {why}", flush=True)
        self.pardoned = {}

    def judge(self, scenario, skipped):
        entries = [entry for entry in skipped if entry.covers(scenario)]
        whole = [entry for entry in entries if not entry.checks]
        pardoned = set().union(*(entry.checks for entry in entries))
        stale = pardoned - scenario.bad().keys()
        if stale:
            self.fail(scenario.title, f"passes {', '.join(sorted(stale))}, which is in skipped.toml")
        elif whole and OF_ALL in scenario.bad():
            self.fail(scenario.title, f"{OF_ALL}: {scenario.bad()[OF_ALL]}")
        elif whole and not scenario.wrong():
            self.fail(scenario.title, "passes, and is in skipped.toml")
        elif whole:
            self.skip(scenario.name, whole[0].reason)
        elif wrong := scenario.wrong(pardoned):
            self.fail(scenario.title, wrong)
        else:
            self.ok(scenario.title)
            for entry in entries:
                for check in sorted(entry.checks):
                    self.skip(f"{scenario.name} ({check})", entry.reason)


def read_skipped():
    with open(HERE / "skipped.toml", "rb") as file:
        return [Skipped(**entry) for entry in tomllib.load(file)["skipped"]]


def run_suite(side, revision, words, out, environment):
    """The scenarios of a revision, as the suite judged them, and what it said."""
    command = [*packages.script(SUITE), side, *words, "--requirements", revision, "--timeout", str(SCENARIO_MS), "-o", str(out)]
    ran = subprocess.run(command, env=environment, cwd=out.parent, capture_output=True, text=True, timeout=SUITE_S,
                         stdin=subprocess.DEVNULL)
    said = ran.stdout + ran.stderr
    (packages.FOLDER / f"{side}-{revision}.log").write_text(said)
    verdicts = re.findall(r"^([✓✗]) (\S+): \d+ passed, \d+ failed", said, re.MULTILINE)
    scenarios = {name: Scenario(side, revision, name, mark == "✓") for mark, name in verdicts}
    for file in out.rglob("checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", str(file.parent.relative_to(out)))
        name = name.removeprefix("server-") if side == "server" else name
        if name in scenarios:
            scenarios[name].checks = json.loads(file.read_text())
    return scenarios, said


def required(side, revision):
    """The names of all scenarios that a revision wants."""
    listed = subprocess.run([*packages.script(SUITE), "list", "--requirements", revision], capture_output=True, text=True,
                            timeout=60, env=packages.environment(), stdin=subprocess.DEVNULL, check=True).stdout
    part = re.search(rf"^{side.capitalize()} scenarios .*?:\n((?:  - \S+\n)+)", listed, re.MULTILINE)
    extra = re.findall(rf"^    - (\S+) \[{side}\]$", listed, re.MULTILINE)
    return {line.removeprefix("  - ") for line in part[1].splitlines()} | set(extra)


@contextlib.contextmanager
def served(errand, folder):
    """The address of an errand that serves AGENTS."""
    files = []
    for name, (replies, more) in AGENTS.items():
        (folder / f"{name}.script.yaml").write_text(json.dumps({"version": 1, "replies": replies}))
        files.append(folder / f"{name}.yaml")
        files[-1].write_text(json.dumps({"version": 1, "name": name, "model": f"replay/{name}.script.yaml",
                                         "instructions": "Do it.", "prompt": "go", **more}))
    environment = packages.environment(HOME=str(folder), XDG_STATE_HOME=str(folder / "state"))
    with subprocess.Popen([errand, "mcp", "serve", "--http", "0", *files], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            if not line.startswith("serving http://"):
                raise RuntimeError(f"errand serves nothing: {line}")
            yield line.split()[1]
        finally:
            process.terminate()
            process.stderr.read()
            if process.wait(timeout=START_S) != -signal.SIGTERM:
                raise RuntimeError(f"errand ended with {process.returncode}, not by SIGTERM")


def play(side, revision, errand, folder):
    folder.mkdir()
    out = folder / "out"
    if side == "client":
        slots = folder / "slots"
        slots.mkdir()
        environment = packages.environment(ERRAND=str(errand), SLOTS=str(slots), TMPDIR=str(folder))
        return run_suite(side, revision, ["--command", str(HERE / "client.py")], out, environment)
    with served(errand, folder) as address:
        return run_suite(side, revision, ["--url", address], out, packages.environment())


def check(side, revision, errand, folder, report, skipped, word):
    try:
        scenarios, said = play(side, revision, errand, folder)
    except (RuntimeError, OSError, subprocess.SubprocessError) as trouble:
        report.fail(f"{revision} {side}", trouble)
        return []
    for name in sorted(required(side, revision) - scenarios.keys()):
        report.fail(f"{revision} {side} {name}", f"the suite did not run it: {said[-400:]}")
    chosen = [scenario for scenario in scenarios.values() if word in scenario.title]
    for scenario in chosen:
        report.judge(scenario, skipped)
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=HERE.parents[1] / "build/release/errand")
    parser.add_argument("-k", metavar="WORD", default="", help="judge only scenarios whose line has this")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what passed, too")
    options = parser.parse_args()
    packages.fetch()
    skipped, report, seen = read_skipped(), Report(options.verbose), []
    with Scratch("conformance") as scratch:
        os.environ["SCRATCH"] = str(scratch.path)
        for revision in REVISIONS:
            for side in ("client", "server"):
                before = report.passed, report.failed, report.skipped
                seen += check(side, revision, options.errand.resolve(), scratch.path / f"{side}-{revision}", report, skipped,
                              options.k)
                report.say_skipped(f"{revision} {side}")
                of_this = (now - then for now, then in zip((report.passed, report.failed, report.skipped), before))
                print(f"revision {revision}, errand as a {side}: {{}} passed, {{}} failed, {{}} skipped".format(*of_this), flush=True)
        if left := left_behind(scratch.path):
            report.fail("processes", f"are left: {left}")
    for entry in skipped if not options.k else []:
        for name in entry.scenarios:
            if not any(entry.side == one.side and name == one.name for one in seen):
                report.fail(f"{entry.side} {name}", "is in skipped.toml, and no revision has it")
    print(f"{report.passed} passed, {report.failed} failed, {report.skipped} skipped", flush=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
