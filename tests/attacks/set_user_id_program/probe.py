import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
MODE = int(sys.argv[1], 8)
AT_FDCWD, CREATE, NAMELESS = -100, os.O_CREAT | os.O_WRONLY, os.O_TMPFILE | os.O_WRONLY
os.umask(0)


def attempt(call):
    try:
        call()
    except OSError:
        pass


def nameless():
    file = os.open(".", NAMELESS, MODE)
    os.link(f"/proc/self/fd/{file}", "nameless", follow_symlinks=True)


for name in ("chmod", "fchmod", "fchmodat", "fchmodat2"):
    open(name, "w").close()
how = (ctypes.c_uint64 * 3)(CREATE, MODE, 0)
attempt(lambda: os.chmod("chmod", MODE))
attempt(lambda: os.fchmod(os.open("fchmod", os.O_RDONLY), MODE))
attempt(lambda: os.chmod("fchmodat", MODE, dir_fd=os.open(".", os.O_RDONLY)))
attempt(lambda: os.open("open", CREATE, MODE))
attempt(lambda: os.mknod("mknod", MODE))
attempt(nameless)
libc.syscall(452, AT_FDCWD, b"fchmodat2", MODE, 0)
libc.syscall(437, AT_FDCWD, b"openat2", how, ctypes.sizeof(how))
if os.uname().machine == "x86_64":  # the calls of old
    libc.syscall(2, b"old_open", CREATE, MODE)
    libc.syscall(85, b"creat", MODE)
    libc.syscall(133, b"old_mknod", MODE, 0)
