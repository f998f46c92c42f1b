"""What stands for the candidate's objects in the assertions' process: modules, classes, instances, exceptions.

Each stub holds a number and asks. What it never does is let the candidate decide whether something is equal to a value
of the tests: those comparisons are made here, by value. Only where both sides are objects of the candidate is its own
`__eq__` asked, and that is counted.
"""

from __future__ import annotations

import collections
import functools
import importlib
import itertools
import opcode
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_codec import (
        ARITHMETIC,
        COMPARISONS,
        KNOWN,
        SPECIAL,
        VALUE_BASES,
        Borrowed,
        inside,
        named,
        signature_from,
        type_of,
    )
else:
    from _gw_crossing_codec import (
        ARITHMETIC,
        COMPARISONS,
        KNOWN,
        SPECIAL,
        VALUE_BASES,
        Borrowed,
        inside,
        named,
        signature_from,
        type_of,
    )

NEVER = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""What a candidate can't raise here, nor anything that derives from it: runners and generators act on these."""
STEERING = ("unittest", "bdb", "pdb", "doctest", "builtins")
"""Modules whose exceptions say how a run goes on; built-in exceptions have names of their own."""
LIBRARY: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset(("dataclasses", "subprocess", "json", "queue")))
TELLING = frozenset((*ARITHMETIC, "__contains__"))
"""What the candidate works out of a value of the tests."""
LEARNING = frozenset(("__sub__", "__rsub__", "__contains__"))
"""Of these, what tells it the very value that it is compared with: a difference, a membership."""
CONTRARY = {"__lt__": "__gt__", "__le__": "__gt__", "__gt__": "__lt__", "__ge__": "__lt__"}
"""What can't be true of two things of which the other order is."""
PLAIN_NUMBERS = (bool, int, float, complex)
NUMBERS = (int, float, complex)
UNSEEN = frozenset(("__test__", "__code__", "place_as", "_is_coroutine", "_is_coroutine_marker", "_is_coroutine_mark"))
"""What runners look for on everything that they find in a module of tests, beside names of pytest's own."""
LOOKS_LIKE: dict[str, Any] = {
    name: KNOWN[name]
    for name in ("builtins.dict", "builtins.list", "builtins.set", "builtins.bytearray", "collections.deque",
                 "collections.OrderedDict", "collections.Counter", "collections.defaultdict")
}  # fmt: skip
"""Built-in containers whose subclasses pass an instance check for them, though their items stay over there."""
RECENT = 4096
"""Numbers, texts and tuples of classes over there that are kept to be the same objects when they come again."""
INITS = ("__init__", "__post_init__")
"""Special names that classes of the tests ask for by `super()`."""
KEPT = ("_groundwire_kind", "__module__")
MADE_BY_PYTHON = frozenset(("__module__", "__qualname__", "__classcell__", "__dict__", "__weakref__", "__doc__",
                            "__firstlineno__", "__static_attributes__", "__classdictcell__", "__annotate__",
                            "__annotate_func__", "__annotations_cache__"))  # fmt: skip
PLAIN = (int, float, complex, str, bytes, bool, type(None))
_IMPORTS_STAR: int = opcode.opmap.get("IMPORT_STAR", opcode.opmap.get("CALL_INTRINSIC_1", -1))
_frame: Callable[[int], types.FrameType] = vars(sys)["_getframe"]


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
        return _ref(value)
    return None


def is_instance(value: Any) -> bool:
    """True for what stands for an instance of a class over there."""
    return issubclass(type_of(type_of(value)), Kind)


def _ref(value: Any) -> Any:
    try:
        return object.__getattribute__(value, "_groundwire_ref")
    except AttributeError:
        return None


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
        if name in UNSEEN or "pytest" in name:
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
        return _has_meta(cls) and bool(_ask_of(cls, "isinstance", instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if super().__subclasscheck__(subclass):
            return True
        return _has_meta(cls) and isinstance(subclass, Kind) and bool(_ask_of(cls, "issubclass", subclass))

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
    also = {key: _Member(key, False) for key in inner if key not in kept and not key.startswith("__")}
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


def _has_meta(cls: Any) -> bool:
    return bool(type.__getattribute__(cls, "_groundwire_meta"))


class _Member:
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


class _Doc:
    """The text of a class, and that of each of its instances (functions have their own)."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, thing: Any, kind: Any) -> Any:
        return self._text if thing is None or _ref(thing) is None else _getattr(thing, "__doc__")


class Bound:
    """A method of an object over there, which is looked up when it is called."""

    def __init__(self, asks: Asks, thing: Any, name: str) -> None:
        self.groundwire = (asks, thing, name)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """Calls it over there."""
        asks, thing, name = self.groundwire
        return asks.ask("method", thing, name, args, tuple(named.items()))

    def __getattr__(self, name: str) -> Any:
        if name in UNSEEN or "pytest" in name:
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


# --- what every instance has


def _asks_of(thing: Any) -> Asks:
    return type.__getattribute__(type_of(thing), "_groundwire_asks")


def _trait(thing: Any, name: str) -> Any:
    return type.__getattribute__(type_of(thing), name)


def _special(name: str) -> Callable[..., Any]:
    def forward(self: Any, /, *args: Any, **named: Any) -> Any:
        kind = type_of(self)
        if _trait(self, "_groundwire_derived"):
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


def _number_special(base: Any, name: str) -> Callable[..., Any]:
    """An operator of a class that derives from a number: with a number of the tests it works on the value, here."""
    forward = _special(name)

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
    base = _trait(self, "_groundwire_base")
    theirs = is_instance(other)
    own = _trait(self, "_groundwire_equal") or (theirs and _trait(other, "_groundwire_equal"))
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
    if theirs and (_trait(self, "_groundwire_equal") or _trait(other, "_groundwire_equal")):
        _asks_of(self).own_word()
        return _asks_of(self).ask("special", self, "__ne__", (other,), ())
    found = _equal(self, other)
    return found if found is NotImplemented else not found


def _ordering(base: Any, name: str) -> Callable[..., Any]:
    forward, against = _special(name), _special(CONTRARY[name])

    def compare(self: Any, other: Any) -> Any:
        if base is not None and not is_instance(other):
            return getattr(base, name)(self, other)
        if not is_instance(other):
            ask, contrary = functools.partial(forward, self), functools.partial(against, self)
            return _asks_of(self).own_word_of(ask, other, contrary=contrary)
        _asks_of(self).own_word()
        return forward(self, other)

    return compare


def _hash(self: Any) -> int:
    return _asks_of(self).ask("special", self, "__hash__", (), ())


def _getattr(self: Any, name: str) -> Any:
    if name in UNSEEN or "pytest" in name or name.startswith("_groundwire"):
        raise AttributeError(name)
    if name == "__signature__":
        return signature_from(_asks_of(self).ask("signature", self))
    return _asks_of(self).ask("get", self, name)


def _setattr(self: Any, name: str, value: Any) -> None:
    if _ref(self) is None or name in ("__traceback__", "__context__", "__cause__", "__suppress_context__", "__notes__"):
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


_COMMON: dict[str, Any] = {
    "__getattr__": _getattr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__dir__": _call_plainly("dir"),
    "__copy__": _call_plainly("copy", False),
    "__deepcopy__": _call_plainly("copy", True),
    "__reduce_ex__": _reduce,
    "__dict__": property(lambda self: _getattr(self, "__dict__")),
    "__str__": _special("__str__"),
    "__repr__": _special("__repr__"),
    "__format__": _special("__format__"),
    "__eq__": _equal,
    "__ne__": _unequal,
    "__hash__": object.__hash__,
    "__test__": False,
}


# --- making stubs


class Stubs:
    """Makes what stands for the other process's objects, and keeps one for each while the tests hold it.

    Args:
        asks: the conversation.
        gone: where numbers are noted that nobody here holds any more.
    """

    def __init__(self, asks: Asks, gone: list[int]) -> None:
        self._asks = asks
        self._gone = gone
        self._kinds: dict[int, Any] = {}
        self._by_name: dict[str, Any] = {}
        self._instances: Any = weakref.WeakValueDictionary()
        self._lasting: dict[int, Any] = {}
        self._recent: dict[int, Any] = {}
        self.root: Any = self._make("object", (), dict(_COMMON), None, "builtins")
        self._seen: set[str] = set()

    def forget(self, gone: list[int]) -> None:
        """The other process is gone. Classes are found again by their names; `gone` is for the next one's numbers."""
        self._gone = gone
        self._kinds.clear()
        self._instances.clear()
        self._lasting.clear()
        self._recent.clear()

    def _make(self, name: str, bases: Any, inner: dict[str, Any], ref: Any, module: str) -> Any:
        inner.update(_groundwire_asks=self._asks, _groundwire_kind=ref, __module__=module)
        inner.setdefault("_groundwire_meta", False)
        inner.setdefault("_groundwire_derived", False)
        inner.setdefault("_groundwire_equal", False)
        inner.setdefault("_groundwire_base", None)
        make: Any = Kind
        return make(name, bases, inner, ours=True)

    def adopt(self, made: Any, number: int) -> None:
        """A class of the tests has this number over there."""
        type.__setattr__(made, "_groundwire_kind", Borrowed(number, self._gone))
        self._kinds[number] = made

    def current(self, ref: Borrowed) -> bool:
        """True for a number of the process that runs now."""
        return ref.gone is self._gone

    # --- classes

    def kind(self, value: Sequence[Any], decode: Callable[[Any], Any]) -> Any:
        """The class of a message: `["K", number]`, with a description where it comes for the first time."""
        number = value[1]
        if len(value) == 2:
            found = self._kinds[number]
            ref = inside(found).get("_groundwire_kind")
            if ref is not None:
                ref.times += 1
            return found
        if type_of(number) is not int or number in self._kinds:
            raise ValueError("a class that is known")
        module, name, doc, bases, specials, members, unhashable, meta = value[2]
        if not all(type_of(t) is str for t in (module, name, *specials)) or type_of(doc) not in (str, type(None)):
            raise ValueError("not a class")
        parents = [decode(base) for base in bases]
        real = _library_exception(module, name)
        if real is not None:
            self._kinds[number] = real
            return real
        again = self._by_name.get(f"{module}.{name}")
        if again is not None and not self.current(inside(again)["_groundwire_kind"]):
            type.__setattr__(again, "_groundwire_kind", Borrowed(number, self._gone))
            self._kinds[number] = again
            return again
        made = self._stub(number, module, name, doc, parents, specials, members, bool(unhashable), bool(meta))
        self._kinds[number] = made
        self._by_name.setdefault(f"{module}.{name}", made)
        return made

    def _stub(
        self, number: int, module: str, name: str, doc: Any, parents: Sequence[Any], specials: Sequence[str],
        members: Sequence[Any], unhashable: bool, meta: bool,
    ) -> Any:  # fmt: skip
        bases = _bases(parents, self.root)
        real = [b for b in bases if not isinstance(b, Kind)]
        inherited = next((b for k in bases for b in VALUE_BASES if issubclass(k, b)), None)
        error = any(issubclass(k, BaseException) for k in bases)
        inner: dict[str, Any] = {
            str(n): _Member(str(n), bool(function))
            for n, function in members
            if type_of(n) is str and (n in INITS or not n.startswith(("__", "_groundwire", "pytest")))
        }
        if real:
            inner = {**_COMMON, **inner}
            if inherited is not None:
                for own in ("__str__", "__repr__", "__format__", "__hash__"):
                    inner.pop(own)
                inner["__hash__"] = inherited.__hash__
            if error:
                for own in ("__eq__", "__ne__", "__hash__", "__str__", "__repr__", "__reduce_ex__", "__dict__"):
                    inner.pop(own)
        inner.update(self._specials(specials, inherited, unhashable, error))
        inner["__doc__"] = _Doc(doc)
        inner["__qualname__"] = name
        inner["_groundwire_meta"] = meta or any(_has_meta(b) for b in bases if b not in real)
        inner["_groundwire_equal"] = "__eq__" in specials or any(
            type.__getattribute__(b, "_groundwire_equal") for b in bases if isinstance(b, Kind)
        )
        inner["_groundwire_base"] = inherited
        full = f"{module}.{name}"
        if full == "builtins.generator":
            inner["__class__"] = property(lambda _self: types.GeneratorType)
        looks = next((LOOKS_LIKE[named(k)] for b in bases for k in b.__mro__ if named(k) in LOOKS_LIKE), None)
        if looks is not None and inherited is None:
            inner["__class__"] = property(lambda thing: _said(type_of(thing), looks))
        short = name.rpartition(".")[2]
        ref = Borrowed(number, self._gone)
        try:
            made = self._make(short, bases, inner, ref, module)
        except TypeError:  # classes that can't be combined here
            made = self._make(short, (self.root,), {**inner, "_groundwire_base": None}, ref, module)
        return made

    def _specials(self, names: Sequence[str], base: Any, unhashable: bool, error: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in names:
            if name not in SPECIAL or name in ("__eq__", "__ne__"):
                continue
            if name == "__hash__":
                if base is None and not unhashable:
                    found[name] = _hash
            elif name in COMPARISONS:
                found[name] = _ordering(base, name)
            elif base in NUMBERS and (name in ARITHMETIC or name in ("__abs__", "__neg__", "__pos__", "__round__")):
                found[name] = _number_special(base, name)
            elif not (
                base is not None and name in ("__bool__", "__int__", "__float__", "__index__", "__len__", "__complex__")
            ):
                found[name] = _special(name)
        if unhashable and base is None and not error:
            found["__hash__"] = None
        return found

    # --- instances

    def instance(self, value: Sequence[Any], decode: Callable[[Any], Any]) -> Any:
        """The object of a message: `["H", number, class, …]`."""
        number = value[1]
        if type_of(number) is not int:
            raise ValueError("not a number")
        kind = decode(value[2])
        known = self._instances.get(number, self._lasting.get(number, self._recent.get(number)))
        if known is not None:
            if not (isinstance(kind, type) and (type_of(known) is kind or isinstance(known, BaseException))):
                raise ValueError("an object that changed its class")
            _ref(known).times += 1
            return known
        if isinstance(kind, type) and issubclass(kind, BaseException):
            return self._error(number, kind, decode(value[3]), decode(value[4]))
        if not isinstance(kind, Kind):
            raise ValueError("an object of no class of the other end")
        full = named(kind)
        if full not in self._seen:
            self._seen.add(full)
            if not full.startswith("builtins."):
                self._asks.saw(full)
        if full == "builtins.coroutine":
            return self._coroutine(number, kind)
        base = type.__getattribute__(kind, "_groundwire_base")
        if base is None:
            made = object.__new__(kind)
        else:
            plain = decode(value[3])
            if type_of(plain) is not base:
                raise ValueError("not the value of this object")
            made = base.__new__(kind, plain)
        self._hold(made, number)
        return made

    def _hold(self, made: Any, number: int) -> None:
        object.__setattr__(made, "_groundwire_ref", Borrowed(number, self._gone))
        try:
            self._instances[number] = made
        except TypeError:  # numbers and tuples can't be held weakly; those that are few and always the same are kept
            if _trait(made, "_groundwire_meta"):
                self._lasting[number] = made
                return
            self._recent[number] = made  # of the others the newest, so that one of them is itself when it comes again
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]

    def _coroutine(self, number: int, kind: Any) -> Any:
        made = object.__new__(kind)
        object.__setattr__(made, "_groundwire_ref", Borrowed(number, self._gone))
        asks = self._asks

        async def waits() -> Any:
            return asks.ask("await", made)

        return waits()

    def _error(self, number: int, kind: Any, args: Any, state: Any) -> BaseException:
        if type_of(args) is not tuple or type_of(state) is not dict:
            raise ValueError("not an exception")
        if issubclass(kind, NEVER) or not issubclass(kind, Exception):
            return CandidateEnded(f"the code under test raised {kind.__name__}{args!r}, which ends programs")
        try:
            error = kind.__new__(kind, *args) if isinstance(kind, Kind) else kind(*args)
        except Exception:
            error = kind.__new__(kind)
        if error.args != args:
            error.args = args
        own = isinstance(kind, Kind)
        for name, item in state.items():
            if type_of(name) is str and not name.startswith(("__", "_groundwire")) and not own:
                object.__setattr__(error, name, item)
        object.__setattr__(error, "_groundwire_ref", Borrowed(number, self._gone))
        if own:
            self._instances[number] = error
        return error


def _library_exception(module: str, name: str) -> Any:
    """The standard library's exception of this name, where this process has loaded it; None for any other class."""
    if module.partition(".")[0] not in LIBRARY or module.startswith(STEERING):
        return None
    found: Any = inside(sys.modules[module]).get(name) if module in sys.modules else None
    if not isinstance(found, type) or not issubclass(found, Exception) or named(found) != f"{module}.{name}":
        return None
    return found  # pyright: ignore[reportUnknownVariableType]


def _bases(parents: Sequence[Any], root: Any) -> tuple[Any, ...]:
    """The bases of a stub: stubs, types that carry their value, built-in exceptions that end no program."""
    found: list[Any] = []
    for parent in parents:
        if isinstance(parent, Kind) or parent in VALUE_BASES:
            found.append(parent)
        elif isinstance(parent, type) and issubclass(parent, BaseException):
            safe = issubclass(parent, Exception) and not issubclass(parent, NEVER)
            found.append(parent if safe else Exception)
    found = [base for base in found if base is not root] or [root]
    return tuple(dict.fromkeys(found))


def _said(stub: Any, looks: Any) -> Any:
    """The class that instances of the stub say they have, so that they pass an instance check for a built-in container.

    A real subclass would be an empty container to all code that is written in C.
    """
    said: Any = inside(stub).get("_groundwire_said")
    if said is None:
        inner: dict[str, Any] = {name: inside(stub)[name] for name in KEPT}
        inner["__qualname__"] = stub.__qualname__
        make: Any = Kind
        said = make(stub.__name__, (stub, looks), inner, ours=True)
        type.__setattr__(stub, "_groundwire_said", said)
    return said


# --- modules


class Module(types.ModuleType):
    """Stands for a module of the candidate."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self._public(_frame(1))
        if name in UNSEEN or "pytest" in name or name in ("__path__", "__warningregistry__"):
            raise AttributeError(name)
        found = inside(self)["__groundwire_crossing__"].ask("get", self, name)
        if is_instance(found):
            object.__setattr__(found, "_groundwire_path", (self.__name__, name))
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in (
            "__spec__",
            "__loader__",
            "__package__",
            "__path__",
            "__file__",
            "__cached__",
            "__class__",
            "__name__",
        ):
            super().__setattr__(name, value)
        elif isinstance(value, Module):
            pass  # the import system binds a submodule to its package, as it did over there
        elif isinstance(value, types.ModuleType) and value.__name__ == f"{self.__name__}.{name}":
            super().__setattr__(name, value)  # a module of the tests inside of a package of the candidate
        else:
            inside(self)["__groundwire_crossing__"].ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in inside(self):
            super().__delattr__(name)
        else:
            inside(self)["__groundwire_crossing__"].ask("del", self, name)

    def _public(self, caller: types.FrameType) -> list[str]:
        """Its public names; those that may be bound where a module is in the midst of importing `*`."""
        names: list[str] = inside(self)["__groundwire_names__"]
        if caller.f_code.co_code[caller.f_lasti] != _IMPORTS_STAR:
            return list(names)
        crossing, bound = inside(self)["__groundwire_crossing__"], caller.f_globals
        return [name for name in names if "pytest" not in name and not crossing.hides(self, name, bound)]

    def __dir__(self) -> list[str]:
        names = inside(self)["__groundwire_names__"]
        return sorted({*(n for n in inside(self) if n.startswith("__") and n[2:12] != "groundwire"), *names})


def module_named(name: str, asks: Asks, holds: Callable[[str], bool]) -> Any:
    """A module that the candidate has handed over: one of its own, one that the tests have too, or what stands for it.

    Nothing is imported here because the candidate says so, but stubs for the candidate's own modules.
    """
    found = sys.modules.get(name)
    if found is None and holds(name):
        return importlib.import_module(name)
    if found is None or name in ("__main__", "groundwire") or name.startswith(("_gw_", "_pytest")):
        found = Module(name)
        inside(found)["__groundwire_crossing__"] = asks
        inside(found)["__groundwire_names__"] = []
    return found
