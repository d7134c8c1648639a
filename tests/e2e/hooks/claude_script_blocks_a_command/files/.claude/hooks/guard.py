"""Keeps `rm -rf` away. Written for the PreToolUse event of Claude Code."""
import json
import os
import sys

data = json.load(sys.stdin)
assert data["hook_event_name"] == "PreToolUse", data
assert data["session_id"] and os.path.isabs(data["cwd"]), data
assert os.environ["CLAUDE_PROJECT_DIR"] == data["cwd"]
if data["tool_name"] != "Bash":
    sys.exit(0)
command = data["tool_input"].get("command", "")
if "rm -rf" in command:
    print("Do not remove whole folders: name the files.", file=sys.stderr)
    sys.exit(2)
sys.exit(0)
