"""put_events.py FILE: puts the events of FILE into the journal in the place of the run's own."""
import datetime
import json
import pathlib
import sqlite3
import sys

events = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
base = sqlite3.connect(pathlib.Path.home() / ".local/state/errand/journal.db")
with base:
    base.execute("delete from events where run_id = ?", (events[0]["run"],))
    base.executemany("insert into events(run_id, seq, time, type, json) values(?, ?, ?, ?, ?)",
                     [(event["run"], event["seq"], 0, event["type"], json.dumps(event)) for event in events])
    last = datetime.datetime.fromisoformat(events[-1]["ts"].replace("Z", "+00:00"))
    base.execute("update runs set updated = ?", (round(last.timestamp() * 1000),))
base.close()
