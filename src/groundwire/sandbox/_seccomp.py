"""The system calls that code in a sandbox may not make, as a compiled seccomp filter.

A list of what is refused, not of what is allowed: candidates are whole test suites, and a call that libraries need but
we forgot would be a wrong verdict. Refused is what reaches other processes, mounts, namespaces, kernel internals with
a record of holes, and sockets that are not bound to the network namespace. Numbers that were not known when this was
written are refused too, as "not implemented", which C libraries fall back from.
"""

from __future__ import annotations

import errno
import platform
import struct
from typing import Final, NamedTuple


class _Machine(NamedTuple):
    audit_arch: int
    clone: int
    clone3: int
    socket: int
    ioctl: int
    refused: tuple[int, ...]


# in this order: ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise mount umount2 pivot_root
# chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr unshare setns bpf perf_event_open
# userfaultfd io_uring_setup io_uring_enter io_uring_register memfd_secret add_key request_key keyctl kexec_load
# kexec_file_load init_module finit_module delete_module open_by_handle_at name_to_handle_at fanotify_init quotactl
# quotactl_fd swapon swapoff acct reboot syslog sethostname setdomainname settimeofday clock_settime clock_adjtime
# adjtimex lookup_dcookie nfsservctl vhangup migrate_pages move_pages vmsplice
_X86_64 = (
    101, 310, 311, 438, 312, 440, 165, 166, 155, 161, 428, 429, 430, 431, 432, 433, 442, 272, 308, 321, 298, 323, 425,
    426, 427, 447, 248, 249, 250, 246, 320, 175, 313, 176, 304, 303, 300, 179, 443, 167, 168, 163, 169, 103, 170, 171,
    164, 227, 305, 159, 212, 180, 153, 256, 279, 278,
)  # fmt: skip
_AARCH64 = (
    117, 270, 271, 438, 272, 440, 40, 39, 41, 51, 428, 429, 430, 431, 432, 433, 442, 97, 268, 280, 241, 282, 425,
    426, 427, 447, 217, 218, 219, 104, 294, 105, 273, 106, 265, 264, 262, 60, 443, 224, 225, 89, 142, 116, 161, 162,
    170, 112, 266, 171, 18, 42, 58, 238, 239, 75,
)  # fmt: skip
# iopl ioperm modify_ldt uselib ustat sysfs _sysctl create_module query_module get_kernel_syms
_X86_64_ONLY = (172, 173, 154, 134, 136, 139, 156, 174, 178, 177)

_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, 56, 435, 41, 16, _X86_64 + _X86_64_ONLY),
    "aarch64": _Machine(0xC00000B7, 220, 435, 198, 29, _AARCH64),
}
_LAST_KNOWN = 462  # mseal, Linux 6.10
_NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEW*: user, pid, net, ipc, uts, cgroup, mount
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing into somebody's terminal
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16

_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x25, 0x45, 0x06, 0x54
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16


def is_supported() -> bool:
    """True if the filter is known for this machine's processor: x86_64 and aarch64."""
    return platform.machine() in _MACHINES


def compile_filters() -> dict[str, bytes]:
    """The filters of all processors that have one, by their name in `uname -m`."""
    return {name: compile_filter(name) for name in _MACHINES}


def compile_filter(processor: str | None = None) -> bytes:
    """The filter as an array of `struct sock_filter`.

    Args:
        processor: its name in `uname -m`; None: this machine's.

    Raises:
        KeyError: no filter is known for this processor.
    """
    machine = _MACHINES[processor or platform.machine()]
    code = [_op(_LOAD, _ARCH), _op(_EQUAL, machine.audit_arch, 1, 0), _op(_RETURN, _KILL), load_number()]
    code += _test(_ABOVE, _LAST_KNOWN, [refuse(errno.ENOSYS)])
    code += when(machine.clone3, [refuse(errno.ENOSYS)])
    for number in machine.refused:
        code += when(number, [refuse(errno.EPERM)])
    # a block that looks at an argument has lost the number, so each of these decides for good
    code += when(machine.clone, [argument(0), *_test(_ANY_BIT, _NAMESPACE_FLAGS, [refuse(errno.EPERM)]), allow()])
    ioctl = [argument(1)]
    for request in _TERMINAL_INPUT:
        ioctl += when(request, [refuse(errno.EPERM)])
    code += when(machine.ioctl, [*ioctl, allow()])
    code += when(machine.socket, _socket_families())
    code.append(allow())
    return b"".join(code)


def _socket_families() -> list[bytes]:
    code = [argument(0)]
    for family in (_UNIX, _INET, _INET6):
        code += when(family, [allow()])
    # resolvers ask the kernel for its routes (protocol 0); no other netlink
    code += when(_NETLINK, [argument(2), *when(0, [allow()])])
    return [*code, refuse(errno.EAFNOSUPPORT)]


def load_number() -> bytes:
    """What comes next looks at the system call's number."""
    return _op(_LOAD, _NUMBER)


def argument(index: int) -> bytes:
    """What comes next looks at an argument, its lower half."""
    return _op(_LOAD, _ARGUMENTS + 8 * index)


def masked(bits: int) -> bytes:
    """What comes next looks only at these bits of what was looked at."""
    return _op(_AND, bits)


def when(value: int, then: list[bytes]) -> list[bytes]:
    """`then`, where what is looked at equals `value`."""
    return _test(_EQUAL, value, then)


def when_not(value: int, then: list[bytes]) -> list[bytes]:
    """`then`, where what is looked at differs from `value`."""
    return [_op(_EQUAL, value, len(then), 0), *then]


def allow() -> bytes:
    """Makes the call."""
    return _op(_RETURN, _ALLOW)


def refuse(number: int) -> bytes:
    """Does not make the call, which reports this error."""
    return _op(_RETURN, _ERRNO | number)


def _test(test: int, value: int, then: list[bytes]) -> list[bytes]:
    return [_op(test, value, 0, len(then)), *then]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
