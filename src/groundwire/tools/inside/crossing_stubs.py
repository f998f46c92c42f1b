"""Makes what stands for the candidate's objects in the assertions' process: classes, instances, exceptions.

Each stub holds a number and asks.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_classes import Asks, CandidateEnded, Kind, Member, has_meta, ref_of
    from groundwire.tools.inside.crossing_codec import (
        ARITHMETIC,
        COMPARISONS,
        KNOWN,
        SPECIAL,
        VALUE_BASES,
        Borrowed,
        inside,
        named,
        type_of,
    )
    from groundwire.tools.inside.crossing_instances import (
        COMMON,
        Doc,
        hash_there,
        number_special,
        ordering,
        special,
        trait,
    )
    from groundwire.tools.inside.crossing_modules import LIBRARY
else:
    from _gw_crossing_classes import CandidateEnded, Kind, Member, has_meta, ref_of
    from _gw_crossing_codec import (
        ARITHMETIC,
        COMPARISONS,
        KNOWN,
        SPECIAL,
        VALUE_BASES,
        Borrowed,
        inside,
        named,
        type_of,
    )
    from _gw_crossing_instances import COMMON, Doc, hash_there, number_special, ordering, special, trait
    from _gw_crossing_modules import LIBRARY

NEVER = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""What a candidate can't raise here, nor anything that derives from it: runners and generators act on these."""
STEERING = ("unittest", "bdb", "pdb", "doctest", "builtins")
"""Modules whose exceptions say how a run goes on; built-in exceptions have names of their own."""
NUMBERS = (int, float, complex)
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
        self.root: Any = self._make("object", (), dict(COMMON), None, "builtins")
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
            str(n): Member(str(n), bool(function))
            for n, function in members
            if type_of(n) is str and (n in INITS or not n.startswith(("__", "_groundwire", "pytest")))
        }
        if real:
            inner = {**COMMON, **inner}
            if inherited is not None:
                for own in ("__str__", "__repr__", "__format__", "__hash__"):
                    inner.pop(own)
                inner["__hash__"] = inherited.__hash__
            if error:
                for own in ("__eq__", "__ne__", "__hash__", "__str__", "__repr__", "__reduce_ex__", "__dict__"):
                    inner.pop(own)
        inner.update(self._specials(specials, inherited, unhashable, error))
        inner["__doc__"] = Doc(doc)
        inner["__qualname__"] = name
        inner["_groundwire_meta"] = meta or any(has_meta(b) for b in bases if b not in real)
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
                    found[name] = hash_there
            elif name in COMPARISONS:
                found[name] = ordering(base, name)
            elif base in NUMBERS and (name in ARITHMETIC or name in ("__abs__", "__neg__", "__pos__", "__round__")):
                found[name] = number_special(base, name)
            elif not (
                base is not None and name in ("__bool__", "__int__", "__float__", "__index__", "__len__", "__complex__")
            ):
                found[name] = special(name)
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
            ref_of(known).times += 1
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
            if trait(made, "_groundwire_meta"):
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
