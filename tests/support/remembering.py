"""Lessons for tests: a mint, episodes, trials with outcomes, reflections with the signals behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundwire.core._ids import new_id
from groundwire.core._records import (
    EpisodeRecord,
    Recall,
    Record,
    ReflectionRecord,
    RunRecord,
    Store,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Signal, Verdict

RUN = RunRecord(graph="tests")
MINT = Mint(RUN.id, b"k" * 32)


def episode_of(task: str = "task", family: str = "family") -> EpisodeRecord:
    return EpisodeRecord(run_id=RUN.id, task_id=task, family=family)


def signal_for(episode_id: str, *, verdict: Verdict = Verdict.FAIL, trial: int = 1, stdout: str = "") -> Signal:
    """A FAIL by the user's tests, unless told."""
    case = CaseOutcome(id="test_a", result=CaseResult.FAILED, message="assert 1 == 2")
    seen = Observation(
        verdict=verdict,
        origin=Origin.TESTS,
        exit_code=1,
        evidence=Evidence(cases=(case,), collected=1, stdout=stdout),
    )
    return MINT.signal(seen, episode_id=episode_id, trial=trial, issuer="test", candidate_digest="candidate")


def reflection_for(signal: Signal, text: str, task: str, family: str, **fields: Any) -> ReflectionRecord:
    return ReflectionRecord(
        episode_id=signal.episode_id,
        trial=signal.trial,
        signal_id=signal.id,
        candidate_digest=signal.candidate_digest,
        task_id=task,
        family=family,
        text=text,
        **fields,
    )


async def learn(
    store: Store, text: str, *, task: str = "task", family: str = "family", **fields: Any
) -> ReflectionRecord:
    """A lesson, with an episode of its own and the signal that stands behind it."""
    episode = episode_of(task, family)
    signal = signal_for(episode.id)
    reflection = reflection_for(signal, text, task, family, **fields)
    await store.append(episode, signal, reflection)
    return reflection


async def outcome(
    store: Store, lessons: Sequence[str], *, passed: bool, task: str = "task", family: str = "family"
) -> str:
    """An episode with one trial that was given these lessons and came to this; gives the episode's id."""
    episode = episode_of(task, family)
    recalls: list[Record] = [
        Recall(episode_id=episode.id, trial=1, lesson_id=lesson, rank=rank, why="task")
        for rank, lesson in enumerate(lessons, 1)
    ]
    verdict = Verdict.PASS if passed else Verdict.FAIL
    trial = TrialRecord(episode_id=episode.id, trial=1, lessons=tuple(lessons))
    await store.append(episode, trial, *recalls, TrialEnd(episode_id=episode.id, trial=1, verdict=verdict))
    return episode.id


async def texts(store: Store, task: str = "task", family: str = "family", **asked: Any) -> list[str]:
    """What recall gives back."""
    return [lesson.text for lesson in await store.recall(task, family, **asked)]


async def whys(store: Store, task: str = "task", family: str = "family", **asked: Any) -> dict[str, str]:
    """Why each came back, by text."""
    return {lesson.text: lesson.why for lesson in await store.recall(task, family, **asked)}


def unknown_id() -> str:
    """An id that nothing has."""
    return new_id()
