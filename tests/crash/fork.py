#!/usr/bin/env python3
"""Kills `errand fork` at every point: a fork is there with its name and its origin, or not at all.

    tests/crash/fork.py [--errand PATH] --points LIBRARY [-v]

LIBRARY (points.cpp) kills the process before each single thing that it does to the world outside. Whatever run the journal
has then beside the first one is of the name that was given to it and says where it comes from: the turns of the first one are
on no other bill."""
import argparse
import json
import pathlib
import sqlite3
import sys
import tempfile

sys.dont_write_bytecode = True
import run  # noqa: E402

TURN = 1


def forks_in(trial, first):
    """(id, name, turns it says that it was forked after) of each run but the first."""
    base = sqlite3.connect(trial.journal())
    try:
        for run_id, name in base.execute("select run_id, session from runs where run_id != ?", (first,)).fetchall():
            began = [json.loads(text) for text, in base.execute(
                "select json from events where run_id = ? and type = 'run.started' order by seq", (run_id,))]
            yield run_id, name, [one["forked_from"]["turn"] for one in began if one.get("forked_from")]
        without_row = base.execute("select count(*) from events where run_id not in (select run_id from runs)").fetchone()[0]
        assert without_row == 0, f"{without_row} events are of no run"
    finally:
        base.close()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--errand", type=lambda name: pathlib.Path(name).resolve(), default=pathlib.Path("build/release/errand").resolve())
    options.add_argument("--points", type=lambda name: pathlib.Path(name).resolve(), metavar="LIBRARY", required=True)
    options.add_argument("-v", "--verbose", action="store_true")
    options = options.parse_args()
    failed = kills = made = 0
    with tempfile.TemporaryDirectory(prefix="errand-crash-") as folder:
        trial = run.Trial(options.errand, "openai_chat", folder)
        first = trial.finish()["run_id"]
        known, point, code = set(), 0, -9
        while code == -9:
            point += 1
            name = f"fork {point}"
            process = trial.start(["fork", first, "--at", str(TURN), "--session", name],
                                  LD_PRELOAD=str(options.points), CRASH_AT=str(point))
            process.communicate(timeout=60)
            code = process.returncode
            kills += code == -9
            new = [one for one in forks_in(trial, first) if one[0] not in known]
            known |= {run_id for run_id, _, _ in new}
            made += len(new)
            wrong = [one for one in new if one[1:] != (name, [TURN])]
            failed += bool(wrong)
            if wrong or options.verbose:
                print(f"{'FAIL' if wrong else 'ok  '} CRASH_AT={point}: {new or 'nothing is left'}", flush=True)
        trial.close()
    print(f"{kills} kills, {made} forks")
    if code != run.PARKED or not 0 < made < kills:
        print(f"FAIL the kills: the last one ended with {code}")
        failed += 1
    print(f"{point - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
