import os
import pathlib
import sqlite3
import time

base = sqlite3.connect(os.environ["HOME"] + "/.local/state/errand/journal.db", isolation_level=None)
base.execute("begin immediate")
pathlib.Path("held").touch()
until = time.monotonic() + 30
while not os.path.exists("done") and time.monotonic() < until:
    time.sleep(0.02)
