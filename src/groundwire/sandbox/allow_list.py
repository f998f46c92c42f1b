"""Decides where a command with an allow list may connect to. Pure: looks nothing up and opens nothing."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from groundwire.destinations import Destination

__all__ = ["LISTED_NOT", "AllowList", "Refusals", "is_public"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LISTED_NOT = "not on the list of hosts of this command"
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# clouds' metadata services at addresses that look public; the others are link-local or private
METADATA = frozenset({ipaddress.IPv4Address("168.63.129.16")})
MOST_NAMED = 16
MAX_SHOWN = 120


class AllowList:
    """Destinations that may be reached.

    Args:
        entries: `host:port` each.

    Raises:
        ValueError: an entry is something else.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._listed = frozenset(map(Destination.parse, entries))

    def __contains__(self, destination: Destination) -> bool:
        return destination in self._listed

    def reachable(self, destination: Destination, addresses: Iterable[str]) -> list[str]:
        """Which of the addresses that a listed host was found at may be connected to.

        A name that leads to this machine, to its network or to a cloud's metadata leads nowhere, whoever answers for
        it: such an address is reached only where that very address is listed.
        """
        found: list[str] = []
        for text in addresses:
            address = _plain(ipaddress.ip_address(text))
            if is_public(address) or Destination(str(address), destination.port, True) in self._listed:
                found.append(str(address))
        return found

    def hosts(self) -> frozenset[str]:
        """The hosts on the list, without their ports."""
        return frozenset(entry.host for entry in self._listed)


class Refusals:
    """What a command was refused: all of it counted, the first few named."""

    def __init__(self) -> None:
        self.count = 0
        self._named: dict[str, None] = {}

    def add(self, target: str) -> None:
        """Takes note of one. `target` is the command's own text: kept short and plain."""
        self.count += 1
        if len(self._named) < MOST_NAMED:
            self._named[ascii(target[:MAX_SHOWN])[1:-1]] = None

    @property
    def named(self) -> tuple[str, ...]:
        """The first that differ, printable."""
        return tuple(self._named)


def is_public(address: Address) -> bool:
    """True for an address of the public internet, and of nothing that stands for a private one."""
    address = _plain(address)
    if isinstance(address, ipaddress.IPv6Address):
        # addresses that carry an IPv4 one, to which a gateway may lead
        inner = address.sixtofour or (address.teredo[1] if address.teredo else None)
        if address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved and address not in METADATA


def _plain(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address
