"""The filter decides as it says, on both processors; on this one the kernel was asked in test_isolation."""

from __future__ import annotations

import platform

import pytest
from filters import AARCH64, ALLOW, I386, KILL, X86_64, decide

from groundwire.sandbox._seccomp import compile_filter, compile_filters, is_supported

CALLS = {
    # name: (x86_64, aarch64), arguments, decision
    "read": ((0, 63), (), ALLOW),
    "write": ((1, 64), (), ALLOW),
    "openat": ((257, 56), (), ALLOW),
    "execve": ((59, 221), (), ALLOW),
    "clone as fork": ((56, 220), (17,), ALLOW),
    "clone as a thread": ((56, 220), (0x3D0F00,), ALLOW),
    "clone with a user namespace": ((56, 220), (0x10000000 | 17,), "EPERM"),
    "clone with a network namespace": ((56, 220), (0x40000000,), "EPERM"),
    "clone with a mount namespace": ((56, 220), (0x00020000,), "EPERM"),
    "clone3": ((435, 435), (), "ENOSYS"),
    "unshare": ((272, 97), (0x10000000,), "EPERM"),
    "setns": ((308, 268), (), "EPERM"),
    "mount": ((165, 40), (), "EPERM"),
    "move_mount": ((429, 429), (), "EPERM"),
    "ptrace": ((101, 117), (), "EPERM"),
    "process_vm_writev": ((311, 271), (), "EPERM"),
    "pidfd_getfd": ((438, 438), (), "EPERM"),
    "bpf": ((321, 280), (), "EPERM"),
    "io_uring_setup": ((425, 425), (), "EPERM"),
    "keyctl": ((250, 219), (), "EPERM"),
    "userfaultfd": ((323, 282), (), "EPERM"),
    "reboot": ((169, 142), (), "EPERM"),
    "socket unix": ((41, 198), (1, 1, 0), ALLOW),
    "socket inet": ((41, 198), (2, 1, 0), ALLOW),
    "socket inet6": ((41, 198), (10, 1, 0), ALLOW),
    "socket netlink route": ((41, 198), (16, 3, 0), ALLOW),
    "socket netlink audit": ((41, 198), (16, 3, 9), "EAFNOSUPPORT"),
    "socket packet": ((41, 198), (17, 3, 0), "EAFNOSUPPORT"),
    "socket vsock": ((41, 198), (40, 1, 0), "EAFNOSUPPORT"),
    "socket alg": ((41, 198), (38, 5, 0), "EAFNOSUPPORT"),
    "ioctl of a terminal's size": ((16, 29), (0, 0x5413), ALLOW),
    "ioctl that types": ((16, 29), (0, 0x5412), "EPERM"),
    "ioctl of a console": ((16, 29), (0, 0x541C), "EPERM"),
    "a call of the future": ((600, 600), (), "ENOSYS"),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_call_is_decided_as_listed(name: str):
    numbers, arguments, wanted = CALLS[name]
    filters = compile_filters()
    assert decide(filters["x86_64"], X86_64, numbers[0], *arguments) == wanted
    assert decide(filters["aarch64"], AARCH64, numbers[1], *arguments) == wanted


def test_a_call_of_another_architecture_ends_the_process():
    assert decide(compile_filter("x86_64"), I386, 4) == KILL


def test_a_call_of_the_x32_kind_does_not_slip_through():
    assert decide(compile_filter("x86_64"), X86_64, 0x40000000 | 101) == "ENOSYS"


def test_this_machine_is_supported_if_a_filter_is_known():
    assert is_supported() == (platform.machine() in ("x86_64", "aarch64"))
    if is_supported():
        assert compile_filter() == compile_filter(platform.machine())
