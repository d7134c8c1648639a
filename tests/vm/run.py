#!/usr/bin/env python3
"""Boots Debian's own kernel in a virtual machine and runs errand there, with control groups.

    tests/vm/run.py [--errand PATH] [--units PATH] [--kernel PACKAGE] [-k PATTERN] [--keep]

The machine is QEMU without acceleration; its root is made of packages of this machine, in memory. What
runs in it is inside.py. Skipped where there is no QEMU or no Debian."""
import argparse
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from scratch import Scratch  # noqa: E402

SOURCE = HERE.parent.parent
KERNEL = "linux-image-cloud-amd64"  # its newest dependency is the kernel
PACKAGES = ["dash", "coreutils", "findutils", "grep", "sed", "util-linux", "util-linux-extra", "mount", "procps",
            "debianutils", "python3-minimal", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib",
            "git", "gcc", "gcc-12", "cpp-12", "libgcc-12-dev", "binutils", "binutils-x86-64-linux-gnu", "libc6-dev",
            "libc6", "linux-libc-dev"]
WANTED = re.compile(r"/(usr/)?(bin|sbin|lib|lib64|libexec|include|share/git-core)/")
PATIENCE = 1800
MEMORY = "3G"


class Archive:
    """An initramfs: a cpio archive of the kind "newc", all of it root's."""

    def __init__(self, file):
        self.file, self.names, self.inode = file, set(), 0

    def add(self, name, mode, data=b""):
        name = name.strip("/")
        if not name or name in self.names:
            return
        self.names.add(name)
        parent = os.path.dirname(name)
        if parent:
            self.add(parent, stat.S_IFDIR | 0o755)
        self.inode += 1
        fields = [self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name.encode()) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        self.file.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))

    def text(self, name, text, mode=0o644):
        self.add(name, stat.S_IFREG | mode, text.encode())

    def copy(self, path, name=None):
        """A file of this machine; with what a link leads to."""
        path = pathlib.Path(path)
        name = name or str(path.parent.resolve() / path.name)
        if path.is_symlink():
            self.add(name, stat.S_IFLNK | 0o777, os.readlink(path).encode())
            if path.resolve().is_file():
                self.copy(path.resolve())
        elif path.is_file():
            self.add(name, stat.S_IFREG | stat.S_IMODE(path.stat().st_mode), path.read_bytes())

    def finish(self):
        self.add("TRAILER!!!", 0)


def output_of(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def libraries_of(paths):
    text = subprocess.run(["ldd", *paths], capture_output=True, text=True).stdout
    return set(re.findall(r"(/\S+) \(0x", text))


def kernel_of(package, folder):
    """The kernel's own file, from Debian's package of it."""
    depends = re.findall(r"Depends: (linux-image-\d\S+)", output_of("apt-cache", "depends", package))
    package = depends[0] if depends else package
    found = sorted(folder.glob(f"{package}/boot/vmlinuz-*"))
    if not found:
        output_of("apt-get", "download", package, cwd=folder)
        archive = next(folder.glob(f"{package}_*.deb"))
        output_of("dpkg-deb", "-x", str(archive), str(folder / package))
        archive.unlink()
        found = sorted(folder.glob(f"{package}/boot/vmlinuz-*"))
    return found[0]


def fill(archive, errand, units, pattern):
    for name in ("bin", "sbin", "lib", "lib64"):
        archive.add(name, stat.S_IFLNK | 0o777, f"usr/{name}".encode())
    for name in ("proc", "sys", "dev", "run", "home", "root", "tmp", "var/tmp"):
        archive.add(name, stat.S_IFDIR | 0o755)
    programs = []
    listed = subprocess.run(["dpkg-query", "-L", *PACKAGES], capture_output=True, text=True).stdout
    for path in listed.split():
        if WANTED.match(path) and not (os.path.isdir(path) and not os.path.islink(path)):
            archive.copy(path)
            programs.append(path)
    for path in ("/usr/bin/sh", "/usr/bin/python3"):
        archive.copy(path)
    archive.copy(errand, "/opt/errand/build/release/errand")
    if units.exists():
        archive.copy(units, "/opt/errand/test_tools")
    for path in output_of("git", "ls-files", "-co", "--exclude-standard", "tests", cwd=SOURCE).splitlines():
        archive.copy(SOURCE / path, f"/opt/errand/{path}")
    elves = [path for path in programs if os.path.isfile(path) and open(path, "rb").read(4) == b"\x7fELF"]
    for path in libraries_of([*elves, errand, *([units] if units.exists() else [])]):
        archive.copy(path)
    archive.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n")
    archive.text("etc/group", "root:x:0:\nnogroup:x:65534:\n")
    archive.text("etc/shadow", "root:secret-hash:1::::::\n", 0o600)
    archive.text("etc/hosts", "127.0.0.1 localhost\n")
    archive.text("opt/errand/pattern", pattern)
    archive.copy(HERE / "init", "/init")


def boot(kernel, archive, folder):
    """What the machine says on its second line; the kernel has the first one."""
    command = ["qemu-system-x86_64", "-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", MEMORY, "-smp", "2",
               "-display", "none", "-no-reboot", "-nodefaults", "-no-user-config", "-kernel", str(kernel),
               "-initrd", str(archive), "-append", "console=ttyS0 loglevel=4 reboot=t panic=-1 mitigations=off",
               "-serial", f"file:{folder / 'console.log'}", "-serial", "stdio"]
    lines = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as machine:
        patience = threading.Timer(PATIENCE, machine.kill)
        patience.start()
        try:
            for line in machine.stdout:
                lines.append(line.rstrip())
                print(lines[-1], flush=True)
        finally:
            patience.cancel()
            machine.kill()
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errand", type=pathlib.Path, default=SOURCE / "build/release/errand")
    parser.add_argument("--units", type=pathlib.Path, default=SOURCE / "build/release/tests/test_tools")
    parser.add_argument("--kernel", default=KERNEL, metavar="PACKAGE")
    parser.add_argument("-k", metavar="PATTERN", default="", help="only cases and attacks whose name has this")
    parser.add_argument("--keep", action="store_true", help="leave the archive and the console's text behind")
    options = parser.parse_args()
    missing = [name for name in ("qemu-system-x86_64", "dpkg-query", "apt-get") if not shutil.which(name)]
    if missing:
        print(f"skip vm: there is no {', '.join(missing)}\n0 passed, 0 failed, 1 skipped")
        return 0
    shelf = SOURCE / "build/vm"
    shelf.mkdir(parents=True, exist_ok=True)
    kernel = kernel_of(options.kernel, shelf)
    with Scratch("vm") as scratch:
        folder, scratch.keep = scratch.path, options.keep
        if options.keep:
            print(f"kept in {folder}", file=sys.stderr)
        with open(folder / "root.cpio", "wb") as file:
            archive = Archive(file)
            fill(archive, options.errand.resolve(), options.units.resolve(), options.k)
            archive.finish()
        print(f"booting {kernel.name} with {os.path.getsize(folder / 'root.cpio') >> 20} MiB of files", flush=True)
        lines = boot(kernel, folder / "root.cpio", folder)
        scratch.hold()
        if not re.fullmatch(r"\d+ passed, 0 failed, \d+ skipped", lines[-1] if lines else ""):
            print((folder / "console.log").read_text(errors="replace")[-3000:])
            if not lines or "passed" not in lines[-1]:
                print("0 passed, 1 failed, 0 skipped")
            return 1
        return 0


sys.exit(main())
