#!/usr/bin/env python3
"""Carries on what the end-to-end cases leave: every ending that the table of exit codes has.

    tests/e2e/carry_on.py [--errand PATH] [-k PATTERN]… [-j N] [-v]

Runs one variant of every case. Each run that is in a journal then is carried on with a new message, by a model that answers
`Carried on.`: where the table says that its ending can be carried on, it has to be; where it says that it cannot, the
command has to say so, and ask nobody. `resume_cmd` of the result has to say the same."""
import json
import re
import sqlite3
import subprocess
import sys
import threading

sys.dont_write_bytecode = True  # a test run leaves nothing in the source tree
import run  # noqa: E402

ANSWER = "version: 1\nreplies: [{text: Carried on., repeat: 1000}]\n"
# What the agent file of the case itself says no to, with or without a new message, or limits where no option is for it.
OWN_ENDINGS = ("hook_terminated", "guardrail_denied", "kill_switch", "sandbox", "no_input", "output_invalid",
               "token_budget", "tool_call_limit", "loop_detected", "cost_budget", "timeout", "signal_timeout")
# An older journal; a variable for one line of the case; settings that it breaks; secrets that it has in rules; no key; the run
# that it worked for is gone; a file of its agents, or a server, that the case has changed.
OWN_REFUSALS = ("kept no agent file", "the environment variable", "/errand/config.yaml:", "had a secret in it",
                "is in the working folder, where tools", "whose rights are not known", "is not what it was when the",
                "the MCP server `own` ended")
RUN_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # what is none is a case's own doing


class Tally:
    def __init__(self):
        self.lock, self.carried, self.refused = threading.Lock(), {}, {}

    def note(self, kind, name):
        with self.lock:
            kind[name] = kind.get(name, 0) + 1


def carried_on(world, checker, rows, tally):
    """Of each run that the case has left."""
    for file in filter(lambda file: file.is_file(), world.home.rglob("journal.db")):
        base = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)
        ends = dict(base.execute("select run_id, json from events where type = 'run.finished' order by seq"))
        last = dict(base.execute("select run_id, max(seq) from events group by run_id"))
        replies = dict(base.execute("select run_id, json from events where type = 'model.responded' order by seq"))
        runs = list(base.execute("select run_id from runs"))
        flows = {run_id for run_id, text in base.execute(
            "select run_id, json from events where type = 'run.started'") if json.loads(text)["plan"].get("flow")}
        base.close()
        for run_id, in runs:
            if not RUN_ID.fullmatch(run_id):
                continue
            end = json.loads(ends[run_id]) if run_id in ends else None
            result = end["result"] if end and end["seq"] == last[run_id] else None
            has_answer = run_id in replies and not json.loads(replies[run_id]).get("tool_calls")
            judge(world, checker, rows, tally, file, run_id, result, has_answer, run_id in flows)


def judge(world, checker, rows, tally, file, run_id, result, has_answer, is_flow):
    """A flow goes on without a message, and has no turns of its own; one that is well has nothing left to do."""
    row = rows[result["exit_code"]] if result else {"name": "interrupted", "resumable": "yes"}
    is_resumable = (row["name"] == "ok" and not is_flow) or row["resumable"] in ("yes", "maybe")
    if is_flow and result and not result["resume_cmd"] and all(
            member.get("exit_code") is not None for member in result.get("members", ())):
        return  # all of its steps have ended, by `on_error: continue`: there is nothing to carry on
    if result and bool(result["resume_cmd"]) != is_resumable and world.server.requests:  # else it was imported
        checker.fail(f"{run_id} ended as {row['name']}, and `resume_cmd` is {result['resume_cmd']!r}")
    # Its answer could not be written to its reader, and the journal has it.
    is_resumable = is_resumable or (row["name"] == "storage" and has_answer)
    script = world.tmp / "carried-on.yaml"
    script.write_text(ANSWER)
    environment = {name: value for name, value in world.environment(world.case.steps[-1]).items()
                   if not name.startswith("ERRAND_")}
    of_a_run = [] if is_flow else ["--max-turns", "1000"]
    done = subprocess.run(
        [world.options.errand, "resume", run_id, *([] if is_flow else ["And now?"]), "--store", file, "-m",
         f"replay/{script}", "-o", "json", *of_a_run, "--timeout", "20s", *(["--max-cost", "1000"] if row["name"] == "cost_budget" else [])],
        cwd=world.work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    said = json.loads(done.stdout) if done.stdout.startswith("{") else None
    where = f"{run_id} ended as {row['name']}, and was carried on: "
    if said is None or said["exit_code"] != done.returncode:
        checker.fail(f"{where}exit code {done.returncode}, {done.stdout!r:.300} {done.stderr!r:.500}")
    elif is_resumable and done.returncode == 0:
        answers = ("Carried on.", "") if is_flow else ("Carried on.",)  # commands have none
        if said["run_id"] != run_id or said["text"] not in answers:
            checker.fail(f"{where}{said!r:.400}")
        tally.note(tally.carried, row["name"])
    elif done.returncode == 2 and "has handed its conversation over" in done.stderr:
        tally.note(tally.refused, "handed over")  # the other agent's run has it, and is carried on in its turn
    elif any(words in done.stderr for words in OWN_REFUSALS):
        pass
    elif is_flow and "nothing of it is left to do" in done.stderr and is_resumable:
        pass  # a flow of a flow, which was carried on with that one
    elif is_resumable and said["exit_name"] not in (row["name"], *OWN_ENDINGS):
        checker.fail(f"{where}{said['exit_name']} {done.stderr!r:.600}")
    elif not is_resumable and (done.returncode != 2 or f"ended as {row['name']}" not in done.stderr):
        checker.fail(f"{where}exit code {done.returncode} {done.stderr!r:.400}")
    elif not is_resumable:
        tally.note(tally.refused, row["name"])


def try_case(case, options, rows, tally):
    def afterwards(world, checker):
        if not checker.wrong:
            carried_on(world, checker, rows, tally)
    one = None if case.mistakes else case.variants()[:1]  # how a run ended is the same in all
    return run.run_case(case, options, afterwards, one)


def try_all(chosen, options):
    rows, tally = run.exit_rows(options), Tally()

    def summary():
        for what, kind in (("carried on", tally.carried), ("refused", tally.refused)):
            yield f"{what}: " + ", ".join(f"{name} {count}" for name, count in sorted(kind.items()))
    return run.run_and_count(chosen, lambda case: try_case(case, options, rows, tally), options, summary)


if __name__ == "__main__":
    sys.exit(run.main_over_cases(__doc__, try_all))
