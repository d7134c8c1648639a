import hashlib
import struct
import subprocess
import sys


def entry(name, number):
    bytes_ = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + number + struct.pack(">H", len(name)) + name
    return bytes_ + b"\0" * (8 - len(bytes_) % 8)


number = bytes.fromhex(subprocess.check_output(["git", "hash-object", "-w", "--stdin"], input=b"evil\n").decode())
names = sorted(name.encode() for name in sys.argv[1:])
index = b"DIRC" + struct.pack(">II", 2, len(names)) + b"".join(entry(name, number) for name in names)
with open(".git/index", "wb") as file:
    file.write(index + hashlib.sha1(index).digest())
