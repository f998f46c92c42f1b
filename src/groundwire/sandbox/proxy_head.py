"""Reads the head of a request to a proxy. Pure; everything in it is hostile text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from groundwire.destinations import Destination

__all__ = ["Answer", "Asked", "answer", "read_head"]

_REQUEST = re.compile(r"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[^\x00\r\n]*")
_ABSOLUTE = re.compile(r"(?i:http)://([^/?#@]+)([/?][^#]*)?")
# meant for the proxy, or about a connection that ends here
_DROPPED = frozenset({"connection", "host", "keep-alive", "proxy-authorization", "proxy-connection"})
HTTP_PORT = 80


@dataclass(frozen=True)
class Asked:
    """What a request wants.

    Args:
        destination: where it wants to go.
        head: what is sent on; empty: the connection itself is asked for.
    """

    destination: Destination
    head: bytes = b""


class Answer(Exception):
    """The request gets an answer of ours.

    Args:
        status: of HTTP.
        reason: our own words, without any of the request's.
        target: where it wanted to go, in its own words, if that was the trouble.
    """

    def __init__(self, status: int, reason: str, target: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.target = target


def answer(status: int, reason: str) -> bytes:
    """A whole response; the connection ends with it."""
    body = f"groundwire: {reason}\n"
    fields = f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return f"HTTP/1.1 {status} {reason}\r\n{fields}\r\n{body}".encode("ascii")


def read_head(data: bytes) -> Asked:
    """Reads a head, up to and with its empty line.

    Raises:
        Answer: it is not one that a proxy is sent.
    """
    request, *fields = data.removesuffix(b"\r\n\r\n").decode("latin-1").split("\r\n")
    match = _REQUEST.fullmatch(request)
    names = [_FIELD.fullmatch(field) for field in fields]
    if match is None or not all(names):
        raise Answer(400, "not a request that a proxy understands")
    method, target = match.groups()
    if method == "CONNECT":
        return Asked(_destination(target, target))
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise Answer(400, "not a request to a proxy: CONNECT or an http address is", target)
    authority, path = absolute[1], absolute[2] or "/"
    has_port = re.search(r":[0-9]+\Z", authority)
    destination = _destination(authority if has_port else f"{authority}:{HTTP_PORT}", target)
    kept = [field for field, name in zip(fields, names, strict=True) if name and name[1].lower() not in _DROPPED]
    path = path if path.startswith("/") else f"/{path}"
    lines = [f"{method} {path} HTTP/1.1", f"Host: {authority}", *kept, "Connection: close", "", ""]
    return Asked(destination, "\r\n".join(lines).encode("latin-1"))


def _destination(text: str, target: str) -> Destination:
    try:
        return Destination.parse(text)
    except ValueError:
        raise Answer(403, "not the name of a host and a port", target) from None
