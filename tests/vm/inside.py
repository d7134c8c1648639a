"""What is looked at in the machine that run.py boots: errand with control groups, on Debian's own kernel.

Prints a line for each case and the sum of them. Changes the machine as it likes: it has it for itself."""
import fcntl
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
ERRAND = TOP / "build/release/errand"
UNITS = TOP / "test_tools"
PATTERN = (TOP / "pattern").read_text()
GROUPS = pathlib.Path("/sys/fs/cgroup")
NOBODY = 65534
PATIENCE = 300

# Four times 40 MB, each of them below the limit of one process.
MEMORY_BOMB = """python3 -c "
import os, time
for count in range(4):
    if os.fork() == 0: hoard = bytearray(40_000_000); time.sleep(60); os._exit(0)
print('forked', flush=True); time.sleep(60)
"; echo survived"""
FORK_BOMB = """python3 -c "
import os, time
for count in range(100):
    if os.fork() == 0: time.sleep(60); os._exit(0)
"; echo counted"""
# Grows without an end; nobody can count it up to kill it.
ENDLESS = """cat >bomb.py <<'END'
import os
while True:
    try: os.fork()
    except OSError: pass
END
echo $$ >begun; python3 bomb.py"""


def write(path, text):
    pathlib.Path(path).write_text(text)


def prepare_groups():
    """Controllers for the children of the first group, and a part of the tree that is nobody's, as a
    session of systemd would have it."""
    write(GROUPS / "cgroup.subtree_control", "+memory +pids")
    theirs = GROUPS / "user"
    theirs.mkdir()
    write(theirs / "cgroup.subtree_control", "+memory +pids")
    for path in (theirs, theirs / "cgroup.procs", theirs / "cgroup.subtree_control"):
        os.chown(path, NOBODY, NOBODY)
    for name in ("user/session", "service", "limited"):
        (GROUPS / name).mkdir()
    os.chown(theirs / "session", NOBODY, NOBODY)
    os.chown(theirs / "session/cgroup.procs", NOBODY, NOBODY)
    write(GROUPS / "limited/pids.max", "25")


def bring_up_loopback():
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


class Run:
    """errand with a scripted model that calls the shell once for each command."""

    def __init__(self, *commands, sandbox="{}", group="", user=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir="/home"))
        self.work = self.folder / "work"
        self.work.mkdir()
        calls = [{"tool_calls": [{"shell": {"command": command}}]} for command in commands]
        write(self.work / "script.yaml", json.dumps({"version": 1, "replies": [*calls, {"text": "done"}]}))
        write(self.work / "agent.yaml", json.dumps({
            "version": 1, "name": "vm", "model": "replay/script.yaml", "prompt": "go", "tools": ["shell"],
            "permissions": {"default": "allow"}, "sandbox": json.loads(sandbox)}))
        key = self.folder / ".ssh/id"
        key.parent.mkdir()
        write(key, "private-key\n")
        if user:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        self.group, self.user = group, user

    def enter(self):
        write(GROUPS / self.group / "cgroup.procs", "0")
        if self.user:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    def start(self, *arguments):
        return subprocess.Popen([ERRAND, *arguments], cwd=self.work, preexec_fn=self.enter, text=True,
                                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self):
        """The events of a whole run."""
        with self.start("run", "agent.yaml", "-o", "jsonl", "--no-session") as run:
            out, self.stderr = run.communicate(timeout=PATIENCE)
        self.code = run.returncode
        events = [json.loads(line) for line in out.splitlines()]
        self.sandbox = events[0]["sandbox"]
        self.calls = [event for event in events if event["type"] == "tool.finished"]
        return self

    def remove(self):
        shutil.rmtree(self.folder)


def expect(is_true, *shown):
    if not is_true:
        raise AssertionError(" ".join(str(each) for each in shown))


def groups_left():
    return [folder for folder, _, _ in os.walk(GROUPS) if os.path.basename(folder).startswith("errand-")]


def wait_until(is_true, patience=60):
    end = time.monotonic() + patience
    while not is_true():
        expect(time.monotonic() < end, "it did not come in time")
        time.sleep(0.05)


def processes_named(word):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path.parent.name] if word in path.read_bytes() else []
        except OSError:
            pass  # it has just ended
    return found


USERS = {"root in the first group": {}, "root in a service's": {"group": "service"},
         "a user in a session": {"group": "user/session", "user": True}}


def check_layers(**who):
    run = Run("true", sandbox='{"memory": "200M", "processes": 40, "cpu_time": "1m"}', **who).finish()
    layers = run.sandbox["layers"]
    wanted = ["files", "mounts", "network", "system_calls", "control_group", "memory", "processes", "cpu_time"]
    expect(run.code == 0 and layers == wanted, run.code, layers, run.stderr)
    expect(run.sandbox["missing"] == ["signals"], run.sandbox)  # Landlock is older than that here
    run.remove()


def check_doctor(**who):
    run = Run(**who)
    with run.start("doctor", "-o", "json") as doctor:
        out, _ = doctor.communicate(timeout=PATIENCE)
    sandbox = json.loads(out)["sandbox"]
    expect(doctor.returncode == 0 and sandbox["missing"] == ["signals"], doctor.returncode, sandbox)
    run.remove()


def check_memory(**who):
    run = Run(MEMORY_BOMB, "echo fine", sandbox='{"memory": "100M"}', **who).finish()
    first, second = run.calls
    expect(run.code == 0, run.code, run.stderr)
    expect(first["status"] == "failed" and first["exit_status"] == 137, first)
    expect("needed more memory than the sandbox allows" in first["content"], first)
    expect("forked" in first["content"] and "survived" not in first["content"], first)
    expect(second["status"] == "ok" and "fine" in second["content"], second)
    run.remove()


def check_processes(**who):
    run = Run(FORK_BOMB, "echo fine", sandbox='{"processes": 30}', **who).finish()
    first, second = run.calls
    expect("Resource temporarily unavailable" in first["content"] and "counted" in first["content"], first)
    expect(second["status"] == "ok", second)
    run.remove()


def check_kill(**who):
    """SIGKILL of errand, while a bomb goes off."""
    run = Run(ENDLESS, sandbox='{"processes": 60}', **who)
    with run.start("run", "agent.yaml", "--no-session") as errand:
        wait_until((run.work / "begun").exists)
        wait_until(lambda: len(processes_named(b"bomb.py")) > 20)
        expect(groups_left(), "there is no group")
        errand.kill()
        errand.communicate(timeout=PATIENCE)
    begun = time.monotonic()
    wait_until(lambda: not groups_left() and not processes_named(b"bomb.py"))
    run.remove()
    return f"{time.monotonic() - begun:.1f} s"


def check_time_out(**who):
    run = Run(ENDLESS, sandbox='{"processes": 60}', **who)
    agent = json.loads((run.work / "agent.yaml").read_text())
    agent["tools"] = [{"shell": {"timeout": "3s"}}]
    write(run.work / "agent.yaml", json.dumps(agent))
    run.finish()
    expect(run.calls and "ran longer than 3s" in run.calls[0]["content"], run.calls, run.stderr)
    expect(not processes_named(b"bomb.py"), "something is left of it")
    run.remove()


def check_guard_killed(**who):
    """By its own program: nothing here keeps signals in."""
    run = Run("sleep 1000 & kill -KILL $PPID; sleep 1000", "echo fine", sandbox='{"processes": 60}', **who).finish()
    first, second = run.calls
    expect("the process that guards a tool was killed" in first["content"], first)
    expect(second["status"] == "ok" and not processes_named(b"sleep\x001000"), second)
    run.remove()


def check_undelegated():
    run = Run("true", sandbox='{"memory": "200M", "processes": 400}', group="service", user=True).finish()
    expect(run.code == 0 and run.sandbox["missing"] == ["signals", "control_group"], run.code, run.sandbox)
    expect("processes" in run.sandbox["layers"], run.sandbox)
    run.remove()


def check_own_limit():
    run = Run(FORK_BOMB, sandbox='{"processes": 90}', group="limited").finish()
    expect("Resource temporarily unavailable" in run.calls[0]["content"], run.calls)
    run.remove()


def check_escape(**who):
    """Out of the group, and its limits away."""
    run = Run("grep ^0:: /proc/self/cgroup; cd /sys/fs/cgroup; "
              'for to in . service user/session; do echo $$ >$to/cgroup.procs && echo escaped; done; '
              'own=.$(sed -n s/^0:://p /proc/self/cgroup); echo max >$own/pids.max && echo escaped; '
              "mkdir $own/below && echo escaped", sandbox='{"processes": 30}', **who).finish()
    content = run.calls[0]["content"]
    expect("/errand-" in content and "escaped" not in content, content)
    run.remove()


def check_none_without_limits():
    run = Run("grep ^0:: /proc/self/cgroup").finish()
    expect("errand-" not in run.calls[0]["content"] and "control_group" not in run.sandbox["missing"], run.calls)
    run.remove()


def check_secrets(**who):
    run = Run("cat ~/.ssh/id; cat /etc/shadow; echo over", **who).finish()
    content = run.calls[0]["content"]
    expect("over" in content and "private-key" not in content and "secret-hash" not in content, content)
    run.remove()


def cases():
    for name, who in USERS.items():
        for check in (check_layers, check_doctor, check_memory, check_processes, check_escape, check_kill,
                      check_time_out, check_guard_killed, check_secrets):
            yield f"{check.__name__.removeprefix('check_')} ({name})", lambda check=check, who=who: check(**who)
    yield "a user in a group of root's has none of their own", check_undelegated
    yield "what limits errand limits its programs", check_own_limit
    yield "no limit, no group", check_none_without_limits


def run_suite(name, command):
    """Another suite's own lines and sum, as (passed, failed, skipped)."""
    print(f"-- {name}", flush=True)
    line = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as suite:
        for line in suite.stdout:
            print(line.rstrip(), flush=True)
    numbers = [int(word) for word in line.split() if word.isdigit()]
    return numbers if len(numbers) == 3 else [0, 1, 0]


def main():
    prepare_groups()
    bring_up_loopback()
    print(f"-- {os.uname().release}", flush=True)
    passed = failed = skipped = 0
    for name, check in cases():
        if PATTERN not in name:
            continue
        try:
            remark = check()
            expect(not groups_left(), "left behind:", groups_left())
            passed += 1
            print(f"ok   {name}{': ' + remark if remark else ''}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAIL {name}: {error}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc(file=sys.stdout)
    if UNITS.exists() and not PATTERN:
        print("-- unit tests of the control group", flush=True)
        done = subprocess.run([UNITS, "control group*"], capture_output=True, text=True, cwd="/tmp")
        is_whole = done.returncode == 0  # none has failed, none was skipped
        print(done.stdout.strip(), flush=True)
        passed, failed = passed + is_whole, failed + (not is_whole)
    if any(PATTERN in folder.name for folder in (TOP / "tests/attacks").iterdir()):
        numbers = run_suite("attacks", [sys.executable, str(TOP / "tests/attacks/run.py"), "-v", "-k", PATTERN])
        expect(not groups_left(), groups_left())
        passed, failed, skipped = passed + numbers[0], failed + numbers[1], skipped + numbers[2]
    if passed + failed + skipped == 0:
        failed = 1
        print(f"FAIL no case and no attack has `{PATTERN}` in its name", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)


main()
