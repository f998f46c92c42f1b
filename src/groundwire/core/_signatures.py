"""What kind of failure it is, in a form that failures of other tasks share: values, names and places taken out.

    AssertionError: assert f(7) == 8, got 7     →  AssertionError: int one too small
    IndexError: list index out of range         →  IndexError: list index out of range
    KeyError: 'user-17'                         →  KeyError: '…'

The signature is what memory looks lessons and edit statistics up by, and how a loop notices that nothing has changed.
It is computed from hostile text: bounded in length, and only literals are ever evaluated.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Sequence, Sized
from functools import lru_cache
from typing import Any, cast

from groundwire.core._signals import Evidence

MAX_CHARS = 120
"""Longest signature."""
MAX_LITERAL_CHARS = 400
"""Longest value that is read as a literal."""
SCANNED_CHARS = 4000
"""Of one message."""
CASES_READ = 200
MESSAGES_KNOWN = 1024
"""Messages whose kind is remembered: what stands still, memory's question, a reflection and a ledger's row each ask."""

EXCEPTION = re.compile(r"^(?:E\s+)?(?P<name>[A-Z]\w{0,60}(?:\.[A-Za-z]\w{0,60}){0,4}|Failed)(?:: (?P<words>.*))?$")
DOTTED = re.compile(r"^(?:\w{1,60}\.){1,6}(?=[A-Z]\w*)")
ASSERTED = re.compile(
    r"^(?:E\s+)?(?:AssertionError: )?assert (?P<got>.+?) (?P<how>==|is|!=|<=|>=|<|>|in|not in) (?P<wanted>.+)$"
)
UNEQUAL = re.compile(r"^(?:E\s+)?AssertionError: (?P<got>.+?) != (?P<wanted>.+?)(?: : .*)?$")
TRUTH = re.compile(r"^(?:E\s+)?(?:AssertionError: )?assert (?P<not>not )?(?P<got>.+)$")
DOCTEST = re.compile(r"^Expected:\n(?P<wanted>(?: {4}.*\n)+)Got:\n(?P<got>(?: {4}.*(?:\n|$))+)", re.MULTILINE)
QUOTED = re.compile(r"""'[^'\n]{0,200}'|"[^"\n]{0,200}\"""")
NUMBER = re.compile(r"\b\d[\d_.]*\b")
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
FRAME = re.compile(r"^\s+(?P<path>[\w./-]{1,200}):\d{1,7} in (?P<function>[\w<>]{1,100})", re.MULTILINE)


def failure_signature(evidence: Evidence) -> str:
    """The commonest kind of failure among the failing cases; the first of them where several are equally common.

    Returns:
        At most 120 characters; empty where nothing failed or nothing is known about it.
    """
    failed = evidence.failed()
    kinds = Counter(kind for case in failed[:CASES_READ] if (kind := _kind(case.message[:SCANNED_CHARS])))
    if kinds:
        return kinds.most_common(1)[0][0]
    return "" if failed else _from_output(evidence)


def failure_frames(evidence: Evidence) -> tuple[str, ...]:
    """Where the first failing case went: `path:function`, outermost first, without line numbers (edits shift them)."""
    for case in evidence.failed()[:CASES_READ]:
        found = FRAME.finditer(case.message[:SCANNED_CHARS])
        frames = tuple(f"{frame['path']}:{frame['function']}" for frame in found)
        if frames:
            return frames
    return ()


@lru_cache(maxsize=MESSAGES_KNOWN)
def _kind(message: str) -> str:
    compared = DOCTEST.search(message)
    if compared:
        return _cut(f"AssertionError: {_relation(compared['got'], '==', compared['wanted'])}")
    lines = message.splitlines()
    for line in lines:
        compared = ASSERTED.match(line) or UNEQUAL.match(line)
        if compared:
            how = compared.groupdict().get("how", "==")
            return _cut(f"AssertionError: {_relation(compared['got'], how, compared['wanted'])}")
    for line in lines:
        truth = TRUTH.match(line)
        if truth:
            return _cut(f"AssertionError: {_type_of(truth['got'])} is {'true' if truth['not'] else 'false'}")
        raised = EXCEPTION.match(DOTTED.sub("", line))
        if raised:
            return _cut(_exception(raised["name"], raised["words"]))
    return ""


def _from_output(evidence: Evidence) -> str:
    """A command that names no case: the exception that its errors end with."""
    for line in reversed(evidence.stderr[-SCANNED_CHARS:].splitlines()):
        raised = EXCEPTION.match(DOTTED.sub("", line))
        if raised:
            return _cut(_exception(raised["name"], raised["words"]))
    return ""


def _exception(name: str, words: str | None) -> str:
    said = NUMBER.sub("N", ADDRESS.sub("0x…", QUOTED.sub("'…'", words or ""))).strip()
    return f"{name}: {said}" if said else name


def _cut(text: str) -> str:
    return text[:MAX_CHARS]


def _relation(got_text: str, how: str, wanted_text: str) -> str:
    """How the value that came differs from the one that was asked for."""
    if how not in ("==", "is"):
        return f"{_type_of(got_text)} {how} {_type_of(wanted_text)}"
    got, wanted = _value(got_text), _value(wanted_text)
    if got is _UNREAD or wanted is _UNREAD:
        return f"{_type_of(got_text)} {how} {_type_of(wanted_text)}"
    kind = _name(wanted)
    if type(got) is not type(wanted) and not (_is_number(got) and _is_number(wanted)):
        return f"{_name(got)} for {kind}"
    return f"{kind} {_difference(got, wanted)}"


def _difference(got: Any, wanted: Any) -> str:
    if isinstance(wanted, bool):
        return "flipped"
    if _is_number(wanted):
        return _numbers(got, wanted)
    if isinstance(wanted, str):
        return _texts(got, wanted)
    if isinstance(wanted, Sized):
        return _collections(cast("Collection[object]", got), cast("Collection[object]", wanted))
    return "differs"


def _numbers(got: float, wanted: float) -> str:
    if wanted and got == -wanted:
        return "negated"
    side = "too small" if got < wanted else "too large" if got > wanted else "differs"
    return f"one {side}" if abs(got - wanted) == 1 else side


def _texts(got: str, wanted: str) -> str:
    if got.casefold() == wanted.casefold():
        return "in another case"
    if got == wanted[::-1]:
        return "reversed"
    return _lengths(got, wanted)


def _collections(got: Collection[object], wanted: Collection[object]) -> str:
    if isinstance(wanted, Sequence):
        if list(got) == list(wanted)[::-1]:
            return "reversed"
        if sorted(map(repr, got)) == sorted(map(repr, wanted)):
            return "reordered"
    return _lengths(got, wanted)


def _lengths(got: Sized, wanted: Sized) -> str:
    if len(got) == len(wanted):
        return "with other contents"
    if not len(got):
        return "empty"
    return "too short" if len(got) < len(wanted) else "too long"


class _Unread:
    """Not a literal."""


_UNREAD = _Unread()


def _value(text: str) -> Any:
    text = text.strip()
    if len(text) > MAX_LITERAL_CHARS:
        return _UNREAD
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return _UNREAD


def _type_of(text: str) -> str:
    value = _value(text)
    return "value" if value is _UNREAD else _name(value)


def _name(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
