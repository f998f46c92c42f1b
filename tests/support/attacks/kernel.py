"""Doors of the kernel: namespaces, mounts, privileges, and calls with a record of holes."""

from __future__ import annotations

from attacks.model import NO_FILTER, Attack

__all__ = ["ATTACKS"]

_LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_X86 = "import platform\nx86 = platform.machine() == 'x86_64'\n"


def _call(name: str, must: str, number_x86: int, number_arm: int, arguments: str, *, undefended: str = NO_FILTER) -> Attack:  # fmt: skip
    program = f"{_LIBC}{_X86}if libc.syscall({number_x86} if x86 else {number_arm}, {arguments}) >= 0: print('BREACH')"
    return Attack(name, must, program, undefended=undefended, root=undefended != NO_FILTER)


ATTACKS = (
    Attack(
        "a user namespace, in which it would be root",
        "no namespace can be made",
        f"{_LIBC}if libc.unshare(0x10000000) == 0: print('BREACH')",
        undefended=NO_FILTER,
    ),
    Attack(
        "a namespace by clone",
        "the flag is refused there too",
        f"{_LIBC}{_X86}pid = libc.syscall(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0)\n"
        "if pid == 0: os._exit(0)\nif pid > 0: os.wait(); print('BREACH')",
        undefended=NO_FILTER,
    ),
    Attack(
        "a namespace by clone3, whose flags no filter can read",
        "the call is not there",
        f"{_LIBC}import struct\nargs = struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0)\n"
        "pid = libc.syscall(435, args, 64)\nif pid == 0: os._exit(0)\nif pid > 0: os.wait(); print('BREACH')",
        undefended=NO_FILTER,
    ),
    Attack(
        "mounts a file system",
        "nothing can be mounted",
        f"{_LIBC}os.mkdir('m')\n"
        "if libc.mount(b'none', b'm', b'tmpfs', 0, None) == 0: libc.umount2(b'm', 2); print('BREACH')",
        root=True,
    ),
    Attack(
        "changes its root",
        "chroot is refused",
        "import os\nos.mkdir('r'); os.chroot('r'); print('BREACH')",
        root=True,
    ),
    Attack(
        "becomes root",
        "there is no way back to it",
        "import os\nos.setuid(0); print('BREACH' if os.getuid() == 0 else '')",
        root=True,
    ),
    Attack(
        "keeps a capability",
        "none is left, in any set",
        "import ctypes, struct\nheld = ctypes.create_string_buffer(24)\n"
        "ctypes.CDLL(None).capget(struct.pack('II', 0x20080522, 0), held)\nif held.raw != bytes(24): print('BREACH')",
        root=True,
    ),
    Attack(
        "gains by a program that is set-user-id",
        "no program gives new privileges",
        f"{_LIBC}if libc.prctl(39, 0, 0, 0, 0) == 0: print('BREACH')",
    ),
    Attack(
        "sets the clock",
        "the clock can't be set",
        "import time\ntime.clock_settime(time.CLOCK_REALTIME, time.time()); print('BREACH')",
        root=True,
    ),
    Attack(
        "renames the host",
        "the name can't be set",
        "import socket\nsocket.sethostname(socket.gethostname()); print('BREACH')",
        root=True,
    ),
    Attack(
        "a switch of the kernel",
        "/proc/sys can't be written",
        "p = '/proc/sys/kernel/panic'\nwith open(p) as f: now = f.read()\nwith open(p, 'w') as f: f.write(now)\nprint('BREACH')",
        root=True,
    ),
    Attack(
        "the program that the kernel starts for a core",
        "it can't be opened",
        "import os\nos.open('/proc/sys/kernel/core_pattern', os.O_WRONLY); print('BREACH')",
        root=True,
    ),
    _call("loads a program into the kernel", "bpf is refused", 321, 280, "0, ctypes.create_string_buffer(b'\\x02\\0\\0\\0\\x04\\0\\0\\0\\x04\\0\\0\\0\\x01\\0\\0\\0', 72), 72", undefended="bare"),
    _call("watches the processor's counters", "perf_event_open is refused", 298, 241, "ctypes.create_string_buffer(b'\\x01\\0\\0\\0\\x70\\0\\0\\0' + bytes(16), 112), 0, -1, -1, 0", undefended="bare"),
    _call("a ring of system calls, past every filter", "io_uring is refused", 425, 425, "4, ctypes.create_string_buffer(120)"),
    _call("handles page faults itself", "userfaultfd is refused", 323, 282, "1"),
    _call("moves pages into a pipe", "vmsplice is refused", 278, 75, "os.pipe()[1], ctypes.byref((ctypes.c_size_t * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 0)), 1, 0"),
    _call("a key ring of its own", "keyctl is refused", 250, 219, "0, -3, 1, 0, 0"),
    _call("compares kernel pointers", "kcmp is refused", 312, 272, "os.getpid(), os.getpid(), 2, 0, 0"),
    _call("secret memory, that nobody can look into", "memfd_secret is refused", 447, 447, "0"),
    _call("opens a mount as a tree", "open_tree is refused", 428, 428, "-100, b'/', 0"),
    _call("enters a namespace by number", "setns is refused", 308, 268, "os.open('/proc/self/ns/uts', 0), 0", undefended="bare"),
)  # fmt: skip
