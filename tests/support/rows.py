"""The main function of a suite that is a table of rows, each played by itself."""
import argparse
import concurrent.futures
import pathlib
import sys

from scratch import Scratch

DEFAULT_ERRAND = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "errand"


def main_over_rows(name, description, rows, play):
    """Plays those that the command line wants, and says how they went. `play(errand, scratch, name, row)` gives what is
    wrong, or None. The exit code."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only rows whose name has this")
    parser.add_argument("--every", metavar="N", type=int, default=1, help="one row of N")
    parser.add_argument("-j", "--jobs", type=int, default=4, help="rows at a time")
    parser.add_argument("-v", "--verbose", action="store_true", help="print all rows")
    parser.add_argument("--sanitized", action="store_true", help="the program is built with sanitizers, which take memory and time")
    options = parser.parse_args()
    rows = {key: row for key, row in rows.items() if options.k in key}
    if not rows:
        sys.exit(f"{name}: no row has `{options.k}` in its name")
    rows = dict(list(rows.items())[::options.every])
    errand, failed = options.errand.resolve(), 0
    with Scratch(name) as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        scratch.sanitized = options.sanitized
        for key, wrong in zip(rows, pool.map(lambda row: play(errand, scratch, *row), rows.items())):
            failed += wrong is not None
            if wrong or options.verbose:
                print(f"{'FAIL' if wrong else 'ok  '} {key}{': ' + wrong if wrong else ''}", flush=True)
    print(f"{len(rows) - failed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed else 0
