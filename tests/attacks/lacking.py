#!/usr/bin/env python3
"""Runs a program on a kernel that seems to lack something:

    lacking.py THING[,THING…] PROGRAM [ARGUMENT…]

landlock, mounts, seccomp: the calls fail as on a kernel without them. landlock_abi_N: the kernel says
that it has that version of Landlock, and no more. All of it is a seccomp filter of this process,
which errand cannot tell from the kernel."""
import array
import ctypes
import os
import re
import select
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
THING = re.compile("landlock|mounts|seccomp|landlock_abi_[1-9]")
ENOSYS, EPERM = 38, 1
NUMBERS = {"x86_64": {"landlock": 444, "unshare": 272, "seccomp": 317, "prctl": 157},
           "aarch64": {"landlock": 444, "unshare": 97, "seccomp": 277, "prctl": 167}}[os.uname().machine]
SECCOMP = NUMBERS["seccomp"]
PR_SET_NO_NEW_PRIVS = 38
SET_MODE_FILTER, GET_ACTION_AVAIL, NEW_LISTENER = 1, 2, 8
ALLOW, ERRNO, NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
NOTIF_RECV, NOTIF_SEND = 0xC0502100, 0xC0182101
CONTINUE = 1


def refuse(number, error):
    return [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | error)]


def program(things):
    """Classic BPF on the number of the call, and for a version of Landlock on its first argument."""
    lines = [(LOAD, 0, 0, 0)]
    for thing in things:
        if thing == "landlock":
            for number in range(NUMBERS["landlock"], NUMBERS["landlock"] + 3):
                lines += refuse(number, ENOSYS)
        elif thing == "mounts":
            lines += refuse(NUMBERS["unshare"], EPERM)
        elif thing == "seccomp":
            lines += refuse(SECCOMP, ENOSYS)
        else:  # landlock_abi_N
            # create_ruleset(NULL, …): the question for the version; its answer comes from below
            lines += [(JUMP_EQUAL, 0, 4, NUMBERS["landlock"]), (LOAD, 0, 0, 16),
                      (JUMP_EQUAL, 0, 1, 0), (RETURN, 0, 0, NOTIFY), (LOAD, 0, 0, 0)]
    return lines + [(RETURN, 0, 0, ALLOW)]


def install(lines, flags):
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code)
    head = struct.pack("@HxxxxxxP", len(lines), ctypes.addressof(buffer))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    result = libc.syscall(SECCOMP, SET_MODE_FILTER, flags, head)
    if result < 0:
        sys.exit(f"lacking: seccomp: {os.strerror(ctypes.get_errno())}")
    return result


def answer(listener, version):
    """Until nobody is left to ask: older kernels say so to poll alone."""
    questions = select.poll()
    questions.register(listener, select.POLLIN)
    while not questions.poll()[0][1] & select.POLLHUP:
        request = ctypes.create_string_buffer(80)
        if libc.ioctl(listener, ctypes.c_ulong(NOTIF_RECV), request) != 0:
            if ctypes.get_errno() == 4:
                continue
            return
        (identity,) = struct.unpack_from("=Q", request.raw)
        reply = struct.pack("=Qqi", identity, version, 0) + struct.pack("=I", 0)
        libc.ioctl(listener, ctypes.c_ulong(NOTIF_SEND), ctypes.create_string_buffer(reply, 24))


def is_without_a_layer():
    """Whether this kernel lacks Landlock or seccomp, without which errand runs no tools; asked by hand."""
    has_landlock = libc.syscall(NUMBERS["landlock"], None, 0, 1) > 0
    has_seccomp = libc.syscall(SECCOMP, GET_ACTION_AVAIL, 0, ctypes.byref(ctypes.c_uint32(ERRNO))) == 0
    return not (has_landlock and has_seccomp)


def main():
    things, command = sys.argv[1].split(","), sys.argv[2:]
    if unknown := [thing for thing in things if not THING.fullmatch(thing)]:
        sys.exit(f"lacking: there is no thing {unknown[0]}")
    versions = [int(thing.rsplit("_", 1)[1]) for thing in things if thing.startswith("landlock_abi_")]
    if not versions:
        install(program(things), 0)
        os.execvp(command[0], command)
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        listener = install(program(things), NEW_LISTENER)
        theirs.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
        os.close(listener)
        theirs.close()
        os.execvp(command[0], command)
    theirs.close()
    _, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
    if not ancillary:  # the child has said why
        sys.exit(1)
    listener = array.array("i", ancillary[0][2])[0]
    if os.fork() == 0:
        answer(listener, versions[0])
        os._exit(0)
    os.close(listener)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
