"""What people ask of a durable store's lessons."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from remembering import learn, outcome, texts, unknown_id

from groundwire.core._errors import RecordNotFound
from groundwire.core._records import Mark, RunRecord
from groundwire.core._signals import Verdict
from groundwire.memory import SqlStore
from groundwire.memory._lessons import FOUND_SCAN, Lessons
from groundwire.memory._policy import State


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[SqlStore]:
    made = SqlStore(url)
    yield made
    await made.aclose()


async def found(ledger: SqlStore, text: str, **asked: Any) -> list[str]:
    return [info.reflection.text for info in await Lessons(ledger).search(text, **asked)]


async def test_listed_newest_first_by_family_task_and_state(ledger: SqlStore) -> None:
    first = await learn(ledger, "first lesson")
    await learn(ledger, "second lesson", task="other")
    await learn(ledger, "third lesson", family="strange")
    lessons = Lessons(ledger)
    await lessons.mark([first.id], Mark.QUARANTINED)
    assert [info.reflection.text for info in await lessons.list()] == ["third lesson", "second lesson", "first lesson"]
    assert [info.reflection.text for info in await lessons.list(limit=1)] == ["third lesson"]
    assert [info.reflection.text for info in await lessons.list(task_id="other")] == ["second lesson"]
    assert [info.reflection.text for info in await lessons.list(family="strange")] == ["third lesson"]
    assert [info.reflection.id for info in await lessons.list(state=State.QUARANTINED)] == [first.id]
    assert await lessons.list(family="nobody's") == []


async def test_search_finds_all_words_before_any_word(ledger: SqlStore) -> None:
    await learn(ledger, "The discount is a fraction.", task="a")
    await learn(ledger, "The fraction of an empty list.", task="b")
    await learn(ledger, "Nothing of that kind.", task="c")
    assert await found(ledger, "discounts fraction") == ["The discount is a fraction."], "stems of both words"
    assert sorted(await found(ledger, "fraction")) == ["The discount is a fraction.", "The fraction of an empty list."]
    assert await found(ledger, "discount marzipan") == ["The discount is a fraction."], "any, where none has all"
    assert await found(ledger, "fraction", task_id="b") == ["The fraction of an empty list."]
    assert await found(ledger, "fraction", family="strange") == []
    assert await found(ledger, "?!") == await found(ledger, "") == []


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE lessons; --", 'a" OR "b', "NEAR(a b)", "text:fraction", "*", "a" * 5000]
)
async def test_no_search_is_an_operator(ledger: SqlStore, text: str) -> None:
    await learn(ledger, "The discount is a fraction.")
    await Lessons(ledger).search(text)
    assert await texts(ledger) == ["The discount is a fraction."]


async def test_only_the_newest_of_a_search_are_ranked(ledger: SqlStore) -> None:
    await learn(ledger, "bound bound bound", task="first")
    for number in range(FOUND_SCAN):
        await learn(ledger, f"the bound of number {number}", task=f"t{number}")
    assert "bound bound bound" not in await found(ledger, "bound")


async def test_an_id_is_known_by_any_unique_beginning(ledger: SqlStore) -> None:
    one, other = await learn(ledger, "one lesson"), await learn(ledger, "other lesson")
    lessons = Lessons(ledger)
    assert await lessons.find([one.id, other.id[:-1]]) == [one.id, other.id]
    for prefix, words in ((one.id[:4], "more than one"), (unknown_id(), "no lesson"), ("", "no lesson"), ("%", "no ")):
        with pytest.raises(RecordNotFound, match=words) as caught:
            await lessons.find([prefix])
        assert caught.value.do


async def test_all_that_is_known_of_a_lesson(ledger: SqlStore) -> None:
    lesson = await learn(ledger, "The text.", raw="what a person said", frames=("a.py:f",), signature="KeyError")
    episode = await outcome(ledger, [lesson.id], passed=True)
    await Lessons(ledger).mark([lesson.id], Mark.QUARANTINED, reason="a test", by="me")
    view = await Lessons(ledger).show(lesson.id)
    assert view.info.reflection == lesson
    assert view.signal is not None and view.signal.id == lesson.signal_id
    (recalled,) = view.recalled
    assert (recalled.episode_id, recalled.trial, recalled.rank, recalled.why) == (episode, 1, 1, "task")
    assert recalled.verdict is Verdict.PASS
    assert [(mark.mark, mark.reason, mark.by) for mark in view.marks] == [(Mark.QUARANTINED, "a test", "me")]
    with pytest.raises(RecordNotFound, match="no lesson"):
        await Lessons(ledger).show(unknown_id())


async def test_forgetting_takes_all_that_says_the_same(ledger: SqlStore) -> None:
    first = await learn(ledger, "Something private was said.", task="a")
    twin = await learn(ledger, "something PRIVATE was said", task="b")
    await learn(ledger, "Another thought.", task="a")
    lessons = Lessons(ledger)
    assert set(await lessons.same_as([twin.id])) == {first.id, twin.id}
    assert await lessons.forget([twin.id], reason="asked to", by="me") == 2
    assert [info.reflection.text for info in await lessons.list()] == ["Another thought."]
    assert await found(ledger, "private") == [], "the full text is gone as well"
    assert await lessons.forget([twin.id]) == 0


async def test_counts_and_rates(ledger: SqlStore) -> None:
    good, bad = await learn(ledger, "A good one."), await learn(ledger, "A bad one.")
    await learn(ledger, "a good one")
    await outcome(ledger, [good.id], passed=True)
    await outcome(ledger, [bad.id], passed=False, task="other")
    lessons = Lessons(ledger)
    assert await lessons.states() == {State.ACTIVE: 2, State.REPEAT: 1}
    assert await lessons.rates("all") == [("", 2, 1)]
    assert await lessons.rates("task") == [("other", 1, 0), ("task", 1, 1)]
    assert await lessons.rates("task", limit=1) == [("other", 1, 0)]
    assert [info.reflection.id for info in await lessons.measured()] == [good.id, bad.id], "the most useful first"
    await ledger.append(RunRecord())
