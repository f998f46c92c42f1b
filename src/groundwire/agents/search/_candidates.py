"""All single edits of a project, best first, made as they are asked for."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import libcst as cst

from groundwire.agents.search._blame import Blame
from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._equivalence import Units
from groundwire.agents.search._examples import Examples
from groundwire.agents.search._source import Proposal, RankedEdit, Site, SourceFile, parse_source
from groundwire.agents.search._traces import Traces
from groundwire.agents.search.operators import OPERATORS, Operator
from groundwire.core._candidates import Tree
from groundwire.core._contexts import EditCounts, EditStatistics

# All single edits of a file: every rule at every site it looks at.


@cache
def _rules(kind: type[cst.CSTNode]) -> tuple[Operator, ...]:
    return tuple(rule for rule in OPERATORS if issubclass(kind, rule.nodes))


def proposals(site: Site, scene: EditContext, *, evaluated: bool) -> Iterator[Proposal]:
    """What the operators offer at one site.

    Args:
        site: where.
        scene: the file.
        evaluated: False where the site is an expression that is never evaluated (a name that is bound).
    """
    if site.is_expression and not evaluated:
        return
    for rule in _rules(type(site.node)):
        yield from rule.offer(site, scene)


# How often each edit operator is the one that repairs, before anything was learned.

DEFAULT_PRIOR = 0.1

PRIORS: Mapping[str, float] = {
    "compare.boundary": 0.8,
    "compare.negate": 0.8,
    "compare.swap": 0.61,
    "compare.replace": 0.61,
    "compare.sides": 0.52,
    "compare.both": 0.14,
    "compare.chain": 0.093,
    "arith.swap": 0.71,
    "arith.operands": 0.53,
    "arith.regroup": 0.1,
    "arith.sign": 0.11,
    "arith.add_term": 0.15,
    "assign.plain": 0.056,
    "assign.accumulate": 0.15,
    "assign.reversed": 0.096,
    "assign.fold": 0.17,
    "bool.and_or": 0.82,
    "bool.negate": 0.75,
    "bool.flip": 1,
    "cond.fixed": 0.004,
    "cond.add_clause": 0.067,
    "cond.remove": 0.081,
    "cond.add_filter": 0.081,
    "cond.exchange": 0.29,
    "cond.add_guard": 0.044,
    "const.off_by_one": 0.77,
    "const.replace": 0.61,
    "const.borrow": 0.03,
    "const.everywhere": 0.06,
    "const.shift_all": 0.18,
    "str.case": 0.34,
    "str.const": 0.37,
    "str.borrow": 0.24,
    "str.delete": 0.059,
    "str.insert": 0.03,
    "init.value": 0.098,
    "name.swap": 0.4,
    "name.element": 0.17,
    "name.target": 0.46,
    "name.exchange": 0.16,
    "expr.hoist": 0.14,
    "expr.borrow": 0.11,
    "call.swap": 0.18,
    "call.wrap": 0.067,
    "call.order": 0.067,
    "call.nest": 0.054,
    "method.swap": 0.26,
    "attribute.swap": 0.32,
    "args.swap": 0.33,
    "args.drop": 0.27,
    "args.add": 0.25,
    "args.receiver": 0.071,
    "args.star": 0.55,
    "element.swap": 0.82,
    "element.drop": 0.085,
    "slice.bounds": 0.24,
    "slice.add": 0.072,
    "index.off_by_one": 0.25,
    "index.from_end": 0.08,
    "index.to_slice": 0.053,
    "index.add": 0.04,
    "loop.range_bounds": 0.8,
    "loop.iterable": 0.13,
    "loop.leave": 1,
    "loop.keyword": 0.045,
    "return.change": 0.08,
    "return.plain": 0.02,
    "return.exchange": 0.4,
    "return.flip_all": 0.34,
    "return.add": 0.11,
    "return.discarded": 0.2,
    "return.early": 0.02,
    "stmt.delete": 0.16,
    "stmt.duplicate": 0.03,
    "stmt.move": 0.3,
    "stmt.dedent": 0.082,
    "stmt.indent": 0.06,
    "stmt.copy": 0.03,
    "stmt.update": 0.061,
    "branch.exchange": 0.81,
    "branch.flatten_else": 0.12,
    "branch.drop_else": 0.063,
    "branch.elif": 0.085,
    "compare.shifted": 1,
    "bool.regroup": 0.17,
    "const.name": 0.049,
    "const.type": 0.2,
    "attribute.add": 0.22,
    "attribute.self": 0.37,
    "method.add": 0.24,
    "call.bound": 0.03,
    "call.copy": 0.06,
    "args.keyword": 0.3,
    "element.add": 0.03,
    "except.kind": 0.68,
    "raise.early": 0.02,
    "index.from_slice": 1,
    "pair.tokens": 0.069,
    "stmt.borrow": 0.02,
    "stmt.keep": 0.21,
    "habit.guard": 0.6,
    "habit.before": 0.1,
    "habit.after": 0.06,
    "habit.opening": 0.4,
    "habit.analogy": 0.4,
    "stmt.fill": 0.45,
    "call.collect": 0.24,
    "call.again": 0.65,
    "expr.alike": 0.8,
    "attribute.both": 0.33,
    "fallback.get": 0.46,
    "fallback.attribute": 0.04,
    "fallback.or": 0.074,
    "fallback.else": 0.088,
    "fallback.none": 0.1,
    "fallback.fresh": 1,
    "fallback.caught": 0.041,
    "cond.none": 0.47,
    "alternative.class": 0.37,
    "alternative.text": 0.1,
    "alternative.exception": 0.24,
    "branch.add_else": 0.13,
    "decorator.add": 0.22,
    "name.everywhere": 0.11,
    "arith.add_operand": 0.059,
    "loop.skip": 0.1,
    "str.pattern": 0.3,
    "import.add": 1,
    "stmt.state": 0.5,
    "super.call": 0.27,
}
"""Operator → prior, relative to the most likely ones at 1.

What a proposal of the operator is worth, beside those of the others. Fitted: the values, each held near a first guess,
that put the fix earliest (mean logarithm of its place) in 404 bugs of the kinds of `bench/fix_kinds.py`, of 16 packages
and weighted by how often such fixes are made, and in the first 80 functions of HumanEvalFix.
"""

# The order of edits: blame of the line, prior of the operator, what memory learned, and how small the edit is.

CREDIT = 12.0
"""Passes at its parent's rate that each circle is credited with, so that a young memory changes little."""
LEAST_FACTOR, MOST_FACTOR = 0.25, 4.0
BYTES_OF_ONE_PERCENT = 4


def factors(statistics: EditStatistics) -> Mapping[str, float]:
    """How much better or worse than the priors say each operator paid before, as a factor; absent: 1.

    Candidates are tried by falling score, so each of them should pass equally often, whatever its operator; where an
    operator passed more often than that, its prior was too small. Rates are shrunk from circle to circle, in the manner
    of empirical Bayes (Efron and Morris, JASA 70, 1975): from everything that was seen towards 1, from the family
    towards that, from failures alike towards the family. So the narrow circle counts the more, the more it has seen.

    Args:
        statistics: what memory knows of the three circles; the wider ones contain the narrower ones.
    """
    family = _without(statistics.family, statistics.alike)
    overall = _without(_without(statistics.overall, statistics.alike), family)
    found: Mapping[str, float] = {}
    for circle in (overall, family, statistics.alike):
        found = _shrunk(circle, found)
    return {name: min(MOST_FACTOR, max(LEAST_FACTOR, factor)) for name, factor in found.items()}


def _without(circle: EditCounts, inner: EditCounts) -> EditCounts:
    """A circle without what a narrower one has counted already."""
    less = {name: inner.get(name, (0, 0)) for name in circle}
    return {n: (max(0, used - less[n][0]), max(0, passed - less[n][1])) for n, (used, passed) in circle.items()}


def _shrunk(circle: EditCounts, wider: Mapping[str, float]) -> Mapping[str, float]:
    used, passed = (sum(counts[place] for counts in circle.values()) for place in (0, 1))
    if not used or not passed:
        return wider
    found = dict(wider)
    for name, (tried, paid) in circle.items():
        expected = tried * passed / used
        found[name] = (paid + CREDIT * wider.get(name, 1.0)) / (expected + CREDIT)
    return found


def score(proposal: Proposal, blame: float, learned: Mapping[str, float]) -> float:
    """The rank of a proposal; larger is tried earlier.

    Args:
        proposal: what is replaced.
        blame: of its line, 0 to 1.
        learned: see `factors`.
    """
    prior = PRIORS.get(proposal.name, DEFAULT_PRIOR) * learned.get(proposal.name, 1.0)
    size = sum(len(s.text) for s in proposal.splices)
    return blame * prior * proposal.weight * 0.99 ** (size / BYTES_OF_ONE_PERCENT)


CROWD = 10
"""Edits of one operator after which each further one is less likely."""
CROWDED, AT_ONE_PLACE = 0.15, 0.25
"""How fast: exponents, of the number of edits of that operator before it, and of those at the same place."""


def mixed(edits: Sequence[RankedEdit]) -> Iterator[RankedEdit]:
    """The same edits, each less likely the more of its operator come before it: a fix is one of a kind, of all kinds.

    Args:
        edits: by falling score.
    """
    of_kind: Counter[str] = Counter()
    at_place: Counter[tuple[str, str, int]] = Counter()
    for edit in edits:
        place = (edit.name, edit.path, edit.proposal.splices[0].start)
        crowd = (1 + of_kind[edit.name] / CROWD) ** CROWDED * (1 + at_place[place]) ** AT_ONE_PLACE
        yield RankedEdit(edit.path, edit.proposal, edit.line, edit.score / crowd)
        of_kind[edit.name] += 1
        at_place[place] += 1


def tie_break(proposal: Proposal, path: str, seed: int) -> int:
    """Orders edits of equal score: by a hash that depends on the seed only; with seed 0, by their place in the text."""
    if seed == 0:
        return proposal.splices[0].start
    text = f"{seed}:{path}:{proposal.name}:" + ";".join(f"{s.start},{s.end},{s.text}" for s in proposal.splices)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


# All single edits of a project, best first, made as they are asked for: files are parsed when their turn comes.
# Nothing is known of an edit before its file is parsed but that it can't be above the blame of the file's lines.

GROUP_BYTES = 256 * 1024
"""Files that are ranked together, in bytes of source; of a project that is larger, a quarter as much at a time."""
WAVE_SITES = 1500
"""Syntax nodes whose edits are ranked together."""
TRACED = 10_000
"""Of these edits, so many of the likeliest are looked at closely; the others come last."""


def _groups(tree: Tree, paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The files that are read together: all of a small project, else as many as are parsed in a second or two."""
    size_of = {path: len(tree.files[path]) for path in paths}
    most = GROUP_BYTES if sum(size_of.values()) <= GROUP_BYTES else GROUP_BYTES // 4
    group: list[str] = []
    size = 0
    for path in paths:
        if group and size + size_of[path] > most:
            yield tuple(group)
            group, size = [], 0
        group.append(path)
        size += size_of[path]
    if group:
        yield tuple(group)


@dataclass(frozen=True)
class Parsed:
    """A file that was parsed."""

    source: SourceFile
    scene: EditContext
    units: Units
    traces: Traces


@dataclass(frozen=True, slots=True)
class _Offer:
    """An edit before it is looked at what it leaves in the code beside it, and the score that it can't be above."""

    edit: RankedEdit
    traces: Traces
    site: Site
    most: float


class Stream:
    """The edits of a tree.

    Args:
        tree: the base.
        where: blame by line; names the files that may be edited.
        examples: what the visible tests tell.
        learned: factor by operator, see `rank.factors`.
        seed: orders edits of equal score.
        missing: names that the failure says there are none of.
    """

    def __init__(
        self,
        tree: Tree,
        where: Blame,
        examples: Examples,
        learned: Mapping[str, float],
        seed: int,
        missing: frozenset[str] = frozenset(),
    ) -> None:
        self._tree = tree
        self._missing = missing
        self._blame = where
        self._examples = examples
        self._learned = learned
        self._seed = seed
        self._parsed: dict[str, Parsed | None] = {}
        self._made: list[RankedEdit] = []
        self._groups = deque(_groups(tree, where.paths))
        self.opened = 0
        """Groups of files that were read so far."""
        self._heads: list[tuple[float, int, RankedEdit, Iterator[RankedEdit]]] = []

    def parsed(self, path: str) -> Parsed | None:
        """The file, parsed once; None where that can't be done."""
        if path not in self._parsed:
            source = parse_source(path, self._tree.files[path])
            scene = EditContext(source, self._examples) if source else None
            self._parsed[path] = (
                Parsed(source, scene, Units(source), Traces(scene, self._missing)) if source and scene else None
            )
        return self._parsed[path]

    def key(self, edits: tuple[RankedEdit, ...]) -> str | None:
        """What the edits mean together (see `Units.key`); None where the files would not compile or not change."""
        by_path: dict[str, list[RankedEdit]] = {}
        for edit in edits:
            by_path.setdefault(edit.path, []).append(edit)
        keys: list[str] = []
        for path, mine in sorted(by_path.items()):
            parsed = self.parsed(path)
            found = parsed.units.key([s for e in mine for s in e.proposal.splices]) if parsed else None
            if found is None:
                return None
            keys.append(f"{path}:{found}")
        return "\n".join(keys)

    def at(self, index: int) -> RankedEdit | None:
        """The edit at a place of the order, counted from 0; None after the last one."""
        while len(self._made) <= index:
            while self._must_open():
                self._open()
            if not self._heads:
                return None
            self._take()
        return self._made[index]

    def is_ready(self, index: int) -> bool:
        """True if the edit at a place of the order is known without another file being read."""
        while len(self._made) <= index and self._heads and not self._must_open():
            self._take()
        return len(self._made) > index or not self._groups

    def _must_open(self) -> bool:
        """True where files that were not read yet may hold the next edit."""
        if not self._groups:
            return False
        return not self._heads or -self._heads[0][0] < self._most_of(self._groups[0])

    def _most_of(self, group: Sequence[str]) -> float:
        """The score that no edit of these files is above."""
        return max(self._blame.most(path) for path in group) * self._most_likely

    @cached_property
    def _most_likely(self) -> float:
        """The score that no edit of a line with all the blame is above."""
        return max(1.0, *self._learned.values(), 1.0)

    def _open(self) -> None:
        files = [parsed for path in self._groups.popleft() if (parsed := self.parsed(path))]
        self.opened += 1
        self._push(self.opened, self._waves(files))

    def _take(self) -> None:
        _, group, edit, rest = heapq.heappop(self._heads)
        self._made.append(edit)
        self._push(group, rest)

    def _push(self, group: int, edits: Iterator[RankedEdit]) -> None:
        edit = next(edits, None)
        if edit is not None:
            heapq.heappush(self._heads, (-edit.score, group, edit, edits))

    def _waves(self, group: Sequence[Parsed]) -> Iterator[RankedEdit]:
        sites: list[tuple[float, Parsed, Site]] = []
        for parsed in group:
            path, source = parsed.source.path, parsed.source
            sites += [
                (self._blame.of(path, site.line, source.last_line(site)), parsed, site)
                for site in source.sites
                if site.statement is not None
            ]
        sites.sort(key=lambda item: -item[0])
        for start in range(0, len(sites), WAVE_SITES):
            offers = [
                o for b, parsed, site in sites[start : start + WAVE_SITES] for o in self._at_site(b, parsed, site)
            ]
            offers.sort(key=lambda offer: self._order(offer.edit))
            near = sorted((self._traced(offer) for offer in offers[:TRACED]), key=self._order)
            yield from sorted(mixed(near), key=self._order)
            yield from (offer.edit for offer in offers[TRACED:])

    def _order(self, edit: RankedEdit) -> tuple[float, str, int, str]:
        return -edit.score, edit.path, tie_break(edit.proposal, edit.path, self._seed), edit.name

    def _at_site(self, blamed: float, parsed: Parsed, site: Site) -> Iterator[_Offer]:
        evaluated = not site.is_expression or site in parsed.source.evaluated
        path = parsed.source.path
        for proposal in filter(parsed.source.can_take, proposals(site, parsed.scene, evaluated=evaluated)):
            line = parsed.source.line_of(proposal.splices[0].start)
            edit = RankedEdit(path, proposal, line, score(proposal, blamed, self._learned))
            yield _Offer(edit, parsed.traces, site, blamed * self._most_likely)

    @staticmethod
    def _traced(offer: _Offer) -> RankedEdit:
        likely = offer.edit.score * offer.traces.factor(offer.site, offer.edit.proposal)
        return RankedEdit(offer.edit.path, offer.edit.proposal, offer.edit.line, min(likely, offer.most))
