#!/usr/bin/env python3
"""Tests the end-to-end tests: would they notice?

    tests/e2e/mutants.py [--errand PATH] [-k PATTERN]… [-j N] [-v]

Runs every case once and keeps what it did. Against that it then holds the case again, each time with one of its
expectations turned into its opposite: the case has to fail. And it holds the case against what a lying program would
have done (another exit code, a token more, an event less, a line more): the case has to fail, too, but for the few
kinds that only some cases can know."""
import copy
import dataclasses
import json
import os
import pathlib
import re
import sys
import types

sys.dont_write_bytecode = True  # a test run leaves nothing in the source tree
import run  # noqa: E402
from cases import CASE_KEYS, GOLDENS, HERE, Expectations  # noqa: E402
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch  # noqa: E402

NEVER = "\0 never"  # no output has this


# ---- an expectation, turned into its opposite ----

def opposite_of_text(text):
    if text == "<null>":
        return "<any>"
    if text == "<any>":
        return "<null>"
    if text.startswith("~"):
        return "!" + text
    if text.startswith("!~"):
        return text[1:]
    if found := re.fullmatch(r"([<>]=?)( ?[0-9.]+)", text):
        return {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}[found[1]] + found[2]
    return NEVER


def opposites(value, path, is_one_of_many=False):
    """(path, value) for each leaf of what is expected, with that leaf turned round. What may be any of several
    cannot be turned round, for another one may fit then: there nothing fits."""
    if isinstance(value, dict):
        for key, one in value.items():
            for inner, turned in opposites(one, f"{path}.{key}", is_one_of_many):
                yield inner, {**value, key: turned}
    elif isinstance(value, list):
        for at, one in enumerate(value):
            for inner, turned in opposites(one, f"{path}[{at}]", is_one_of_many):
                yield inner, [*value[:at], turned, *value[at + 1:]]
        yield f"{path}, one more", [*value, NEVER]
    elif is_one_of_many:
        yield path, NEVER
    elif isinstance(value, str):
        yield path, opposite_of_text(value)
    elif isinstance(value, bool):
        yield path, not value
    else:
        yield path, value + 1


def changed_golden(file):
    text = file.read_bytes()
    lines = text.splitlines(keepends=True)
    for what, changed in (("a line more", text + b"never\n"), ("a line less", b"".join(lines[:-1]))):
        if changed != text:
            yield what, types.SimpleNamespace(name=file.name, read_bytes=lambda changed=changed: changed)


def swapped(table, key, at):
    """The same with one text moved from what is there to what is not, or back."""
    stream, _, how = key.rpartition("_")
    other = f"{stream}_{'lacks' if how == 'contains' else 'contains'}"
    return {**table, key: table[key][:at] + table[key][at + 1:], other: [*table.get(other, []), table[key][at]]}


def turned_tables(table):
    """(which expectation, the table with this one turned round)."""
    for key, value in table.items():
        if key.endswith(("_contains", "_lacks")):
            for at in range(len(value)):
                yield f"{key}[{at}]", swapped(table, key, at)
        elif key in GOLDENS:
            for what, file in changed_golden(value):
                yield f"{key}, {what}", {**table, key: file}
        elif key == "exit":
            yield key, {**table, key: value + 1 if isinstance(value, int) else 255}
        elif key == "events":
            yield key, {**table, key: value[:-1]}
        elif key == "no_events":
            for at in range(len(value)):
                yield f"{key}[{at}]", {**table, key: [*value[:at], "run.started", *value[at + 1:]]}
        elif key in ("max_seconds", "max_rss_mb"):
            yield key, {**table, key: -1}
        elif key == "left":
            yield key, {**table, key: [*value, NEVER]}
        elif key == "files":
            for name, wanted in value.items():
                yield f"files.{name}", {**table, key: {**value, name: opposite_of_text(wanted)}}
        elif key == "request":
            for path, turned in turned_requests(value):
                yield path, {**table, key: turned}
        elif key != "prefix_stable":  # that has no opposite
            for path, turned in opposites(value, key, is_one_of_many=key == "event"):
                yield path, {**table, key: turned}


def turned_requests(requests):
    for at, wanted in enumerate(requests):
        for path, turned in opposites(wanted, f"request[{at}]"):
            if "after_ms" in turned and turned["after_ms"] != wanted["after_ms"]:
                turned["after_ms"] = 10 ** 9
            yield path, [*requests[:at], turned, *requests[at + 1:]]


# ---- what a lying program would have done ----

def with_events(outcome, change):
    """The outcome of -o jsonl with other events; None where it stays the same."""
    events = [json.loads(line) for line in outcome.stdout.splitlines()]
    if (changed := change(events)) is None:
        return None
    lied = copy.copy(outcome)
    lied.stdout = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in changed)
    return lied


def another_exit_code(outcome, form):
    lied = copy.copy(outcome)
    lied.code += 1
    yield "another exit code", lied


def a_token_more(outcome, form):
    if form not in ("json", "jsonl") or not outcome.stdout:
        return
    *before, last = outcome.stdout.splitlines(keepends=True)
    end = json.loads(last)
    usage = (end if form == "json" else end["result"])["usage"]
    usage["input"] += 1
    lied = copy.copy(outcome)
    lied.stdout = "".join(before) + json.dumps(end, ensure_ascii=False) + "\n"
    yield "a token more", lied


def an_event_less(outcome, form):
    """Each kind of event once, and those after it counted as if it had never been."""
    if form != "jsonl":
        return
    kinds = {}
    for at, line in enumerate(outcome.stdout.splitlines()):
        kinds[json.loads(line)["type"]] = at

    def without(at):
        def change(events):
            for event in events[at + 1:]:
                event["seq"] -= 1
            return events[:at] + events[at + 1:]
        return change
    for kind, at in kinds.items():
        yield f"no {kind}", with_events(outcome, without(at))


def a_line_more(outcome, form):
    lied = copy.copy(outcome)
    lied.stdout += "All went well.\n"
    yield "a line more", lied


LIES = (another_exit_code, a_token_more, an_event_less, a_line_more)

# Where only what a case says of itself could tell: what may come or not, texts for people, and bills
# whose events nobody sees. All other lies have to be noticed.
UNKNOWABLE = {"no model.delta (jsonl)", "no model.requested (jsonl)", "no tool.output (jsonl)", "no warning (jsonl)",
              "a line more (text)", "a line more (no run)", "a token more (json)"}


def is_knowable(label, case):
    may_vary = "another exit code" in label and any("|" in str(one.table.get("exit")) for one in case.expected)
    return not may_vary and not label.endswith(tuple(UNKNOWABLE))


# ---- who notices ----

@dataclasses.dataclass
class Report:
    """Of one case: what was tried, and what nobody noticed."""
    expectations: set = dataclasses.field(default_factory=set)
    lies: set = dataclasses.field(default_factory=set)
    noticed: set = dataclasses.field(default_factory=set)


def mute(case):
    """The same case, for tables of other expectations."""
    other = copy.copy(case)
    other.expected = [Expectations(one.table, one.label) for one in case.expected]
    other.overall = Expectations(case.overall.table)
    return other


def is_noticed(case, world, check):
    checker = run.Checker(case, world)
    try:
        check(checker)
    except Exception:  # whatever the lie makes the checks trip over
        return True
    return bool(checker.wrong)


def turn_expectations(case, world, seen, report):
    for number, expected in enumerate(case.expected, start=1):
        for path, table in turned_tables(expected.table):
            label = f"{expected.label}{path}"
            report.expectations.add(label)
            other = mute(case)
            other.expected[number - 1] = Expectations(table)

            def check(checker):
                for at, step, outcome in seen:
                    if at == number:
                        checker.command(at, step, copy.copy(outcome))
            if label not in report.noticed and is_noticed(other, world, check):
                report.noticed.add(label)
    for path, table in turned_tables(case.overall.table):
        report.expectations.add(path)
        other = mute(case)
        other.overall = Expectations({key: value for key, value in table.items() if key in CASE_KEYS})

        def check(checker):
            checker.check_requests()
            checker.check_files()
        if path not in report.noticed and is_noticed(other, world, check):
            report.noticed.add(path)


def tell_lies(case, world, seen, report):
    for number, step, outcome in seen:
        form = outcome_form(case, world, step, outcome)
        for lie in LIES:
            for what, lied in lie(outcome, form):
                label = f"{case.expected[number - 1].label}{what} ({form or 'no run'})"
                report.lies.add(label)
                if label not in report.noticed and is_noticed(
                        mute(case), world, lambda checker: checker.command(number, step, copy.copy(lied))):
                    report.noticed.add(label)


def outcome_form(case, world, step, outcome):
    """The format of what was printed; None where it is no run's, or nobody looked at it."""
    checker, kept = run.Checker(mute(case), world), copy.copy(outcome)
    if step.words[:1] not in (["run"], ["resume"]) or "--help" in step.words:
        return None
    checker.run_output(step, kept)
    return kept.form if kept.result is not None or kept.form == "text" else None


def try_case(case, options):
    report = Report()

    def afterwards(world, checker):
        if not checker.wrong:
            turn_expectations(case, world, checker.seen, report)
            tell_lies(case, world, checker.seen, report)
    # What is expected differs by format, and where it does by protocol, the first one is expected of.
    each_format = None if case.mistakes else list({variant[0]: variant for variant in reversed(case.variants())}.values())
    return run.run_case(case, options, afterwards, each_format), report


# ---- everything together ----

def try_all(chosen, options):
    passed = failed = skipped = 0
    tried = {"expectations": 0, "lies": 0}
    noticed = dict(tried)
    for case, (judged, report) in run.each(chosen, lambda case: try_case(case, options), options):
        if judged.skipped:
            skipped += 1
            print(f"skip {case.name}: {judged.skipped}", flush=True)
            continue
        unnoticed = sorted(report.expectations - report.noticed)
        for name in tried:
            tried[name] += len(getattr(report, name))
            noticed[name] += len(getattr(report, name) & report.noticed)
        believed = sorted(report.lies - report.noticed)
        problems = judged.wrong + [f"nobody notices the opposite of: {label}" for label in unnoticed]
        problems += [f"nobody notices: {label}" for label in believed if options.verbose or is_knowable(label, case)]
        is_bad = bool(judged.wrong or unnoticed or any(is_knowable(label, case) for label in believed))
        passed, failed = passed + (not is_bad), failed + is_bad
        print("\n    ".join([f"{'FAIL' if is_bad else 'ok  '} {case.name}", *problems]), flush=True)
    print(f"expectations whose opposite is noticed: {noticed['expectations']} of {tried['expectations']}")
    print(f"lies that are noticed: {noticed['lies']} of {tried['lies']}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run.main_over_cases(__doc__, try_all))
