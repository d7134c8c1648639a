import ctypes

libc = ctypes.CDLL(None, use_errno=True)
parameters = ctypes.create_string_buffer(256)
for name, arguments in {"io_uring": (425, 4, parameters), "add_key": (248, b"user", b"x", b"y", 1, -3),
                        "userfaultfd": (323, 1), "perf": (298, parameters, 0, -1, -1, 0),
                        "bpf": (321, 0, parameters, 64)}.items():
    if libc.syscall(*arguments) >= 0 or ctypes.get_errno() not in (1, 38):
        print("open:", name, ctypes.get_errno())
