"""Puts another program into its place, and ends."""
import json
import os
import sys

RESULTS = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "own", "version": "1"}},
           "tools/list": {"tools": [{"name": "end", "inputSchema": {"type": "object"}}]}, "ping": {}}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        with open(__file__, "w", encoding="utf-8") as itself:
            itself.write(f"open({os.environ['MADE']!r}, 'w')\n")
        sys.exit(3)
    if "id" in message:
        known = message["method"] in RESULTS
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **(
            {"result": RESULTS[message["method"]]} if known else {"error": {"code": -32601, "message": "no"}})}), flush=True)
