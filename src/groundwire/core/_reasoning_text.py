"""What a model thought before it answered, told from its answer by the marks that models and servers leave in a text.

A server with a reasoning parser gives thinking in a field of its own; many have none, or cut only the opening mark off
(it stood in the prompt). A draft that was thought of and rejected must never be read as the answer, and a mark that an
answer only speaks of (the repair of a parser of such marks) must not cost the answer.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence

_NAMES = "(?:think|thinking|thought|reasoning|seed:think|budget:thinking)"
_MARK = re.compile(
    # DeepSeek, Qwen, most others; Kimi; Magistral; Command A; Sky-T1; gpt-oss without its parser
    rf"(?P<open>(?i:<{_NAMES}>)|◁think▷|\[THINK\]|<\|START_THINKING\|>|<\|begin_of_thought\|>"
    r"|<\|channel\|>analysis<\|message\|>)"
    rf"|(?P<close>(?i:</{_NAMES}>)|◁/think▷|\[/THINK\]|<\|END_THINKING\|>|<\|end_of_thought\|>"
    r"|(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>)"
)
_OF_MARKS = ("think", "thought", "reasoning", "channel")
"""Each mark holds one of these, in lower case; where a text holds none, that is known forty times as quickly."""
_ROW = re.compile(
    r"^(?: {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)"
    r"|(?P<search><{7,}) ?SEARCH\s*?|(?P<replace>>{7,}) ?REPLACE\s*?)$",
    re.MULTILINE,
)
_QUOTES = frozenset("\"'`")
_INK = re.compile(r"\S")
_INDENT = 200
"""Characters that may stand before a mark on its line, or behind it, all of them blank."""
_SPOKEN_BEFORE, _SPOKEN_AFTER = re.compile(r"\w,? \Z"), re.compile(r" \w|[,.;:)]")


def split_reasoning(text: str) -> tuple[str, str]:
    """What was thought, without the marks around it, and the answer.

    Thinking that is not closed goes on to the end; where only the closing mark is there, all before it was thought.
    Several thoughts are parted by a blank line; in a text that is JSON as a whole there are none.

    Returns:
        The thinking, empty where there is none, and the answer. Without thinking that is the text as it is.
    """
    spans = reasoning_spans(text)
    if not spans:
        return "", text
    thoughts = (_bare(text[start:end]) for start, end in spans)
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    answer = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return "\n\n".join(thought for thought in thoughts if thought.strip()), answer.lstrip()


def without_reasoning(text: str) -> str:
    """The answer in a text; see `split_reasoning`."""
    return split_reasoning(text)[1]


def reasoning_spans(text: str) -> list[tuple[int, int]]:
    """Where in a text thinking stands, its marks included: (start, end) of each place, in order.

    A mark is only spoken of where it stands between quotes, within a fence or a search/replace block that is
    whole, or in the middle of a sentence of the answer. Cost: linear.
    """
    marks = _unquoted(text)
    if not marks or _is_json(text):
        return []
    code = _Code(_with_marks_apart(text, marks))
    outside = [mark for mark in marks if not code.holds(mark.start())]
    spans: list[tuple[int, int]] = []
    begun = _walk(text, outside, spans)
    # a draft's fence that never ended may have made code of the mark that closes; where the one that opens stood in
    # the prompt, a fence is left over at the end
    hides_its_beginning = begun is None and not spans and code.leaves_a_fence_open
    if begun is not None or hides_its_beginning:
        start = begun or 0
        alone = (
            m for m in marks if m["close"] and m.start() >= start and code.is_fenced(m.start()) and _is_alone(text, m)
        )
        closing = next(alone, None)
        if closing or begun is not None:
            spans.append((start, closing.end() if closing else len(text)))
    return spans


def _with_marks_apart(text: str, marks: Sequence[re.Match[str]]) -> str:
    """As long as the text, with line ends in the place of marks: a fence or a block may begin or end at one."""
    pieces: list[str] = []
    end = 0
    for mark in marks:
        pieces += text[end : mark.start()], "\n" * len(mark[0])
        end = mark.end()
    return "".join((*pieces, text[end:]))


def _walk(text: str, marks: Sequence[re.Match[str]], spans: list[tuple[int, int]]) -> int | None:
    """Adds the spans that are closed; returns where one begins that is not, else None."""
    begun, depth, closed = 0, 0, -1
    answer_to = len(text.rstrip())
    ink_from = _ink_from(text, spans[-1][1] if spans else 0)
    """Where the answer's first letter is, so that blanks before it are passed over once, not at each mark."""
    for place, mark in enumerate(marks):
        if depth:
            depth += 1 if mark["open"] else -1
            if mark["close"]:
                closed = place
            if not depth:
                spans.append((begun, mark.end()))
                ink_from = _ink_from(text, mark.end())
        elif mark["open"]:
            leads = ink_from >= mark.start() or _begins_line(text, mark)
            if leads or not _is_spoken_of(text, mark):
                begun, depth, closed = mark.start(), 1, -1
        elif not spans or not (_is_spoken_of(text, mark) or mark.end() >= answer_to):
            spans[:] = [(0, mark.end())]  # its beginning stood in the prompt, or a mark before it was only spoken of
            ink_from = _ink_from(text, mark.end())
    if not depth:
        return None
    if closed < 0:
        return begun
    # an opening mark within it was only spoken of
    spans.append((begun, marks[closed].end()))
    return _walk(text, marks[closed + 1 :], spans)


def _ink_from(text: str, place: int) -> int:
    ink = _INK.search(text, place)
    return ink.start() if ink else len(text)


class _Code:
    """Where a text holds whole search/replace blocks and whole fences."""

    def __init__(self, text: str) -> None:
        rows = list(_ROW.finditer(text))
        blocks: list[tuple[int, int]] = []
        opened: re.Match[str] | None = None
        for row in rows:
            if row["search"]:
                opened = row
            elif row["replace"] and opened is not None and len(opened["search"]) == len(row["replace"]):
                blocks.append((opened.start(), row.end()))
                opened = None
        self._blocks = _Regions(blocks)
        fences: list[tuple[int, int]] = []
        for row in rows:
            if not row["fence"] or self._blocks.hold(row.start()):
                continue
            if opened is None or not opened["fence"]:
                opened = row
            elif row["fence"].startswith(opened["fence"]):
                # a fence with a name begins: the one before it was never closed
                if row["info"].strip():
                    opened = row
                else:
                    fences.append((opened.start(), row.end()))
                    opened = None
        self._fences = _Regions(fences)
        self.leaves_a_fence_open = opened is not None and bool(opened["fence"])

    def holds(self, place: int) -> bool:
        return self._blocks.hold(place) or self._fences.hold(place)

    def is_fenced(self, place: int) -> bool:
        return self._fences.hold(place)


class _Regions:
    """Parts of a text that don't overlap, in order."""

    def __init__(self, regions: Sequence[tuple[int, int]]) -> None:
        self._starts = [start for start, _ in regions]
        self._ends = [end for _, end in regions]

    def hold(self, place: int) -> bool:
        before = bisect_right(self._starts, place) - 1
        return before >= 0 and place < self._ends[before]


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _unquoted(text: str) -> list[re.Match[str]]:
    """The marks that don't stand between quotes: one that has them on both sides, and a pair that begins behind one."""
    lowered = text.lower()
    if not any(word in lowered for word in _OF_MARKS):
        return []
    kept: list[re.Match[str]] = []
    pair_to = -1
    for mark in _MARK.finditer(text):
        before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
        if mark["open"] and before in _QUOTES and after not in _QUOTES:
            line_end = text.find("\n", mark.end(), mark.end() + _INDENT)
            pair_to = line_end if line_end >= 0 else mark.end() + _INDENT
        elif mark["close"] and mark.start() < pair_to:
            pair_to = -1
        elif not (before in _QUOTES and after in _QUOTES):
            kept.append(mark)
    return kept


def _is_spoken_of(text: str, mark: re.Match[str]) -> bool:
    before = _SPOKEN_BEFORE.search(text[max(0, mark.start() - 3) : mark.start()])
    return bool(before and _SPOKEN_AFTER.match(text, mark.end()))


def _begins_line(text: str, mark: re.Match[str]) -> bool:
    before = text[max(0, mark.start() - _INDENT) : mark.start()]
    line = before.rpartition("\n")[2]
    return not line.strip() and (line != before or len(before) < _INDENT)


def _is_alone(text: str, mark: re.Match[str]) -> bool:
    after = text[mark.end() : mark.end() + _INDENT]
    return _begins_line(text, mark) and not after.partition("\n")[0].strip()


def _bare(span: str) -> str:
    """Without the mark that it begins with and the one that it ends with."""
    first = _MARK.match(span.lstrip())
    if first and first["open"]:
        span = span.lstrip()[first.end() :]
    for last in list(_MARK.finditer(span))[-1:]:
        if last["close"] and last.end() == len(span):
            span = span[: last.start()]
    return span.strip("\r\n")
