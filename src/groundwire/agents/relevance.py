"""Which files and lines a failure points at: frames in its messages and output, coverage, and what was changed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from groundwire.agents.evidence import may_be_shown
from groundwire.contexts import Coverage
from groundwire.signals import Signal
from groundwire.trees import Tree

__all__ = ["Relevance", "relevance_of"]

READ_CHARS = 200_000
MAX_MENTIONS = 2000
MENTION_SCORE, COVERED_SCORE, CHANGED_SCORE = 100.0, 10.0, 50.0

# a frame as Python, pytest and linters write it; both lengths are bounded, so the search is linear in the text
_MENTION = re.compile(r'(?<![\w./-])([\w./-]{1,400}\.py)\b(?:(?:", line |:)(\d{1,7}))?')
_CASE = re.compile(r"^([^:]+\.py)(?:::(.+))?$", re.DOTALL)


@dataclass
class Relevance:
    """How much a failure points at each path.

    Args:
        score: path → points; absent: none.
        lines: path → 1-based lines that its messages and output name.
        covered: path → 1-based lines that the failing cases ran.
        test_files: files of the failing cases, in the runner's order.
        test_names: names of the failing test functions.
    """

    score: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    lines: dict[str, set[int]] = field(default_factory=lambda: defaultdict[str, set[int]](set))
    covered: dict[str, set[int]] = field(default_factory=lambda: defaultdict[str, set[int]](set))
    test_files: list[str] = field(default_factory=list[str])
    test_names: set[str] = field(default_factory=set[str])


def relevance_of(
    tree: Tree, signal: Signal | None, coverage: Coverage | None = None, changed: Iterable[str] = ()
) -> Relevance:
    """What a failing signal points at in `tree`.

    Args:
        tree: the files that may be shown.
        signal: the failure; None on a first try.
        coverage: lines that each case ran.
        changed: paths that candidates changed before.
    """
    found = Relevance()
    for path in changed:
        found.score[path] += CHANGED_SCORE
    if signal is None or not may_be_shown(signal):
        return found
    failed = signal.evidence.failed()
    for case in failed:
        _note_case(case.id, tree, found)
    texts = [case.message for case in failed] + [*signal.evidence.output]
    _note_mentions("\n".join(texts)[:READ_CHARS], tree, found)
    if coverage:
        _note_coverage([case.id for case in failed], coverage, tree, found)
    return found


def _note_case(case_id: str, tree: Tree, found: Relevance) -> None:
    parts = _CASE.match(case_id[:1000])
    if not parts:
        return
    path = _resolve(parts[1], tree.files)
    if path and path not in found.test_files:
        found.test_files.append(path)
    if parts[2]:
        found.test_names.add(parts[2].rpartition("::")[2].partition("[")[0])


def _note_mentions(text: str, tree: Tree, found: Relevance) -> None:
    for count, mention in enumerate(_MENTION.finditer(text)):
        if count >= MAX_MENTIONS:
            return
        path = _resolve(mention[1], tree.files)
        if path:
            # the last frame is nearest to the fault, so later mentions weigh a little more
            found.score[path] = max(found.score[path], MENTION_SCORE + count / MAX_MENTIONS)
            if mention[2]:
                found.lines[path].add(int(mention[2]))


def _note_coverage(cases: list[str], coverage: Coverage, tree: Tree, found: Relevance) -> None:
    for case in cases:
        for path, lines in coverage.get(case, {}).items():
            if path in tree.files:
                found.covered[path].update(lines)
    for path in found.covered:
        found.score[path] += COVERED_SCORE


def _resolve(mentioned: str, files: Mapping[str, bytes]) -> str:
    """The path of the tree that a mention ends with; empty if there is none."""
    parts = [part for part in mentioned.split("/") if part not in ("", ".")]
    for i in range(min(len(parts), 40)):
        path = "/".join(parts[i:])
        if path in files:
            return path
    return ""
