"""Asks for the page of the server at `port`; only the one at `other` is allowed. Whatever comes is printed."""
import os
import pathlib
import socket
import urllib.parse

INNER = int(pathlib.Path("port").read_text(encoding="ascii"))
ALLOWED = int(pathlib.Path("other").read_text(encoding="ascii"))
PROXY = urllib.parse.urlsplit(os.environ.get("http_proxy", "")).port
GET = "GET /secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def talk(address, *texts, family=socket.AF_INET):
    heard = b""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.settimeout(3)
            one.connect(address)
            for text in texts:
                one.sendall(text.encode())
                heard += one.recv(65536)
            while part := one.recv(65536):
                heard += part
    except OSError as error:
        heard += str(error).encode()
    print(address, texts[:1], heard)


# Past the proxy.
talk(("127.0.0.1", INNER), GET)
talk(("::1", INNER), GET, family=socket.AF_INET6)
for interface in socket.if_nameindex():
    print(interface)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
    try:
        datagram.sendto(b"x", ("192.0.2.1", 53))
        print("a datagram found a way")
    except OSError as error:
        print(error)

# Through it.
if PROXY:
    NAMES = ["127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "0", "0.0.0.0",
             "[::1]", "[::ffff:127.0.0.1]", "a.localhost", "127.0.0.1.nip.example", "127.0.0.1%00.localhost",
             f"127.0.0.1:{ALLOWED}@127.0.0.1", "xn--localhost", "127.0.0.1\t", "*.localhost"]
    for name in NAMES:
        talk(("127.0.0.1", PROXY), f"CONNECT {name}:{INNER} HTTP/1.1\r\n\r\n", GET)
        talk(("127.0.0.1", PROXY), f"GET http://{name}:{INNER}/secret HTTP/1.1\r\n\r\n")
    TARGET = f"http://127.0.0.1:{INNER}/secret"
    for head in (
            f"GET /secret HTTP/1.1\r\nHost: 127.0.0.1:{INNER}\r\n\r\n",
            f"GET {TARGET} HTTP/1.1\r\nHost: 127.0.0.1:{ALLOWED}\r\n\r\n",
            f"GET http://127.0.0.1:{ALLOWED}\\@127.0.0.1:{INNER}/secret HTTP/1.1\r\n\r\n",
            f"GET http://127.0.0.1:{ALLOWED}#@127.0.0.1:{INNER}/secret HTTP/1.1\r\n\r\n",
            f"CONNECT 127.0.0.1:{ALLOWED}\nHost: 127.0.0.1:{INNER} HTTP/1.1\r\n\r\n",
            f"CONNECT 127.0.0.1:{INNER}, 127.0.0.1:{ALLOWED} HTTP/1.1\r\n\r\n"):
        talk(("127.0.0.1", PROXY), head, GET)
    # A tunnel to the allowed host is that host's: a second request for another one on it stays there.
    with socket.create_connection(("127.0.0.1", PROXY), 3) as tunnel:
        tunnel.sendall(f"CONNECT 127.0.0.1:{ALLOWED} HTTP/1.1\r\n\r\n".encode())
        print(tunnel.recv(100)[:12], pathlib.Path("asked").exists())
