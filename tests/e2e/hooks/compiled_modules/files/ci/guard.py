import sys
print("no", file=sys.stderr); sys.exit(2)
