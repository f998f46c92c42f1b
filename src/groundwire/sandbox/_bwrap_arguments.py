"""The command line that makes bubblewrap build our sandbox."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

from groundwire.core._candidates import check_path
from groundwire.core._sandboxes import Network
from groundwire.sandbox._interpreter import SYSTEM_FOLDERS, Interpreter

BOX = "/box"
SUPPORT = "/support"
BASE = "/base"
SHARED_MEMORY_BYTES = 16 << 20
UID = "65534"
NO_LINKS: Mapping[str, str] = MappingProxyType({})

ETC_FILES = {
    "passwd": b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n",
    "group": b"root:x:0:\nnogroup:x:65534:\n",
    "hosts": b"127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
}
ETC_SHARED = (
    "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "protocols", "services",
)  # fmt: skip
ETC_RESOLVER = ("resolv.conf",)
ETC_CERTIFICATES = ("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust", "ca-certificates.conf")
ETC_NETWORK = (*ETC_RESOLVER, *ETC_CERTIFICATES)


class Mounts:
    """Small files given to bubblewrap by descriptor, so that nothing of them is ever on the host's disk.

    Closed with `stack` at the latest.
    """

    def __init__(self, stack: ExitStack) -> None:
        self.fds: list[int] = []
        stack.callback(self.close)

    def hold(self, content: bytes) -> str:
        """A descriptor of a file in memory, as bubblewrap's options take it."""
        fd = os.memfd_create("groundwire", os.MFD_CLOEXEC)
        self.fds.append(fd)
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        return str(fd)

    def close(self) -> None:
        """Closes them; whoever inherited them keeps them."""
        while self.fds:
            os.close(self.fds.pop())


def bwrap_arguments(
    interpreter: Interpreter,
    mounts: Mounts,
    *,
    disk_bytes: int,
    network: Network,
    support: Mapping[str, bytes],
    seccomp: bytes,
    warm: bool = False,
    links: Mapping[str, str] = NO_LINKS,
) -> list[str]:
    """Bubblewrap's options, up to the program that it starts.

    Args:
        interpreter: what is bound beside the system's folders.
        mounts: holds the files that are passed by descriptor.
        disk_bytes: size of the one writable file system.
        network: what of the network is open; see `Limits.network`.
        support: files laid read-only into `SUPPORT`.
        seccomp: compiled filter; empty: none is loaded by bubblewrap.
        warm: a fork server, whose interpreter starts with the variables every command gets.
        links: further symbolic links, by their absolute paths, for programs that expect the box's folders elsewhere.

    Raises:
        CandidateError: a path in `support` is not plain.
    """
    arguments = ["--unshare-all", "--unshare-user", "--new-session", "--die-with-parent", "--as-pid-1"]
    arguments += ["--uid", UID, "--gid", UID, "--hostname", "sandbox", "--chdir", "/", "--clearenv"]
    if network is True:
        arguments.append("--share-net")
    for folder in SYSTEM_FOLDERS:
        if folder.is_symlink():
            arguments += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            arguments += ["--ro-bind", str(folder), str(folder)]
    for folder in interpreter.folders:
        arguments += ["--ro-bind", str(folder), str(folder)]
    for link, target in interpreter.links:
        arguments += ["--symlink", target, str(link)]
    arguments += _etc(mounts, network)
    for path, content in support.items():
        arguments += ["--perms", "0444", "--file", mounts.hold(content), f"{SUPPORT}/{check_path(path)}"]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]
    arguments += ["--size", str(disk_bytes), "--tmpfs", BOX]
    for target, link in ((f"{BOX[1:]}/tmp", "/tmp"), (f"..{BOX}/tmp", "/var/tmp")):
        # an interpreter that itself lies below /tmp keeps it as a read-only folder; TMPDIR leads to the writable one
        if not any(place.is_relative_to(link) for place in interpreter.places):
            arguments += ["--symlink", target, link]
    for link, target in links.items():
        arguments += ["--symlink", target, link]
    if warm:
        arguments += ["--dir", BASE, "--setenv", "PYTHONHASHSEED", "0", "--setenv", "LANG", "C.UTF-8"]
        arguments += ["--setenv", "OMP_NUM_THREADS", "1"]
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/"]
    if seccomp:
        arguments += ["--seccomp", mounts.hold(seccomp)]
    return arguments


def _etc(mounts: Mounts, network: Network) -> list[str]:
    arguments: list[str] = []
    for name, content in ETC_FILES.items():
        arguments += ["--perms", "0444", "--file", mounts.hold(content), f"/etc/{name}"]
    # who goes through a proxy looks no name up
    names = (*ETC_SHARED, *(ETC_CERTIFICATES if network else ()), *(ETC_RESOLVER if network is True else ()))
    for name in names:
        path = Path("/etc") / name
        if path.exists():
            arguments += ["--ro-bind", str(path.resolve() if path.is_symlink() else path), str(path)]
    return arguments
