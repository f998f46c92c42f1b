"""All single edits of a project, best first, made as they are asked for: files are parsed when their turn comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from groundwire.agents.search.blame import Blame
from groundwire.agents.search.edits import Edit
from groundwire.agents.search.equivalence import Units
from groundwire.agents.search.examples import Examples
from groundwire.agents.search.generate import proposals
from groundwire.agents.search.rank import score, tie_break
from groundwire.agents.search.scene import Scene
from groundwire.agents.search.source import Site, Source, parse_source
from groundwire.trees import Tree

__all__ = ["Parsed", "Stream"]

GROUP_BYTES = 256 * 1024
"""Files that are ranked together, in bytes of source."""
WAVE_SITES = 1500
"""Syntax nodes whose edits are ranked together."""


@dataclass(frozen=True)
class Parsed:
    """A file that was parsed."""

    source: Source
    scene: Scene
    units: Units


class Stream:
    """The edits of a tree.

    Args:
        tree: the base.
        where: blame by line; names the files that may be edited.
        examples: what the visible tests tell.
        learned: factor by operator, see `rank.factors`.
        seed: orders edits of equal score.
    """

    def __init__(self, tree: Tree, where: Blame, examples: Examples, learned: Mapping[str, float], seed: int) -> None:
        self._tree = tree
        self._blame = where
        self._examples = examples
        self._learned = learned
        self._seed = seed
        self._parsed: dict[str, Parsed | None] = {}
        self._edits = self._ranked()
        self._made: list[Edit] = []

    def parsed(self, path: str) -> Parsed | None:
        """The file, parsed once; None where that can't be done."""
        if path not in self._parsed:
            source = parse_source(path, self._tree.files[path])
            self._parsed[path] = Parsed(source, Scene(source, self._examples), Units(source)) if source else None
        return self._parsed[path]

    def key(self, edits: tuple[Edit, ...]) -> str | None:
        """What the edits mean together (see `Units.key`); None where the files would not compile or not change."""
        by_path: dict[str, list[Edit]] = {}
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

    def at(self, index: int) -> Edit | None:
        """The edit at a place of the order, counted from 0; None after the last one."""
        while len(self._made) <= index:
            edit = next(self._edits, None)
            if edit is None:
                return None
            self._made.append(edit)
        return self._made[index]

    def _ranked(self) -> Iterator[Edit]:
        group: list[Parsed] = []
        size = 0
        for path in self._blame.paths:
            parsed = self.parsed(path)
            if parsed is None:
                continue
            group.append(parsed)
            size += len(parsed.source.data)
            if size >= GROUP_BYTES:
                yield from self._waves(group)
                group, size = [], 0
        yield from self._waves(group)

    def _waves(self, group: list[Parsed]) -> Iterator[Edit]:
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
            edits = [e for b, parsed, site in sites[start : start + WAVE_SITES] for e in self._at_site(b, parsed, site)]
            edits.sort(key=lambda e: (-e.score, e.path, tie_break(e.proposal, e.path, self._seed), e.name))
            yield from edits

    def _at_site(self, blamed: float, parsed: Parsed, site: Site) -> Iterator[Edit]:
        evaluated = not site.is_expression or site in parsed.source.evaluated
        path = parsed.source.path
        for proposal in proposals(site, parsed.scene, evaluated=evaluated):
            line = parsed.source.line_of(proposal.splices[0].start)
            yield Edit(path, proposal, line, score(proposal, blamed, self._learned))
