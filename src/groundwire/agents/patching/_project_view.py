"""What of a project goes into a prompt: all of a small one, else what the failure points at, within a token budget."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from groundwire.agents.patching._evidence import may_be_shown
from groundwire.core._candidates import Tree
from groundwire.core._contexts import Coverage
from groundwire.core._prompt_text import CHARS_PER_TOKEN, data, fenced, plain, tagged
from groundwire.core._signals import Signal
from groundwire.core._tasks import Task

# Which files and lines a failure points at: frames in its messages and output, coverage, and what was changed.

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


# What of a project goes into a prompt: all of a small one, else what the failure points at, within a token budget.

TEST_SHARE = 0.35
"""Share of the budget that tests may take while there is more code than fits."""
FILE_OVERHEAD_TOKENS = 24
WINDOW_LINES = 30
MIN_WINDOW_LINES = 5
MAX_FILE_BYTES = 1_000_000
MAX_OMITTED = 100


@dataclass(frozen=True)
class ProjectView:
    """Rendered parts of a prompt.

    Args:
        tests: visible test files.
        sources: files that may be changed, or that explain them.
        omitted: names of files that were left out, and why where it is not for want of room.
        editable: paths that are shown and may be changed.
        tokens: estimate of all of it.
    """

    tests: str
    sources: str
    omitted: str
    editable: tuple[str, ...]
    tokens: int


def view_project(
    task: Task, tree: Tree, relevance: Relevance, budget_tokens: int, *, last: Collection[str] = ()
) -> ProjectView:
    """Chooses and renders files.

    Files come in the order of their paths, which does not change from trial to trial, so that a provider's prefix cache
    hits; those in `last` come at the end.

    Args:
        task: says which files are tests and which may be changed.
        tree: the files.
        relevance: what the failure points at.
        budget_tokens: tokens for everything here, by the rule of `estimate_tokens`.
        last: paths that change between trials.
    """
    wanted_tests, wanted_sources = _tests(tree, task), [p for p in tree.files if _is_source(p, task)]
    unreadable = {p for p in [*wanted_tests, *wanted_sources] if not _readable(tree, p)}
    tests = [p for p in wanted_tests if p not in unreadable]
    sources = [p for p in wanted_sources if p not in unreadable]
    room = budget_tokens
    everything = sum(_tokens(tree, path) for path in [*tests, *sources])
    test_room = room if everything <= room else int(room * TEST_SHARE)
    shown_tests = _choose(tree, _by_need_of_tests(tests, relevance), relevance, test_room)
    room -= sum(tokens for _, _, tokens in shown_tests)
    shown_sources = _choose(tree, _by_need(sources, tree, relevance), relevance, room)
    shown = {path for path, _, _ in [*shown_tests, *shown_sources]}
    left_out = [
        *sorted({*tests, *sources} - shown),
        *(f"{path} (too large, or no text)" for path in sorted(unreadable)),
    ]
    return ProjectView(
        tests=_in_order(shown_tests, last),
        sources=_in_order(shown_sources, last),
        omitted=_names(left_out),
        editable=tuple(sorted(p for p in shown if task.may_edit(p))),
        tokens=sum(tokens for _, _, tokens in [*shown_tests, *shown_sources]),
    )


def _tests(tree: Tree, task: Task) -> list[str]:
    """Visible tests; among Python ones, what else lies in their folders is data."""
    every = [path for path in tree.files if task.is_test(path)]
    return [path for path in every if path.endswith(".py")] or every


def _is_source(path: str, task: Task) -> bool:
    return task.may_edit(path) or (path.endswith(".py") and not task.is_test(path))


def _readable(tree: Tree, path: str) -> bool:
    content = tree.files[path]
    if len(content) > MAX_FILE_BYTES or b"\0" in content:
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _tokens(tree: Tree, path: str) -> int:
    return math.ceil(len(tree.files[path]) / CHARS_PER_TOKEN) + FILE_OVERHEAD_TOKENS


def _by_need(paths: Sequence[str], tree: Tree, relevance: Relevance) -> list[str]:
    return sorted(paths, key=lambda p: (-relevance.score.get(p, 0.0), len(tree.files[p]), p))


def _by_need_of_tests(paths: Sequence[str], relevance: Relevance) -> list[str]:
    failing = {path: i for i, path in enumerate(relevance.test_files)}
    return sorted(paths, key=lambda p: (failing.get(p, len(failing)), -relevance.score.get(p, 0.0), p))


def _choose(tree: Tree, paths: Sequence[str], relevance: Relevance, room: int) -> list[tuple[str, str, int]]:
    """(path, rendered text, tokens) of what fits: whole files first come first served, else windows of the file."""
    chosen: list[tuple[str, str, int]] = []
    for path in paths:
        tokens = _tokens(tree, path)
        if tokens <= room:
            chosen.append((path, _file(path, tree.files[path].decode()), tokens))
            room -= tokens
        elif path in relevance.score or path in relevance.test_files:
            text, tokens = _windows(path, tree.files[path].decode(), relevance, room)
            if text:
                chosen.append((path, text, tokens))
                room -= tokens
    return chosen


def _file(path: str, text: str, **where: str) -> str:
    return tagged("file", fenced(text), path=path, **where)


def _windows(path: str, text: str, relevance: Relevance, room: int) -> tuple[str, int]:
    """Pieces of a file around the lines that matter, as far as they fit."""
    lines = text.split("\n")
    parts: list[str] = []
    used = 0
    for first, final in _spans(path, lines, relevance):
        piece = "\n".join(lines[first - 1 : final])
        tokens = _piece_tokens(piece)
        if used + tokens > room:
            final = first - 1 + int((final - first + 1) * (room - used) / tokens) - 1
            piece = "\n".join(lines[first - 1 : final])
            tokens = _piece_tokens(piece)
        if final - first + 1 < MIN_WINDOW_LINES or used + tokens > room:
            break
        parts.append(_file(path, piece, lines=f"{first}-{final} of {len(lines)}"))
        used += tokens
    return "\n".join(parts), used


def _piece_tokens(text: str) -> int:
    return math.ceil(len(text.encode()) / CHARS_PER_TOKEN) + FILE_OVERHEAD_TOKENS


def _spans(path: str, lines: Sequence[str], relevance: Relevance) -> list[tuple[int, int]]:
    named, covered = relevance.lines.get(path, set[int]()), relevance.covered.get(path, set[int]())
    wanted = sorted(line for line in named or covered if 0 < line <= len(lines))
    if not wanted:
        wanted = [i for i, line in enumerate(lines, 1) if _defines(line, relevance.test_names)] or [1]
    spans: list[tuple[int, int]] = []
    for line in wanted:
        first, final = max(1, line - WINDOW_LINES), min(len(lines), line + WINDOW_LINES)
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], final)
        else:
            spans.append((first, final))
    return spans


def _defines(line: str, names: Collection[str]) -> bool:
    words = line.strip().removeprefix("async ").removeprefix("def ")
    return words != line.strip() and words.partition("(")[0] in names


def _in_order(chosen: Sequence[tuple[str, str, int]], last: Collection[str]) -> str:
    return "\n".join(text for _, text, _ in sorted(chosen, key=lambda entry: (entry[0] in last, entry[0])))


def _names(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    names = [plain(path, 200) for path in paths[:MAX_OMITTED]]
    if len(paths) > MAX_OMITTED:
        names.append(f"and {len(paths) - MAX_OMITTED} more")
    return data("not_shown", "\n".join(names))
