"""The one folder for all that a runner of tests makes: it and every process that lives in it are gone when
the runner is done, and within two seconds of a signal."""
import os
import pathlib
import shutil
import signal
import tempfile
import threading
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


def left_behind(folder):
    """Those of the folder that have not gone within five seconds."""
    for _ in range(50):
        found = processes(str(folder), folder)
        if not found:
            break
        time.sleep(0.1)
    return found


def end(found):
    for number, _ in found:
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            pass


class Scratch:
    """Make it in the main thread, before anything else: from then on a signal ends the whole runner, with the exit
    code that a shell has for it. What it starts must have the folder's name in its environment, or be in it. Signals
    that whoever started the runner ignores (nohup, a shell's &) are heeded: they would be ignored in all that is
    tested, too."""

    def __init__(self, name):
        self.path, self.keep, self.stopping = None, False, False
        self.removing = threading.Lock()
        # Python's own handlers wait for the main thread, which may be asleep for ever. A thread reads this pipe.
        reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        signal.set_wakeup_fd(self.writer)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        threading.Thread(target=self._watch, args=(reader,), daemon=True).start()
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=f"errand-{name}-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def hold(self):
        """A thread that comes here after a signal goes no further: what it starts now, or has to say of programs
        that were ended, is nobody's business."""
        while self.stopping:
            time.sleep(60)

    def close(self):
        """The end without a signal, in the main thread."""
        self.hold()
        self._remove()
        signal.set_wakeup_fd(-1)
        os.close(self.writer)

    def _watch(self, reader):
        with os.fdopen(reader, "rb", buffering=0) as pipe:
            while told := pipe.read(1):
                if told[0] in SIGNALS:
                    self.stopping = True
                    self._remove()
                    os._exit(128 + told[0])

    def _remove(self):
        with self.removing:
            if self.path is None or not self.path.exists():
                return
            folder, deadline, quiet = self.path, time.monotonic() + PATIENCE_S, 0
            if not self.keep:  # under another name what threads are about to do fails, but for what makes all parents
                folder = folder.rename(f"{folder}.gone")
            while quiet < 2 and time.monotonic() < deadline:  # one look may miss a process that is being made
                found = processes(str(self.path), folder)
                end(found)
                left = [] if self.keep else [place for place in (folder, self.path) if place.exists()]
                for place in left:
                    shutil.rmtree(place, ignore_errors=True)
                quiet = 0 if found or left else quiet + 1
                time.sleep(0.02)
