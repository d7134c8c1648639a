"""An MCP server of one tool, which is called as the variable NAME says, and of which it says what WORDS says."""
import json
import os
import sys

TOOL = {"name": os.environ.get("NAME", "send"), "description": os.environ["WORDS"], "inputSchema": {"type": "object"}}
RESULTS = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}},
           "tools/list": {"tools": [TOOL]}, "tools/call": {"content": [{"type": "text", "text": "sent"}]}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        known = message["method"] in RESULTS
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **(
            {"result": RESULTS[message["method"]]} if known else {"error": {"code": -32601, "message": "no"}})}), flush=True)
