"""The head of a request to the proxy: understood, or answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.sandbox._proxy import ProxyResponse, answer, read_head


def test_a_tunnel_is_asked_for() -> None:
    asked = read_head(b"CONNECT App.example:443 HTTP/1.1\r\nHost: other.example\r\nUser-Agent: x\r\n\r\n")
    assert (str(asked.destination), asked.head) == ("app.example:443", b"")


def test_an_http_address_is_sent_on_without_what_the_proxy_alone_is_told() -> None:
    asked = read_head(
        b"POST http://app.example/a?b=c HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: Basic eA==\r\n"
        b"Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n"
    )
    assert str(asked.destination) == "app.example:80"
    assert asked.head == (
        b"POST /a?b=c HTTP/1.1\r\nHost: app.example\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("target", "destination", "path"),
    [
        ("http://app.example", "app.example:80", b"/"),
        ("HTTP://app.example:8080?q", "app.example:8080", b"/?q"),
        ("http://[::1]/x", "[::1]:80", b"/x"),
        ("http://[::1]:81/x", "[::1]:81", b"/x"),
    ],
)
def test_where_an_address_leads(target: str, destination: str, path: bytes) -> None:
    asked = read_head(f"GET {target} HTTP/1.0\r\n\r\n".encode())
    assert str(asked.destination) == destination
    assert asked.head.startswith(b"GET " + path + b" HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET https://app.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET ftp://app.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://user:pass@app.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://app.example/ HTTP/2\r\n\r\n", 400),
        (b"GET http://app.example/ x HTTP/1.1\r\n\r\n", 400),
        (b"GET http://app.example/\nX: y HTTP/1.1\r\n\r\n", 400),
        (b"GET http://app.example/ HTTP/1.1\r\n folded\r\n\r\n", 400),
        (b"GET http://app.example/ HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET http://app.example/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n", 400),
        (b"\x16\x03\x01\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"CONNECT app.example HTTP/1.1\r\n\r\n", 403),
        (b"CONNECT *.example:443 HTTP/1.1\r\n\r\n", 403),
        (b"CONNECT 0x7f000001:80 HTTP/1.1\r\n\r\n", 403),
        (b"GET http://2130706433/ HTTP/1.1\r\n\r\n", 403),
    ],
)
def test_what_is_answered(head: bytes, status: int) -> None:
    with pytest.raises(ProxyResponse) as refused:
        read_head(head)
    assert refused.value.status == status
    assert answer(status, refused.value.reason).startswith(f"HTTP/1.1 {status} ".encode())


@given(st.binary(max_size=300))
def test_no_bytes_are_more_than_it_can_take(data: bytes) -> None:
    for head in (data, b"CONNECT " + data + b" HTTP/1.1\r\n\r\n", b"GET http://" + data + b" HTTP/1.1\r\n\r\n"):
        try:
            asked = read_head(head)
        except ProxyResponse as refused:
            assert answer(refused.status, refused.reason).count(b"\r\n\r\n") == 1
        else:
            assert asked.head.count(b"\r\n\r\n") <= 1
