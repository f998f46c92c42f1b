"""The one way out of a sandbox with an allow list: a listening socket of its loopback, handed out to groundwire.

A socket stays in the network namespace it was made in, whoever holds it. So nothing of ours has to run in here, nothing
lies in the file system, and no route leads out: only what is accepted outside is ever answered.
"""

from __future__ import annotations

import _socket
import struct

from groundwire.sandbox.guest import wire

PORT = 3128
"""The same in every sandbox: each has a loopback of its own."""
BACKLOG = 32


def hand_out(reports: int) -> None:
    """Sends the socket, and keeps nothing of it.

    Raises:
        OSError: it can't be made.
    """
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    channel = _socket.socket(fileno=reports)
    try:
        listener.bind(("127.0.0.1", PORT))
        listener.listen(BACKLOG)
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("i", listener.fileno()))
        channel.sendmsg([wire.HEADER.pack(wire.DOOR, 0)], [rights])
    finally:
        channel.detach()
        listener.close()
