#!/usr/bin/env python3
"""Work that grows with what it is about, and memory with what an answer holds: no run here is held against a clock.

    tests/e2e/growth.py [--errand PATH] [-k PATTERN] [-v]

Each row is run twice, the second time with eight times as much. Its CPU time may become 24 times as long; what is
quadratic takes 64 times. Of a large answer memory may hold so many copies, above what a run takes anyway."""
import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import server as scripted  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
TIMES, MOST, ATTEMPTS, LEAST_S = 8, 24, 3, 0.05

AGENT = """version: 1
name: growth
model: {model}
sandbox: {{required: []}}
limits: {{max_tool_calls: 1000000, max_turns: 1000000, max_repeat_calls: 1000000, timeout: 10m}}
permissions: {{default: allow}}
tools: [list_directory, read_file, write_file, edit_file, {{name: note, description: Notes., command: ["true"],
  parameters: {{type: object, properties: {{a: {{type: string}}}}}}}}]
"""
REPLAY = "replay/script.yaml"
VARIABLES = "variables"  # is no file: they are set


def script(replies):
    return "version: 1\nreplies:\n" + "".join(f"  - {json.dumps(reply)}\n" for reply in replies)


def calls_of_one_reply(count):
    yield "script.yaml", script([{"tool_calls": [{"list_directory": {"path": "."}}] * count}, "Done."])


def calls_that_cannot_run(count):
    yield "script.yaml", script([{"tool_calls": [{"nobody": {"at": at}} for at in range(count)]}, "Done."])


def calls_with_bad_arguments(count):
    yield "script.yaml", script([{"tool_calls": [{"note": {"a": at}} for at in range(count)]}, "Done."])


def commands_of_one_reply(count):
    yield "script.yaml", script([{"tool_calls": [{"note": {}}] * count}, "Done."])


def turns(count):
    yield "script.yaml", script([{"text": f"Step {at}.", "tool_calls": [{"list_directory": {"path": "."}}]}
                                 for at in range(count)] + ["Done."])


def keys_of_a_call(count):
    yield "script.yaml", script([{"tool_calls": [{"note": {f"k{at}": at for at in range(count)}}]}, "Done."])


def near_miss(size):
    yield "big.txt", "a" * (size * 20)
    yield "script.yaml", script([
        {"tool_calls": [{"read_file": {"path": "big.txt", "limit": 1}}]},
        {"tool_calls": [{"edit_file": {"path": "big.txt", "old_string": "a" * size + "b" + "a" * size,
                                       "new_string": "c"}}]}, "Done."])


def folders_on_the_way(count):
    yield "script.yaml", script([{"tool_calls": [{"write_file": {"path": "d/" * count + "x", "content": "y"}}]}, "Done."])


def keys_that_a_guardrail_takes_out(count):
    yield "agent.yaml", AGENT.format(model=REPLAY) + "guardrails: {output: [{pattern: k, action: redact}]}\n"
    yield "script.yaml", script([json.dumps({f"k{at}": at for at in range(count)})])


def members_that_wait(count):
    items = {"type": "object", "properties": {"all": {"type": "array", "items": {"type": "string"}}},
             "required": ["all"], "additionalProperties": False}
    most = 16  # of a step, side by side
    steps = "".join(f"  - {{name: each{at}, agent: each.yaml, for_each: plan.output.all, max_parallel: {most}, needs: [plan]}}\n"
                    for at in range(count // most))
    yield "agent.yaml", f"""version: 1
name: growth
sandbox: {{mode: "off"}}
steps:
  - {{name: plan, prompt: x, agent: plan.yaml}}
{steps}"""
    yield "plan.yaml", f"version: 1\nname: plan\nmodel: replay/items.yaml\noutput: {{schema: {json.dumps(items)}}}\n"
    yield "items.yaml", script([json.dumps({"all": [f"item {at}" for at in range(most)]})])
    yield "each.yaml", AGENT.format(model=REPLAY).replace("default: allow", "ask: [list_directory]") + "prompt: go\n"
    yield "script.yaml", script([{"tool_calls": [{"list_directory": {"path": "."}}]}, "Done."])


def agents_beside_it(count):
    for at in range(count):
        others = "".join(f"  b{other}: a{other}.yaml\n" for other in range(count) if other != at)
        yield f"a{at}.yaml", f"version: 1\nname: a{at}\nmodel: {REPLAY}\nsub_agents:\n{others}"
    yield "script.yaml", script(["Done."])


def names_in_a_prompt(count):
    yield "agent.yaml", f"""version: 1
name: growth
steps:
  - {{name: x, agent: each.yaml, prompt: go}}
  - {{name: y, agent: each.yaml, prompt: "{'{{ x.text }}' * count}"}}
"""
    yield "each.yaml", AGENT.format(model=REPLAY)
    yield "script.yaml", script(["Done."])


def guardrails(count):
    patterns = "".join(f"    - {{pattern: foo{at}x, action: warn}}\n" for at in range(count))
    yield "agent.yaml", AGENT.format(model=REPLAY) + f"guardrails:\n  output:\n{patterns}"
    yield "script.yaml", script(["Done."])


def secret_variables(count):
    yield VARIABLES, json.dumps({f"X{at}_TOKEN": hashlib.sha256(str(at).encode()).hexdigest() for at in range(count)})
    yield "script.yaml", script([{"tool_calls": [{"list_directory": {"path": "."}}]}, "Done."])


# What makes the files, of how much of it; and what is measured, where it comes after a run that ends with 92.
ROWS = {"calls of one reply": (calls_of_one_reply, 1_000), "calls that cannot run": (calls_that_cannot_run, 4_000),
        "calls with bad arguments": (calls_with_bad_arguments, 4_000), "commands of one reply": (commands_of_one_reply, 100),
        "turns": (turns, 250), "keys of a call": (keys_of_a_call, 10_000), "a near-miss in a file": (near_miss, 20_000),
        "folders on the way to a file": (folders_on_the_way, 40),
        "keys that a guardrail takes out": (keys_that_a_guardrail_takes_out, 10_000),
        "agents beside it that call each other": (agents_beside_it, 8),
        "names in a prompt": (names_in_a_prompt, 5_000),
        "guardrails": (guardrails, 400), "secret variables": (secret_variables, 500),
        "members that wait": (members_that_wait, 32, ["runs", "pending"])}
# By protocol: MiB of an answer, and how many copies memory may hold of its text and of a call's arguments. Responses
# streams all of it three times, twice of them in one event; the parts of Gemini's are kept as they came, beside the
# calls.
ANSWER_MIB = {"anthropic_messages": (28, 4.4, 7.5), "openai_chat": (28, 4.4, 7.5), "openai_responses": (10, 11, 11),
              "gemini": (28, 4.4, 8.5), "ollama": (28, 4.4, 7.5), "bedrock": (28, 4.4, 7.5)}
ANSWERS = [(protocol, streamed, what, form) for protocol in ANSWER_MIB for streamed in (True, False)
           for what in ("text", "arguments") for form in ("text", "json", "jsonl")]


# A process of its own starts the runs: the peak of what starts a program counts as the program's.
STARTER = """
import json, os, subprocess, sys
for line in sys.stdin:
    command, work, env = json.loads(line)
    child = subprocess.Popen(command, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime, used.ru_maxrss / 1024]), flush=True)
"""


starter = subprocess.Popen([sys.executable, "-c", STARTER], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def run(errand, folder, files, form, then):
    """(exit code, CPU seconds of errand itself, peak of memory in MiB), of the run or of what comes after it"""
    work, home = (pathlib.Path(folder) / name for name in ("work", "home"))
    work.mkdir()
    home.mkdir()
    files = dict(files)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(folder), **json.loads(files.pop(VARIABLES, "{}"))}
    for name, text in files.items():
        (work / name).write_text(text)

    def ended(words):
        starter.stdin.write(json.dumps([[str(errand), *words], str(work), env]) + "\n")
        starter.stdin.flush()
        return json.loads(starter.stdout.readline())
    found = ended(["run", "-o", form, "agent.yaml", "go"])
    return ended(then) if then and found[0] == 92 else found


def measured(errand, scratch, files, form="text", then=()):
    with tempfile.TemporaryDirectory(dir=scratch.path) as folder:
        found = run(errand, folder, files, form, then)
        scratch.hold()
    return found


def grows(errand, scratch, make, count, then=()):
    """(what is printed, what is wrong or None)"""
    for _ in range(ATTEMPTS):
        times = []
        for size in (count, TIMES * count):
            files = [("agent.yaml", AGENT.format(model=REPLAY)), *make(size)]
            code, seconds, _ = measured(errand, scratch, files, then=then)
            if code != 0:
                return "", f"exit code {code}"
            times.append(seconds)
        text = f"{times[0]:.2f} s, {TIMES} times as much {times[1]:.2f} s"
        if times[1] < MOST * max(times[0], LEAST_S):
            return text, None
    return text, "its CPU time grows faster than the work"


def holds(errand, scratch, *row):
    """Which thread frees first differs from run to run: what is held every time is what counts."""
    for _ in range(3):
        text, wrong = holds_once(errand, scratch, *row)
        if wrong is None:
            break
    return text, wrong


def holds_once(errand, scratch, protocol, streamed, what, form):
    mib, *most = ANSWER_MIB[protocol]
    most = most[what == "arguments"]
    size = mib << 20
    answer = {"text": {"size": size}, "arguments": {"tools": [{"name": "note", "arguments": {"a": "x" * size}}]}}
    peaks = []
    for steps in ([{"text": "Hi."}], [answer[what], {"text": "Done."}][:2 if what == "arguments" else 1]):
        server = scripted.Server({"reply": steps})
        base = server.url + ("" if protocol in ("ollama", "bedrock") else "/v1")
        model = f"{{name: local/m, protocol: {protocol}, base_url: {base}, stream: {str(streamed).lower()}}}"
        code, _, peak = measured(errand, scratch, [("agent.yaml", AGENT.format(model=model))], form)
        server.close()
        if code != 0:
            return "", f"exit code {code}"
        peaks.append(peak)
    copies = (peaks[1] - peaks[0]) / mib
    return (f"{peaks[1]:.0f} MiB, {copies:.1f} times the answer",
            None if copies <= most else f"memory holds the answer more than {most} times")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only rows whose name has this")
    parser.add_argument("-v", "--verbose", action="store_true", help="print all rows")
    options = parser.parse_args()
    errand = options.errand.resolve()
    rows = [(name, lambda scratch, row=row: grows(errand, scratch, *row)) for name, row in ROWS.items()]
    rows += [(f"an answer: {what} {'streamed' if streamed else 'in one piece'}, {protocol}, -o {form}",
              lambda scratch, row=(protocol, streamed, what, form): holds(errand, scratch, *row))
             for protocol, streamed, what, form in ANSWERS]
    rows = [row for row in rows if options.k in row[0]]
    if not rows:
        sys.exit(f"growth: no row has `{options.k}` in its name")
    failed = 0
    with Scratch("growth") as scratch:
        for name, judge in rows:
            text, wrong = judge(scratch)
            failed += wrong is not None
            if wrong or options.verbose:
                print(f"{'FAIL' if wrong else 'ok  '} {name}: {text}", flush=True)
            if wrong:
                print(f"    {wrong}")
    print(f"{len(rows) - failed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
