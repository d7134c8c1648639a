"""Puts files below out/, and runs commands quietly. For PreToolUse of Claude Code."""
import json
import os
import sys

data = json.load(sys.stdin)
given = data["tool_input"]
if data["tool_name"] == "Write":
    assert os.path.isabs(given["file_path"]), given
    given["file_path"] = os.path.join(data["cwd"], "out", os.path.basename(given["file_path"]))
else:
    given["command"] += " >/dev/null; echo quiet"
print(json.dumps({"hookSpecificOutput": {
    "hookEventName": "PreToolUse",
    "permissionDecision": "allow",
    "permissionDecisionReason": "rewritten",
    "updatedInput": given}}))
