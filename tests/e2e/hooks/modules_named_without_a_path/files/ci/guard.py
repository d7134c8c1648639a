import sys
if "forbidden" in sys.stdin.read():
    print("no", file=sys.stderr); sys.exit(2)
