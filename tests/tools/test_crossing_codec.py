"""What crosses between the tests' process and the candidate's: values come out as they went in, and garbage is refused."""

# ruff: noqa: E501

from __future__ import annotations

import array
import collections
import contextlib
import datetime
import decimal
import json
import math
import socket
import threading
from pathlib import Path, PurePosixPath
from typing import Any

import inside_modules  # noqa: F401  # pyright: ignore[reportUnusedImport]  before the modules that it is for
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from groundwire.tools.inside.crossing import Crossing
from groundwire.tools.inside.crossing_classes import CandidateEnded
from groundwire.tools.inside.crossing_codec import Codec, Lent, NotPlain, type_of
from groundwire.tools.inside.crossing_wire import Wire

KEYS = st.one_of(st.integers(), st.text(max_size=5), st.booleans(), st.none(), st.floats(allow_nan=False))
PLAIN = st.one_of(
    KEYS,
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters(), max_size=8),
    st.sampled_from(["\ud800", "\x00", "é", ...]),
    st.binary(max_size=8),
    st.binary(max_size=8).map(bytearray),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(timezones=st.one_of(st.none(), st.just(datetime.UTC))),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.builds(range, st.integers(-9, 9), st.integers(-9, 9)),
    st.builds(slice, st.integers(), st.none()),
    st.just(PurePosixPath("a/b")),
    st.lists(st.integers(0, 255), max_size=4).map(lambda xs: array.array("B", xs)),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.dictionaries(KEYS, inner, max_size=4).map(collections.OrderedDict),
        st.lists(inner, max_size=4).map(lambda xs: collections.deque(xs, 3)),
        st.frozensets(KEYS, max_size=3),
        st.text("abc", max_size=6).map(collections.Counter),
    ),
    max_leaves=12,
)


def no_stand_in(value: Any, _depth: int) -> list[Any]:
    raise NotPlain(f"a value of type {type_of(value).__name__}")


def no_such(_value: list[Any], _depth: int) -> Any:
    raise ValueError("not a value")


def ends() -> tuple[Codec, Codec]:
    return Codec(odd=False, refer=no_stand_in, resolve=no_such), Codec(odd=True, refer=no_stand_in, resolve=no_such)


def crossed(value: Any, one: Codec, other: Codec) -> Any:
    return other.decode(other.unpack(one.pack([one.encode(value)]))[0])


def alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    if isinstance(one, complex):
        return alike(one.real, other.real) and alike(one.imag, other.imag)
    if isinstance(one, decimal.Decimal):
        return str(one) == str(other)
    if isinstance(one, (list, tuple, collections.deque)):
        return len(one) == len(other) and all(map(alike, one, other))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(one, dict):
        return alike(list(one), list(other)) and alike(list(one.values()), list(other.values()))  # pyright: ignore[reportUnknownArgumentType]
    return bool(one == other)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_a_value_comes_out_as_it_went_in(value: Any) -> None:
    one, other = ends()
    try:
        there = crossed(value, one, other)
    except NotPlain as error:
        assert "order" in error.what, "nothing but the order of a set is refused here"
        return
    assert alike(there, value)
    assert alike(crossed(there, other, one), value), "and back"


def test_what_is_changed_on_one_side_is_changed_on_the_other() -> None:
    one, other = ends()
    mine: list[Any] = [1, {"k": [2]}, collections.deque([3]), bytearray(b"x"), {4}]
    theirs = crossed(mine, one, other)
    theirs[1]["k"].append(theirs)
    theirs[2].appendleft(0)
    theirs[3][:] = b"yz"
    theirs[4].clear()
    del theirs[0]
    one.apply(one.unpack(other.pack([other.changes()]))[0])
    assert mine[0]["k"][1] is mine, "a value that holds itself"
    assert mine[1:] == [collections.deque([0, 3]), bytearray(b"yz"), set()]
    assert crossed(mine, one, other) is theirs, "and it is the same object again"
    assert not one.changes() and not other.changes()


def test_shared_values_stay_shared() -> None:
    one, other = ends()
    inner = [1]
    there = crossed({"a": inner, "b": (inner, inner)}, one, other)
    assert there["a"] is there["b"][0] is there["b"][1]


def test_a_container_that_nobody_holds_any_more_is_forgotten() -> None:
    one, other = ends()
    for _ in range(50):
        one.begin()
        crossed([[], {}], one, other)
        other.forget(one.forgettable())
    other.forget(one.forgettable())  # what the last ones held
    assert not one.changes() and len(one.__dict__["_shares"]) == len(other.__dict__["_shares"]) == 0


class Sly(int):
    pass


@pytest.mark.parametrize(
    "value", [Sly(1), [Sly(1)], type("S", (str,), {})(), type("D", (dict,), {})(), object(), len, {1: object()}]
)
def test_a_subclass_is_never_passed_off_as_its_base(value: Any) -> None:
    with pytest.raises(NotPlain):
        ends()[0].encode(value)


def nested(depth: int) -> Any:
    value: Any = None
    for _ in range(depth):
        value = (value,)
    return value


def test_what_is_nested_too_deep_is_refused_on_both_sides() -> None:
    one, other = ends()
    assert crossed(nested(99), one, other) == nested(99)
    with pytest.raises(NotPlain):
        one.encode(nested(200))
    deep: Any = ["t"]
    for _ in range(200):
        deep = ["t", deep]
    with pytest.raises(ValueError, match="deep"):
        other.decode(deep)
    with pytest.raises(ValueError, match="message"):
        other.unpack(b"[" * 100_000)
    with pytest.raises(ValueError, match="parts"):
        other.unpack(b"[" + b"0," * 9_000_000 + b"0]")


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=10,
)
MARKS = ["t", "l", "s", "d", "a", "q", "o", "n", "f", "v", "@", "I", "y", "c", "r", "S", "z", "D", "F", "ymd", "at", "hms",
         "td", "tz", "zi", "U", "P", "R", "#", "N", "E", "Z", "H", "K", "g", "M", "x", "b"]  # fmt: skip


def marked(mark: str, rest: list[Any]) -> Any:
    return [mark, *rest]


MARKED: st.SearchStrategy[Any] = st.recursive(
    st.one_of(JUNK, st.sampled_from([2, 3, 4, "builtins.int", "builtins.SystemExit", "1/0", "os", "(a+)+$", "<f8"])),
    lambda inner: st.builds(marked, st.sampled_from(MARKS), st.lists(inner, max_size=5)),
    max_leaves=14,
)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MARKED)
@example(["R", "builtins.int", 3])  # a flag that is deprecated
def test_nonsense_is_a_value_error_and_nothing_else(value: Any) -> None:
    for code in ends():
        with contextlib.suppress(ValueError):
            code.decode(json.loads(json.dumps(value)))


def test_numbers_that_were_not_given_out_lead_nowhere() -> None:
    lent = Lent()
    thing = object()
    number = lent.lend(thing)
    assert lent.lend(thing) == number and lent[number] is thing
    for wrong in (number + 1, -1, True, "1", None, 1.0):
        if wrong is not True or number != 1:
            with pytest.raises(ValueError, match="given out"):
                lent[wrong]
    lent.release(number, 1)
    assert lent[number] is thing, "it was told twice"
    lent.release(number, 1)
    with pytest.raises(ValueError, match="given out"):
        lent[number]


# --- the whole conversation, with a candidate's process that says what it likes


class Liar:
    """The other process: a thread that reads a question and says the next of its answers."""

    def __init__(self, answers: list[bytes], *, framed: bool = True) -> None:
        self._answers, self._framed = answers, framed

    def open(self) -> Wire:
        ours, theirs = socket.socketpair()
        wire, out = Wire(ours.detach(), 0), theirs

        def talk() -> None:
            with out:
                try:
                    for answer in self._answers:
                        out.recv(1 << 16)
                        out.sendall(len(answer).to_bytes(4, "big") + answer if self._framed else answer)
                except OSError:
                    pass

        threading.Thread(target=talk, daemon=True).start()
        descriptor = wire.__dict__["_source"]
        self.wire = Wire(descriptor, descriptor)
        return self.wire

    def close(self) -> None:
        self.wire.close()


def asked(answers: list[bytes], *, framed: bool = True, gives: Any = 5) -> Any:
    unfit: list[str] = []

    def is_unfit(why: str) -> None:
        unfit.append(why)
        raise BaseExceptionGroup("unfit", [KeyboardInterrupt()])

    separation = Crossing([], [], root=str(Path.cwd()), peer=Liar(answers, framed=framed), unfit=is_unfit)
    try:
        return separation.ask("call", gives, (), ())
    except BaseExceptionGroup:
        return unfit
    finally:
        separation._end()  # pyright: ignore[reportPrivateUsage]


def said(*fields: Any) -> bytes:
    return json.dumps([0, *fields]).encode()


def an_answer(head: Any, kind: str, rest: list[Any]) -> bytes:
    return json.dumps([head, kind, *rest]).encode()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(
    st.binary(max_size=40),
    st.builds(an_answer, st.one_of(st.just(0), MARKED, st.lists(MARKED, min_size=5, max_size=5)),
              st.sampled_from(["ok", "raised", "back", "unfit", "other"]), st.lists(MARKED, max_size=5)),
), min_size=1, max_size=4))  # fmt: skip
def test_no_answer_breaks_the_tests_process(answers: list[bytes]) -> None:
    try:
        asked(answers)
    except CandidateEnded:
        pass
    except Exception as error:
        assert type(error).__name__ not in (
            "RecursionError",
            "MemoryError",
            "AssertionError",
            "KeyError",
            "NameError",
        ), repr(error)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=60))
def test_bytes_that_are_no_messages_end_it(noise: bytes) -> None:
    with pytest.raises(CandidateEnded):
        asked([noise], framed=False)


CALLED: list[Any] = []


@pytest.mark.parametrize(
    "what",
    [
        ("back", "special", ["g", 1], "__init__", ["t"], ["t"]),
        ("back", "special", ["g", 1], "__reduce__", ["t"], ["t"]),
        ("back", "special", ["g", 2], "__call__", ["t"], ["t"]),
        ("back", "get", ["g", 1], "__globals__"),
        ("back", "get", ["g", 1], "__class__"),
        ("back", "set", ["g", 1], "_x", 5),
        ("back", "set", ["N", "builtins.int"], "x", 5),
        ("back", "eval", ["g", 1], "1"),
        ("back", "_back_get", ["g", 1], "1"),
    ],
)
def test_only_what_was_handed_out_can_be_called_back(what: tuple[Any, ...]) -> None:
    CALLED.clear()

    def handed(*args: Any) -> None:
        CALLED.append(args)

    # the refusal is an exception for the caller over there, or the end of it; never an effect here
    with contextlib.suppress(CandidateEnded):
        asked([said(*what), said("ok", 7)], gives=handed)
    assert CALLED == [] and not hasattr(handed, "_x")


def exceptions(name: str) -> Any:
    return ["H", 1, ["N", name], ["t", "x"], ["d", 1, []]]


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException"])
def test_what_ends_programs_is_not_raised_here(name: str) -> None:
    with pytest.raises(CandidateEnded):
        asked([said("raised", exceptions(f"builtins.{name}"), None, False, [])])


def test_an_exception_comes_with_its_words() -> None:
    with pytest.raises(KeyError) as caught:
        asked([said("raised", exceptions("builtins.KeyError"), None, False, [])])
    assert caught.value.args == ("x",)
