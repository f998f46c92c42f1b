"""What comes back, in what order, and why: the same from every store."""

from __future__ import annotations

from pathlib import Path

import pytest
from remembering import learn, outcome, texts, whys

from groundwire.core._records import Store
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.memory._policy import RECALL_SCAN

KEY_ERROR = "KeyError: '…'"


async def test_the_window_holds_the_last_reflections_of_the_task(store: Store) -> None:
    """Methods row 23: Ω in the prompt, all of them in the ledger."""
    ids = [(await learn(store, f"reflection number {n} says something")).id for n in range(5)]
    assert await texts(store) == [f"reflection number {n} says something" for n in (4, 3, 2)]
    assert await texts(store, window=1) == ["reflection number 4 says something"]
    assert [lesson.id for lesson in await store.lessons(ids)] == ids


async def test_what_failed_alike_comes_before_what_is_newer(store: Store) -> None:
    await learn(store, "own and alike", signature=KEY_ERROR)
    await learn(store, "own and newer", signature="ValueError")
    await learn(store, "family and alike", task="other", signature=KEY_ERROR)
    await learn(store, "family and newer", task="other", signature="ValueError")
    await learn(store, "elsewhere and alike", task="third", family="strange", signature=KEY_ERROR)
    found = await whys(store, signature=KEY_ERROR, window=9)
    assert list(found) == ["own and alike", "family and alike", "own and newer", "family and newer"]
    assert [why.partition(":")[0] for why in found.values()] == ["signature+task", "signature+family", "task", "family"]
    assert list(await whys(store, window=9))[:2] == ["own and newer", "own and alike"], "without it, the newest"


async def test_those_of_a_family_are_ranked_by_their_words(store: Store) -> None:
    await learn(store, "The discount is a fraction, not a percentage.", task="a")
    for number in range(4):
        await learn(store, f"Unrelated thought of number {number}", task=f"b{number}")
    found = await whys(store, "new", text="assert discounted(10) == 9: wrong discount", window=1)
    assert found == {"The discount is a fraction, not a percentage.": "family: new 5, words 1"}
    assert await texts(store, "new", window=1) == ["Unrelated thought of number 3"], "without a question, the newest"


async def test_those_of_a_family_are_ranked_by_their_frames(store: Store) -> None:
    await learn(store, "It was in the parser.", task="a", frames=("parse.py:number", "main.py:run"))
    for number in range(4):
        await learn(store, f"Unrelated thought of number {number}", task=f"b{number}", frames=("shop.py:total",))
    found = await whys(store, "new", frames=("parse.py:number",), window=1)
    assert found == {"It was in the parser.": "family: new 5, frames 1"}


async def test_those_of_a_family_are_ranked_by_what_they_did(store: Store) -> None:
    good = await learn(store, "Look at the bounds first.", task="a")
    await learn(store, "A thought that nobody tried.", task="b")
    bad = await learn(store, "Rewrite everything from scratch.", task="c")
    await outcome(store, [], passed=False, task="d")
    await outcome(store, [good.id], passed=True, task="d")
    await outcome(store, [bad.id], passed=False, task="d")
    found = await whys(store, "new")
    assert next(iter(found)) == "Look at the bounds first."
    assert "useful 1" in found["Look at the bounds first."]
    assert "useful 3" in found["Rewrite everything from scratch."]


async def test_a_lesson_that_helped_counts_as_new_again(store: Store) -> None:
    """So the others decay: their place among the new ones is lost."""
    old = await learn(store, "An old lesson that still helps.")
    for number in range(3):
        await learn(store, f"A later lesson of number {number}")
    assert "An old lesson that still helps." not in await texts(store)
    await outcome(store, [old.id], passed=False)
    assert "An old lesson that still helps." not in await texts(store)
    await outcome(store, [old.id], passed=True)
    assert (await texts(store))[0] == "An old lesson that still helps."


async def test_the_tokens_are_a_ceiling_over_all_tiers(store: Store) -> None:
    await learn(store, "short and of the family", task="other")
    await learn(store, "own " * 100)
    await learn(store, "alike " * 100, signature=KEY_ERROR)
    assert len(await texts(store, signature=KEY_ERROR, max_tokens=1000)) == 3
    few = await texts(store, signature=KEY_ERROR, max_tokens=200)
    assert few == ["alike " * 100, "short and of the family"], "what does not fit is passed over whole"
    assert await texts(store, signature=KEY_ERROR, max_tokens=0) == []


async def test_a_lesson_said_by_two_tasks_takes_one_place(store: Store) -> None:
    await learn(store, "The upper bound is exclusive.", task="a")
    await learn(store, "The upper bound is exclusive!", task="b")
    await learn(store, "Something else.", task="c")
    assert sorted(await texts(store, "new", window=9)) == ["Something else.", "The upper bound is exclusive!"]


async def test_only_the_newest_of_a_family_are_looked_at(store: Store) -> None:
    await learn(store, "The only text with the word marzipan.", task="first")
    for number in range(RECALL_SCAN - 1):
        await learn(store, f"thought {number} of the others", task=f"t{number}")
    assert (await texts(store, "new", text="marzipan"))[0].endswith("marzipan.")
    await learn(store, "one more thought than the window of recall has", task="more")
    assert not [text for text in await texts(store, "new", text="marzipan", window=9) if "marzipan" in text]


async def test_nothing_that_is_asked_is_an_operator(store: Store) -> None:
    await learn(store, "The bound is exclusive.", task="other")
    for text in ("'; DROP TABLE lessons; --", 'a" OR "b', "NEAR(", "* ^ -", ":" * 50, "bound " * 2000, "\x00\ud800"):
        assert await texts(store, "new", text=text) == ["The bound is exclusive."]
    assert await texts(store, "' OR 1=1 --", "' OR 1=1 --") == []


async def _many(store: Store) -> list[list[tuple[str, str]]]:
    """Answers to several questions about the same history."""
    made = [
        await learn(
            store,
            f"lesson {n}: {' '.join(('bound', 'price', 'discount', 'list')[i] for i in range(4) if n >> i & 1)}",
            task=f"task {n % 5}",
            signature=("KeyError", "ValueError")[n % 2],
            frames=(f"m{n % 3}.py:f",),
        )
        for n in range(24)
    ]
    for n, reflection in enumerate(made):
        await outcome(store, [reflection.id, made[n // 2].id], passed=n % 3 > 0, task=f"task {n % 7}")
    answers: list[list[tuple[str, str]]] = []
    for task, signature, text in (
        ("task 1", "", ""),
        ("new", "KeyError", ""),
        ("new", "", "the price of a list"),
        ("task 2", "ValueError", "discount bound"),
    ):
        for _ in range(2):
            found = await store.recall(task, "family", signature=signature, text=text, frames=("m1.py:f",), window=8)
            answers.append([(lesson.text, lesson.why) for lesson in found])
    return answers


async def test_the_same_question_has_the_same_answer(store: Store) -> None:
    answers = await _many(store)
    assert answers[::2] == answers[1::2]
    assert all(len(answer) == 8 for answer in answers)


@pytest.mark.postgres
async def test_every_store_answers_alike(tmp_path: Path, postgres_url: str) -> None:
    """But for the rank of words, whose stems and weights are each database's own."""
    stores: list[Store] = [InMemoryStore(), SqlStore(f"sqlite:///{tmp_path}/x.db"), SqlStore(postgres_url)]
    memory, sqlite, postgres = [await _many(store) for store in stores]
    for store in stores:
        await store.aclose()
    assert memory == sqlite
    without_words = [0, 1, 2, 3]
    assert [memory[n] for n in without_words] == [postgres[n] for n in without_words]
    for ours, theirs in zip(memory, postgres, strict=True):
        assert len({text for text, _ in ours} & {text for text, _ in theirs}) >= 6
