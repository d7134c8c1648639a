"""The one folder for all that a runner of tests makes: it and every process that lives in it are gone when
the runner is done, and within two seconds of a signal."""
import os
import pathlib
import shutil
import signal
import tempfile
import time

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
PATIENCE_S = 1.5


def processes(word, folder):
    """(number, command) of those that have the word in their environment or command, or are in the folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            theirs = (word.encode() in (entry / "environ").read_bytes() + command
                      or pathlib.Path(os.readlink(entry / "cwd")).is_relative_to(folder))
            if theirs and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append((int(entry.name), command.replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            continue
    return found


def end(found):
    for number, _ in found:
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            pass


class Scratch:
    """Make it in the main thread, before anything else: from then on a signal ends the whole runner. What it
    starts must have the folder's name in its environment, or be in it. Signals that whoever started the runner
    ignores (nohup, a shell's &) are heeded: they would be ignored in all that is tested, too."""

    def __init__(self, name):
        self.path, self.keep, self.stopping = None, False, False
        for number in SIGNALS:
            signal.signal(number, self._stop)
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=f"errand-{name}-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def _stop(self, number, _):
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        self.stopping = True  # threads look at it before they start something
        self.remove()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def remove(self):
        if self.path is None:
            return
        deadline, quiet = time.monotonic() + PATIENCE_S, 0
        while quiet < 2 and time.monotonic() < deadline:  # one look may miss a process that is being made
            found = processes(str(self.path), self.path)
            end(found)
            if not self.keep:
                shutil.rmtree(self.path, ignore_errors=True)
            quiet = 0 if found or (self.path.exists() and not self.keep) else quiet + 1
            time.sleep(0.02)
