"""What a slip leaves in the code beside it, and what an edit would leave: names that nobody reads, equal operands.

Code as people mean it reads the parameters and variables that it has, and seldom compares, subtracts or passes a thing
with itself. So an edit that puts an unread name to use is likelier than its kind, and one that leaves a name unread,
unbound, or compared with itself is less likely. All of it is read off the text, once a file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import libcst as cst

from groundwire.agents.search._edit_context import EditContext, bindings, bound_names
from groundwire.agents.search._examples import Examples
from groundwire.agents.search._source import Proposal, Site

USES_PARAMETER, USES_LOCAL, USES_IMPORT = 3.0, 2.0, 3.0
"""How much likelier an edit is that reads what nothing read: a parameter, a variable, an import or private function."""
ORPHANS, UNBINDS, MAY_UNBIND, REPEATS = 0.3, 0.05, 0.3, 0.25
"""For one that takes away a name's only reading, or its only binding, moves it into a branch, or repeats an operand."""
APART = 2.0
"""For one that makes two equal operands differ."""
HAS = 4.0
"""For one that takes away an attribute which its class lacks."""
NAMED = 4.0
"""For one that takes away the name, attribute or keyword that the failure says there is none of."""
MAX_NAMED_BYTES = 60
_NAME = re.compile(r"[A-Za-z_]\w*")
_REPEATABLE = (cst.Add, cst.Multiply)


class Traces:
    """What is read and bound where, in one file.

    Args:
        scene: the file.
        missing: names that the failure says there are none of.
    """

    def __init__(self, scene: EditContext, missing: Collection[str] = ()) -> None:
        self._scene = scene
        self._source = source = scene.source
        self._imports = frozenset(scene.vocabulary.unread)
        self._missing = frozenset(missing)
        lacking = [s for s in source.sites if scene.habits.lacks(s)]
        self._lacking = [(s.start, s.end) for s in lacking]
        self._lacking_names = frozenset(s.node.attr.value for s in lacking if isinstance(s.node, cst.Attribute))
        self._bound: dict[Site, Counter[str]] = {}
        self._counts: dict[Site, Counter[str]] = {}
        self._starts: list[int] = []
        self._names: list[str] = []
        for site in source.expressions:
            if isinstance(site.node, cst.Name) and not _is_written(site):
                self._starts.append(site.start)
                self._names.append(site.node.value)
                function = site.function
                while function is not None:
                    self._counts.setdefault(function, Counter())[site.node.value] += 1
                    function = function.function

    def factor(self, site: Site, proposal: Proposal) -> float:
        """How much likelier a proposal at a site is than its operator and place say."""
        found = self._operands(site, proposal) * self._attributes(proposal)
        function = site.function
        if function is None:
            return found
        taken = Counter(name for splice in proposal.splices for name in self._read_in(splice.start, splice.end))
        given = {name for splice in proposal.splices for name in _NAME.findall(splice.text)}
        unread = self._unread_in(function)
        found *= max((unread[name] for name in given - taken.keys() if name in unread), default=1.0)
        found *= max((USES_IMPORT for n in given - taken.keys() if n in self._imports), default=1.0)
        counts, bound = self._counts.get(function, Counter[str]()), self._bound_in(function)
        if any(name in bound and count == counts[name] for name, count in taken.items() if name not in given):
            found *= ORPHANS
        return found * self._unbinding(site, function, proposal, taken)

    def _attributes(self, proposal: Proposal) -> float:
        """Whether names go that are not there, or attributes that the class lacks."""
        found = 1.0
        for splice in proposal.splices:
            if splice.end - splice.start > MAX_NAMED_BYTES:
                continue
            # an edit of the attribute's name alone starts behind its object
            touched = any(start <= splice.start < end and splice.end >= end for start, end in self._lacking)
            touched |= any(splice.start <= start and end <= splice.end for start, end in self._lacking)
            given = set(_NAME.findall(splice.text))
            if touched and not given & self._lacking_names:
                found = HAS
            if self._missing:
                taken = set(_NAME.findall(self._source.data[splice.start : splice.end].decode()))
                if taken & self._missing and not given & self._missing:
                    found = max(found, NAMED)
        return found

    def _read_in(self, start: int, end: int) -> list[str]:
        return self._names[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def _bound_in(self, function: Site) -> Counter[str]:
        if function not in self._bound:
            own = (s for s in function.walk() if s.slot == "target" and s.parent is not None)
            found = Counter(name for target in own for name, _ in bound_names(target))
            found.update(v.name for v in bindings(function, Examples()) if v.parameter)
            self._bound[function] = found
        return self._bound[function]

    def _unread_in(self, function: Site) -> Mapping[str, float]:
        unread = self._scene.unread(function)
        return {name: USES_PARAMETER if v.parameter else USES_LOCAL for name, v in unread.items()}

    def _operands(self, site: Site, proposal: Proposal) -> float:
        """Whether it makes operands equal, or different."""
        if not site.is_expression or len(proposal.splices) != 1:
            return 1.0
        splice = proposal.splices[0]
        if (splice.start, splice.end) != site.outer:
            return 1.0
        others = {self._source.text(other) for other in _beside(site)}
        if splice.text in others:
            return REPEATS
        return APART if self._source.text(site) in others else 1.0

    def _unbinding(self, site: Site, function: Site, proposal: Proposal, taken: Counter[str]) -> float:
        """Whether the only binding of a name that is still read goes away, or goes into a branch."""
        small = site.node.body[0] if isinstance(site.node, cst.SimpleStatementLine) else None
        if not isinstance(small, cst.Assign) or not proposal.name.startswith("stmt."):
            return 1.0
        if not any(splice.start <= site.start < splice.end for splice in proposal.splices):
            return 1.0
        counts, bound = self._counts.get(function, Counter[str]()), self._bound_in(function)
        lost = {name for s in site.walk() if s.slot == "target" for name, _ in bound_names(s) if bound[name] == 1}
        if not any(counts[name] > taken[name] for name in lost):
            return 1.0
        again = any(re.search(rf"\b{name}\b", splice.text) for name in lost for splice in proposal.splices)
        if not again:
            return UNBINDS
        return MAY_UNBIND if proposal.name == "stmt.indent" else 1.0


def _is_written(site: Site) -> bool:
    return site.slot == "target" and isinstance(site.parent and site.parent.node, cst.AugAssign)


def _beside(site: Site) -> Iterator[Site]:
    """The other operands, or arguments by position, of the expression that it is a direct part of."""
    parent = site.parent
    if parent is None:
        return
    match parent.node:
        case cst.BinaryOperation(operator=operator) if not isinstance(operator, _REPEATABLE):
            yield from (s for s in parent.children if s.is_expression and s is not site)
        case cst.BooleanOperation():
            yield from (s for s in parent.children if s.is_expression and s is not site)
        case cst.Comparison():
            yield from (c for target in parent.all("comparisons") for c in target.all("comparator"))
        case cst.ComparisonTarget() if parent.parent is not None:
            yield from (s for s in parent.parent.all("left"))
        case cst.Arg() if parent.parent is not None:
            yield from (v for a in parent.parent.all("args") if a is not parent for v in a.all("value"))
        case _:
            return
