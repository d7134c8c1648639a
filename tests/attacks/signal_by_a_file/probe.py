import ctypes
import fcntl
import os
import signal
import socket


def errand():
    pid = os.getppid()
    while pid > 1:
        with open(f"/proc/{pid}/comm") as file:
            if file.read() == "errand\n":
                return pid
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])


target = errand()
ours, theirs = socket.socketpair()
try:
    fcntl.fcntl(ours, fcntl.F_SETOWN, target)
    fcntl.fcntl(ours, 10, signal.SIGTERM)  # F_SETSIG
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC)
    theirs.send(b"x")
except OSError:
    pass
folder = os.open(f"/proc/{target}", os.O_RDONLY)
ctypes.CDLL(None).syscall(424, folder, signal.SIGTERM, 0, 0)  # pidfd_send_signal
