"""Has what it was given in its prompt, in all that it says of its tools, and in the name of one."""
import json
import os
import sys

TOKEN = os.environ["CRM_TOKEN"]
SCHEMA = {"type": "object", "properties": {"as": {"type": "string", "default": TOKEN, "description": "Say " + TOKEN}, TOKEN: {}}}
RESULTS = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}},
                          "serverInfo": {"name": "crm", "version": "1"}},
           "tools/list": {"tools": [{"name": "get", "description": "For " + TOKEN + ".", "inputSchema": SCHEMA},
                                    {"name": "get_" + TOKEN, "description": "More.", "inputSchema": SCHEMA}]},
           "prompts/list": {"prompts": [{"name": "p", "description": TOKEN}]},
           "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "Take " + TOKEN}}]},
           "tools/call": {"content": [{"type": "text", "text": "It is " + TOKEN}]}, "ping": {}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        known = message["method"] in RESULTS
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **(
            {"result": RESULTS[message["method"]]} if known else {"error": {"code": -32601, "message": "no"}})}), flush=True)
