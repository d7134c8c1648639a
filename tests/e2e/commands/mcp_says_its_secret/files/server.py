"""Has what it was given in its name, and in that of its tool unless `plain` is in the folder."""
import json
import os
import sys

TOKEN = os.environ["CRM_TOKEN"]
NAME = "get" if os.path.exists("plain") else "get_" + TOKEN
RESULTS = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                          "serverInfo": {"name": "crm of " + TOKEN, "version": "1"}},
           "tools/list": {"tools": [{"name": NAME, "description": "For " + TOKEN + ".", "inputSchema": {"type": "object"}}]},
           "ping": {}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        known = message["method"] in RESULTS
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **(
            {"result": RESULTS[message["method"]]} if known else {"error": {"code": -32601, "message": "no"}})}), flush=True)
