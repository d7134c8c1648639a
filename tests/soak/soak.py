#!/usr/bin/env python3
"""Real runs of errand under kills, faults and hostile inputs, for as long as you like. What no run may do is a
violation, and is said with the line that plays its round again.

    ./dev soak MINUTES [SEED] [--preset NAME] [--kind KIND] [--round N] [-j N]

README.md tells what a round is and what is watched."""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path += [str(HERE.parent / "e2e"), str(HERE.parent / "support")]
import rounds  # noqa: E402
import watch  # noqa: E402
from run import ask_the_doctor, journal_fold_of  # noqa: E402
from scratch import Scratch  # noqa: E402

SANITIZED = ("asan", "tsan")
PATIENCE = {"asan": 4, "tsan": 6}
SHOWN = 20  # violations of a round, and in the table


class Tally:
    """What came of all rounds, printed as it comes."""

    def __init__(self, options):
        self.options, self.begin, self.lock = options, time.monotonic(), threading.Lock()
        self.passed = self.failed = 0
        self.kinds, self.endings, self.bad = {}, collections.Counter(), []

    def again(self, number):
        options = self.options
        kind = f" --kind {options.kind}" if options.kind else ""
        if options.errand_given:
            return f"tests/soak/soak.py 1 {options.seed} --errand {options.errand_given}{kind} --round {number}"
        preset = "" if options.preset == "release" else f" --preset {options.preset}"
        return f"./dev soak 1 {options.seed}{preset}{kind} --round {number}"

    def add(self, number, plan, seen, seconds):
        with self.lock:
            self.passed, self.failed = self.passed + (not seen.wrong), self.failed + bool(seen.wrong)
            row = self.kinds.setdefault(plan.kind, collections.Counter())
            row["rounds"] += 1
            row["runs"] += len(seen.codes)
            row["bad"] += bool(seen.wrong)
            row["seconds"], row["peak"] = max(row["seconds"], seen.slowest), max(row["peak"], seen.peak_kb)
            self.endings.update(seen.codes)
            print(f"{'FAIL' if seen.wrong else 'ok  '} round {number} of seed {self.options.seed}: {plan.label} "
                  f"-> {' '.join(map(str, seen.codes))}, {seconds:.1f} s{'; ' + seen.note if seen.note else ''}", flush=True)
            if seen.wrong:
                self.bad.append((number, plan.kind, seen.wrong[0]))
                print(*(f"    {problem}" for problem in seen.wrong[:SHOWN]), f"    again: {self.again(number)}", sep="\n", flush=True)

    def table(self, exits):
        print(f"\n{'kind':<10}{'rounds':>8}{'runs':>8}{'slowest':>10}{'peak':>10}{'violations':>12}")
        for kind, row in sorted(self.kinds.items()):
            print(f"{kind:<10}{row['rounds']:>8}{row['runs']:>8}{row['seconds']:>8.1f} s{row['peak'] // 1024:>6} MiB{row['bad']:>12}")
        print("\nendings")
        for code, count in sorted(self.endings.items()):
            print(f"{code:>5} {exits.get(code, 'killed'):<24}{count:>8}")
        if self.bad:
            print("\nviolations")
        for number, kind, problem in self.bad[:SHOWN]:
            print(f"  {kind}: {problem.splitlines()[0][:150]}\n      {self.again(number)}")
        if len(self.bad) > SHOWN:
            print(f"  and {len(self.bad) - SHOWN} more, each above")
        print(f"\nseed {self.options.seed}, {(time.monotonic() - self.begin) / 60:.1f} minutes")
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped", flush=True)


def soak(options, exits):
    """Rounds 1, 2, 3 …, as many at a time as there are cores, until the time is over."""
    tally, end = Tally(options), time.monotonic() + 60 * options.minutes
    taking, number = threading.Lock(), 0

    def take():
        nonlocal number
        with taking:
            number += 1
            if options.round:
                return options.round if number == 1 else None
            return number if time.monotonic() < end else None

    def work():
        while (mine := take()) is not None:
            begin, plan = time.monotonic(), rounds.plan_of(options.seed, mine, options.kind)
            tally.add(mine, plan, watch.play(plan, options, exits), time.monotonic() - begin)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    tally.table(exits)
    return 1 if tally.failed or not tally.passed else 0


def exit_codes(options):
    """{exit code: its name} of the program's own table."""
    said = subprocess.run([options.errand, "exit-codes", "-o", "json"], capture_output=True, check=True, timeout=60)
    return {row["exit_code"]: row["name"] for row in json.loads(said.stdout)["exits"]}


def main():
    parser = argparse.ArgumentParser(prog="./dev soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float, help="how long rounds are begun; one alone is not bound by it")
    parser.add_argument("seed", type=int, nargs="?", help="what the rounds follow from; one by chance where none is given")
    parser.add_argument("--preset", choices=("release", "debug", "asan", "tsan"), default="release", help="whose errand it is")
    parser.add_argument("--errand", type=pathlib.Path, dest="errand_given", help="another program, instead")
    parser.add_argument("--round", type=int, metavar="N", help="play this round alone")
    parser.add_argument("--kind", choices=sorted(rounds.KINDS), help="rounds of this kind alone")
    parser.add_argument("-j", "--jobs", type=int, default=max(2, len(os.sched_getaffinity(0))), help="rounds at a time")
    options = parser.parse_args()
    options.seed = random.SystemRandom().randrange(1, 10**6) if options.seed is None else options.seed
    options.errand = (options.errand_given or TOP / "build" / options.preset / "errand").resolve()
    options.sanitized, options.patience = options.preset in SANITIZED, PATIENCE.get(options.preset, 1)
    options.certificate, options.lacking = None, {}
    if not os.access(options.errand, os.X_OK):
        sys.exit(f"soak: there is no program {options.errand}; ./dev build makes it")
    options.fold = journal_fold_of(options.errand)
    with Scratch("soak") as options.scratch:
        own = options.scratch.path / "errand"  # a build that comes meanwhile changes nothing
        options.errand = pathlib.Path(shutil.copy(options.errand, own))
        ask_the_doctor(options)
        return soak(options, exit_codes(options))


if __name__ == "__main__":
    sys.exit(main())
