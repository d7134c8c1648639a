"""Signals that come when the result is out: the exit code stays what it says."""
import json
import signal
import subprocess
import sys

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) * 10:
    run = subprocess.Popen([sys.argv[1], "run", "agent.yaml", "-o", "json"], stdout=subprocess.PIPE, text=True)
    said = json.loads(run.stdout.readline())["exit_code"]
    run.send_signal(number)
    if run.wait(20) != said:
        sys.exit(f"the result says {said}, {number.name} made {run.returncode} of it")
