"""A second system call filter, for commands that share the host's namespaces: what Landlock does not hold.

Sockets (a path of a daemon's socket may be open to everybody), System V and POSIX queues (they outlive a command and
belong to nobody's folder), and other processes' limits and priorities. Where the command runs as the caller, also what
changes the metadata of the caller's files: those calls report success and do nothing, since most programs that copy a
file make them and only few need them.
"""

from __future__ import annotations

import errno
import platform
from collections.abc import Sequence
from typing import Final, NamedTuple

from groundwire.sandbox._seccomp import allow, argument, load_number, masked, refuse, when, when_not


class _Machine(NamedTuple):
    socket: int
    socketpair: int
    serving: tuple[int, ...]
    """connect, bind, listen, accept, accept4"""
    queues: tuple[int, ...]
    """shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink"""
    by_pid: tuple[int, ...]
    """Act on the process in their first argument: prlimit64, sched_setaffinity, _setscheduler, _setparam, _setattr."""
    setpriority: int
    ioprio_set: int
    metadata: tuple[int, ...]
    """chmod, chown, utime and xattr calls that change something, in all their forms."""


_MACHINES: Final = {
    "x86_64": _Machine(
        socket=41,
        socketpair=53,
        serving=(42, 49, 50, 43, 288),
        queues=(29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241),
        by_pid=(302, 203, 144, 142, 314),
        setpriority=141,
        ioprio_set=251,
        metadata=(90, 91, 92, 93, 94, 132, 235, 280, 261, 260, 268, 452, 188, 189, 190, 197, 198, 199),
    ),
    "aarch64": _Machine(
        socket=198,
        socketpair=199,
        serving=(203, 200, 201, 202, 242),
        queues=(194, 196, 195, 190, 193, 191, 192, 186, 189, 188, 187, 180, 181),
        by_pid=(261, 122, 119, 118, 274),
        setpriority=140,
        ioprio_set=30,
        metadata=(52, 53, 54, 55, 88, 452, 5, 6, 7, 14, 15, 16),
    ),
}
_UNIX, _STREAM, _SEQPACKET = 1, 1, 5
_TYPE_BITS = 0xF
_PRETEND = 0
"""An error number of none: the call is not made, and reports success."""


def compile_host_filter(*, network: bool, own_files: bool, processor: str | None = None) -> bytes:
    """The filter as an array of `struct sock_filter`; loaded beside `seccomp.compile_filter`, which checks the ABI.

    Args:
        network: internet sockets may be made.
        own_files: the command runs as the owner of files outside its box.
        processor: its name in `uname -m`; None: this machine's.

    Raises:
        KeyError: no filter is known for this processor.
    """
    machine = _MACHINES[processor or platform.machine()]
    code = [load_number()]
    if network:
        code += when(machine.socket, [argument(0), *when(_UNIX, [refuse(errno.EAFNOSUPPORT)]), allow()])
    else:
        code += when(machine.socket, [refuse(errno.EAFNOSUPPORT)])
        code += _each(machine.serving, refuse(errno.EPERM))
    # a pair of datagram sockets could be sent elsewhere; the kinds that stay connected can't
    kinds = [*when(_STREAM, [allow()]), *when(_SEQPACKET, [allow()]), refuse(errno.EAFNOSUPPORT)]
    code += when(machine.socketpair, [argument(1), masked(_TYPE_BITS), *kinds])
    code += _each((*machine.queues, machine.ioprio_set), refuse(errno.EPERM))
    for number in machine.by_pid:
        code += when(number, [argument(0), *when_not(0, [refuse(errno.EPERM)]), allow()])
    only_self = [argument(0), *when_not(0, [refuse(errno.EPERM)]), argument(1), *when_not(0, [refuse(errno.EPERM)])]
    code += when(machine.setpriority, [*only_self, allow()])
    if own_files:
        code += _each(machine.metadata, refuse(_PRETEND))
    return b"".join([*code, allow()])


def compile_queue_filters() -> dict[str, bytes]:
    """By processor: refuses System V and POSIX queues alone, which outlive a command in a container that is kept."""
    return {
        name: b"".join([load_number(), *_each(machine.queues, refuse(errno.EPERM)), allow()])
        for name, machine in _MACHINES.items()
    }


def _each(numbers: Sequence[int], then: bytes) -> list[bytes]:
    return [line for number in numbers for line in when(number, [then])]
