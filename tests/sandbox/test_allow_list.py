"""What an allow list lets through, and what it makes of the rest. No network is needed to decide."""

from __future__ import annotations

import ipaddress

import pytest

from groundwire.core._sandboxes import Destination
from groundwire.sandbox._proxy import AllowList, Refusals, is_public

NAME = Destination.parse("app.example:443")


def test_only_that_very_host_and_port_is_listed() -> None:
    allowed = AllowList(["app.example:443", "10.0.0.5:5432"])
    assert NAME in allowed
    assert Destination.parse("10.0.0.5:5432") in allowed
    for other in ("app.example:80", "example:443", "x.app.example:443", "10.0.0.5:22", "10.0.0.6:5432"):
        assert Destination.parse(other) not in allowed


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255", "240.0.0.1", "::1", "::", "fe80::1",
        "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "2001:0:7f00:1::",
    ],
)  # fmt: skip
def test_a_name_leads_to_no_private_address(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    assert AllowList(["app.example:443"]).reachable(NAME, [address]) == []


@pytest.mark.parametrize("address", ["1.1.1.1", "140.82.112.3", "2606:4700::1111", "64:ff9b::101:101"])
def test_a_name_leads_to_public_addresses(address: str) -> None:
    assert AllowList(["app.example:443"]).reachable(NAME, ["10.0.0.1", address]) == [address]


def test_a_private_address_that_is_listed_itself_may_have_a_name() -> None:
    allowed = AllowList(["app.example:443", "10.0.0.5:443"])
    assert allowed.reachable(NAME, ["10.0.0.5", "::ffff:10.0.0.5"]) == ["10.0.0.5", "10.0.0.5"]
    assert allowed.reachable(Destination.parse("app.example:80"), ["10.0.0.5"]) == []


def test_refusals_are_all_counted_and_the_first_named_in_plain_text() -> None:
    refusals = Refusals()
    for number in range(100):
        refusals.add(f"\x1b[31m{number}\nö{'x' * 1000}")
        refusals.add("same")
    assert refusals.count == 200
    assert len(refusals.named) == 16
    assert refusals.named[1] == "same"
    assert all(name.isascii() and name.isprintable() and len(name) < 1000 for name in refusals.named)
