"""For the BeforeModel event of Gemini CLI: notes what the model is asked."""
import json
import sys

request = json.load(sys.stdin)["llm_request"]
with open("asked.log", "a") as log:
    log.write(f"{request['model']} {[m['role'] for m in request['messages']]}\n")
