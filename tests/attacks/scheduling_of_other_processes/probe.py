"""Tries every call that changes how another process is scheduled.

Of that process alone, and of its group: what is set for a user holds for all that the machine runs,
and this also runs without a sandbox. The unit tests of the filter have that.
"""
import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}[os.uname().machine]
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}[os.uname().machine]


def attributes():
    """A struct sched_attr: SCHED_BATCH."""
    return ctypes.create_string_buffer((48).to_bytes(4, "little") + (3).to_bytes(4, "little") + bytes(40), 48)


calls = {
    "affinity": lambda: os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))}),
    "scheduler": lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    "param": lambda: os.sched_setparam(pid, os.sched_param(0)),
    "attr": lambda: libc.syscall(SCHED_SETATTR, pid, attributes(), 0),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "priority of the group": lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(pid), 19),
    "input and output": lambda: libc.syscall(IOPRIO_SET, 1, pid, 3 << 13),
}
for name, call in calls.items():
    try:
        if call() in (None, 0):
            print("CHANGED", name)
    except OSError as error:
        print(name, error)
