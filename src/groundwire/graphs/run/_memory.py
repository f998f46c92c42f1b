"""What memory gives to a trial: the question it is asked, what came back and why, all of it in the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundwire.core._contexts import EditStatistics, Judged, Lesson, Reflection
from groundwire.core._errors import RecordNotFound
from groundwire.core._experience import Experience
from groundwire.core._records import Artifact, Recall, ReflectionRecord, TrialRecord
from groundwire.core._signals import Origin, canonical
from groundwire.core._signatures import failure_frames, failure_signature
from groundwire.core._traits import Needs
from groundwire.graphs.replay._recorded import experience_key, read_statistics, statistics_key
from groundwire.graphs.run._episode import Episode, trial_end

QUESTION_CHARS = 4000
CASES_ASKED = 5


async def begin_trial(
    episode: Episode, trial: int, needs: Needs, failing: Judged | None, *, escalation: int
) -> Sequence[Lesson]:
    """Recalls for a trial and writes down what came back, why, and what the trial before it came to.

    A trial that an earlier process had begun gets what it was given then, so that its prompts are the same.
    """
    known = episode.history.lessons.get(trial)
    if known is not None:
        return await _again(episode, known)
    await episode.meter.begin_shared_trial()
    lessons = await _recall(episode, trial, needs, failing)
    begun = TrialRecord(episode_id=episode.id, trial=trial, lessons=tuple(x.id for x in lessons), escalation=escalation)
    episode.lessons = (trial, [replace(lesson, why="") for lesson in lessons])
    ended = trial_end(episode.id, episode.history, trial - 1)
    await episode.note(*ended, begun, *_recalls(episode, trial, lessons))
    return lessons


def _recalls(episode: Episode, trial: int, lessons: Sequence[Lesson]) -> list[Recall]:
    return [
        Recall(episode_id=episode.id, trial=trial, lesson_id=lesson.id, rank=rank, why=lesson.why)
        for rank, lesson in enumerate(lessons, 1)
    ]


async def given_to(episode: Episode, trial: int, failing: Judged) -> Sequence[Lesson]:
    """What a critic of a trial gets: the trial's own lessons, or what memory knows of a baseline's failure."""
    given, lessons = episode.lessons
    if given == trial:
        return lessons
    known = episode.history.lessons.get(trial)
    if known is not None:
        return await _again(episode, known)
    lessons = await _recall(episode, trial, Needs(), failing)
    if lessons:
        await episode.note(*_recalls(episode, trial, lessons))
    return lessons


async def _again(episode: Episode, ids: Sequence[str]) -> Sequence[Lesson]:
    recordings = episode.recordings
    lessons = recordings.lessons(ids) if recordings else await episode.store.lessons(ids)
    return episode.firewall.let_through(lessons)


async def edits_for(episode: Episode, trial: int, failing: Judged | None) -> EditStatistics:
    """Which edits paid before; what a trial is given is kept, so that it is given the same when it is run again."""
    if episode.recordings is not None:
        return await episode.recordings.statistics(episode.id, trial)
    key = statistics_key(episode.id, trial)
    if trial in episode.history.begun_before:
        try:
            return read_statistics(await episode.store.artifact(key))
        except RecordNotFound:
            pass
    signature = failure_signature(failing.signal.evidence) if failing else ""
    statistics = await episode.store.edit_statistics(episode.task.family, signature)
    if statistics != EditStatistics():
        body = canonical([statistics.alike, statistics.family, statistics.overall])
        await episode.note(Artifact(digest=key, kind="edit_statistics", body=body.encode()))
    return statistics


async def experience_for(episode: Episode, trial: int) -> Experience:
    """What is known of the world; all steps of a trial get the same, also where another process goes on with it."""
    given, experience = episode.experience
    if given != trial:
        experience = await _experience(episode, trial)
        episode.experience = (trial, experience)
    return experience


async def _experience(episode: Episode, trial: int) -> Experience:
    if episode.recordings is not None:
        return await episode.recordings.experience(episode.id, trial)
    key = experience_key(episode.id, trial)
    if trial in episode.history.begun_before:
        try:
            return Experience.from_bytes(await episode.store.artifact(key))
        except RecordNotFound:
            pass
    await episode.settle()  # what the trial before this one came to is part of it
    experience = await episode.store.experience(episode.task.family, episode.task.id)
    # also where there is none: others may learn something before this trial is gone on with
    await episode.note(Artifact(digest=key, kind="experience", body=experience.to_bytes()))
    return experience


async def _recall(episode: Episode, trial: int, needs: Needs, failing: Judged | None) -> Sequence[Lesson]:
    if episode.recordings is not None:
        return episode.recordings.recalled(trial)
    task = episode.task
    evidence = failing.signal.evidence if failing and _may_steer(failing) else None
    if evidence is None:
        question = task.prompt
    else:
        said = (f"{case.id} {case.message}" for case in evidence.failed()[:CASES_ASKED])
        question = "\n".join([evidence.detail, *said, evidence.output[1][-QUESTION_CHARS:]])
    await episode.settle(ReflectionRecord)  # one that was just made may be the lesson
    found = await episode.store.recall(
        task.id,
        task.family,
        signature=failure_signature(evidence) if evidence else "",
        frames=failure_frames(evidence) if evidence else (),
        text=episode.firewall.question(question[:QUESTION_CHARS]),
        window=needs.lessons,
        max_tokens=needs.lesson_tokens,
    )
    return episode.firewall.let_through(found)


def _may_steer(judged: Judged) -> bool:
    return judged.signal.origin is not Origin.HIDDEN_TESTS and not judged.signal.oracle


def reflection_on(episode: Episode, failing: Judged, reflection: Reflection, *, by: str) -> ReflectionRecord:
    """A critic's text with all that recall may look it up by; `by` where it does not say who wrote it."""
    signal = failing.signal
    return ReflectionRecord(
        episode_id=episode.id,
        trial=signal.trial,
        signal_id=signal.id,
        candidate_digest=failing.candidate.digest,
        task_id=episode.task.id,
        family=episode.task.family,
        text=reflection.text,
        raw=reflection.raw,
        by=reflection.by or by,
        model=episode.history.models.get(signal.trial, ""),
        signature=failure_signature(signal.evidence),
        frames=failure_frames(signal.evidence),
    )
