"""For the BeforeTool event of Gemini CLI: no curl; files end in .md."""
import json
import sys

data = json.load(sys.stdin)
assert data["hook_event_name"] == "BeforeTool" and data["timestamp"].endswith("Z"), data
if data["tool_name"] == "run_shell_command" and "curl" in data["tool_input"]["command"]:
    print(json.dumps({"decision": "deny", "reason": "Nothing is fetched here."}))
elif data["tool_name"] == "write_file":
    path = data["tool_input"]["file_path"]
    print(json.dumps({"hookSpecificOutput": {"tool_input": {"file_path": path + ".md"}}}))
else:
    print("{}")
