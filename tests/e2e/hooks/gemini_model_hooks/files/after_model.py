"""For the AfterModel event of Gemini CLI: ends the run on a word."""
import json
import sys

candidate = json.load(sys.stdin)["llm_response"]["candidates"][0]
if "forbidden" in candidate["content"]["parts"][0]:
    print("A forbidden word.", file=sys.stderr)
    sys.exit(2)
