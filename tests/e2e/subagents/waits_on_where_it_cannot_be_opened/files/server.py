"""An MCP server of one tool, which is there or not, as the variable HOW says."""
import json
import os
import sys

if os.environ["HOW"] == "down":
    sys.exit("down for now")
RESULTS = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}},
           "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        known = message["method"] in RESULTS
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **(
            {"result": RESULTS[message["method"]]} if known else {"error": {"code": -32601, "message": "no"}})}), flush=True)
