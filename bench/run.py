#!/usr/bin/env python3
"""Measures errand beside a minimal libcurl program: the same bodies to the same loopback server, the
same commands between them, in turn A B A B. It asserts nothing of what it measures; what cannot be measured
is said, and ends it with 1.

    bench/run.py [--build DIR] [--pairs N] [--long TURNS]
    bench/run.py --smoke        # the least of each, in seconds: whether it can be measured"""
import argparse
import base64
import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(SOURCE / "tests" / "support"))
from scratch import Scratch  # noqa: E402

AGENT = """version: 1
name: bench
model: {{name: local/m, protocol: openai_chat, base_url: "{url}"}}
instructions: You are measured.
tools: [shell]
limits: {{max_repeat_calls: unlimited}}
"""
REPLAY_AGENT = """version: 1
name: bench
model: replay/bench.replay.yaml
tools: [shell]
limits: {max_repeat_calls: unlimited}
"""


class Run:
    def __init__(self, line):
        wall, user, system, peak = map(int, line.split())
        self.wall_ms, self.cpu_ms, self.peak_mb = wall / 1e6, (user + system) / 1e6, peak / 1024


class Bench:
    def __init__(self, options):
        self.build, self.pairs = options.build.resolve(), options.pairs
        self.scratch = Scratch("bench")
        self.folder, home = self.scratch.path / "work", self.scratch.path / "home"
        self.folder.mkdir()
        home.mkdir()
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
        self.servers = []
        self.quiet = os.open("/dev/null", os.O_RDWR)
        self.server = self.serve()

    def serve(self, *arguments):
        process = subprocess.Popen([self.build / "bench_server", *arguments], stdout=subprocess.PIPE, text=True,
                                   env=self.env)
        self.servers.append(process)
        return process.stdout.readline().strip()

    def close(self):
        for process in self.servers:
            process.kill()
            process.wait()
        self.scratch.close()

    def agent(self, port, turns):
        file = self.folder / f"agent-{port}-{turns}.yaml"
        file.write_text(AGENT.format(url=f"http://127.0.0.1:{port}/{turns}"))
        return file

    def errand(self, agent, *options):
        return [str(self.build / "errand"), "run", str(agent), "go", "-o", "json", *options]

    def record(self, turns):
        """The bodies of one errand run, for the baseline to send."""
        file = self.folder / f"bodies-{turns}"
        if not file.exists():
            port = self.serve(file)
            self.run(self.errand(self.agent(port, turns)))
        return file

    def baseline(self, turns, *marks):
        return [str(self.build / "bench_baseline"), f"http://127.0.0.1:{self.server}/{turns}/chat/completions",
                str(self.record(turns)), *map(str, marks)]

    def run(self, command):
        done = subprocess.run([self.build / "bench_measure", *command], env=self.env, stdout=subprocess.PIPE,
                              text=True, cwd=self.folder)
        if done.returncode != 0:
            raise SystemExit(f"bench: exit code {done.returncode}: {' '.join(command)}")
        return Run(done.stdout)

    def compare(self, title, ours, theirs, pairs=None):
        """A B A B after one warm-up each: medians, and the ratio pair by pair."""
        self.run(ours)
        self.run(theirs)
        couples = [(self.run(ours), self.run(theirs)) for _ in range(pairs or self.pairs)]
        for name, unit in (("wall_ms", "ms"), ("cpu_ms", "ms CPU"), ("peak_mb", "MB peak")):
            a = [getattr(one, name) for one, _ in couples]
            b = [getattr(other, name) for _, other in couples]
            ratios = sorted(x / y for x, y in zip(a, b) if y)
            if not ratios:
                continue
            line = (f"{title if name == 'wall_ms' else '':<34}{statistics.median(a):>10.2f} {unit:<8}"
                    f"{statistics.median(b):>10.2f} {unit:<8}"
                    f"{statistics.median(ratios):>7.2f}× ({ratios[0]:.2f} to {ratios[-1]:.2f})")
            print(line, flush=True)


def cpu_of(pid):
    """Nanoseconds of all live threads."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (OSError, IndexError):
            pass
    return total


def errand_marks(bench, command, marks):
    """CPU and wall time of errand itself (not of its tools) at the start of those turns."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=bench.quiet, env=bench.env, stdin=bench.quiet)
    found = {}
    for line in process.stdout:
        if b'"type":"turn.started"' in line:
            turn = json.loads(line)["turn"]
            if turn in marks:
                found[turn] = (cpu_of(process.pid) / 1e6, time.perf_counter() * 1000)
    if process.wait() != 0:
        raise SystemExit(f"bench: exit code {process.returncode}: {' '.join(command)}")
    return found


def baseline_marks(bench, turns, marks):
    done = subprocess.run(bench.baseline(turns, *marks), env=bench.env, stdout=subprocess.PIPE, text=True, check=True)
    return {int(turn): (int(cpu) / 1e6, 0) for turn, cpu in (line.split() for line in done.stdout.splitlines())}


def per_turn(found, window, column):
    first, last = window
    return (found[last][column] - found[first][column]) / (last - first)


def long_run(bench, turns):
    """What a turn costs early and late. The baseline's growth is what the longer bodies cost."""
    width = min(50, turns // 4)
    windows = [(10, 10 + width), (turns // 2, turns // 2 + width), (turns - width, turns)]
    marks = sorted({mark for window in windows for mark in window})
    agent = bench.agent(bench.server, turns)
    bodies = bench.record(turns).stat().st_size
    script = bench.folder / "bench.replay.yaml"
    script.write_text("version: 1\nreplies:\n" + "".join(
        f"  - tool_calls: [{{shell: {{command: echo {turn}}}}}]\n" for turn in range(1, turns + 1)) + "  - Done.\n")
    replay = bench.folder / "replay.yaml"
    replay.write_text(REPLAY_AGENT)
    rows = {
        "errand": errand_marks(bench, bench.errand(agent)[:4] + ["-o", "jsonl"], marks),
        "errand, --no-session": errand_marks(bench, bench.errand(agent)[:4] + ["-o", "jsonl", "--no-session"], marks),
        "errand, replay (no bodies)": errand_marks(bench, bench.errand(replay)[:4] + ["-o", "jsonl"], marks),
        "baseline": baseline_marks(bench, turns, marks),
    }
    print(f"\nCPU of a turn in ms, its tool's process not counted, in one run of {turns} turns "
          f"({bodies / 1e6:.0f} MB sent)\n")
    print(f"{'':<34}" + "".join(f"{f'turns {first}–{last}':>18}" for first, last in windows) + f"{'late / early':>15}")
    for name, found in rows.items():
        costs = [per_turn(found, window, 0) for window in windows]
        print(f"{name:<34}" + "".join(f"{cost:>18.3f}" for cost in costs) + f"{costs[-1] / costs[0]:>14.2f}×", flush=True)


def answers(bench):
    """(protocol, where it comes from, file): the largest recorded stream of each where recordings lie
    beside the checkout, else one that the end-to-end tests' own server would send."""
    sys.path.insert(0, str(SOURCE / "tests" / "e2e"))
    import dialects
    own = {"anthropic_messages": dialects.Anthropic, "bedrock": dialects.Bedrock, "gemini": dialects.Gemini,
           "ollama": dialects.Ollama, "openai_chat": dialects.OpenaiChat, "openai_responses": dialects.OpenaiResponses}

    class Words(dialects.Reply):
        def text_pieces(self):
            return [self.text[at:at + 16] for at in range(0, len(self.text), 16)]

    recorded = {}
    for expected in (SOURCE.parent / "shared" / "recordings").rglob("*.expected.json"):
        about = json.loads(expected.read_text())
        if about["outcome"] != "ok" or not about["stream"]:
            continue
        response = json.loads(expected.with_name(expected.name.replace(".expected", "")).read_text())["response"]
        body = (base64.b64decode(response["body_base64"]) if "body_base64" in response
                else response.get("body_text", "").encode())
        protocol = about["dialect"].replace("-", "_").replace("ollama_chat", "ollama").replace("bedrock_converse", "bedrock")
        recorded[protocol] = max(recorded.get(protocol, b""), body, key=len)
    for protocol, dialect in own.items():
        script = {"text": "lorem ipsum " * 20_000, "tools": [{"name": "f", "arguments": {"text": "dolor " * 2_000}}]}
        stream = b"".join(dialect.event(kind, data) for kind, data in dialect.events(Words(script), 1))
        for source, body in (("recorded", recorded.get(protocol)), ("made", stream)):
            if body:
                file = bench.folder / f"{protocol}-{source}"
                file.write_bytes(body)
                yield protocol, source, file


def decoding(bench, seconds):
    print(f"\n{'reading answers':<34}{'MB/s':>10}{'KB a body':>12}\n")
    for protocol, source, file in answers(bench):
        done = subprocess.run([bench.build / "bench_decode", protocol, file, str(seconds)], stdout=subprocess.PIPE,
                              text=True, check=True)
        speed, size = done.stdout.split()
        print(f"{protocol + ', ' + source:<34}{speed:>10}{int(size) / 1000:>12.0f}", flush=True)


def concurrent_replays(bench, runs):
    done = subprocess.run([bench.build / "bench_replays", str(runs)], stdout=subprocess.PIPE, text=True, cwd=bench.folder)
    well, memory, cpu, wall = done.stdout.split()
    print(f"\n{runs} replays at once in one process, two turns and a tool call each: {well} ended well; "
          f"{memory} KB and {cpu} ms CPU a run, {wall} ms in all")
    if int(well) != runs:
        raise SystemExit(f"bench: of {runs} replays {well} ended well")


def batches(bench, inputs, parallel=4):
    """One process for all inputs, and xargs with a process each."""
    (bench.folder / "bench.replay.yaml").write_text("version: 1\nreplies:\n  - tool_calls: [{shell: {command: 'true'}}]\n"
                                                    "  - text: Done.\n")
    agent, file = bench.folder / "replayed.yaml", bench.folder / "inputs.txt"
    agent.write_text(REPLAY_AGENT + "permissions: {default: allow}\n")
    file.write_text("".join(f"Input {at}\n" for at in range(inputs)))
    errand = bench.build / "errand"
    print(f"\n{f'{inputs} inputs, {parallel} at a time':<34}{'errand batch':<19}{'xargs, a run each':<19}")
    for title, option in (("a call each", ""), ("without the sandbox", "--sandbox off"),
                          ("and without a session", "--sandbox off --no-session")):
        ours = f"{errand} batch -q -j{parallel} {option} {agent} {file} >/dev/null"
        theirs = f"xargs -a {file} -d '\\n' -P{parallel} -n1 {errand} run -q {option} {agent} >/dev/null"
        bench.compare(title, ["/bin/sh", "-c", ours], ["/bin/sh", "-c", theirs], max(bench.pairs // 5, 1))


def batch_memory(bench, few, many):
    peaks = []
    for inputs in (few, many):
        file = bench.folder / "many.txt"
        file.write_text("".join(f"Input {at}\n" for at in range(inputs)))
        peaks.append((inputs, bench.run(["/bin/sh", "-c", f"exec {bench.build / 'errand'} batch -q {bench.folder / 'replayed.yaml'} "
                                         f"{file} --sandbox off >/dev/null"])))
    print("a batch of " + "; of ".join(f"{inputs} inputs: {run.peak_mb:.0f} MB, {run.wall_ms / 1000:.1f} s" for inputs, run in peaks))


def flow_members(bench, many):
    """What a member of a flow costs: a flow of one, and of many, 64 side by side, each a run over a replay."""
    (bench.folder / "member.replay.yaml").write_text("version: 1\nreplies: [Done.]\n")
    (bench.folder / "member.yaml").write_text("version: 1\nname: member\nmodel: replay/member.replay.yaml\nprompt: Go.\n")
    errand, found = str(bench.build / "errand"), {}
    for members in (1, many):
        file = bench.folder / f"flow-{members}.yaml"
        file.write_text(f"version: 1\nname: flow\nsteps:\n  - {{name: list, run: seq {members}}}\n"
                        "  - {name: each, agent: member.yaml, for_each: list.lines, max_parallel: 64}\n")
        for option in ((), ("--no-session",)):
            runs = [bench.run([errand, "run", "-q", "-o", "json", "--output-file", "/dev/null", str(file), *option])
                    for _ in range(max(bench.pairs // 5, 1))]
            found[members, option] = [statistics.median(getattr(run, name) for run in runs)
                                      for name in ("wall_ms", "cpu_ms", "peak_mb")]
    print()
    for option, title in (((), "kept"), (("--no-session",), "not kept")):
        (_, few_cpu, few_mb), (wall, cpu, mb) = found[1, option], found[many, option]
        print(f"a flow of {many} members, each {title}: {wall / 1000:.2f} s, {mb:.0f} MB; a member more: "
              f"{(cpu - few_cpu) / (many - 1):.3f} ms CPU, {(mb - few_mb) * 1024 / (many - 1):.1f} KB", flush=True)


def sandbox(bench):
    """What a program that a tool starts costs, confined and not, in turn in one process."""
    done = subprocess.run([bench.build / "bench_spawn_cost"], stdout=subprocess.PIPE, text=True, check=True)
    plain, direct, served, confined, ratio, least, most, first = done.stdout.split()
    print(f"\n{'starting /bin/true, in us':<34}{'sandboxed':<19}{'beside it':<19}\n")
    for name, other, how in (("beside no sandbox", served, f"{ratio:>6}× ({least} to {most})"),
                             ("beside a shim for each call", direct, f"{float(confined) / float(direct):>6.2f}×"),
                             ("beside posix_spawn", plain, f"{float(confined) / float(plain):>6.2f}×")):
        print(f"{name:<34}{confined:>10}{'':<9}{other:>10}{'':<9}{how}", flush=True)
    print(f"to set the sandbox up: {first} us")


def recorded_run(bench, name, turns):
    """(agent file, journal, id) of one run of that many turns with a tool call each, in a journal of its own."""
    script, agent = bench.folder / f"{name}.replay.yaml", bench.folder / f"{name}.yaml"
    script.write_text("version: 1\nreplies:\n" + "".join(
        f"  - tool_calls: [{{shell: {{command: echo {turn}}}}}]\n" for turn in range(1, turns)) + "  - Done.\n")
    agent.write_text(REPLAY_AGENT.replace("bench.replay", f"{name}.replay") +
                     f"session: {{store: {name}.db}}\n")
    done = subprocess.run([*bench.errand(agent)[:4], "-o", "json"], env=bench.env, cwd=bench.folder,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    (bench.folder / "done.replay.yaml").write_text("version: 1\nreplies: [{text: Done., repeat: 10000}]\n")
    return agent, bench.folder / f"{name}.db", json.loads(done.stdout)["run_id"]


def resumed(bench, agent, journal, run):
    return [str(bench.build / "errand"), "resume", run, "-q", "and now", "--agent", str(agent), "-m",
            f"replay/{bench.folder}/done.replay.yaml", "--store", str(journal)]


def recorded_runs(bench, count, long_turns, turns=8):
    """Looking at runs and carrying them on, beside sqlite3 with the same rows."""
    agent, journal, run = recorded_run(bench, "many", turns)
    base = sqlite3.connect(journal)
    events = base.execute("SELECT seq, time, type, json FROM events ORDER BY seq").fetchall()
    row = base.execute("SELECT * FROM runs").fetchone()
    place = [column[1] for column in base.execute("PRAGMA table_info(runs)")].index("run_id")
    with base:
        for number in range(count - 1):
            copy = f"{run[:24]}{number:012x}"
            base.executemany("INSERT INTO events(run_id, seq, time, type, json) VALUES(?, ?, ?, ?, ?)",
                             [(copy, seq, time, kind, text.replace(run, copy)) for seq, time, kind, text in events])
            base.execute(f"INSERT INTO runs VALUES({', '.join('?' * len(row))})",
                         [*row[:place], copy, *row[place + 1:]])
    base.close()
    print(f"\n{f'of {count} runs, {len(events)} events each':<34}{'errand':<19}{'sqlite3':<19}\n")
    bench.compare("errand runs list", [str(bench.build / "errand"), "runs", "list", "--store", str(journal)],
                  ["sqlite3", str(journal), f"SELECT * FROM runs WHERE cwd = '{bench.folder}' ORDER BY begun DESC LIMIT 50"])
    some = f"{run[:24]}{count // 2:012x}"
    bench.compare("errand resume", resumed(bench, agent, journal, some),
                  ["sqlite3", str(journal), f"SELECT json FROM events WHERE run_id = '{some}' ORDER BY seq"])
    agent, journal, run = recorded_run(bench, "long", long_turns)
    bench.compare(f"resume, export of {long_turns} turns", resumed(bench, agent, journal, run),
                  [str(bench.build / "errand"), "runs", "export", run, "--store", str(journal)])


def mcp_run(bench, name, servers, calls, *options):
    """A replay that calls the one tool of the first server so often, a turn each."""
    (bench.folder / f"{name}.replay.yaml").write_text(json.dumps(
        {"version": 1, "replies": [{"tool_calls": [{"mcp__s0__f": {}}]}] * calls + ["Done."]}))
    agent = bench.folder / f"{name}.yaml"
    agent.write_text(json.dumps({
        "version": 1, "name": "bench", "model": f"replay/{name}.replay.yaml", "permissions": {"default": "allow"},
        "limits": {"max_repeat_calls": "unlimited", "max_turns": calls + 1},
        "mcp_servers": {f"s{at}": {"command": str(bench.build / "bench_mcp"), "args": ["serve", str(delay)]}
                        for at, delay in enumerate(servers)}}))
    return bench.errand(agent, *options)


def mcp(bench, calls, slow_ms):
    """Calls beside a raw client of the same server; ten servers that are slow to start beside one."""
    program = str(bench.build / "bench_mcp")
    print(f"\n{'MCP on pipes':<34}{'errand':<19}{'raw client':<19}\n")
    for title, options in ((f"{calls} calls, a turn each", ()), ("and without a session", ("--no-session",))):
        bench.compare(title, mcp_run(bench, "mcp", [0], calls, *options), [program, "call", str(calls), program, "serve"])
    few, many = (statistics.median(bench.run(mcp_run(bench, "mcp", [0], count, "--no-session")).wall_ms
                                   for _ in range(bench.pairs)) for count in (0, calls))
    raw = [statistics.median(bench.run([program, "call", str(count), program, "serve"]).wall_ms
                             for _ in range(bench.pairs)) for count in (0, calls)]
    print(f"one call more: {(many - few) / calls:.3f} ms, of the raw client {(raw[1] - raw[0]) / calls:.3f} ms")
    bench.compare(f"ten servers that need {slow_ms} ms, one", mcp_run(bench, "ten", [slow_ms] * 10, 0),
                  mcp_run(bench, "one", [slow_ms], 0))


def beside_curl(bench):
    bench.compare("errand --version, curl --version", [str(bench.build / "errand"), "--version"],
                  [shutil.which("curl"), "--version"], bench.pairs * 3)


def beside_the_baseline(bench, turns):
    what = f"{turns} turns, a tool call each" if turns else "one turn"
    for title, options in ((what, ()), (what.split(",")[0] + ", --no-session", ("--no-session",))):
        bench.compare(title, bench.errand(bench.agent(bench.server, turns), *options), bench.baseline(turns))


def parts_of(options):
    """(function, its arguments behind the bench)"""
    few = options.smoke
    turns, replays, runs, long_turns, inputs, many = (
        (5, 20, 20, 20, 8, (10, 20)) if few else (100, 1000, 10_000, 1000, 200, (1000, 10_000)))
    yield beside_curl,
    yield beside_the_baseline, 0
    yield beside_the_baseline, turns
    yield sandbox,
    yield decoding, 0 if few else 1
    yield concurrent_replays, replays
    yield flow_members, 20 if few else 1000
    yield mcp, *((5, 50) if few else (200, 300))
    yield recorded_runs, runs, long_turns
    yield batches, inputs
    yield batch_memory, *many
    if options.long:
        yield long_run, 40 if few else options.long


def give_up(*_):
    raise TimeoutError("it took too long")


def measure(bench, options):
    """How many parts cannot be measured."""
    signal.signal(signal.SIGALRM, give_up)
    passed = failed = 0
    for part, *arguments in parts_of(options):
        try:
            signal.alarm(20 if options.smoke else 1800)
            with contextlib.redirect_stdout(io.StringIO() if options.smoke else sys.stdout):
                part(bench, *arguments)
            signal.alarm(0)
            passed += 1
        except (Exception, SystemExit) as error:
            signal.alarm(0)
            print(f"FAIL {' '.join(map(str, (part.__name__, *arguments)))}: {error or type(error).__name__}", flush=True)
            failed += 1
    if options.smoke:
        print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "release")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--long", type=int, default=1000, metavar="TURNS", help="0 leaves the long run out")
    parser.add_argument("--smoke", action="store_true", help="the least of each: whether it can be measured")
    options = parser.parse_args()
    if options.smoke:
        options.pairs = 1
    bench = Bench(options)
    try:
        if not options.smoke:
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.pairs} pairs; medians, "
                  "and the ratio pair by pair with its range\n")
            print(f"{'':<34}{'errand':<19}{'beside it':<19}")
        return 1 if measure(bench, options) else 0
    finally:
        bench.close()


if __name__ == "__main__":
    sys.exit(main())
