import sqlite3
import sys

with sqlite3.connect(sys.argv[1]) as journal:
    (run_id,), = journal.execute("SELECT run_id FROM runs WHERE session = ?", sys.argv[2:])
    for table in ("runs", "events"):
        journal.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
