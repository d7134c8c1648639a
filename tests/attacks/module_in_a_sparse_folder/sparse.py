# Gives a folder of the index (version 2 or 3) another tree: NAME/ TREE.
import hashlib
import pathlib
import sys

HASH = 20
file = pathlib.Path(".git/index")
index = file.read_bytes()[:-HASH]
name = index.index(sys.argv[1].encode() + b"\0")
tree = next(name - flags - HASH for flags in (2, 4)
            if index[name - flags - HASH - 16:][:4] == (0o40000).to_bytes(4, "big"))
index = index[:tree] + bytes.fromhex(sys.argv[2]) + index[tree + HASH:]
if (cached := index.find(b"TREE")) > 0:
    index = index[:cached] + index[cached + 8 + int.from_bytes(index[cached + 4:cached + 8], "big"):]
file.write_bytes(index + hashlib.sha1(index).digest())
