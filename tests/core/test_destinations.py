"""`host:port` in one form only, and everything else refused with a reason."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from groundwire.core._sandboxes import Destination, Limits, SandboxInfo, canonical_destinations


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("API.Example.org:443", "api.example.org:443"),
        ("xn--bcher-kva.example:80", "xn--bcher-kva.example:80"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("[::1]:65535", "[::1]:65535"),
        ("[2001:DB8:0:0::1]:443", "[2001:db8::1]:443"),
        ("[::ffff:10.0.0.1]:1", "10.0.0.1:1"),
    ],
)
def test_one_form_for_each(text: str, canonical: str) -> None:
    destination = Destination.parse(text)
    assert str(destination) == canonical
    assert Destination.parse(canonical) == destination
    assert destination.is_address == (canonical[0] in "[1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("example.org", "no port"),
        ("", "no port"),
        (":443", "no port"),
        ("example.org:", "no port from 1"),
        ("example.org:0", "no port from 1"),
        ("example.org:080", "no port from 1"),
        ("example.org:65536", "no port from 1"),
        ("example.org:٤", "no port from 1"),
        ("example.org:443 ", "no port from 1"),
        ("https://example.org:443", "scheme"),
        ("example.org:443/path", "path"),
        ("*.example.org:443", "wildcard"),
        ("example .org:443", "no host name"),
        ("user@example.org:443", "no host name"),
        ("example.org.:443", "no host name"),
        ("-a.example:443", "no host name"),
        (f"{'a' * 64}.example:443", "no host name"),
        ("a.\r\nb:443", "no host name"),
        ("bücher.example:443", "beyond ASCII"),
        ("2130706433:80", "no host name"),
        ("127.1:80", "no host name"),
        ("0x7f.0x1:80", "no host name"),
        ("127.0.0.01:80", "no host name"),
        ("::1:80", "brackets"),
        ("[example.org]:80", "IPv6"),
        ("[fe80::1%eth0]:80", "interface"),
        ("0.0.0.0:80", "no address of one host"),
        ("[::]:80", "no address of one host"),
        ("224.0.0.1:80", "no address of one host"),
    ],
)
def test_everything_else_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Destination.parse(text)


def test_the_list_is_sorted_without_doubles_and_bounded() -> None:
    assert canonical_destinations(["b.example:2", "B.example:2", "a.example:1"]) == ("a.example:1", "b.example:2")
    with pytest.raises(ValueError, match="Name fewer"):
        canonical_destinations(f"a.example:{port}" for port in range(1, 66))


def test_limits_take_a_bool_or_a_list() -> None:
    assert Limits(network=True).network is True
    assert Limits().network is False
    assert Limits(network=()).network is False
    listed = Limits.model_validate({"network": ["B.example:1", "a.example:1"]})
    assert listed.network == ("a.example:1", "b.example:1")
    assert Limits.model_validate_json(listed.model_dump_json()) == listed
    for wrong in (["example.org"], "example.org:443", [443], None):
        with pytest.raises(ValidationError):
            Limits.model_validate({"network": wrong})


def test_a_sandbox_says_what_was_open_to_a_command() -> None:
    info = SandboxInfo(kind="bubblewrap")
    assert info.under(Limits()) is info
    assert info.under(Limits(network=("a.example:1",))).network == ("a.example:1",)
