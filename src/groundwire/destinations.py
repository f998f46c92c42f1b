"""Where a command may connect to: a host and a port, named exactly."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Destination", "canonical_destinations"]

MOST = 64
HIGHEST_PORT = 65535
MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# what a C library reads as an address, however odd: 2130706433, 127.1, 0x7f.1
_NUMERIC = re.compile(r"([0-9]+|0x[0-9a-f]*)")
_FORM = "Write HOST:PORT, like api.example.org:443, 10.0.0.5:5432 or [2001:db8::1]:443"


class Destination(NamedTuple):
    """A host and a port in their one canonical form.

    Args:
        host: a name in lower case, or an address.
        port: 1 to 65535.
        is_address: the host is an address, which is not looked up.
    """

    host: str
    port: int
    is_address: bool

    @classmethod
    def parse(cls, text: str) -> Destination:
        """Reads `host:port`.

        Raises:
            ValueError: it is no such thing; says why, and what to write.
        """
        shown = ascii(text[:80])
        if "://" in text or "/" in text:
            raise ValueError(f"{shown} is more than a host and a port. {_FORM}, without a scheme or a path.")
        if "*" in text:
            raise ValueError(f"{shown} has a wildcard. Each host is named by itself. {_FORM}.")
        host, colon, port = text.rpartition(":")
        if not colon or not host or host.endswith(":"):
            raise ValueError(f"{shown} has no port. {_FORM}.")
        if not _PORT.fullmatch(port) or int(port) > HIGHEST_PORT:
            raise ValueError(f"{shown} has no port from 1 to {HIGHEST_PORT}. {_FORM}.")
        address = _address(host, shown)
        if address is not None:
            return cls(str(address), int(port), True)
        return cls(_name(host, shown), int(port), False)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def canonical_destinations(texts: Iterable[str]) -> tuple[str, ...]:
    """The list, each entry in its canonical form, sorted, none twice.

    Raises:
        ValueError: an entry is not `host:port`, or there are too many.
    """
    found = sorted({str(Destination.parse(text)) for text in texts})
    if len(found) > MOST:
        raise ValueError(f"{len(found)} destinations are more than {MOST}. Name fewer.")
    return tuple(found)


def _address(host: str, shown: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    bracketed = host.startswith("[") and host.endswith("]")
    if not bracketed and ":" in host:
        raise ValueError(f"{shown} has an address that is not in brackets. {_FORM}.")
    try:
        address = ipaddress.IPv6Address(host[1:-1]) if bracketed else ipaddress.IPv4Address(host)
    except ValueError:
        if bracketed:
            raise ValueError(f"{shown} has no IPv6 address in its brackets. {_FORM}.") from None
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f"{shown} names an interface, which can't be listed. {_FORM}.")
        address = address.ipv4_mapped or address
    if address.is_unspecified or address.is_multicast:
        raise ValueError(f"{shown} is no address of one host. {_FORM}.")
    return address


def _name(host: str, shown: str) -> str:
    name = host.lower()
    if not name.isascii():
        raise ValueError(f"{shown} has letters beyond ASCII. Write such a name as DNS does: xn--….")
    labels = name.split(".")
    if len(name) > MAX_NAME or not all(map(_LABEL.fullmatch, labels)) or _NUMERIC.fullmatch(labels[-1]):
        raise ValueError(f"{shown} has no host name and no address before its port. {_FORM}.")
    return name
