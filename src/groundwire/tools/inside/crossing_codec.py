"""Values as text and back, between the assertions' process and the candidate's. Nothing in it runs or names code.

Only exact types of a fixed table are sent by value: Python's own and the standard library's value types, and numpy's
arrays by dtype and buffer. A subclass is never passed off as its base. Everything else goes by number: each end keeps
the objects that it lent, and the other one holds what stands for them (`refer` and `resolve` of whoever uses this).

Containers that can change are *shared*: both ends hold a copy under one number. Only one end runs at a time, so each
message begins with what its sender has changed, and both copies are the same whenever somebody looks.
"""

# ruff: noqa: B905  Python 3.9
from __future__ import annotations

import array
import builtins
import collections
import dataclasses
import datetime
import decimal
import fractions
import inspect
import itertools
import json
import operator
import pathlib
import re
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

MAX_DEPTH = 100
MAX_PARTS = 8_000_000
"""Commas and brackets of one message: what it becomes in memory is bounded by them."""
MAX_PATTERN = 10_000
PATTERN_FLAGS = int(re.ASCII | re.IGNORECASE | re.LOCALE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE)
"""Others print, warn, or are none."""
SHARED_BEFORE = 256
"""Containers of earlier calls that are still watched for changes; those of the last call all are."""
ITEMS_BEFORE = 20_000
PLAIN_INTS = 1 << 62


class NotPlain(Exception):
    """A value that can't be sent.

    Args:
        what: its type, and why.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def type_of(value: object) -> Any:
    """Its exact type; what is sent is never told by `isinstance`, which a value can deceive."""
    return type(value)


def inside(thing: object) -> Any:
    """An object's own names and values; a view for a class."""
    return vars(thing)


def named(kind: Any) -> str:
    """A class as people write it."""
    return f"{kind.__module__}.{kind.__qualname__}"


# --- what has the same name on both sides

_SINGLE: Sequence[tuple[str, Any]] = (
    ("dataclasses.MISSING", dataclasses.MISSING),
    *((f"dataclasses.{n}", getattr(dataclasses, n)) for n in ("_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR")),
    ("inspect.empty", inspect.Parameter.empty),
    ("datetime.timezone.utc", datetime.timezone.utc),  # noqa: UP017  Python 3.9
)
_CLASSES: Sequence[Any] = (
    *(v for v in inside(builtins).values() if isinstance(v, type)),
    type(None), type(Ellipsis), type(NotImplemented), collections.OrderedDict, collections.Counter, collections.deque,
    collections.defaultdict, decimal.Decimal, fractions.Fraction, datetime.date, datetime.datetime, datetime.time,
    datetime.timedelta, datetime.timezone, uuid.UUID, array.array, pathlib.Path, pathlib.PurePath,
    types.SimpleNamespace, types.FunctionType, types.GeneratorType, decimal.InvalidOperation,
    decimal.DivisionByZero, decimal.Inexact,     json.JSONDecodeError, re.error, zoneinfo.ZoneInfoNotFoundError,
)  # fmt: skip
KNOWN: dict[str, Any] = {**{named(kind): kind for kind in _CLASSES}, **dict(_SINGLE)}
"""Name → the one object of that name, in either process: the whole of what a message can refer to by a name."""
_NAME_OF = {id(thing): name for name, thing in KNOWN.items()}


def name_of(thing: object) -> str | None:
    """The name that one thing has in either process; None where it has none."""
    return _NAME_OF.get(id(thing))


_PATHS = {k.__name__: k for k in (pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path()))}
_NUMPY_KINDS = frozenset("biufcSUMm?")
_NUMPY_TYPE = re.compile(r"[<>|=][biufcSUMm?][0-9]{1,6}(\[[0-9]{0,6}[a-zA-Z]{1,2}\])?")
_ARRAY: Any = array.array
_ARRAY_CODES = frozenset("bBuhHiIlLqQfd")


class Lent:
    """Objects that the other end may name by number, until it has let go of each as often as it was told of it."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._things: dict[int, list[Any]] = {}
        self._number_of: dict[int, int] = {}

    def lend(self, thing: object) -> int:
        """Its number; told once more."""
        number = self._number_of.get(id(thing))
        if number is None:
            number = next(self._numbers)
            self._number_of[id(thing)] = number
            self._things[number] = [thing, 1]
        else:
            self._things[number][1] += 1
        return number

    def __getitem__(self, number: object) -> Any:
        """The object of this number.

        Raises:
            ValueError: it was not lent.
        """
        found = self._things.get(number) if type_of(number) is int else None  # pyright: ignore[reportArgumentType]
        if found is None:
            raise ValueError("a number that was not given out")
        return found[0]

    def release(self, number: Any, times: Any) -> None:
        """The other end let go of what it was told `times` times."""
        found = self._things.get(number) if type_of(number) is int and type_of(times) is int else None
        if found is not None:
            found[1] -= times
            if found[1] <= 0:
                del self._things[number], self._number_of[id(found[0])]


class Borrowed:
    """A number that the other end gave out. Once nothing here holds it any more, that is noted in `gone`."""

    __slots__ = ("__weakref__", "gone", "number", "times")

    def __init__(self, number: int, gone: list[int]) -> None:
        self.number = number
        self.times = 1
        self.gone = gone

    def __del__(self) -> None:
        self.gone += (self.number, self.times)


class _Share:
    """A container that both ends hold. `seen`: its items when both copies were last the same; None while it is made."""

    __slots__ = ("seen", "thing", "turn")

    def __init__(self, thing: Any, turn: int) -> None:
        self.thing = thing
        self.seen: Any = None
        self.turn = turn


def _items(thing: Any) -> Any:
    kind = type_of(thing)
    if kind in (bytearray, array.array):
        return bytes(thing)
    if kind in _DICTS:
        return (*thing, *thing.values())
    return tuple(thing)


def _same(one: Any, other: Any) -> bool:
    if type_of(one) is bytes:
        return bool(one == other)
    return len(one) == len(other) and all(map(operator.is_, one, other))


_DICTS = frozenset((dict, collections.OrderedDict, collections.Counter, collections.defaultdict))
_MARK = {
    list: "l", set: "s", dict: "d", bytearray: "a", collections.deque: "q", collections.OrderedDict: "o",
    collections.Counter: "n", collections.defaultdict: "f", array.array: "v",
}  # fmt: skip
_SHARED = {mark: kind for kind, mark in _MARK.items()}


class Codec:
    """One end's view of what crosses.

    Args:
        odd: True for the end whose own numbers of shared containers are odd.
        refer: what stands for a value that is not in the table; raises `NotPlain` where nothing can.
        resolve: the value for such a stand-in; raises `ValueError` where the other end has no right to it.
        changed: told of a container that this end has lent and the other one has changed, and of its items before.
    """

    def __init__(
        self,
        *,
        odd: bool,
        refer: Callable[[Any, int], list[Any]],
        resolve: Callable[[list[Any], int], Any],
        changed: Callable[[Any, Any], None] | None = None,
    ) -> None:
        self._changed = changed
        self._refer, self._resolve = refer, resolve
        self._odd = odd
        self._numbers = itertools.count(1 if odd else 2, 2)
        self._shares: dict[int, _Share] = {}
        self._share_of: dict[int, int] = {}
        self._turn = 0

    # --- messages

    def pack(self, fields: list[Any]) -> bytes:
        """Fields that are encoded already, as one message.

        Raises:
            NotPlain: it would be too large.
        """
        return json.dumps(fields, separators=(",", ":")).encode("ascii")

    def unpack(self, body: bytes) -> list[Any]:
        """The fields of a message, to be decoded one by one.

        Raises:
            ValueError: it is no message, or too large a one.
        """
        if body.count(b",") + body.count(b"[") > MAX_PARTS:
            raise ValueError("a message of too many parts")
        try:
            fields = json.loads(body)
        except (RecursionError, UnicodeDecodeError):
            raise ValueError("not a message") from None
        if type_of(fields) is not list:
            raise ValueError("not a message")
        return fields

    # --- shared containers

    def changes(self) -> list[Any]:
        """What was changed on this side since both copies were the same: `[number, content, …]`."""
        changed: list[Any] = []
        for number, share in list(self._shares.items()):
            if share.seen is not None:
                now = _items(share.thing)
                if not _same(now, share.seen):
                    share.seen = now
                    changed += (number, self._content(share.thing, 0))
        return changed

    def apply(self, changes: Any) -> None:
        """The other side's changes.

        Raises:
            ValueError: they are none.
        """
        if type_of(changes) is not list or len(changes) % 2:
            raise ValueError("not a list of changes")
        for number, content in zip(changes[::2], changes[1::2]):
            share = self._shares.get(number) if type_of(number) is int else None
            if share is None:
                raise ValueError("a change of what is not shared")
            before = share.seen
            self._fill(share, content, 0)
            if self._changed is not None and number % 2 == self._odd:
                self._changed(share.thing, before)

    def begin(self) -> None:
        """A call from the outside begins."""
        self._turn += 1

    def forgettable(self) -> list[int]:
        """Numbers of containers that only this table holds, and of old ones beyond what is watched."""
        shares = self._shares
        gone = [n for n, s in shares.items() if sys.getrefcount(s.thing) <= 2 and s.seen is not None]
        if len(shares) - len(gone) > SHARED_BEFORE // 2:
            dropped = set(gone)
            old = [(n, len(s.seen or ())) for n, s in shares.items() if s.turn < self._turn and n not in dropped]
            left, size = len(old), sum(length for _, length in old)
            for number, length in old:
                if left <= SHARED_BEFORE and size <= ITEMS_BEFORE:
                    break
                gone.append(number)
                left, size = left - 1, size - length
        self.forget(gone)
        return gone

    def forget(self, numbers: Iterable[Any]) -> None:
        """These are shared no more."""
        for number in numbers:
            share = self._shares.pop(number, None) if type_of(number) is int else None
            if share is not None:
                self._share_of.pop(id(share.thing), None)

    def _share(self, thing: Any, number: int) -> _Share:
        share = _Share(thing, self._turn)
        self._shares[number] = share
        self._share_of[id(thing)] = number
        return share

    # --- encoding

    def encode(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON can hold it.

        Raises:
            NotPlain: it can't be sent.
        """
        kind = type_of(value)
        if value is None or kind is str or kind is bool or kind is float:
            return value
        if kind is int:
            return value if -PLAIN_INTS < value < PLAIN_INTS else ["I", hex(value)]
        if depth > MAX_DEPTH:
            raise NotPlain("a value that is nested too deep")
        if kind is tuple:
            return ["t", *[self.encode(item, depth + 1) for item in value]]
        mark = _MARK.get(kind)
        if mark is not None:
            number = self._share_of.get(id(value))
            if number is not None:
                self._shares[number].turn = self._turn
                return ["@", number]
            number = next(self._numbers)
            share = self._share(value, number)
            content = self._content(value, depth)
            share.seen = _items(value)
            return [mark, number, content]
        sent = _ENCODERS.get(kind)
        if sent is not None:
            return sent(self, value, depth + 1)
        name = _NAME_OF.get(id(value))
        if name is not None:
            return ["N", name]
        if _numpy_of(kind) is not None and value.dtype.kind in _NUMPY_KINDS and value.dtype.names is None:
            shape = list(value.shape) if kind.__name__ == "ndarray" else None
            return ["#", value.dtype.str, shape, value.tobytes().decode("latin-1")]
        return self._refer(value, depth + 1)

    def _content(self, thing: Any, depth: int) -> Any:
        kind = type_of(thing)
        if kind is bytearray:
            return thing.decode("latin-1")
        if kind is array.array:
            return [thing.typecode, thing.tobytes().decode("latin-1")]
        encode, deeper = self.encode, depth + 1
        if kind in _DICTS:
            flat: list[Any] = []
            for key, item in thing.items():
                flat += (encode(key, deeper), encode(item, deeper))
            return [encode(thing.default_factory, deeper), *flat] if kind is collections.defaultdict else flat
        if kind is collections.deque:
            return [thing.maxlen, *[encode(item, deeper) for item in thing]]
        items = list(thing)
        # the order in which a set is gone through can be what a test sees
        if kind is set and not _same(list(set(items)), items):
            raise NotPlain("a set whose order can't be kept")
        return [encode(item, deeper) for item in items]

    # --- decoding

    def decode(self, value: Any, depth: int = 0) -> Any:
        """What was encoded.

        Raises:
            ValueError: nothing that `encode` makes.
        """
        if type_of(value) is not list:
            if type_of(value) is dict:
                raise ValueError("not a value")
            return value
        try:
            return self._decoded(value, depth + 1)
        except (KeyError, TypeError, IndexError, RecursionError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"not a value: {type(error).__name__}") from error

    def _decoded(self, value: list[Any], depth: int) -> Any:
        if depth > MAX_DEPTH + 2:
            raise ValueError("a value that is nested too deep")
        mark = value[0]
        if type_of(mark) is not str:
            raise ValueError("not a value")
        if mark == "t":
            decode = self.decode
            return tuple([decode(item, depth) for item in value[1:]])
        if mark == "@":
            share = self._shares.get(value[1]) if type_of(value[1]) is int else None
            if share is None:
                raise ValueError("a container that is not shared")
            share.turn = self._turn
            return share.thing
        kind = _SHARED.get(mark)
        if kind is not None:
            number = value[1]
            if type_of(number) is not int or number in self._shares or number % 2 == self._odd:
                raise ValueError("a number of the other end")
            thing = self._empty(kind, value[2])
            self._fill(self._share(thing, number), value[2], depth)
            return thing
        decoder = _DECODERS.get(mark)
        if decoder is not None:
            return decoder(self, value, depth)
        return self._resolve(value, depth)

    def _empty(self, kind: Any, content: Any) -> Any:
        if kind is collections.deque:
            deque: Any = collections.deque
            return deque(maxlen=_whole(content[0]) if content[0] is not None else None)
        if kind is array.array:
            if content[0] not in _ARRAY_CODES:
                raise ValueError("not an array")
            return _ARRAY(content[0])
        return kind()

    def _fill(self, share: _Share, content: Any, depth: int) -> None:
        thing, decode = share.thing, self.decode
        kind = type_of(thing)
        share.seen = None
        if kind is bytearray:
            thing[:] = content.encode("latin-1")
        elif kind is array.array:
            if content[0] != thing.typecode:
                raise ValueError("not this array")
            fresh = _ARRAY(thing.typecode)
            fresh.frombytes(content[1].encode("latin-1"))
            thing[:] = fresh
        elif kind in _DICTS:
            rest = content
            if kind is collections.defaultdict:
                factory, rest = decode(content[0], depth), content[1:]
                if factory is not None and not callable(factory):
                    raise ValueError("not a factory")
                thing.default_factory = factory
            if type_of(rest) is not list or len(rest) % 2:
                raise ValueError("not a dict")
            pairs = [(decode(k, depth), decode(v, depth)) for k, v in zip(rest[::2], rest[1::2])]
            thing.clear()
            thing.update(dict(pairs) if kind is collections.Counter else pairs)  # a counter would count the pairs
        else:
            found = content[1:] if kind is collections.deque else content
            if type_of(found) is not list:
                raise ValueError("not a container")
            items = [decode(item, depth) for item in found]
            thing.clear()
            (thing.update if kind is set else thing.extend)(items)
        share.seen = _items(thing)


# --- values that can't change: how each is written and read


def _numpy_of(kind: Any) -> Any:
    """numpy, where this process has it and `kind` is one of its own value types."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if kind is inside(numpy).get("ndarray"):
        return numpy
    generic = inside(numpy).get("generic")
    module = getattr(kind, "__module__", None)
    return numpy if isinstance(generic, type) and module == "numpy" and issubclass(kind, generic) else None


def _whole(value: Any) -> int:
    if type_of(value) is not int:
        raise ValueError("not a whole number")
    return value


def _text(value: Any) -> str:
    if type_of(value) is not str:
        raise ValueError("not a text")
    return value


def _fields(code: Codec, items: Iterable[Any], depth: int, mark: str) -> list[Any]:
    return [mark, *[code.encode(item, depth) for item in items]]


def _zone(code: Codec, zone: Any, depth: int) -> Any:
    if zone is None or type_of(zone) in (datetime.timezone, zoneinfo.ZoneInfo):
        return code.encode(zone, depth)
    raise NotPlain(f"a time zone of type {named(type_of(zone))}")


_ENCODERS: dict[Any, Callable[[Codec, Any, int], Any]] = {
    bytes: lambda _c, v, _d: ["y", v.decode("latin-1")],
    complex: lambda _c, v, _d: ["c", v.real, v.imag],
    range: lambda c, v, d: _fields(c, (v.start, v.stop, v.step), d, "r"),
    slice: lambda c, v, d: _fields(c, (v.start, v.stop, v.step), d, "S"),
    type(Ellipsis): lambda _c, _v, _d: ["E"],
    type(NotImplemented): lambda _c, _v, _d: ["Z"],
    types.TracebackType: lambda _c, _v, _d: None,  # frames stay where they are
    decimal.Decimal: lambda _c, v, _d: ["D", str(v)],
    fractions.Fraction: lambda c, v, d: _fields(c, (v.numerator, v.denominator), d, "F"),
    datetime.date: lambda _c, v, _d: ["ymd", v.year, v.month, v.day],
    datetime.datetime: lambda c, v, d: [
        "at", v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, _zone(c, v.tzinfo, d), v.fold
    ],
    datetime.time: lambda c, v, d: ["hms", v.hour, v.minute, v.second, v.microsecond, _zone(c, v.tzinfo, d), v.fold],
    datetime.timedelta: lambda _c, v, _d: ["td", v.days, v.seconds, v.microseconds],
    datetime.timezone: lambda c, v, d: _fields(c, v.__getinitargs__(), d, "tz"),
    uuid.UUID: lambda _c, v, _d: ["U", v.hex],
    **{kind: lambda _c, v, _d: ["P", type(v).__name__, str(v)] for kind in _PATHS.values()},
}  # fmt: skip


def _encode_frozenset(code: Codec, value: Any, depth: int) -> list[Any]:
    items = list(value)
    if not _same(list(frozenset(items)), items):
        raise NotPlain("a set whose order can't be kept")
    return _fields(code, items, depth, "z")


def _encode_zone(_code: Codec, value: Any, _depth: int) -> list[Any]:
    if not value.key:
        raise NotPlain("a time zone without a name")
    return ["zi", value.key]


def _encode_pattern(code: Codec, value: Any, depth: int) -> list[Any]:
    return ["R", code.encode(value.pattern, depth), value.flags]


_ENCODERS[frozenset] = _encode_frozenset
_ENCODERS[zoneinfo.ZoneInfo] = _encode_zone
_ENCODERS[re.Pattern] = _encode_pattern


def _decode_number(_code: Codec, value: list[Any], _depth: int) -> int:
    return int(_text(value[1]), 16)


def _decode_pattern(code: Codec, value: list[Any], depth: int) -> Any:
    text = code.decode(value[1], depth)
    if type_of(text) not in (str, bytes) or len(text) > MAX_PATTERN:
        raise ValueError("not a pattern")
    flags = _whole(value[2])
    if flags & ~PATTERN_FLAGS:
        raise ValueError("not a pattern")
    try:
        return re.compile(text, flags)
    except (re.error, OverflowError, RecursionError):
        raise ValueError("not a pattern") from None


def _decode_range(code: Codec, value: list[Any], depth: int) -> range:
    return range(*[_whole(code.decode(item, depth)) for item in value[1:4]])


def _decode_numpy(_code: Codec, value: list[Any], _depth: int) -> Any:
    numpy = sys.modules.get("numpy")
    _mark, dtype, shape, content = value
    if numpy is None or not _NUMPY_TYPE.fullmatch(_text(dtype)):
        raise ValueError("not an array")
    flat = numpy.frombuffer(_text(content).encode("latin-1"), dtype=dtype).copy()
    return flat[0] if shape is None else flat.reshape([_whole(size) for size in shape])


def _decode_zone(_code: Codec, value: list[Any], _depth: int) -> Any:
    try:
        return zoneinfo.ZoneInfo(_text(value[1]))
    except (OSError, zoneinfo.ZoneInfoNotFoundError):
        raise ValueError("not a time zone") from None


def _aware(code: Codec, value: Any, depth: int) -> Any:
    zone = code.decode(value, depth)
    if zone is not None and type_of(zone) not in (datetime.timezone, zoneinfo.ZoneInfo):
        raise ValueError("not a time zone")
    return zone


def _decode_decimal(_code: Codec, value: list[Any], _depth: int) -> Any:
    return decimal.Decimal(_text(value[1]))


_DECODERS: dict[str, Callable[[Codec, list[Any], int], Any]] = {
    "I": _decode_number,
    "y": lambda _c, v, _d: v[1].encode("latin-1"),
    "c": lambda _c, v, _d: complex(v[1], v[2]),
    "r": _decode_range,
    "S": lambda c, v, d: slice(*[c.decode(item, d) for item in v[1:4]]),
    "E": lambda _c, _v, _d: ...,
    "Z": lambda _c, _v, _d: NotImplemented,
    "z": lambda c, v, d: frozenset([c.decode(item, d) for item in v[1:]]),
    "D": _decode_decimal,
    "F": lambda c, v, d: fractions.Fraction(_whole(c.decode(v[1], d)), _whole(c.decode(v[2], d))),
    "ymd": lambda _c, v, _d: datetime.date(*v[1:4]),
    "at": lambda c, v, d: datetime.datetime(*v[1:8], tzinfo=_aware(c, v[8], d), fold=v[9]),
    "hms": lambda c, v, d: datetime.time(*v[1:5], tzinfo=_aware(c, v[5], d), fold=v[6]),
    "td": lambda _c, v, _d: datetime.timedelta(*[_whole(part) for part in v[1:4]]),
    "tz": lambda c, v, d: datetime.timezone(*[c.decode(item, d) for item in v[1:3]]),
    "zi": _decode_zone,
    "U": lambda _c, v, _d: uuid.UUID(hex=_text(v[1])),
    "P": lambda _c, v, _d: _PATHS[v[1]](_text(v[2])),
    "R": _decode_pattern,
    "#": _decode_numpy,
    "N": lambda _c, v, _d: KNOWN[v[1]],
}


# --- special methods, which Python looks up on the class

COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_BINARY = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and",
           "xor", "or")  # fmt: skip
ARITHMETIC = (*(f"__{n}__" for n in _BINARY), *(f"__r{n}__" for n in _BINARY))
SPECIAL = frozenset(
    (
        *COMPARISONS, *ARITHMETIC, *(f"__i{n}__" for n in _BINARY if n != "divmod"),
        *(f"__{n}__" for n in (
            "call", "len", "length_hint", "iter", "next", "reversed", "contains", "getitem", "setitem", "delitem",
            "missing", "enter", "exit", "aenter", "aexit", "aiter", "anext", "await", "bool", "str", "repr", "format",
            "bytes", "hash", "int", "float", "complex", "index", "round", "trunc", "floor", "ceil", "neg", "pos", "abs",
            "invert", "fspath", "dir", "get", "set", "delete", "set_name", "instancecheck", "subclasscheck",
        )),
    )
)  # fmt: skip
"""Special methods that are passed on; what copies, pickles or makes objects is not among them."""
VALUE_BASES: Sequence[Any] = (int, float, complex, str, bytes, tuple, frozenset)
"""Types whose subclasses carry their value with them."""


def specials_of(kind: Any) -> Iterator[str]:
    """Special methods that a class or one of its bases defines, beyond what every object has."""
    for name in SPECIAL:
        for base in kind.__mro__:
            if name in vars(base):
                if base is not object:
                    yield name
                break


def dir_signature(function: Any) -> list[Any] | None:
    """Parameters of a callable as `[name, kind, has a default, default, …]`; None where there is no signature."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    flat: list[Any] = []
    for one in found.parameters.values():
        has = one.default is not one.empty
        flat += (one.name, int(one.kind), has, one.default if has else None)
    return flat


def signature_from(flat: Any) -> inspect.Signature:
    """What `dir_signature` took apart.

    Raises:
        ValueError: it is none.
    """
    if type_of(flat) is not list or len(flat) % 4:
        raise ValueError("not a signature")
    one = inspect.Parameter
    every = (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL, one.KEYWORD_ONLY, one.VAR_KEYWORD)
    kinds: dict[int, Any] = {int(kind): kind for kind in every}
    rows = zip(*[iter(flat)] * 4)
    return inspect.Signature(
        [
            inspect.Parameter(_text(name), kinds[_whole(kind)], default=default if has else inspect.Parameter.empty)
            for name, kind, has, default in rows
        ]
    )
