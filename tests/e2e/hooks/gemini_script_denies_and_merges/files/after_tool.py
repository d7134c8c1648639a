"""For the AfterTool event of Gemini CLI: what is confidential is not shown."""
import json
import sys

data = json.load(sys.stdin)
if "confidential" in data["tool_response"]["llmContent"]:
    print(json.dumps({"decision": "deny", "reason": "This file is confidential."}))
