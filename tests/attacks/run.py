#!/usr/bin/env python3
"""Runs the attacks: what a tool may try, each shown to work without the sandbox and to fail with it.

    tests/attacks/run.py [--errand PATH] [-k PATTERN] [-v]

README.md tells the format. As root each attack runs as root and as an ordinary user. What the machine lacks
for an attack is the reason why it is skipped."""
import argparse
import functools
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

sys.dont_write_bytecode = True
import lacking  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch  # noqa: E402

DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
NOBODY = 65534
KEYS = {"about", "prepare", "command", "worked", "agent", "users", "lacks", "machine_says", "stderr",
        "harmless", "tool", "arguments", "tools", "unguarded", "plain", "needs", "uses"}
USERS = ["root", "user"]
SANDBOX_SETUP = 93  # errand's exit code where the machine cannot enforce what is required
PYTHON = "/usr/bin/python3"  # whoever runs this, the ordinary user has to reach it
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class Attack:
    """A folder and what it says; `mistakes` is what of that nobody would heed."""

    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        try:
            self.data = tomllib.loads((folder / "attack.toml").read_text())
        except (OSError, ValueError) as error:
            self.data, self.mistakes = {}, [f"attack.toml: {error}"]
        else:
            self.mistakes = [f"attack.toml: {mistake}" for mistake in self._mistakes()]

    def _mistakes(self):
        if unknown := set(self.data) - KEYS:
            yield f"unknown keys {sorted(unknown)}"
        for key in ("about", "worked", "arguments" if "tool" in self.data else "command"):
            if not self.data.get(key):
                yield f"there is no `{key}`"
        for key, known in (("users", USERS), ("machine_says", USERS), ("stderr", ["", *self.data.get("lacks", [])])):
            wanted = self.data.get(key, known)
            if unknown := set(wanted) - set(known):
                yield f"{key}: nobody knows {sorted(unknown)}"
            if key in self.data and not wanted:
                yield f"`{key}` is empty"
        for lacks in self.data.get("lacks", []):
            if unknown := [thing for thing in lacks.split(",") if not lacking.THING.fullmatch(thing)]:
                yield f"lacks: nobody knows {unknown}"

    def get(self, key, otherwise=""):
        return self.data.get(key, otherwise)

    def is_for_flows(self):
        """Whether a command of a flow can try the same."""
        lines = self.get("agent").splitlines()
        return not self.data.keys() & {"tool", "tools", "harmless"} and all(line.startswith("sandbox:") for line in lines)


def last_line(done):
    return (done.stderr.strip().splitlines() or ["it says nothing"])[-1]


class Tested:
    """errand as one user runs it, and what this user lacks on this machine."""

    def __init__(self, scratch, user):
        self.scratch, self.user = scratch, user
        self.errand, self.lacking = scratch / "errand", scratch / "lacking.py"

    def command(self, words):
        drop = self.user == "user" and os.geteuid() == 0
        head = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if drop else []
        return head + [str(word) for word in words]

    def run(self, words):
        return subprocess.run(self.command(words), capture_output=True, text=True, cwd="/", timeout=60,
                              env={"PATH": PATH, "HOME": "/nowhere"})

    def give(self, path):
        if self.user == "user" and os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)

    @functools.cached_property
    def absent(self):
        """Why there is no such user."""
        try:
            with tempfile.NamedTemporaryFile(dir=self.scratch) as file:
                self.give(file.name)
        except OSError as error:
            return f"root can give no file to another user here: {error.strerror}"
        done = self.run([self.errand, "--version"])
        return done.returncode and f"the user cannot run errand here: {last_line(done)}"

    @functools.cached_property
    def refusal(self):
        """Why errand runs no tools here, and is right."""
        if not lacking.is_without_a_layer():
            return None
        said = self.run([self.errand, "doctor", "-o", "json"])
        missing = json.loads(said.stdout)["sandbox"]["missing"]
        return said.returncode and "errand runs no tools here, for want of " + ", ".join(missing)

    @functools.cache
    def lack_of_kernel(self, lacks):
        """Why no kernel can be feigned that lacks these things."""
        done = lacks and self.run([PYTHON, self.lacking, lacks, "true"])
        return done and done.returncode and f"no kernel that lacks {lacks} can be feigned here: {last_line(done)}"


class World:
    """A home, a workspace and a place outside of both, of one user, gone afterwards."""

    def __init__(self, attack, tested):
        self.attack, self.tested = attack, tested
        self.top = pathlib.Path(tempfile.mkdtemp(dir=tested.scratch))
        self.home, self.work, self.outside = (self.top / name for name in ("home", "work", "outside"))
        for folder in (self.home, self.work, self.outside, self.top / "tmp"):
            folder.mkdir()
        shared = [HERE / name for name in attack.get("uses", [])]
        for file in [*attack.folder.iterdir(), *shared]:
            if file.name != "attack.toml":
                shutil.copy(file, self.work / file.name)
        self.out = self.top / "out"
        self.out.touch()
        for path in (self.top, *self.top.rglob("*")):
            tested.give(path)
        self.environment = {"PATH": PATH, "HOME": str(self.home), "OUTSIDE": str(self.outside), "OUT": str(self.out),
                            "WORK": str(self.work), "TMPDIR": str(self.top / "tmp"), "LANG": "C.UTF-8",
                            "ERRAND": str(tested.errand), "ANTHROPIC_API_KEY": "attack-key-5d1f0c"}

    def shell(self, text, extra=None):
        return subprocess.run(self.tested.command(["sh", "-c", text]), cwd=self.work, env=self.environment | (extra or {}),
                              capture_output=True, text=True, timeout=60)

    def lack(self):
        """The first thing that the attack needs and does not find."""
        for reason, probe in self.attack.get("needs", {}).items():
            if self.shell(probe).returncode != 0:
                return reason
        return None

    def attempt_in_flow(self):
        """The same, by a command of a flow."""
        self.prepare()
        known = "".join(f"export {name}={shlex.quote(self.environment[name])}; " for name in ("OUTSIDE", "WORK"))
        step = {"name": "attack", "run": known + self.attack.get("command")}
        flow = f"version: 1\nname: flow\n{self.filled(self.attack.get('agent'))}\nsteps: [{json.dumps(step)}]\n"
        for file, text in (("agent.yaml", "version: 1\nname: attacked\n"), ("flow.yaml", flow)):
            (self.work / file).write_text(text)
            self.tested.give(self.work / file)
        run = self.perform([self.tested.errand, "run", "flow.yaml", "-o", "jsonl"])
        ends = [event for event in map(json.loads, run.stdout.splitlines()) if event["type"] == "member.finished"]
        self.out.write_text("".join(event["result"]["text"] for event in ends))
        return run, self.has_worked(run)

    def prepare(self):
        if self.attack.get("prepare"):
            done = self.shell(self.attack.get("prepare"))
            if done.returncode != 0:
                raise RuntimeError(f"prepare: {done.stderr.strip()}")

    def perform(self, command):
        return subprocess.run(self.tested.command(command), cwd=self.work, env=self.environment, capture_output=True,
                              text=True, errors="replace", timeout=60)

    def has_worked(self, run):
        code = 128 - run.returncode if run.returncode < 0 else run.returncode
        return self.shell(self.attack.get("worked"), {"CODE": str(code)}).returncode == 0

    def attempt(self, sandbox, lacks):
        """What the tool printed, and whether the attack worked."""
        self.prepare()
        tools = self.attack.get("tools", "[shell: {env: [OUTSIDE, WORK]}]")
        if sandbox == "off":
            tools = self.attack.get("unguarded", tools)
        agent = f"version: 1\nname: attacked\n{self.filled(self.attack.get('agent'))}\ntools: {self.filled(tools)}\n"
        if sandbox == "off":
            agent = "\n".join(line for line in agent.splitlines() if not line.startswith("sandbox:")) + "\n"
        (self.work / "agent.yaml").write_text(agent)
        self.tested.give(self.work / "agent.yaml")
        arguments = self.filled(self.attack.get("arguments")) or json.dumps({"command": self.attack.get("command")})
        tool = self.attack.get("tool", "shell")
        if sandbox == "off" and self.attack.get("plain"):
            tool, arguments = "shell", json.dumps({"command": self.attack.get("plain")})
        command = [self.tested.errand, "tools", "call", tool, arguments, "--agent", "agent.yaml"]
        command += ["--sandbox", "off"] if sandbox == "off" else []
        if lacks:
            command = [PYTHON, self.tested.lacking, lacks] + command
        run = self.perform(command)
        self.out.write_text(run.stdout)
        return run, self.has_worked(run)

    def filled(self, text):
        """With the ports of the servers that `prepare` started in the place of {PORT} and {OTHER}."""
        for name in ("port", "other"):
            file = self.work / name
            text = text.replace("{%s}" % name.upper(), file.read_text().strip() if file.exists() else "")
        return text

    def remove(self):
        for file in self.work.glob("*.pid"):  # servers of the attack
            try:
                os.kill(int(file.read_text()), signal.SIGKILL)
            except (ProcessLookupError, ValueError):
                pass
        shutil.rmtree(self.top, ignore_errors=True)


class Verdict:
    """What is wrong, one line each, and why something could not be tried."""

    def __init__(self, attack, tested, verbose):
        self.attack, self.tested, self.verbose = attack, tested, verbose
        self.problems, self.skipped = [], tested.absent or self.lack()
        if self.skipped:
            return
        self.once("off", "", True)
        for lacks in ["", *attack.get("lacks", [])]:
            if reason := tested.lack_of_kernel(lacks):
                self.skipped = self.skipped or reason
            else:
                self.once("on", lacks, attack.get("harmless", False))

        if attack.is_for_flows() and not self.skipped and not self.problems:
            self.once("on", "", False, in_flow=True)

    def lack(self):
        world = World(self.attack, self.tested)
        try:
            return world.lack()
        finally:
            world.remove()

    def once(self, sandbox, lacks, expected, in_flow=False):
        label = f"[{self.tested.user}, sandbox {sandbox}{', lacks ' + lacks if lacks else ''}{', in a flow' if in_flow else ''}]"
        world = World(self.attack, self.tested)
        try:
            run, worked = world.attempt_in_flow() if in_flow else world.attempt(sandbox, lacks)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self.problems.append(f"{label} {error}")
            return
        finally:
            world.remove()
        if sandbox == "on" and run.returncode == SANDBOX_SETUP and self.tested.refusal:
            self.skipped = self.tested.refusal
            return
        before = len(self.problems)
        self.judge(label, run, worked, expected, sandbox, lacks)
        if self.verbose and len(self.problems) > before:
            self.problems.append(f"    stdout: {run.stdout.strip()[-600:]}\n    stderr: {run.stderr.strip()[-600:]}")

    def judge(self, label, run, worked, expected, sandbox, lacks):
        says = self.attack.get("machine_says", {}).get(self.tested.user)
        is_said = says and sandbox == "on" and says in run.stderr
        if worked != expected and not is_said:
            self.problems.append(f"{label} it {'worked' if worked else 'failed'}")
            if says and sandbox == "on":
                self.problems.append(f"{label} and stderr lacks {says!r}: {run.stderr.strip()[-300:]}")
        wanted = self.attack.get("stderr", {}).get(lacks, "")
        if sandbox == "on" and wanted not in run.stderr + run.stdout:
            self.problems.append(f"{label} nothing says {wanted!r}")

    def show(self):
        return show(self.attack.name, self.tested, self.problems, self.skipped)


def show(name, tested, problems, skipped):
    """Prints how it ended; returns which of the three."""
    name = f"{name} ({tested.user})"
    if problems:
        print("\n    ".join([f"FAIL {name}", *problems]), flush=True)
        return "failed"
    print(f"skip {name}: {skipped}" if skipped else f"ok   {name}", flush=True)
    return "skipped" if skipped else "passed"


def put_on_shelf(scratch, errand):
    """Where the ordinary user can reach it, wherever the checkout is."""
    scratch.chmod(0o755)
    shutil.copy(errand.resolve(), scratch / "errand")
    shutil.copy(HERE / "lacking.py", scratch)
    for file in scratch.iterdir():
        file.chmod(0o755)


def chosen_attacks(pattern):
    """Those that have the pattern in their name. Every folder beside this file is an attack."""
    folders = sorted(path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__")
    attacks = [Attack(folder) for folder in folders if pattern in folder.name]
    if not attacks:
        sys.exit(f"attacks: no attack has `{pattern}` in its name")
    return attacks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only attacks whose name has this")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the output of what went wrong")
    options = parser.parse_args()
    attacks = chosen_attacks(options.k)
    count = dict.fromkeys(("passed", "failed", "skipped"), 0)
    with Scratch("attacks") as scratch:
        put_on_shelf(scratch.path, options.errand)
        tested = [Tested(scratch.path, user) for user in (USERS if os.geteuid() == 0 else USERS[1:])]
        for attack in attacks:
            if attack.mistakes:
                print("\n    ".join([f"FAIL {attack.name}", *attack.mistakes]), flush=True)
                count["failed"] += 1
                continue
            for one in tested:
                if one.user in attack.get("users", USERS):
                    verdict = Verdict(attack, one, options.verbose)
                    scratch.hold()
                    count[verdict.show()] += 1
    print(", ".join(f"{number} {what}" for what, number in count.items()), flush=True)
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
