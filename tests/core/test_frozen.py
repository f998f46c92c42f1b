"""A frozen dataclass that is made more quickly is the same in all else."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from groundwire.core import _contexts, _records
from groundwire.core._frozen import quickly_made


def make_list() -> list[str]:
    return []


@dataclass(frozen=True)
class Plain:
    a: int
    b: str = "b"
    c: list[str] = field(default_factory=make_list)
    d: int = field(default=4, kw_only=True)
    e: int = field(kw_only=True)
    seen: list[int] = field(default_factory=list[int], compare=False)

    def __post_init__(self) -> None:
        self.seen.append(self.a)


@quickly_made
@dataclass(frozen=True)
class Quick(Plain):
    pass


@pytest.mark.parametrize("kind", [Plain, Quick])
def test_defaults_places_and_what_follows(kind: type[Plain]) -> None:
    one = kind(1, e=5)
    assert (one.a, one.b, one.c, one.d, one.e, one.seen) == (1, "b", [], 4, 5, [1])
    assert one.c is not kind(1, e=5).c
    assert one == kind(a=1, e=5, c=[]) != kind(2, "x", e=5)
    assert replace(one, b="y") == kind(1, "y", e=5)
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(FrozenInstanceError):
        one.a = 2  # pyright: ignore[reportAttributeAccessIssue]
    assert repr(kind(1, e=5)) == f"{kind.__name__}(a=1, b='b', c=[], d=4, e=5, seen=[1])"


@pytest.mark.parametrize("wrong", ["kind()", "kind(1)", "kind(1, 'b', [], [], 4, 5)", "kind(1, e=5, f=6)"])
def test_what_is_missing_or_unknown_is_refused_alike(wrong: str) -> None:
    for kind in (Plain, Quick):
        with pytest.raises(TypeError, match="__init__"):
            eval(wrong, {"kind": kind})


def test_records_and_contexts_tell_the_same_of_themselves_as_without() -> None:
    for module in (_records, _contexts):
        for kind in vars(module).values():
            if isinstance(kind, type) and "__dataclass_fields__" in vars(kind):
                told = inspect.signature(kind).parameters.values()
                by_place = [p.name for p in told if p.kind is not p.KEYWORD_ONLY]
                assert by_place == [f.name for f in fields(kind) if not f.kw_only]
                assert {p.name for p in told} == {f.name for f in fields(kind)}
