"""What counts as a lesson and as a success: one place, so that every store answers alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.contexts import Lesson
from groundwire.memory.likeness import echoes, fingerprint, says_the_same
from groundwire.memory.states import State
from groundwire.records import ReflectionRecord
from groundwire.signals import EXTERNAL_ORIGINS, Origin, Verdict

__all__ = [
    "COUNTED_ORIGINS",
    "GIVEN_SCAN",
    "RECALL_SCAN",
    "SAME_TASK_SCAN",
    "Known",
    "backs",
    "lesson_of",
    "place_of",
    "tokens_of",
]

COUNTED_ORIGINS = frozenset(EXTERNAL_ORIGINS - {Origin.MODEL_TESTS})
"""Origins whose verdicts count in edit statistics. Hidden tests are not among them, since statistics steer the next
search and hidden tests never steer; nor is anything that a model said."""

RECALL_SCAN = 200
"""Newest lessons of a task, family or signature that recall looks at, so that its cost is bounded at any size."""
SAME_TASK_SCAN = 20
"""Newest lessons of a task that a new reflection is compared with."""

GIVEN_SCAN = 50
"""Lessons that an episode was given last that a new reflection of it is compared with."""

CHARS_PER_TOKEN = 3.5

_NEVER_BACK = frozenset({Origin.HIDDEN_TESTS, Origin.RULE})


@dataclass(frozen=True)
class Known:
    """A lesson that a new reflection is compared with.

    Args:
        id: its id.
        root: the first lesson that says the same.
        text: verbatim.
    """

    id: str
    root: str
    text: str


def backs(verdict: Verdict, origin: Origin) -> bool:
    """True where such a signal can stand behind a lesson: something outside said that a candidate fails."""
    return verdict is Verdict.FAIL and origin not in _NEVER_BACK


def place_of(
    reflection: ReflectionRecord, *, given: Sequence[Known], own: Sequence[Known], twin: tuple[str, State] | None
) -> tuple[State, str]:
    """What a backed reflection is among the lessons that are there.

    Args:
        reflection: the new one.
        given: what its episode was given.
        own: the newest active lessons of its task.
        twin: root and state of the first lesson of its family with the same words.

    Returns:
        Its state, and its root: its own id where it is the first to say this.
    """
    echo = echoes(reflection.text, [known.text for known in given])
    if echo is not None:
        return State.ECHO, given[echo].root
    mark = fingerprint(reflection.text)
    for known in own:
        if fingerprint(known.text) == mark or says_the_same(reflection.text, known.text):
            return State.REPEAT, known.root
    if twin is not None:
        root, state = twin
        # what was quarantined does not come back because it was said again
        return (State.QUARANTINED if state is State.QUARANTINED else State.ACTIVE), root
    return State.ACTIVE, reflection.id


def tokens_of(text: str) -> float:
    """Tokens of a text by the rule that prompts are measured with: 3.5 characters a token."""
    return len(text) / CHARS_PER_TOKEN


def lesson_of(reflection: ReflectionRecord, why: str = "") -> Lesson:
    """The reflection as what an actor gets."""
    return Lesson(
        id=reflection.id,
        text=reflection.text,
        task_id=reflection.task_id,
        family=reflection.family,
        signal_id=reflection.signal_id,
        created_at=reflection.created_at,
        raw=reflection.raw,
        why=why,
    )
