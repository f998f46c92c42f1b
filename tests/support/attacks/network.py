"""Out over the wire, or to a daemon next door."""

from __future__ import annotations

from attacks.model import Attack, Prey
from groundwire.core._sandboxes import ExecResult

__all__ = ["ATTACKS"]


def _arrived(word: bytes):
    def arrived(_result: ExecResult, prey: Prey) -> bool:
        return word in prey.received

    return arrived


ATTACKS = (
    Attack(
        "TCP to the host's loopback",
        "the host can't be reached",
        "import socket\nsocket.create_connection(('127.0.0.1', <PORT>), 3).send(b'tcp4')\nprint('BREACH')",
        succeeded=_arrived(b"tcp4"),
    ),
    Attack(
        "TCP over IPv6",
        "the host can't be reached by its other address either",
        "import socket\ns = socket.create_connection(('::1', <PORT6>), 3); s.send(b'tcp6')",
        succeeded=_arrived(b"tcp6"),
    ),
    Attack(
        "a datagram",
        "nothing leaves, even without a connection",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'udp', ('127.0.0.1', <UDP>))",
        succeeded=_arrived(b"udp"),
    ),
    Attack(
        "an abstract socket, which has no file",
        "abstract names of the host are out of reach",
        "import socket\ns = socket.socket(socket.AF_UNIX); s.connect('\\0' + '<ABSTRACT>'); s.send(b'abstract')",
        succeeded=_arrived(b"abstract"),
    ),
    Attack(
        "a daemon's socket in the file system, open to everybody",
        "sockets of daemons are out of reach, whatever their mode",
        "import socket\ns = socket.socket(socket.AF_UNIX); s.connect('<UNIX>'); s.send(b'unix')",
        succeeded=_arrived(b"unix"),
    ),
    Attack(
        "a datagram pair, one end turned to a daemon",
        "a pair of sockets stays a pair",
        "import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.sendto(b'pair', '<UNIX_DGRAM>')",
        succeeded=_arrived(b"pair"),
    ),
    Attack(
        "packets below TCP",
        "no packet socket can be made",
        "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); print('BREACH')",
        root=True,
    ),
    Attack(
        "a raw ICMP socket",
        "no raw socket can be made",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP); print('BREACH')",
        root=True,
    ),
    Attack(
        "the interfaces of the host",
        "no address of the host can be seen",
        "import socket\nif [n for _, n in socket.if_nameindex() if n != 'lo']: print('BREACH')",
        root=True,
    ),
    Attack(
        "the kernel's audit channel",
        "only the resolver's netlink is open",
        "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9); print('BREACH')",
        root=True,
    ),
)
