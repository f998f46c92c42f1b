"""Messages over a pipe: a length and a body."""

from __future__ import annotations

import os

MAX_BYTES = 64 << 20


def read_message(fd: int) -> bytes | None:
    """The next body; None at the end.

    Raises:
        ValueError: it says that it is too long.
    """
    head = _exactly(fd, 4)
    if head is None:
        return None
    size = int.from_bytes(head, "big")
    if size > MAX_BYTES:
        raise ValueError(f"a message of {size} bytes")
    return _exactly(fd, size)


def write_message(fd: int, body: bytes) -> None:
    """Sends one body, of at most 64 MiB.

    Raises:
        ValueError: it is longer.
        OSError: nobody reads.
    """
    if len(body) > MAX_BYTES:
        raise ValueError(f"a message of {len(body)} bytes")
    view = memoryview(len(body).to_bytes(4, "big") + body)
    while view:
        view = view[os.write(fd, view) :]


def _exactly(fd: int, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
