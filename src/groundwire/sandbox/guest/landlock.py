"""Shuts this process, for good, into the files it needs (Landlock, Linux 6.12 or newer for all that we ask of it).

What it does not hold: whether a path exists can still be seen, and metadata of files that this user owns could be
changed; the system call filter that goes with it takes care of the latter.
Source: Documentation/userspace-api/landlock.rst of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ABI = 6
"""The first version that also keeps signals and abstract sockets inside."""

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REFER = 1 << 13
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
ALL_FILES = (1 << 16) - 1
ALL_TCP = 0b11
ALL_SCOPES = 0b11
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ALL_FILES & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
DEVICE = READ_FILE | WRITE_FILE

_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Which version of Landlock this kernel has; 0: none that may be used."""
    return max(0, _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def shut_in(readable: Iterable[str], writable: Iterable[str], devices: Iterable[str], *, network: bool) -> None:
    """Restricts this process and its children. `no_new_privs` has to be set before.

    Args:
        readable: files and folders that may be read and executed; those that are missing are left out.
        writable: folders in which everything may be done but making devices.
        devices: files that may be read and written.
        network: TCP is not restricted.

    Raises:
        OSError: the kernel refuses.
    """
    attributes = struct.pack("QQQ", ALL_FILES, 0 if network else ALL_TCP, ALL_SCOPES)
    ruleset = _check(_libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "make a ruleset")
    try:
        for paths, rights in ((readable, READ), (writable, WRITE), (devices, DEVICE)):
            for path in paths:
                _allow(ruleset, path, rights)
        _check(_libc.syscall(RESTRICT_SELF, ruleset, 0), "restrict itself")
    finally:
        os.close(ruleset)


def scope() -> None:
    """From now on this process reaches, by signals and abstract sockets, nobody but those it starts. Files stay open.

    `no_new_privs` has to be set before. Those it starts may be shut in further; then they can't reach it either.

    Raises:
        OSError: the kernel refuses.
    """
    # moving a file to another folder is denied by every ruleset that does not allow it
    attributes = struct.pack("QQQ", REFER, 0, ALL_SCOPES)
    ruleset = _check(_libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "make a ruleset")
    try:
        _allow(ruleset, "/", REFER)
        _check(_libc.syscall(RESTRICT_SELF, ruleset, 0), "restrict itself")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112  pathlib is slow to import
            rights &= OF_A_FILE
        rule = struct.pack("=Qi", rights, fd)
        _check(_libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0), f"allow {path}")
    finally:
        os.close(fd)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock can't {what}: {os.strerror(number)}")
    return result
