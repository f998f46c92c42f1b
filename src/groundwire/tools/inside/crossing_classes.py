"""What stands for the candidate's classes in the assertions' process, and what every stub needs to ask.

A class of the tests that derives from one is made over there as well, and called back for what the tests define.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_codec import inside, named, signature_from, type_of
else:
    from _gw_crossing_codec import inside, named, signature_from, type_of

UNSEEN = frozenset(("__test__", "__code__", "place_as", "_is_coroutine", "_is_coroutine_marker", "_is_coroutine_mark"))
"""What runners look for on everything that they find in a module of tests, beside names of pytest's own."""
MADE_BY_PYTHON = frozenset(("__module__", "__qualname__", "__classcell__", "__dict__", "__weakref__", "__doc__",
                            "__firstlineno__", "__static_attributes__", "__classdictcell__", "__annotate__",
                            "__annotate_func__", "__annotations_cache__"))  # fmt: skip


class CandidateEnded(Exception):
    """The candidate's process ended in the middle of a call, or asked to."""

    __module__ = "builtins"  # shown without a module of ours in front


class Asks(Protocol):
    """The conversation, as stubs use it."""

    @property
    def remembers(self) -> bool:
        """True where objects are to know what the tests have made them of."""
        ...

    def ask(self, verb: str, *fields: Any) -> Any:
        """Asks the candidate's process; raises what it raised."""
        ...

    def own_word(self) -> None:
        """The candidate's own comparison decided something."""
        ...

    def undecided(self) -> None:
        """The candidate's own comparison was not asked: its object is not equal, whatever it would have said."""
        ...

    def own_word_of(
        self, ask: Callable[[Any], Any], operand: Any, *, contrary: Callable[[Any], Any] | None = None
    ) -> Any:
        """What the candidate says of a value of the tests, in an order also the contrary."""
        ...

    def saw(self, name: str, /) -> None:
        """An object of this class of the candidate has come here for the first time."""
        ...

    def derive(self, made: Any, place: tuple[str, str, str], bases: Any, members: Any) -> None:
        """Makes a class of the tests over there too."""
        ...

    def unfit(self, why: str) -> Any:
        """Ends this run: the tests need more than can be sent."""
        ...


def borrowed(value: Any) -> Any:
    """The number that a stub holds; None for what is none."""
    kind = type_of(value)
    if issubclass(kind, Kind):
        return type.__getattribute__(value, "__dict__").get("_groundwire_kind")
    if issubclass(type_of(kind), Kind):
        return ref_of(value)
    return None


def is_instance(value: Any) -> bool:
    """True for what stands for an instance of a class over there."""
    return issubclass(type_of(type_of(value)), Kind)


def ref_of(value: Any) -> Any:
    """The number that an instance holds; None for what is no stub."""
    try:
        return object.__getattribute__(value, "_groundwire_ref")
    except AttributeError:
        return None


def is_unseen(name: str) -> bool:
    """True for what runners look for: no name of the candidate's is asked for it."""
    return name in UNSEEN or "pytest" in name


class Kind(type):
    """The class of all stub classes."""

    def __new__(
        mcs, name: str, bases: tuple[Any, ...], inner: dict[str, Any], *, ours: Any = None, **_more: Any
    ) -> Any:
        """Makes a stub, or a class of the tests that derives from one: then it is made over there as well."""
        if ours is None:
            return _derived(mcs, name, bases, inner)
        return super().__new__(mcs, name, bases, inner)

    def __init__(cls, name: str, bases: tuple[Any, ...], inner: dict[str, Any], **_more: Any) -> None:
        super().__init__(name, bases, inner)

    def __call__(cls, /, *args: Any, **named: Any) -> Any:
        made = _ask(cls, "call", args, tuple(named.items()))
        if type.__getattribute__(cls, "_groundwire_asks").remembers and is_instance(made):
            object.__setattr__(made, "_groundwire_made", (cls, args, named))
        return made

    def __getattr__(cls, name: str) -> Any:
        if is_unseen(name):
            raise AttributeError(name)
        if name == "__signature__":
            return signature_from(_ask(cls, "signature"))
        return _ask(cls, "get", name)

    def __setattr__(cls, name: str, value: Any) -> None:
        if name.startswith(("_groundwire", "_abc_")) or name in ("__abstractmethods__", "__class__"):
            super().__setattr__(name, value)
        else:
            _ask(cls, "set", name, value)

    def __delattr__(cls, name: str) -> None:
        _ask(cls, "del", name)

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return has_meta(cls) and bool(_ask_of(cls, "isinstance", instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if super().__subclasscheck__(subclass):
            return True
        return has_meta(cls) and isinstance(subclass, Kind) and bool(_ask_of(cls, "issubclass", subclass))

    def __iter__(cls) -> Any:
        return _ask(cls, "special", "__iter__", (), ())

    def __len__(cls) -> Any:
        return _ask(cls, "special", "__len__", (), ())

    def __contains__(cls, item: Any) -> Any:
        return _ask(cls, "special", "__contains__", (item,), ())

    def __getitem__(cls, key: Any) -> Any:
        return _ask(cls, "special", "__getitem__", (key,), ())

    def __bool__(cls) -> bool:
        return True

    def __dir__(cls) -> Any:
        return list(_ask(cls, "dir"))

    def __repr__(cls) -> str:
        return f"<class '{named(cls)}'>"


def _derived(mcs: Any, name: str, bases: tuple[Any, ...], inner: dict[str, Any]) -> Any:
    """A class of the tests: its functions stay here, and are called back by the class of its name over there."""
    stubs = tuple(base for base in bases if isinstance(base, Kind))
    asks: Asks = type.__getattribute__(stubs[0], "_groundwire_asks")
    others: list[Any] = [k for b in bases if b not in stubs for k in reversed(b.__mro__) if k is not object]
    if any(k.__module__.partition(".")[0] in ("unittest", "enum", "typing", "abc") for k in others):
        asks.unfit(f"{named(stubs[0])} is subclassed by the tests together with {named(others[-1])}")
    spaces: list[dict[str, Any]] = [*(dict(inside(k)) for k in others), inner]
    parts: dict[str, Any] = {key: item for space in spaces for key, item in space.items()}
    members: list[tuple[str, str, Any]] = [
        (key, *_member(item)) for key, item in parts.items() if key not in MADE_BY_PYTHON
    ]
    kept = {key: item for key, item in inner.items() if key in MADE_BY_PYTHON or _member(item)[0] != "value"}
    also = {key: Member(key, False) for key in inner if key not in kept and not key.startswith("__")}
    made = type.__new__(mcs, name, bases, {**kept, **also, "_groundwire_asks": asks, "_groundwire_derived": True})
    place = (name, str(inner.get("__module__")), str(inner.get("__qualname__")))
    again = functools.partial(asks.derive, made, place, stubs, tuple(members))
    type.__setattr__(made, "_groundwire_again", again)
    again()
    return made


def _member(item: Any) -> tuple[str, Any]:
    kind = type_of(item)
    if kind is types.FunctionType:
        return "function", item
    if kind in (classmethod, staticmethod):
        return kind.__name__, item.__func__
    if kind is property:
        return "property", (item.fget, item.fset, item.fdel)
    return "value", item


def _ask(cls: Any, verb: str, *fields: Any) -> Any:
    return type.__getattribute__(cls, "_groundwire_asks").ask(verb, cls, *fields)


def _ask_of(cls: Any, verb: str, thing: Any) -> Any:
    return type.__getattribute__(cls, "_groundwire_asks").ask(verb, thing, cls)


def has_meta(cls: Any) -> bool:
    """True for a class whose own class is the candidate's too."""
    return bool(type.__getattribute__(cls, "_groundwire_meta"))


class Member:
    """A name in the class of a stub: looked up over there, on the class or the instance."""

    def __init__(self, name: str, function: bool) -> None:
        self._name = name
        self._function = function
        self._owner: Any = None

    def __set_name__(self, owner: Any, name: str) -> None:
        self._owner = owner

    def __get__(self, thing: Any, kind: Any) -> Any:
        asks = type.__getattribute__(self._owner, "_groundwire_asks")
        if thing is None:
            return asks.ask("get", kind, self._name)
        first = next((k for k in type_of(thing).__mro__ if self._name in inside(k)), None)
        if first is not self._owner:
            return asks.ask("above", self._owner, self._name, thing)
        if self._function:
            return Bound(asks, thing, self._name)
        return asks.ask("get", thing, self._name)


class Bound:
    """A method of an object over there, which is looked up when it is called."""

    def __init__(self, asks: Asks, thing: Any, name: str) -> None:
        self.groundwire = (asks, thing, name)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """Calls it over there."""
        asks, thing, name = self.groundwire
        return asks.ask("method", thing, name, args, tuple(named.items()))

    def __getattr__(self, name: str) -> Any:
        if is_unseen(name):
            raise AttributeError(name)
        asks, thing, own = self.groundwire
        if name == "__signature__":
            return signature_from(asks.ask("signature", asks.ask("get", thing, own)))
        return getattr(asks.ask("get", thing, own), name)

    def __eq__(self, other: object) -> bool:
        if type_of(other) is not Bound:
            return False
        mine, its = self.groundwire, inside(other)["groundwire"]
        return bool(mine[1] is its[1] and mine[2] == its[2])

    def __hash__(self) -> int:
        return hash((id(self.groundwire[1]), self.groundwire[2]))

    def __repr__(self) -> str:
        return f"<bound method {self.groundwire[2]} of {self.groundwire[1]!r}>"
