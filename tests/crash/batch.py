#!/usr/bin/env python3
"""Kills a batch five times and carries it on: each input ends once, whatever was under way.

    tests/crash/batch.py [--errand PATH] [--inputs N] [--kills N] [--seed N]

Each input is a run of two turns with a call that appends to a file; a server on a loopback port answers from the
request alone. After each kill (SIGKILL), at a random instant, the same command line goes on. In the end there is one
result line and one recorded ending for each input; no answer that was recorded is asked for again, no call that had
ended runs again; and of what the last process wrote nothing is missing."""
import argparse
import collections
import json
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from model import KeptAlive, Model, completion  # noqa: E402

PARALLEL = 4


class Asked(Model):
    def __init__(self):
        self.asked, self.lock = collections.Counter(), threading.Lock()
        super().__init__(self.say, KeptAlive)

    def say(self, request):
        item = next(one["content"] for one in request["messages"] if one["role"] == "user")
        turn = sum(one["role"] == "assistant" for one in request["messages"])
        with self.lock:
            self.asked[item, turn] += 1
        if turn:
            return completion({"role": "assistant", "content": f"Done with {item}."})
        return completion({"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "note", "arguments": json.dumps({"item": item})}}]})


class Batch:
    def __init__(self, options, folder):
        self.errand, self.inputs, self.model = options.errand.resolve(), options.inputs, Asked()
        self.work, home = pathlib.Path(folder) / "work", pathlib.Path(folder) / "home"
        self.work.mkdir()
        home.mkdir()
        self.home = home
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": folder, "TEST_KEY": "k"}
        (self.work / "agent.yaml").write_text(f"""version: 1
name: crash
model: {{name: local/m, protocol: openai_chat, base_url: "http://127.0.0.1:{self.model.server_port}/v1",
        api_key_env: TEST_KEY, stream: false, cost: {{input: 1, output: 2}}}}
tools:
  - name: note
    description: Notes the item.
    command: [sh, -c, "cat >>log"]
    parameters: {{type: object, properties: {{item: {{type: string}}}}}}
permissions: {{default: allow}}
""")
        (self.work / "in.txt").write_text("".join(f"item {at}\n" for at in range(1, self.inputs + 1)))

    def start(self):
        return subprocess.Popen([self.errand, "batch", "agent.yaml", "in.txt", "--session", "night", "-j", str(PARALLEL)],
                                cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill_after(self, news, seconds):
        """So many inputs after it went on where it was, and a moment. False: it was over before."""
        process = self.start()
        for line in process.stdout:
            news -= '"earlier":false' in line
            if news <= 0:
                break
        else:
            process.communicate()
            return False
        time.sleep(seconds)
        process.kill()
        process.communicate()
        return True

    def finish(self):
        process = self.start()
        out, err = process.communicate(timeout=600)
        if process.returncode != 0:
            raise SystemExit(f"exit code {process.returncode}: {err}")
        return [json.loads(line) for line in out.splitlines()]


def look(batch, results, kills):
    found = []
    indices = sorted(one["item"]["index"] for one in results)
    if indices != list(range(1, batch.inputs + 1)):
        found.append(f"{len(indices)} result lines, of {len(set(indices))} inputs of {batch.inputs}")
    for one in results:
        if one["exit_code"] != 0 or one["text"] != f"Done with item {one['item']['index']}." or one["turns"] != 2:
            found.append(f"input {one['item']['index']}: {one['exit_name']}, {one['turns']} turns, {one['text']!r}")
    base = sqlite3.connect(next(batch.home.rglob("journal.db")))
    integrity = base.execute("pragma integrity_check").fetchone()[0]
    names = collections.Counter(name for name, in base.execute("select session from runs"))
    endings = collections.Counter(
        name for name, in base.execute("select session from runs join events using (run_id) where type = 'run.finished'"))
    answered = collections.Counter(
        (name, json.loads(text)["turn"])
        for name, text in base.execute("select session, json from runs join events using (run_id) where type = 'model.responded'"))
    cut_off = {name for name, in base.execute(
        "select session from runs join events using (run_id) where json like '%tool.interrupted%'")}
    base.close()
    if integrity != "ok":
        found.append(f"the journal: {integrity}")
    wanted = {f"night#{at}": 1 for at in range(1, batch.inputs + 1)}
    if names != wanted:
        found.append(f"runs: {len(names)} names, {sum(names.values())} runs")
    if endings != wanted:
        found.append(f"endings: of {len(endings)} inputs, {sum(endings.values())} in all")
    if any(count != 1 for count in answered.values()) or len(answered) != 2 * batch.inputs:
        found.append(f"recorded answers: {sum(answered.values())} of {2 * batch.inputs}")
    asked_again = sum(batch.model.asked.values()) - 2 * batch.inputs
    if asked_again > kills * PARALLEL:
        found.append(f"{asked_again} requests were made again, with {kills} kills of {PARALLEL} runs at a time")
    noted = collections.Counter(re.findall(r'"item \d+"', (batch.work / "log").read_text()))
    for at in range(1, batch.inputs + 1):
        count = noted[f'"item {at}"']
        if count > 1 or (count == 0 and f"night#{at}" not in cut_off):
            found.append(f"the call of input {at} took effect {count} times")
    return found, asked_again, len(cut_off)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--errand", type=pathlib.Path, default=pathlib.Path("build/release/errand"))
    options.add_argument("--inputs", type=int, default=200)
    options.add_argument("--kills", type=int, default=5)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    chance, kills = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory(prefix="errand-crash-") as folder:
        batch = Batch(options, folder)
        for _ in range(options.kills):
            most = options.inputs // (options.kills + 1)
            kills += batch.kill_after(chance.randint(1, max(most, 1)), chance.uniform(0, 0.02))
        found, again, cut_off = look(batch, batch.finish(), kills)
        batch.model.shutdown()
        batch.model.server_close()
    print(f"{options.inputs} inputs, {kills} kills: {again} requests made again, {cut_off} calls cut off")
    for one in found:
        print(f"FAIL {one}")
    print(f"{0 if found else 1} passed, {1 if found else 0} failed, 0 skipped")
    return 1 if found or kills < options.kills else 0


if __name__ == "__main__":
    sys.exit(main())
