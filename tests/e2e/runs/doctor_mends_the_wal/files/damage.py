"""Turns one bit round in the first page of a -wal file that has a later version there, too."""
import struct
import sys

file = sys.argv[1]
with open(file, "rb") as wal:
    data = bytearray(wal.read())
size = 24 + struct.unpack(">I", data[8:12])[0]
frames = range(32, len(data) - size + 1, size)
pages = [struct.unpack(">I", data[at:at + 4])[0] for at in frames]
first = next(n for n, page in enumerate(pages) if n > 2 and page in pages[n + 1:])
data[frames[first] + 24 + 2000] ^= 1
with open(file, "wb") as wal:
    wal.write(data)
