import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    answers = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}},
               "tools/list": {"tools": [{"name": "write", "inputSchema": {"type": "object"}}]}}
    if message["method"] == "tools/call":
        open("made.txt", "w").write("made")
        answers["tools/call"] = {"content": [{"type": "text", "text": "written"}]}
    if message["method"] in answers:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]}), flush=True)
    elif "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
