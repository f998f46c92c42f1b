"""What every instance of a stub has: its attributes, operators and comparisons are asked for over there.

What it never does is let the candidate decide whether something is equal to a value of the tests: those comparisons are
made here, by value. Only where both sides are objects of the candidate is its own `__eq__` asked, and that is counted.
"""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_classes import Asks, is_instance, is_unseen, ref_of
    from groundwire.tools.inside.crossing_codec import ARITHMETIC, inside, signature_from, type_of
else:
    from _gw_crossing_classes import is_instance, is_unseen, ref_of
    from _gw_crossing_codec import ARITHMETIC, inside, signature_from, type_of

TELLING = frozenset((*ARITHMETIC, "__contains__"))
"""What the candidate works out of a value of the tests."""
LEARNING = frozenset(("__sub__", "__rsub__", "__contains__"))
"""Of these, what tells it the very value that it is compared with: a difference, a membership."""
CONTRARY = {"__lt__": "__gt__", "__le__": "__gt__", "__gt__": "__lt__", "__ge__": "__lt__"}
"""What can't be true of two things of which the other order is."""
PLAIN_NUMBERS = (bool, int, float, complex)
PLAIN = (int, float, complex, str, bytes, bool, type(None))


class Doc:
    """The text of a class, and that of each of its instances (functions have their own)."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, thing: Any, kind: Any) -> Any:
        return self._text if thing is None or ref_of(thing) is None else _getattr(thing, "__doc__")


def _asks_of(thing: Any) -> Asks:
    return type.__getattribute__(type_of(thing), "_groundwire_asks")


def trait(thing: Any, name: str) -> Any:
    """What its class says of an instance, past whatever the candidate has put there."""
    return type.__getattribute__(type_of(thing), name)


def special(name: str) -> Callable[..., Any]:
    """A special method that is asked for over there."""

    def forward(self: Any, /, *args: Any, **named: Any) -> Any:
        kind = type_of(self)
        if trait(self, "_groundwire_derived"):
            places = [k for k in kind.__mro__ if name in inside(k)]
            if inside(places[0])[name] is not forward:  # `super().__len__()` in a class of the tests
                owner = next(k for k in places if inside(k)[name] is forward)
                return _asks_of(self).ask("above", owner, name, self)(*args, **named)
        asks = _asks_of(self)
        if name in LEARNING and len(args) == 1 and not is_instance(args[0]):
            return asks.own_word_of(lambda value: asks.ask("special", self, name, (value,), ()), args[0])
        found = asks.ask("special", self, name, args, tuple(named.items()))
        if name in TELLING and args and not is_instance(args[0]) and type_of(found) in PLAIN_NUMBERS:
            asks.own_word()
        return found

    forward.__name__ = forward.__qualname__ = name
    return forward


def number_special(base: Any, name: str) -> Callable[..., Any]:
    """An operator of a class that derives from a number: with a number of the tests it works on the value, here."""
    forward = special(name)

    def operate(self: Any, *args: Any) -> Any:
        if args and not is_instance(args[0]):
            return getattr(base, name)(self, *args)
        return forward(self, *args)

    return operate


def _by_value(self: Any, other: Any) -> bool:
    """If a container over there holds what a container of the tests does; it is not told what that is."""
    kind = type_of(other)
    if not issubclass(kind, (list, tuple, collections.deque, set, frozenset, dict)):
        return False
    source: Any = self.keys() if issubclass(kind, dict) else self
    items: list[Any] = list(itertools.islice(iter(source), len(other) + 1))
    if issubclass(kind, dict):
        return len(items) == len(other) and {key: self[key] for key in items} == other
    return bool(set(items) == other) if issubclass(kind, (set, frozenset)) else items == list(other)


def _equal(self: Any, other: Any) -> Any:
    base = trait(self, "_groundwire_base")
    theirs = is_instance(other)
    own = trait(self, "_groundwire_equal") or (theirs and trait(other, "_groundwire_equal"))
    if theirs and own and self is not other:
        return _own_equality(self, other)
    if base is not None:
        return base.__eq__(self, other)
    if self is other:
        if not own:
            return True
        _asks_of(self).own_word()
        return _asks_of(self).ask("special", self, "__eq__", (other,), ())
    if theirs or not own:
        return NotImplemented
    if type_of(other) in PLAIN:
        _asks_of(self).undecided()
        return NotImplemented
    try:
        same = _by_value(self, other)
    except (TypeError, AttributeError, KeyError, IndexError):
        _asks_of(self).undecided()
        return NotImplemented
    if not same:
        return NotImplemented
    # it holds the same, and learns nothing from being asked if it finds so too
    _asks_of(self).own_word()
    return bool(_asks_of(self).ask("special", self, "__eq__", (other,), ()))


def _own_equality(self: Any, other: Any) -> Any:
    """What the candidate says of two of its objects; that which the tests have made is the one that may be another."""
    asks = _asks_of(self)
    asks.own_word()
    if _made_of(other) is None and _made_of(self) is not None:
        return asks.own_word_of(lambda one: asks.ask("special", one, "__eq__", (other,), ()), self)
    return asks.own_word_of(lambda one: asks.ask("special", self, "__eq__", (one,), ()), other)


def _made_of(thing: Any) -> Any:
    try:
        return object.__getattribute__(thing, "_groundwire_made")
    except AttributeError:
        return None


def _unequal(self: Any, other: Any) -> Any:
    theirs = is_instance(other)
    if theirs and (trait(self, "_groundwire_equal") or trait(other, "_groundwire_equal")):
        _asks_of(self).own_word()
        return _asks_of(self).ask("special", self, "__ne__", (other,), ())
    found = _equal(self, other)
    return found if found is NotImplemented else not found


def ordering(base: Any, name: str) -> Callable[..., Any]:
    """`<` and its like: of a value of the tests the contrary is asked as well."""
    forward, against = special(name), special(CONTRARY[name])

    def compare(self: Any, other: Any) -> Any:
        if base is not None and not is_instance(other):
            return getattr(base, name)(self, other)
        if not is_instance(other):
            ask, contrary = functools.partial(forward, self), functools.partial(against, self)
            return _asks_of(self).own_word_of(ask, other, contrary=contrary)
        _asks_of(self).own_word()
        return forward(self, other)

    return compare


def hash_there(self: Any) -> int:
    """Its hash over there."""
    return _asks_of(self).ask("special", self, "__hash__", (), ())


def _getattr(self: Any, name: str) -> Any:
    if is_unseen(name) or name.startswith("_groundwire"):
        raise AttributeError(name)
    if name == "__signature__":
        return signature_from(_asks_of(self).ask("signature", self))
    return _asks_of(self).ask("get", self, name)


def _setattr(self: Any, name: str, value: Any) -> None:
    if ref_of(self) is None or name in (
        "__traceback__",
        "__context__",
        "__cause__",
        "__suppress_context__",
        "__notes__",
    ):
        object.__setattr__(self, name, value)
    else:
        _asks_of(self).ask("set", self, name, value)


def _delattr(self: Any, name: str) -> None:
    _asks_of(self).ask("del", self, name)


def _call_plainly(verb: str, *more: Any) -> Callable[..., Any]:
    def call(self: Any, *_args: Any) -> Any:
        return _asks_of(self).ask(verb, self, *more)

    return call


class _Restore:
    """Makes an object over there again from its pickle, which is read over there alone."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def __call__(self, content: bytes) -> Any:
        return self._asks.ask("unpickle", content)

    def __reduce__(self) -> Any:
        return (_current, ())


_asking: list[Asks] = []


def _current() -> _Restore:
    return _Restore(_asking[-1])


def _reduce(self: Any, protocol: Any) -> Any:
    asks = _asks_of(self)
    _asking[:] = [asks]
    return (_Restore(asks), (asks.ask("pickle", self, int(protocol)),))


COMMON: dict[str, Any] = {
    "__getattr__": _getattr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__dir__": _call_plainly("dir"),
    "__copy__": _call_plainly("copy", False),
    "__deepcopy__": _call_plainly("copy", True),
    "__reduce_ex__": _reduce,
    "__dict__": property(lambda self: _getattr(self, "__dict__")),
    "__str__": special("__str__"),
    "__repr__": special("__repr__"),
    "__format__": special("__format__"),
    "__eq__": _equal,
    "__ne__": _unequal,
    "__hash__": object.__hash__,
    "__test__": False,
}
