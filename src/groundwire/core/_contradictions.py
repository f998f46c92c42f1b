"""How an actor says in a text that a test contradicts the task, and which case of a signal it means.

    CONTRADICTION: tests/test_calc.py::test_edge
    The task says that limits are inclusive, and the test wants the upper one left out.

The line names the case as the evidence does; all that follows is the reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from groundwire.core._errors import CandidateError, Contradiction
from groundwire.core._prompt_text import head_tail, printable
from groundwire.core._signals import Signal

CASE_CHARS = 500
REASON_CHARS = 2000
NAMES_SHOWN = 5
_LINE = re.compile(r"(?m)^[ \t#*>`-]{0,8}CONTRADICTION:[ \t*`]*(.+?)[ \t*`\r]*$")


def said_in(text: str) -> Contradiction | None:
    """What a text says of a contradiction; the last such line counts. None where it says nothing.

    Args:
        text: anything that a model or program has written.
    """
    found = list(_LINE.finditer(text))
    if not found:
        return None
    last = found[-1]
    reason = printable(head_tail(text[last.end() :].strip().strip("`").strip(), REASON_CHARS))
    return Contradiction(printable(last[1])[:CASE_CHARS], reason)


def contradicted(said: Contradiction, signal: Signal | None) -> Contradiction:
    """The same with the case's whole id; the last part of it is enough where only one failing case ends so.

    Args:
        said: an actor's word.
        signal: what the actor works against; None: nothing has failed yet.

    Raises:
        CandidateError: no such case failed, or no reason was given; the words are for the actor.
    """
    failed = [case.id for case in signal.evidence.failed()] if signal else []
    case = _meant(said.case.strip(), failed)
    if case is None:
        names = ", ".join(failed[:NAMES_SHOWN]) + (" …" if len(failed) > NAMES_SHOWN else "")
        raise CandidateError(
            f"It says that {head_tail(said.case, CASE_CHARS)!r} contradicts the task, and no such case has failed.",
            do=f"Name one of these: {names}." if names else "No case is known to have failed.",
        )
    reason = head_tail(said.reason.strip(), REASON_CHARS)
    if not reason:
        raise CandidateError(
            f"It says that {case} contradicts the task, and not why.",
            do="Say what the task asks for, and what the test asks for instead.",
        )
    return Contradiction(case, reason)


def _meant(name: str, failed: Collection[str]) -> str | None:
    if name in failed:
        return name
    ends = [case for case in failed if name and case.endswith((f"::{name}", f".{name}", f"/{name}"))]
    return ends[0] if len(ends) == 1 else None
