"""What counts as a lesson, as a success and as the same text: one place, so that every store answers alike."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from groundwire.core._contexts import Lesson
from groundwire.core._errors import ConfigError
from groundwire.core._records import ReflectionRecord
from groundwire.core._signals import EXTERNAL_ORIGINS, Origin, Verdict

# When two texts say the same: near-verbatim, by their words alone.
#
# A reflection that repeats another is linked to it and takes no second place in a window; one that repeats what its
# own trial had been given is an echo, and no lesson at all, or memory would fill with copies of itself.

_WORD = re.compile(r"\w+")
WORDS_READ = 2000
SHINGLE = 3
"""Words that follow each other and are compared as one."""
SAME = 0.85
"""Share of shingles that two texts must have in common (Jaccard; Broder 1997)."""
ECHOED = 0.9
"""Share of a text's shingles that recalled texts may hold before it is an echo of them."""


def fingerprint(text: str) -> str:
    """Equal for texts that have the same words in the same order, whatever their case, spacing and punctuation."""
    return hashlib.sha256(" ".join(_words(text)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def says_the_same(text: str, other: str) -> bool:
    """True where the texts differ in a few words at most."""
    mine, theirs = _shingles(text), _shingles(other)
    return bool(mine) and len(mine & theirs) >= SAME * len(mine | theirs)


def echoes(text: str, recalled: Iterable[str]) -> int | None:
    """The index of the recalled text that `text` mostly repeats; None where it says something of its own."""
    mine = _shingles(text)
    if not mine:
        return None
    shared = [mine & _shingles(other) for other in recalled]
    if not shared or len(set[tuple[str, ...]]().union(*shared)) < ECHOED * len(mine):
        return None
    return max(range(len(shared)), key=lambda index: len(shared[index]))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())[:WORDS_READ]


@lru_cache(maxsize=256)
def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = _words(text)
    if len(words) < SHINGLE:
        return frozenset({tuple(words)} if words else ())
    return frozenset(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


# What a reflection is to memory, and what a rate is about.


class State(StrEnum):
    """Whether a reflection is recalled."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    REPEAT = "repeat"
    """Says what another lesson of the same task says; linked to it."""
    ECHO = "echo"
    """Says what a lesson said that its own trial had been given; linked to it."""
    UNBACKED = "unbacked"
    """No FAIL of this ledger stands behind it."""


def state_named(name: str) -> State | None:
    """The state of that name; None for no name.

    Raises:
        ConfigError: there is none.
    """
    if not name:
        return None
    try:
        return State(name)
    except ValueError:
        raise ConfigError(f"{name!r} is no state.", do=f"One of: {', '.join(State)}.") from None


class Scope(StrEnum):
    """What a rate is about."""

    ALL = "all"
    FAMILY = "family"
    TASK = "task"
    SIGNATURE = "signature"


# What counts as a lesson and as a success: one place, so that every store answers alike.

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
