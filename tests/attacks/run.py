#!/usr/bin/env python3
"""Runs the attacks: what a tool may try, each shown to work without the sandbox and to fail with it.

    tests/attacks/run.py [--errand PATH] [-k PATTERN] [-v]

README.md tells the format. As root each attack runs as root and as an ordinary user."""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT_ERRAND = HERE.parent.parent / "build" / "release" / "errand"
NOBODY = 65534
KEYS = {"about", "prepare", "command", "worked", "agent", "users", "lacks", "machine_says", "stderr",
        "harmless", "tool", "arguments", "tools", "unguarded", "needs", "uses"}
PYTHON = "/usr/bin/python3"  # whoever runs this, the ordinary user has to reach it
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class Attack:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        data = tomllib.loads((folder / "attack.toml").read_text())
        unknown = set(data) - KEYS
        if unknown:
            raise ValueError(f"{self.name}/attack.toml: unknown keys {sorted(unknown)}")
        self.data = data

    def get(self, key, otherwise=""):
        return self.data.get(key, otherwise)


class World:
    """A home, a workspace and a place outside of both, of one user, gone afterwards."""

    def __init__(self, attack, user, errand):
        self.attack, self.user, self.errand = attack, user, errand
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="errand-attack-"))
        self.home, self.work, self.outside = (self.top / name for name in ("home", "work", "outside"))
        for folder in (self.home, self.work, self.outside, self.top / "tmp"):
            folder.mkdir()
        shared = [HERE / name for name in attack.get("uses", [])]
        for file in [*attack.folder.iterdir(), *shared]:
            if file.name != "attack.toml":
                shutil.copy(file, self.work / file.name)
        self.out = self.top / "out"
        self.out.touch()
        if user == "user" and os.geteuid() == 0:
            for path in (self.top, *self.top.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        self.environment = {"PATH": PATH, "HOME": str(self.home), "OUTSIDE": str(self.outside), "OUT": str(self.out),
                            "WORK": str(self.work), "TMPDIR": str(self.top / "tmp"), "LANG": "C.UTF-8",
                            "ANTHROPIC_API_KEY": "attack-key-5d1f0c"}

    def as_user(self, command):
        drop = self.user == "user" and os.geteuid() == 0
        head = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if drop else []
        return head + command

    def shell(self, text, extra=None):
        return subprocess.run(self.as_user(["sh", "-c", text]), cwd=self.work, env=self.environment | (extra or {}),
                              capture_output=True, text=True, timeout=60)

    def attempt(self, sandbox, lacks):
        """What the tool printed, and whether the attack worked."""
        if self.attack.get("prepare"):
            done = self.shell(self.attack.get("prepare"))
            if done.returncode != 0:
                raise RuntimeError(f"prepare: {done.stderr.strip()}")
        tools = self.attack.get("tools", "[shell]")
        if sandbox == "off":
            tools = self.attack.get("unguarded", tools)
        agent = f"version: 1\nname: attacked\n{self.filled(self.attack.get('agent'))}\ntools: {self.filled(tools)}\n"
        if sandbox == "off":
            agent = "\n".join(line for line in agent.splitlines() if not line.startswith("sandbox:")) + "\n"
        (self.work / "agent.yaml").write_text(agent)
        if self.user == "user" and os.geteuid() == 0:
            os.chown(self.work / "agent.yaml", NOBODY, NOBODY)
        arguments = self.filled(self.attack.get("arguments")) or json.dumps({"command": self.attack.get("command")})
        command = [str(self.errand), "tools", "call", self.attack.get("tool", "shell"), arguments,
                   "--agent", "agent.yaml"] + (["--sandbox", "off"] if sandbox == "off" else [])
        if lacks:
            command = [PYTHON, str(HERE / "lacking.py"), lacks] + command
        run = subprocess.run(self.as_user(command), cwd=self.work, env=self.environment, capture_output=True,
                             text=True, errors="replace", timeout=60)
        self.out.write_text(run.stdout)
        code = 128 - run.returncode if run.returncode < 0 else run.returncode
        worked = self.shell(self.attack.get("worked"), {"CODE": str(code)}).returncode == 0
        return run, worked

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


def has_what_it_needs(attack):
    needs = attack.get("needs", "true")
    return subprocess.run(["sh", "-c", needs], cwd=attack.folder, capture_output=True, timeout=60).returncode == 0


def judge(attack, user, errand, verbose):
    """What is wrong, one line each."""
    problems = []

    def once(sandbox, lacks, expected):
        world = World(attack, user, errand)
        try:
            run, worked = world.attempt(sandbox, lacks)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            problems.append(f"[{user}, sandbox {sandbox}{', lacks ' + lacks if lacks else ''}] {error}")
            return
        finally:
            world.remove()
        label = f"[{user}, sandbox {sandbox}{', lacks ' + lacks if lacks else ''}]"
        says = attack.get("machine_says", {}).get(user)
        is_said = says and sandbox == "on" and says in run.stderr
        if worked != expected and not is_said:
            problems.append(f"{label} it {'worked' if worked else 'failed'}")
            if says and sandbox == "on":
                problems.append(f"{label} and stderr lacks {says!r}: {run.stderr.strip()[-300:]}")
        wanted = attack.get("stderr", {}).get(lacks, "")
        if sandbox == "on" and wanted not in run.stderr + run.stdout:
            problems.append(f"{label} nothing says {wanted!r}")
        if verbose and problems:
            problems.append(f"    stdout: {run.stdout.strip()[-600:]}\n    stderr: {run.stderr.strip()[-600:]}")

    once("off", "", True)
    for lacks in ["", *attack.get("lacks", [])]:
        once("on", lacks, attack.get("harmless", False))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=DEFAULT_ERRAND)
    parser.add_argument("-k", metavar="PATTERN", default="", help="only attacks whose name has this")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the output of what went wrong")
    options = parser.parse_args()
    users = ["root", "user"] if os.geteuid() == 0 else ["user"]
    # Where the ordinary user can reach it.
    shelf = pathlib.Path(tempfile.mkdtemp(prefix="errand-attacks-"))
    shelf.chmod(0o755)
    errand = shelf / "errand"
    shutil.copy(options.errand.resolve(), errand)
    passed = failed = skipped = 0
    try:
        for file in sorted(HERE.glob("*/attack.toml")):
            attack = Attack(file.parent)
            if options.k not in attack.name:
                continue
            for user in users:
                if user not in attack.get("users", ["root", "user"]):
                    continue
                if not has_what_it_needs(attack):
                    skipped += 1
                    print(f"skip {attack.name} ({user})", flush=True)
                    continue
                problems = judge(attack, user, errand, options.verbose)
                passed, failed = passed + (not problems), failed + bool(problems)
                print(f"{'FAIL' if problems else 'ok  '} {attack.name} ({user})", flush=True)
                for problem in problems:
                    print(f"    {problem}", flush=True)
    finally:
        shutil.rmtree(shelf, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


sys.exit(main())
