"""What memory concludes from the ledger, and that it can all be concluded again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from remembering import episode_of, learn, outcome, reflection_for, signal_for, texts

from groundwire.core._records import LessonMark, Mark, Recall, Record, Store, TrialEnd
from groundwire.core._signals import Verdict
from groundwire.memory import SqlStore
from groundwire.memory._derived_tables import DERIVED
from groundwire.memory._lessons import LessonInfo, Lessons
from groundwire.memory._policy import State
from groundwire.memory._retention import rebuild_lessons


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[SqlStore]:
    made = SqlStore(url)
    yield made
    await made.aclose()


async def info_of(store: SqlStore, lesson_id: str) -> LessonInfo:
    return (await Lessons(store).show(lesson_id)).info


async def test_an_outcome_is_linked_to_what_the_trial_was_given(ledger: SqlStore) -> None:
    given = await learn(ledger, "This one was recalled.")
    other = await learn(ledger, "This one was not.")
    episode = await outcome(ledger, [given.id], passed=True)
    await outcome(ledger, [given.id], passed=False)
    standing = (await info_of(ledger, given.id)).standing
    assert (standing.trials, standing.passed) == (2, 1)
    assert 0.5 < standing.expected < 1.5
    assert (await info_of(ledger, other.id)).standing.trials == 0
    view = await Lessons(ledger).show(given.id)
    assert [recalled.verdict for recalled in view.recalled] == [Verdict.FAIL, Verdict.PASS], "newest first"
    assert view.recalled[1].episode_id == episode


async def test_a_verdict_counts_once_and_none_not_at_all(ledger: SqlStore) -> None:
    lesson = await learn(ledger, "Counted once.")
    episode = await outcome(ledger, [lesson.id], passed=True)
    await ledger.append(TrialEnd(episode_id=episode, trial=1, verdict=Verdict.FAIL))
    broken = episode_of()
    await ledger.append(
        broken,
        Recall(episode_id=broken.id, trial=1, lesson_id=lesson.id, rank=1),
        TrialEnd(episode_id=broken.id, trial=1, verdict=Verdict.NONE),
    )
    standing = (await info_of(ledger, lesson.id)).standing
    assert (standing.trials, standing.passed) == (1, 1)


async def test_a_lesson_is_measured_against_its_tasks_rate(ledger: SqlStore) -> None:
    """On a task that never passes, failing says nothing against a lesson."""
    for _ in range(30):
        await outcome(ledger, [], passed=False, task="hopeless", family="hard")
        await outcome(ledger, [], passed=True, task="easy", family="light")
    hard = await learn(ledger, "Advice for what is hopeless.", task="hopeless", family="hard")
    easy = await learn(ledger, "Advice that spoils what is easy.", task="easy", family="light")
    for _ in range(10):
        await outcome(ledger, [hard.id], passed=False, task="hopeless", family="hard")
        await outcome(ledger, [easy.id], passed=False, task="easy", family="light")
    assert (await info_of(ledger, hard.id)).state is State.ACTIVE
    assert (await info_of(ledger, easy.id)).state is State.QUARANTINED


async def spoil(store: Store, lesson_id: str) -> None:
    for _ in range(10):
        await outcome(store, [], passed=True)
    for _ in range(8):
        await outcome(store, [lesson_id], passed=False)


async def test_a_harmful_lesson_is_kept_and_no_longer_recalled(store: Store) -> None:
    bad = await learn(store, "Delete the failing branch.")
    await learn(store, "Look at the bounds.")
    assert "Delete the failing branch." in await texts(store)
    await spoil(store, bad.id)
    assert await texts(store) == ["Look at the bounds."]
    assert [lesson.text for lesson in await store.lessons([bad.id])] == ["Delete the failing branch."]


async def test_what_is_in_quarantine_does_not_come_back_by_being_said_again(store: Store) -> None:
    bad = await learn(store, "Delete the failing branch.")
    await spoil(store, bad.id)
    await learn(store, "Delete the failing branch!")
    await learn(store, "delete the failing branch", task="another")
    assert await texts(store) == await texts(store, "another") == await texts(store, "third") == []


async def test_the_rule_says_why(ledger: SqlStore) -> None:
    bad = await learn(ledger, "Delete the failing branch.")
    await spoil(ledger, bad.id)
    (mark,) = (await Lessons(ledger).show(bad.id)).marks
    assert (mark.mark, mark.by) == (Mark.QUARANTINED, "rule")
    assert "0 of " in mark.reason and "were to be expected" in mark.reason


async def test_release_forgives(ledger: SqlStore) -> None:
    bad = await learn(ledger, "Delete the failing branch.")
    await spoil(ledger, bad.id)
    await ledger.append(LessonMark(lesson_id=bad.id, mark=Mark.RELEASED))
    info = await info_of(ledger, bad.id)
    assert (info.state, info.standing.trials) == (State.ACTIVE, 0)
    assert await texts(ledger) == ["Delete the failing branch."]


async def test_a_repeat_is_linked_not_merged(ledger: SqlStore) -> None:
    first = await learn(ledger, "The upper bound is exclusive.")
    again = await learn(ledger, "the UPPER bound is exclusive")
    await learn(ledger, "Another thought.")
    info = await info_of(ledger, again.id)
    assert (info.state, info.root, info.reflection.text) == (State.REPEAT, first.id, "the UPPER bound is exclusive")
    assert (await Lessons(ledger).show(first.id)).same == [again.id]
    assert await texts(ledger) == ["Another thought.", "The upper bound is exclusive."]


async def test_said_by_another_task_of_the_family_it_is_linked_and_active(ledger: SqlStore) -> None:
    first = await learn(ledger, "The upper bound is exclusive.", task="a")
    again = await learn(ledger, "The upper bound is exclusive.", task="b")
    strange = await learn(ledger, "The upper bound is exclusive.", task="c", family="strange")
    info = await info_of(ledger, again.id)
    assert (info.state, info.root) == (State.ACTIVE, first.id)
    assert (await info_of(ledger, strange.id)).root == strange.id, "families share nothing"


async def test_recalled_text_that_comes_back_changed_a_little_is_an_echo(ledger: SqlStore) -> None:
    """cases.md 34: recall, then extract."""
    said = "The upper bound of the range is exclusive, so the last element was left out of the sum that is returned."
    lesson = await learn(ledger, said, task="a")
    episode = episode_of("b")
    signal = signal_for(episode.id)
    echo = reflection_for(signal, f"Yes: {said}", "b", "family")
    fresh = reflection_for(signal, "What fails now is the division by an empty list.", "b", "family")
    await ledger.append(episode, Recall(episode_id=episode.id, trial=1, lesson_id=lesson.id, rank=1), signal)
    await ledger.append(echo, fresh)
    info = await info_of(ledger, echo.id)
    assert (info.state, info.root) == (State.ECHO, lesson.id)
    assert (await info_of(ledger, fresh.id)).state is State.ACTIVE
    assert await texts(ledger, "b") == [fresh.text, said]


async def test_a_forgotten_lesson_is_gone_and_stays_gone(store: Store) -> None:
    lesson = await learn(store, "Something private.")
    await store.append(LessonMark(lesson_id=lesson.id, mark=Mark.FORGOTTEN))
    assert await texts(store) == [] and await store.lessons([lesson.id]) == []
    assert lesson not in await store.records(lesson.episode_id)
    await store.append(lesson)
    assert await texts(store) == []


async def derived(store: SqlStore) -> dict[str, list[tuple[Any, ...]]]:
    def work(session: Any) -> dict[str, list[tuple[Any, ...]]]:
        return {
            name: sorted(tuple(row) for row in session.exec_driver_sql(f"SELECT * FROM {name}").all())
            for name in DERIVED
        }

    return await store.run_read(work)


async def test_everything_can_be_concluded_again(ledger: SqlStore) -> None:
    lessons = [await learn(ledger, f"lesson of number {n} of them", task=f"t{n % 3}") for n in range(6)]
    await learn(ledger, lessons[0].text, task="t0")
    await learn(ledger, lessons[1].text, task="elsewhere")
    for n, lesson in enumerate(lessons):
        await outcome(ledger, [lesson.id, lessons[0].id], passed=n % 2 == 0, task=f"t{n % 3}")
    await spoil(ledger, lessons[2].id)
    marks: list[Record] = [
        LessonMark(lesson_id=lessons[3].id, mark=Mark.QUARANTINED),
        LessonMark(lesson_id=lessons[4].id, mark=Mark.FORGOTTEN),
        LessonMark(lesson_id=lessons[2].id, mark=Mark.RELEASED),
    ]
    await ledger.append(*marks)
    before = await derived(ledger)
    assert len(before["lessons"]) == 7
    await rebuild_lessons(ledger)
    assert await derived(ledger) == before
