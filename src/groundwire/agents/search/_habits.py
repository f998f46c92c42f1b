"""What a file does wherever it does a thing: under which condition, after what, with which attributes.

A slip often stands where one place does not do as the others do (Engler et al., "Bugs as deviant behavior", SOSP 2001).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from groundwire.agents.search._source import Site, SourceFile

MAX_GUARD_LINES = 3
SHORTEST = 8
"""Bytes of a statement that says enough to be known again."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A guard that functions begin with.

    Args:
        site: one of them.
        count: how many functions begin so.
    """

    site: Site
    count: int


class Habits:
    """What a file does again and again.

    Args:
        source: the file.
    """

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._members: dict[Site, frozenset[str] | None] = {}

    @cached_property
    def conditions(self) -> Mapping[str, Sequence[Site]]:
        """Statement of one line → the conditions of each `if` without `else` in whose block it stands alone."""
        found: dict[str, list[Site]] = {}
        for site in self._source.statements:
            block = site.child("body")
            if not isinstance(site.node, cst.If) or site.child("orelse") is not None or block is None:
                continue
            inside = [s for s in block.children if s.is_statement]
            test = site.child("test")
            if len(inside) == 1 and test is not None and (text := self._known(inside[0])):
                found.setdefault(text, []).append(test)
        return found

    @cached_property
    def before(self) -> Mapping[str, Sequence[Site]]:
        """Statement of one line → what stands right before it, here and there."""
        return self._beside(-1)

    @cached_property
    def after(self) -> Mapping[str, Sequence[Site]]:
        """Statement of one line → what stands right after it, here and there."""
        return self._beside(1)

    @cached_property
    def openings(self) -> Sequence[Opening]:
        """The short guards that functions begin with, the most frequent first."""
        guards: dict[str, Site] = {}
        counts: Counter[str] = Counter()
        for function in self._source.functions:
            for guard in self._opening(function):
                text = "\n".join(line.strip() for line in self._source.text(guard).splitlines())
                guards.setdefault(text, guard)
                counts[text] += 1
        return [Opening(guards[text], count) for text, count in counts.most_common()]

    def lacks(self, attribute: Site) -> bool:
        """True for an attribute that the class around does not have, as far as the file shows all that it has."""
        node = attribute.node
        if not isinstance(node, cst.Attribute):
            return False
        owner = next((a for a in attribute.above() if isinstance(a.node, cst.ClassDef)), None)
        if owner is None:
            return False
        name = node.attr.value
        private = name.startswith("__") and not name.endswith("__")
        own = isinstance(node.value, cst.Name) and node.value.value == "self"
        if not private and not own:
            return False
        if private:
            return name not in self._own(owner)
        # what a class reads and another one sets may be a subclass's
        return name not in self._anywhere and self.members(owner) is not None and not name.startswith("__")

    def members(self, owner: Site) -> frozenset[str] | None:
        """The attributes and methods of a class; None where the file does not show all of them."""
        if owner not in self._members:
            self._members[owner] = None  # of a class that is its own base, nothing is known
            self._members[owner] = self._all_members(owner)
        return self._members[owner]

    def _all_members(self, owner: Site) -> frozenset[str] | None:
        node = owner.node
        assert isinstance(node, cst.ClassDef)
        found = set(self._own(owner))
        if node.keywords or found & {"__getattr__", "__getattribute__"}:
            return None
        for base in node.bases:
            if not isinstance(base.value, cst.Name):
                return None
            inherited = self._inherited(base.value.value)
            if inherited is None:
                return None
            found |= inherited
        return frozenset(found)

    def _inherited(self, name: str) -> frozenset[str] | None:
        if name == "object":
            return frozenset()
        known = self._classes.get(name)
        return self.members(known) if known is not None else None

    @cached_property
    def _classes(self) -> Mapping[str, Site]:
        return {s.node.name.value: s for s in self._source.statements if isinstance(s.node, cst.ClassDef)}

    def _own(self, owner: Site) -> frozenset[str]:
        return self._bound.get(owner, frozenset())

    @cached_property
    def _anywhere(self) -> frozenset[str]:
        return frozenset[str]().union(*self._bound.values())

    @cached_property
    def _bound(self) -> Mapping[Site, frozenset[str]]:
        """Class → what its body defines, and what is set on any object inside of it."""
        found: dict[Site, set[str]] = {s: set() for s in self._source.statements if isinstance(s.node, cst.ClassDef)}
        for site in self._source.sites:
            owner = next((a for a in site.above() if isinstance(a.node, cst.ClassDef)), None)
            if owner is None:
                continue
            match site.node:
                case cst.FunctionDef(name=cst.Name(value=name)) | cst.ClassDef(name=cst.Name(value=name)):
                    found[owner].add(name)
                case cst.Attribute(attr=cst.Name(value=name)) if _is_set(site):
                    found[owner].add(name)
                case cst.Name(value=name) if _is_set(site) and site.function is owner.function:
                    found[owner].add(name)
                    if name == "__slots__" and site.statement is not None:
                        texts = (s.node for s in site.statement.walk())
                        found[owner].update(str(n.evaluated_value) for n in texts if isinstance(n, cst.SimpleString))
                case _:
                    pass
        return {owner: frozenset(names) for owner, names in found.items()}

    def _beside(self, step: int) -> Mapping[str, Sequence[Site]]:
        found: dict[str, list[Site]] = {}
        for site in self._source.statements:
            text = self._known(site)
            other = self.neighbour(site, step) if text and site.function is not None else None
            if other is not None and self._is_short(other):
                found.setdefault(text, []).append(other)
        return found

    def neighbour(self, site: Site, step: int) -> Site | None:
        """The statement so many places further on in its block."""
        block = [s for s in site.parent.children if s.is_statement] if site.parent is not None else []
        place = block.index(site) + step if site in block else -1
        return block[place] if 0 <= place < len(block) else None

    def _is_short(self, site: Site) -> bool:
        if isinstance(site.node, cst.SimpleStatementLine):
            return len(site.node.body) == 1 and not _is_text(site)
        return self._is_guard(site)

    def _is_guard(self, site: Site) -> bool:
        if not isinstance(site.node, cst.If) or site.slot == "orelse" or site.child("orelse") is not None:
            return False
        return self._source.last_line(site) - site.line < MAX_GUARD_LINES

    def _known(self, site: Site) -> str:
        """The text of a statement by which it is known again elsewhere; "" where it says too little for that."""
        if not isinstance(site.node, cst.SimpleStatementLine) or self._source.last_line(site) != site.line:
            return ""
        text = self._source.text(site)
        return text if len(text) >= SHORTEST and not _is_text(site) else ""

    def _opening(self, function: Site) -> Iterator[Site]:
        body = function.child("body")
        for site in (s for s in body.children if s.is_statement) if body is not None else ():
            if not _is_text(site):
                if not self._is_guard(site):
                    return
                yield site


def _is_set(site: Site) -> bool:
    """True for a name or attribute that is bound here, also one of several."""
    inner = site
    for outer in site.above():
        if inner.slot == "target" or isinstance(outer.node, cst.AssignTarget):
            return True
        if not isinstance(outer.node, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
            return False
        inner = outer
    return False


def _is_text(site: Site) -> bool:
    match site.node:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return True
        case _:
            return False


def names_in(site: Site) -> frozenset[str]:
    """The names that stand in it."""
    return frozenset(s.node.value for s in site.walk() if isinstance(s.node, cst.Name) and s.slot != "attr")


_BRACKETS = {"[": "]", "]": "[", "(": ")", ")": "(", "{": "}", "}": "{", "<": ">", ">": "<", "'": '"', '"': "'"}


def counterparts(text: str) -> Iterator[str]:
    """What a short text may have as its other half: `]` of `[`, `Max` of `Min`."""
    if text in _BRACKETS:
        yield _BRACKETS[text]
    for one, other in (("min", "max"), ("left", "right"), ("start", "end"), ("first", "last"), ("before", "after")):
        for a, b in ((one, other), (other, one)):
            if re.search(a, text, re.IGNORECASE):
                yield re.sub(a, lambda found, b=b: b.capitalize() if found[0][0].isupper() else b, text, flags=re.I)
