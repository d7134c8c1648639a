"""For session_start of docker-agent."""
import json
import sys

data = json.load(sys.stdin)
assert data["hook_event_name"] == "session_start" and data["source"] == "startup", data
print(json.dumps({"hook_specific_output": {"additional_context": "Session prepared."}}))
