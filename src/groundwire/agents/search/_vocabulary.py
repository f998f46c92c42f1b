"""The words of a file: numbers, texts, attributes, and what is called how; its own first, then those of its tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

import libcst as cst

from groundwire.agents.search._examples import Examples
from groundwire.agents.search._source import Site, SourceFile

MAX_NUMBERS = 12
MAX_STRINGS = 24
MAX_STRING_CHARS = 40
MAX_COMPARED = 80
MAX_ATTRIBUTES = 60
MAX_SUFFIX_BYTES = 40
MAX_FALLBACKS = 5
SHORTEST_SLIP = 4
SLIP = 0.85
MAX_UNREAD = 4
"""A file with more names that it never reads makes them for others."""


def int_value(site: Site) -> int | None:
    """The value of a plain integer of at most 63 bits; None for anything else."""
    if not isinstance(site.node, cst.Integer):
        return None
    try:
        value = int(site.node.value, 0)
    except ValueError:
        return None
    return value if abs(value) < 1 << 63 else None


@dataclass
class UsedNames:
    """What a file does with names, each in the order of the text.

    Args:
        functions: function that is called, `name` or `module.name` → counts of arguments that it is given.
        calls: such a function → how often it is called.
        methods: method that is called → counts of arguments.
        suffixes: `.name(arguments)` of short calls → the names in the arguments.
        attributes: text of an object → its attributes that are read or called; True: called.
        given: function or method → texts of arguments that it is given by position.
        keywords: function or method → keywords that it is given, or takes where the file defines it.
        together: keyword → texts of the keyword arguments that are given in the same calls.
        exceptions: what is raised or caught.
        classes: what `isinstance` asks for.
        subscripts: text of an object → `[…]` that follows it → the names in that.
    """

    functions: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    calls: Counter[str] = field(default_factory=Counter[str])
    methods: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    suffixes: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    attributes: dict[str, dict[str, bool]] = field(default_factory=dict[str, dict[str, bool]])
    given: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    keywords: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    together: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    exceptions: dict[str, None] = field(default_factory=dict[str, None])
    classes: dict[str, None] = field(default_factory=dict[str, None])
    subscripts: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict[str, dict[str, frozenset[str]]])


class Vocabulary:
    """What may be borrowed, the file's own words first.

    Args:
        source: the file.
        examples: literals of the visible tests.
    """

    def __init__(self, source: SourceFile, examples: Examples) -> None:
        self._source = source
        self._examples = examples
        self._near: dict[str, tuple[str, ...]] = {}

    @cached_property
    def numbers(self) -> tuple[int | float, ...]:
        """Numbers."""
        own: dict[int | float, None] = {}
        for site in self._source.expressions:
            if (value := int_value(site)) is not None:
                own[value] = None
            elif isinstance(site.node, cst.Float):
                own[float(site.node.value)] = None
        own.update(dict.fromkeys(self._examples.numbers))
        return tuple(own)[:MAX_NUMBERS]

    @cached_property
    def _all_strings(self) -> tuple[str, ...]:
        own: dict[str, None] = {}
        for site in self._source.expressions:
            if isinstance(site.node, cst.SimpleString) and isinstance(site.node.evaluated_value, str):
                own[site.node.evaluated_value] = None
        own.update(dict.fromkeys(self._examples.strings))
        return tuple(text for text in own if len(text) <= MAX_STRING_CHARS)

    def strings(self, like: str = "") -> tuple[str, ...]:
        """Short texts, docstrings left out; where there are many, those most like a given one.

        Args:
            like: the text that they would take the place of.
        """
        if like not in self._near:
            self._near[like] = self._nearest(like)
        return self._near[like]

    def _nearest(self, like: str) -> tuple[str, ...]:
        known = self._all_strings
        if len(known) <= MAX_STRINGS or not like:
            return known[:MAX_STRINGS]
        if len(known) > MAX_COMPARED:
            # to compare with each text takes seconds in a file of tables
            alike = self._by_first.get(like[:1].lower(), ())
            known = tuple(dict.fromkeys((*alike[:MAX_COMPARED], *known[:MAX_COMPARED])))
        return tuple(sorted(known, key=lambda text: -_likeness(text, like))[:MAX_STRINGS])

    def names_like(self, text: str) -> tuple[str, ...]:
        """Functions and attributes of the file that a text looks like a slip of."""
        if not text.isidentifier() or len(text) < SHORTEST_SLIP:
            return ()
        near = (n for size in (-1, 0, 1) for n in self._by_length.get(len(text) + size, ()) if n != text)
        # to compare with each name takes seconds in a file of tables
        return tuple(n for n in near if (n[0] == text[0] or n[-1] == text[-1]) and _likeness(text, n) > SLIP)

    @cached_property
    def _by_length(self) -> Mapping[int, Sequence[str]]:
        defined = (s.node.name.value for s in self._source.functions if isinstance(s.node, cst.FunctionDef))
        found: dict[int, list[str]] = {}
        for name in dict.fromkeys((*defined, *self.attributes)):
            found.setdefault(len(name), []).append(name)
        return found

    @cached_property
    def _by_first(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for text in self._all_strings:
            found.setdefault(text[:1].lower(), []).append(text)
        return found

    @cached_property
    def attributes(self) -> Mapping[str, bool]:
        """Attribute → True if the file calls it."""
        found: dict[str, bool] = {}
        for site in self._source.sites:
            if isinstance(site.node, cst.Attribute):
                found.setdefault(site.node.attr.value, site.slot == "func")
                if len(found) >= MAX_ATTRIBUTES:
                    break
        return found

    @cached_property
    def usage(self) -> UsedNames:
        """What the file does with names."""
        found = UsedNames()
        for site in self._source.sites:
            match site.node:
                case cst.Call():
                    self._call(site, found)
                case cst.Attribute(attr=attr):
                    owner = site.child("value")
                    if owner is not None and owner.end - owner.start <= MAX_SUFFIX_BYTES:
                        of = found.attributes.setdefault(self._source.text(owner), {})
                        of.setdefault(attr.value, site.slot == "func")
                case cst.FunctionDef(name=name, params=params):
                    own = [p.name.value for p in (*params.params, *params.kwonly_params)]
                    takes = found.keywords.setdefault(name.value, {})
                    takes.update(dict.fromkeys(n for n in own if n not in ("self", "cls")))
                case cst.Raise() | cst.ExceptHandler():
                    found.exceptions.update(dict.fromkeys(_exceptions(site)))
                case cst.Subscript():
                    self._subscript(site, found)
                case _:
                    pass
        imported = (n for n in (*self._imported, *self._classes) if n.endswith(("Error", "Exception")))
        found.exceptions.update(dict.fromkeys(imported))
        return found

    @cached_property
    def _classes(self) -> Sequence[str]:
        return [s.node.name.value for s in self._source.statements if isinstance(s.node, cst.ClassDef)]

    def _subscript(self, site: Site, found: UsedNames) -> None:
        holder = site.child("value")
        if (
            holder is None
            or site.end - holder.outer[1] > MAX_SUFFIX_BYTES
            or holder.end - holder.start > MAX_SUFFIX_BYTES
        ):
            return
        text = self._source.data[holder.outer[1] : site.end].decode()
        names = frozenset(s.node.value for a in site.all("slice") for s in a.walk() if isinstance(s.node, cst.Name))
        if "\n" not in text:
            found.subscripts.setdefault(self._source.text(holder), {}).setdefault(text, names)

    @cached_property
    def fallbacks(self) -> Sequence[tuple[str, frozenset[str]]]:
        """What stands behind `or` or `else` in the file's values, the most frequent first, and the names in it."""
        counts: Counter[str] = Counter()
        names: dict[str, frozenset[str]] = {}
        for site in self._source.expressions:
            other = site.child("orelse") if isinstance(site.node, cst.IfExp) else None
            if isinstance(site.node, cst.BooleanOperation) and isinstance(site.node.operator, cst.Or):
                whole = isinstance(site.parent and site.parent.node, (cst.Assign, cst.Return, cst.Arg))
                other = site.child("right") if whole and site.slot == "value" else None
            if other is None or other.end - other.start > MAX_SUFFIX_BYTES:
                continue
            if not isinstance(other.node, (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation, cst.IfExp)):
                text = self._source.text(other)
                counts[text] += 1
                names[text] = frozenset(s.node.value for s in other.walk() if isinstance(s.node, cst.Name))
        return [(text, names[text]) for text, _ in counts.most_common(MAX_FALLBACKS)]

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """What the file imports, or keeps to itself by a `_` in front, and never reads."""
        expressions = (s.node for s in self._source.expressions)
        read = {node.value for node in expressions if isinstance(node, cst.Name)}
        names = dict.fromkeys(name for name in _kept(self._source) if name not in read)
        return tuple(names) if len(names) <= MAX_UNREAD else ()

    def _call(self, site: Site, found: UsedNames) -> None:
        func, arguments = site.child("func"), site.all("args")
        if func is None:
            return
        keyed = [a for a in arguments if isinstance(a.node, cst.Arg) and a.node.keyword is not None]
        texts = [text for a in keyed if len(text := self._source.text(a)) <= MAX_SUFFIX_BYTES and "\n" not in text]
        for text in texts if len(texts) > 1 else ():
            found.together.setdefault(text.partition("=")[0].strip(), {}).update(dict.fromkeys(texts))
        if isinstance(func.node, cst.Name):
            name = func.node.value
            self._function(name, arguments, found)
            if name == "isinstance" and len(arguments) == 2:
                found.classes[self._source.text(arguments[1])] = None
        elif isinstance(func.node, cst.Attribute):
            name, owner = func.node.attr.value, func.child("value")
            found.methods.setdefault(name, set()).add(len(arguments))
            if owner is not None and isinstance(owner.node, cst.Name) and owner.node.value in self._imported:
                self._function(f"{owner.node.value}.{name}", arguments, found)
            if owner is not None:
                suffix = self._source.data[owner.outer[1] : site.end].decode()
                if len(suffix) <= MAX_SUFFIX_BYTES and "\n" not in suffix:
                    names = (s.node.value for a in arguments for s in a.walk() if isinstance(s.node, cst.Name))
                    found.suffixes.setdefault(suffix, frozenset(names))
        else:
            return
        given, keywords = found.given.setdefault(name, {}), found.keywords.setdefault(name, {})
        for argument in arguments:
            assert isinstance(argument.node, cst.Arg)
            text = self._source.text(argument)
            if argument.node.keyword is not None:
                keywords[argument.node.keyword.value] = None
            if not argument.node.star and len(text) <= MAX_SUFFIX_BYTES and "\n" not in text:
                given[text] = None

    @staticmethod
    def _function(name: str, arguments: Sequence[Site], found: UsedNames) -> None:
        found.functions.setdefault(name, set()).add(len(arguments))
        found.calls[name] += 1

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset(_imports(self._source))


def _exceptions(site: Site) -> Iterator[str]:
    what = site.child("exc" if isinstance(site.node, cst.Raise) else "type")
    for inner in what.walk() if what is not None else ():
        if isinstance(inner.node, cst.Name) and inner.node.value[:1].isupper():
            yield inner.node.value


def _likeness(text: str, other: str) -> float:
    if text.lower() == other.lower():
        return 1.0
    return SequenceMatcher(None, text, other, autojunk=False).quick_ratio()


def _imports(source: SourceFile) -> Iterator[str]:
    for site in source.sites:
        match site.node:
            case cst.ImportAlias(name=cst.Name(value=name), asname=None):
                yield name
            case cst.ImportAlias(asname=cst.AsName(name=cst.Name(value=name))):
                yield name
            case _:
                pass


def _kept(source: SourceFile) -> Iterator[str]:
    """Names that the file imports, and its own functions with a `_` in front."""
    yield from _imports(source)
    for site in source.sites:
        match site.node:
            case cst.FunctionDef(name=cst.Name(value=name)) if name[:1] == "_" != name[1:2] and site.function is None:
                if site.parent is not None and isinstance(site.parent.node, cst.Module):
                    yield name
            case _:
                pass
