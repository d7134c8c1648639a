"""Does not let the agent stop before the tests ran. For the Stop event of Claude Code."""
import json
import sys

data = json.load(sys.stdin)
with open("stops.log", "a") as log:
    log.write(f"{data['hook_event_name']} {data['stop_hook_active']}\n")
print(json.dumps({"decision": "block", "reason": "Run the tests first."}))
