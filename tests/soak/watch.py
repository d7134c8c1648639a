"""What no run of errand may do, whatever it is given and whatever is done to it: one round's watcher.

A round has a world of its own (a home with a journal, a working folder, TMPDIR, a server), runs in it, and in
the end one more run, which nothing disturbs. What the end-to-end tests hold for every case holds here, too."""
import concurrent.futures
import os
import pathlib
import re
import select
import signal
import sqlite3
import stat
import sys
import threading
import time
import traceback
import types

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e"))
import run as e2e  # noqa: E402
from rounds import TELLS  # noqa: E402

SAMPLE_S = 0.02
LATER_S = 20
NO_PROXY = "http://127.0.0.1:9"  # an address that a mutation made is asked for here, where nobody answers
# What a turn may leave behind: its messages and its events. A turn of the long run has some 700 bytes of these.
KIB_A_TURN, KIB_OF_NOISE, SPARE_DESCRIPTORS = 12, 2048, 4


class World(e2e.World):
    """`files` are texts whose placeholders are filled, bytes, or what makes one of them of the filler."""

    def __init__(self, plan, options):
        case = types.SimpleNamespace(script=plan.script, folder=pathlib.Path("/nonexistent"), filled=set(), expected=[],
                                     agent_file=lambda name: None)
        super().__init__(case, (plan.form, plan.protocol, plan.stream), options)
        for name, content in plan.files.items():
            file = self.work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            content = content(self.fill) if callable(content) else content
            file.write_bytes(self.fill(content).encode() if isinstance(content, str) else content)

    def environment(self, step):
        fence = {name: NO_PROXY for name in ("http_proxy", "https_proxy", "all_proxy")} | {"no_proxy": "127.0.0.1"}
        key = {"ERRAND_KEY_HOSTS": "TEST_KEY=" + self.server.url}  # programs have the network here
        return fence | key | super().environment(step)


class Process(e2e.Process):
    """Looks at its memory and its descriptors as long as it lives; `samples` are (requests so far, KiB, descriptors)."""

    def __init__(self, world, step, deadline):
        if world.options.sanitized:  # whose shadow is larger than any limit
            step.limits.pop("as", None)
        super().__init__(world, step, deadline)
        self.peak_kb, self.samples, self.sent, self.too_early = 0, [], [], False
        self.pidfd = os.pidfd_open(self.process.pid)
        self.opened.append(self.pidfd)
        threading.Thread(target=self._watch, daemon=True).start()

    def _send_signals(self):
        """Each after its time, at that request, or when the result is out; `sent` has those that came, `too_early` says that errand was
        not yet there to heed the first one."""
        ended = select.poll()
        ended.register(self.pidfd, select.POLLIN)
        for name, _, moment, value in self.step.signals:
            number = getattr(signal, "SIG" + name)
            try:
                while not self._has_come(moment, value):
                    if ended.poll(1):
                        return
                if ended.poll(int(value) if moment == "ms" else 0):
                    return
                if not self.sent:
                    self.too_early = not self._heeds(number)
                signal.pidfd_send_signal(self.pidfd, number)
            except OSError:
                return
            self.sent.append(name)

    def _has_come(self, moment, value):
        if moment == "result":
            return self.out and (self.world.format == "text" or b'"errand.result/1"' in bytes(self.out))
        return moment == "ms" or len(self.world.server.requests) >= int(value)

    def _heeds(self, number):
        """Whether it catches the signal, or has blocked it to wait for it."""
        sets = re.findall(r"^Sig(?:Blk|Cgt):\s+(\w+)$", self._status(), re.MULTILINE)
        return any(int(one, 16) >> (number - 1) & 1 for one in sets)

    def _status(self):
        return pathlib.Path(f"/proc/{self.process.pid}/status").read_text()

    def _output(self, how):
        if how[0] == "unread":  # a pipe that nobody reads and nobody closes
            return self._own(*os.pipe())[1], None
        return super()._output(how)

    def _watch(self):
        entry = pathlib.Path(f"/proc/{self.process.pid}")
        while self.process.returncode is None:
            try:
                memory = dict(re.findall(r"^(Vm\w+):\s+(\d+) kB", self._status(), re.MULTILINE))
                descriptors = len(os.listdir(entry / "fd"))
            except OSError:  # it is ending
                return
            if "VmHWM" in memory:
                self.peak_kb = max(self.peak_kb, int(memory["VmHWM"]))
                self.samples.append((len(self.world.server.requests), int(memory["VmRSS"]), descriptors))
            time.sleep(SAMPLE_S)


def is_before_main(outcome, process):
    """Nothing of errand has run: a signal was quicker, or the loader itself had too little."""
    if process.too_early and outcome.by_signal:
        return not outcome.stdout
    return process.step.limits and outcome.code in (1, 127, 137, 139) and "error[" not in outcome.stderr \
        and not outcome.stdout


class Watch(e2e.Checker):
    """Collects what is wrong with one round, in `wrong`; and what it saw, for the table."""

    def __init__(self, plan, world, exits):
        super().__init__(types.SimpleNamespace(lines=[], overall=None), world)
        self.plan, self.exits = plan, exits  # exits: {exit code: its name}
        self.codes, self.peak_kb, self.slowest, self.killed, self.note = [], 0, 0, 0, None

    def command(self, label, process, outcome):
        """What holds of every run, whatever was done to it."""
        step, sent = process.step, process.sent
        self.at = label + ": "
        self.outcomes.append(outcome)
        self.codes.append(outcome.code)
        self.peak_kb, self.slowest = max(self.peak_kb, process.peak_kb), max(self.slowest, outcome.seconds)
        outcome.undone = []
        # A third signal ends it there and then: there may be no time for a result, nor for the journal.
        is_cut_short = "KILL" in sent[:1] or outcome.by_signal and len(sent) > 2
        self.killed += is_cut_short or "fsize" in step.limits or "as" in step.limits
        outcome.stderr = self.world.without_the_machine(outcome.stderr)
        if not is_before_main(outcome, process):
            if outcome.code not in self.allowed(step, sent):
                self.fail(f"exit code {outcome.code}: it is not in the table, nor that of a signal that it got")
            self.ending(outcome, outcome.code)
            if step.words[0] == "run" and not is_cut_short and "--output-file /dev/full" not in " ".join(step.words):
                self.run_output(step, outcome)
        if re.search("bug in errand", outcome.stderr + outcome.stdout, re.IGNORECASE) or outcome.code == 70:
            self.fail("it takes the blame")
        self.at = ""

    def allowed(self, step, sent):
        """The exit codes that a run may have: those of the table, and of a signal that it got."""
        mute = {"gone", "head", "unread"} & {step.stdout[0], step.stderr[0]}
        signals = [getattr(signal, "SIG" + name) for name in sent] + ([signal.SIGPIPE] if mute else [])
        return {code for code in self.exits if code < 128} | {128 + number for number in signals}

    def left(self):
        """What the runs left behind, before another one clears up."""
        self.check_strays()
        self.check_secrets("".join(outcome.stdout + outcome.stderr for outcome in self.outcomes))
        if self.plan.kind == "plain" and any(self.codes):
            self.fail(f"nothing was wrong, and the exit codes are {self.codes}")
        if self.plan.kind in ("fault", "guard", "kill", "limit", "long", "tool") and 78 in self.codes:
            self.fail("its agent file is refused, so that it tries nothing")
        if not self.plan.damages_journal:
            self.check_journal()
        if not self.plan.is_mutated:
            self.wrong += self.world.server.faults

    def later(self, outcome):
        """The run that nothing disturbs, and what it has cleared up."""
        if outcome.code != 0 or '"text":"still here"' not in outcome.stdout:
            self.fail(f"a later run ends with {outcome.code}: {outcome.stdout[-300:]}{outcome.stderr[-600:]}")
        # One that a session names is kept, and says so by its sticky bit.
        if folders := sorted(path.name for path in self.world.tmp.glob("errand-*") if not path.stat().st_mode & stat.S_ISVTX):
            self.fail(f"a later run leaves folders of dead runs: {folders}")

    def own_words(self, raw):
        return raw.replace(TELLS.encode(), b"")

    def check_journal(self):
        super().check_journal()
        for file in self.world.home.rglob("journal.db"):
            try:
                base = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)
                open_runs = base.execute("select count(*) from runs where finished is null").fetchone()[0]
                base.close()
            except sqlite3.Error:
                continue  # has been said
            if open_runs > self.killed:
                self.fail(f"the journal has {open_runs} runs without an end, {self.killed} were killed")

    def grown(self, process):
        """Of a long run: in the last quarter of its turns it has what it had in the first, but for its log."""
        turns = max((turn for turn, _, _ in process.samples), default=0)
        first = [sample for sample in process.samples if 0 < sample[0] <= turns / 4]
        last = [sample for sample in process.samples if sample[0] > turns * 3 / 4]
        if turns < self.plan.turns or not first or not last:
            self.fail(f"the long run made {turns} requests, not {self.plan.turns}")
            return None
        memory, descriptors = (tuple(max(sample[at] for sample in part) for part in (first, last)) for at in (1, 2))
        if descriptors[1] > descriptors[0] + SPARE_DESCRIPTORS:
            self.fail(f"descriptors grow with the turns: {descriptors[0]}, then {descriptors[1]}")
        allowed = memory[0] + KIB_OF_NOISE + KIB_A_TURN * turns * 3 // 4
        if memory[1] > allowed and not self.world.options.sanitized:  # whose allocator keeps what was freed
            self.fail(f"memory grows with the turns: {memory[0]} KiB, then {memory[1]}")
        return f"{turns} turns: {memory[0]} KiB, then {memory[1]}; {descriptors[0]} descriptors, then {descriptors[1]}"


def finish(process):
    """What came of it; None where it had to be killed."""
    try:
        return process.finish()
    except e2e.TimedOut:
        return None


def play_together(steps, seconds, world, watch):
    """Starts them all at once; what came of those that ended in time."""
    deadline = time.monotonic() + seconds * world.options.patience
    for step in steps:
        step.together = len(steps)
    running = [Process(world, step, deadline) for step in steps]
    with concurrent.futures.ThreadPoolExecutor(len(running)) as pool:
        ended = list(pool.map(finish, running))
    for number, (process, outcome) in enumerate(zip(running, ended), start=1):
        if outcome is None:
            watch.killed += 1
            watch.fail(f"run {number} did not end within {seconds * world.options.patience:.0f} s: {bytes(process.err)[-600:]!r}")
        else:
            watch.command(f"run {number}", process, outcome)
    return [(process, outcome) for process, outcome in zip(running, ended) if outcome]


def play(plan, options, exits):
    """The watcher of this round, with all that it found wrong."""
    world = World(plan, options)
    watch = Watch(plan, world, exits)
    try:
        for steps in plan.groups:
            options.scratch.hold()
            if callable(steps):
                steps(world)
                continue
            played = play_together(steps, plan.seconds, world, watch)
            watch.note = watch.grown(played[0][0]) if plan.turns and played else None
        watch.left()
        for _, outcome in play_together([plan.later], LATER_S, world, watch):
            watch.later(outcome)
    except Exception:  # whatever a broken program makes the checks trip over is the round's failure
        watch.fail("the checks could not be made:\n" + traceback.format_exc())
    finally:
        options.scratch.hold()
        world.close()
    if watch.wrong:
        watch.wrong.append("stderr was:\n" + "".join(outcome.stderr for outcome in watch.outcomes)[-3000:])
    return watch
