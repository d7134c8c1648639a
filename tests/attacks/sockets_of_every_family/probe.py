import socket

for family in range(46):
    for kind in (1, 2, 3, 5, 10):
        try:
            socket.socket(family, kind)
            print("made", family, kind)
        except OSError:
            pass
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    try:
        socket.socketpair(socket.AF_UNIX, kind)
        print("made a datagram pair")
    except OSError:
        pass
socket.socketpair()[0].close()  # what programs use among themselves stays
print("a pair of streams is there")
