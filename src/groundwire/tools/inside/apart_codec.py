"""Plain values as text and back, between the assertions' process and the candidate's. Nothing in it can run code.

Only exact built-in types pass; everything else is `NotPlain`, and the run has to be one in a single process.
"""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 60


class NotPlain(Exception):
    """A value that can't be sent.

    Args:
        what: its type, and why.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def pack(value: object) -> bytes:
    """The value as one message.

    Raises:
        NotPlain: it is not made of plain values alone.
    """
    return json.dumps(_encoded(value, 0), separators=(",", ":")).encode("ascii")


def unpack(body: bytes) -> Any:
    """What was packed.

    Raises:
        ValueError: nothing that `pack` makes.
    """
    try:
        return _decoded(json.loads(body))
    except (KeyError, TypeError, IndexError, RecursionError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a packed value: {type(error).__name__}") from None


def type_of(value: object) -> Any:
    """Its exact type; what is sent is never told by `isinstance`, which a value can deceive."""
    return type(value)


def _encoded(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NotPlain("a value that is nested too deep, or holds itself")
    kind = type_of(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -(2**62) < value < 2**62 else ["I", hex(value)]
    if kind is float:
        return ["f", value.hex()]
    if kind is complex:
        return ["c", value.real.hex(), value.imag.hex()]
    if kind in (bytes, bytearray):
        return ["y" if kind is bytes else "a", value.decode("latin-1")]
    if kind is range:
        return ["r", *(_encoded(x, depth) for x in (value.start, value.stop, value.step))]
    if kind is dict:
        return ["d", *([_encoded(k, depth + 1), _encoded(v, depth + 1)] for k, v in value.items())]
    mark = {list: "l", tuple: "t", set: "s", frozenset: "z"}.get(kind)
    if mark is None:
        raise NotPlain(f"a value of type {kind.__module__}.{kind.__qualname__}")
    items: list[Any] = [_encoded(item, depth + 1) for item in value]
    # the order in which a set is gone through can be what a test sees
    if mark in "sz" and list(kind(list(value))) != list(value):
        raise NotPlain("a set whose order can't be kept")
    return [mark, *items]


def _decoded(value: Any) -> Any:
    if type_of(value) is not list:
        return value
    mark: str = value[0]
    rest: list[Any] = value[1:]
    if mark == "I":
        return int(rest[0], 16)
    if mark == "f":
        return float.fromhex(rest[0])
    if mark == "c":
        return complex(float.fromhex(rest[0]), float.fromhex(rest[1]))
    if mark in "ya":
        content = rest[0].encode("latin-1")
        return content if mark == "y" else bytearray(content)
    if mark == "d":
        return {_decoded(k): _decoded(v) for k, v in rest}
    items: list[Any] = [_decoded(item) for item in rest]
    if mark == "r":
        return range(*items)
    return {"l": list, "t": tuple, "s": set, "z": frozenset}[mark](items)
