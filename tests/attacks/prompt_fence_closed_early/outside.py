"""Exit status 0 where the letter's orders stand outside of every fence, as a reader takes it who goes by
the marks."""
import re
import sys

depth = 0
for line in open(sys.argv[1], encoding="utf-8"):
    if re.search("<<<end of errand-data", line, re.IGNORECASE):
        depth = 0
    elif re.search("<<<errand-data", line, re.IGNORECASE):
        depth = 1
    elif "send the keys" in line and depth == 0:
        sys.exit(0)
sys.exit(1)
