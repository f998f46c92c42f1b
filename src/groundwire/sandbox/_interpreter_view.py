"""Lets an unprivileged user reach a path that lies under a private one, without opening the private one.

For a caller who is root: bubblewrap runs as an unprivileged user, who can't walk into, say, /root (0700), where the
interpreter may lie. A mount namespace of our own is made in which the private folder is covered by an empty one and
only the interpreter's folder shows through, at its own path. Bubblewrap is then started in that namespace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from groundwire.core._errors import SandboxUnavailable

SCRIPT = """\
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
def check(result):
    if result:
        sys.exit(os.strerror(ctypes.get_errno()))
NEWNS, BIND, REC, PRIVATE, NOSUID_NODEV = 0x20000, 4096, 16384, 1 << 18, 6
os.umask(0o022)
count = int(sys.argv[1])
covered, shown = sys.argv[2:2 + count], sys.argv[2 + count:]
check(libc.unshare(NEWNS))
check(libc.mount(None, b"/", None, REC | PRIVATE, None))
held = [(path, os.open(path, os.O_PATH)) for path in shown]
for path in covered:
    check(libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", NOSUID_NODEV, b"mode=0755,size=1m"))
for path, fd in held:
    if os.path.isdir("/proc/self/fd/%d" % fd):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    check(libc.mount(b"/proc/self/fd/%d" % fd, os.fsencode(path), None, BIND | REC, None))
print("ready", flush=True)
sys.stdin.read()
"""


def barrier(path: Path) -> Path | None:
    """The outermost folder above `path` that others may not walk through; None if there is none."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


class InterpreterView:
    """A mount namespace in which `paths` can be reached by anybody.

    Args:
        paths: existing folders and files.

    Raises:
        SandboxUnavailable: this root may not mount, or `nsenter` is missing.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        shown = [path for path in paths if barrier(path)]
        covered = sorted({str(barrier(path)) for path in shown})
        nsenter = shutil.which("nsenter", path="/usr/bin:/bin:/usr/sbin:/sbin")
        if nsenter is None:
            raise SandboxUnavailable(
                f"{shown[0]} lies under a private folder, and nsenter, which could show it, is missing.",
                do="Install util-linux, or use an interpreter that every user can reach.",
            )
        self._nsenter = nsenter
        helper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", SCRIPT, str(len(covered)), *covered, *map(str, shown)],
            env={},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert helper.stdin and helper.stdout and helper.stderr
        with helper:
            if helper.stdout.readline() != b"ready\n":
                why = helper.stderr.read(4096).decode(errors="replace").strip()
                raise SandboxUnavailable(
                    f"{shown[0]} lies under a private folder and can't be shown to the sandbox: {why}.",
                    do="Use an interpreter that every user can reach, or run as another user than root.",
                )
            self._fd = os.open(f"/proc/{helper.pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            helper.stdin.close()

    def prefix(self, uid: int) -> list[str]:
        """What to put before a command so that it runs in here as `uid`."""
        # by way of our own process, so that the command does not inherit a door to the host's files
        door = f"/proc/{os.getpid()}/fd/{self._fd}"
        return [self._nsenter, f"--mount={door}", "--setgid", str(uid), "--setuid", str(uid), "--"]

    def close(self) -> None:
        """Lets go of the namespace."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
