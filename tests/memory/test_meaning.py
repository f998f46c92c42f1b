"""Lessons ranked by what they mean, with a tiny embedder; the same from every store."""

from __future__ import annotations

import math
import struct
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from embedding import Tiny
from hypothesis import given
from hypothesis import strategies as st
from planted import IN_ENVIRONMENT, PLANTED, VARIABLE
from remembering import learn, texts, whys

from groundwire.core._errors import ModelRejected, ModelReplyInvalid
from groundwire.core._ids import new_id
from groundwire.core._models import Embedder
from groundwire.core._records import LessonMark, Mark, Store
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.memory._lessons import Lessons
from groundwire.memory._meaning import BATCH, Meanings, nearest
from groundwire.memory._policy import RECALL_SCAN
from groundwire.memory._retention import rebuild_lessons
from groundwire.memory._sql import Sql
from groundwire.memory._transfer import export_lessons, import_lessons

ABOUT_COST, ABOUT_ALL = "Mind the cost.", "Read everything again."
ABOUT_BOUNDS, ABOUT_PARSING = "Upper edge is exclusive.", "Some token was read twice."
TAUGHT = (ABOUT_COST, ABOUT_ALL, ABOUT_BOUNDS, ABOUT_PARSING)
"""Oldest first."""
QUESTION = "off by one at limit"
"""Shares no word with the lesson that it is about."""


@pytest.fixture
def tiny() -> Tiny:
    return Tiny()


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def store(request: pytest.FixtureRequest, tmp_path: Path, tiny: Tiny) -> AsyncIterator[Store]:
    """An empty store of each kind, with an embedder."""
    if request.param == "memory":
        made: Store = InMemoryStore(embedder=tiny)
    elif request.param == "sqlite":
        made = SqlStore(f"sqlite:///{tmp_path}/ledger.db", embedder=tiny)
    else:
        made = SqlStore(request.getfixturevalue("postgres_url"), embedder=tiny)
    yield made
    await made.aclose()


@pytest.fixture
async def durable(url: str, tiny: Tiny) -> AsyncIterator[SqlStore]:
    made = SqlStore(url, embedder=tiny)
    yield made
    await made.aclose()


async def taught(store: Store, **fields: Any) -> str:
    """Lessons of a family; gives the id of the one about bounds."""
    made = {text: await learn(store, text, task=f"t{number}", **fields) for number, text in enumerate(TAUGHT)}
    return made[ABOUT_BOUNDS].id


async def rows(store: SqlStore) -> list[tuple[Any, ...]]:
    query = Sql("SELECT number, model, namespace, dimensions, vector FROM lesson_vectors ORDER BY number, model")
    return [tuple(row) for row in await store.run_read(lambda session: query.rows(session))]


async def change(store: SqlStore, statement: str, **values: Any) -> None:
    await store.run_write(lambda session: Sql(statement).change(session, **values))


async def test_what_means_the_same_comes_first_and_the_reason_says_so(store: Store) -> None:
    await taught(store)
    assert (await texts(store, "new"))[0] == ABOUT_PARSING, "without a question, the newest"
    assert await whys(store, "new", text=QUESTION, window=4) == {
        ABOUT_BOUNDS: "family: new 2, meaning 1",
        ABOUT_PARSING: "family: new 1, meaning 3",
        ABOUT_ALL: "family: new 3, meaning 2",
        ABOUT_COST: "family: new 4, meaning 4",
    }
    assert (await texts(store, "new", text=QUESTION))[0] == ABOUT_BOUNDS


async def test_also_among_those_that_failed_alike(store: Store) -> None:
    await taught(store, signature="KeyError")
    await learn(store, "The limit, the edge, the bound.", task="c", signature="ValueError")
    found = await whys(store, "new", text=QUESTION, signature="KeyError", window=1)
    assert found == {ABOUT_BOUNDS: "signature+family: new 2, meaning 1"}


async def test_meaning_is_one_ranking_among_others(store: Store) -> None:
    await taught(store)
    found = await whys(store, "new", text="mind limit", window=2)
    assert list(found) == [ABOUT_COST, ABOUT_BOUNDS], "words and meaning, each for its own"
    assert "words 1" in found[ABOUT_COST] and "meaning 1" in found[ABOUT_BOUNDS]


async def test_nothing_is_embedded_that_is_not_compared(store: Store, tiny: Tiny) -> None:
    await taught(store)
    assert sorted(tiny.seen) == sorted(TAUGHT), "when they are learned"
    tiny.seen.clear()
    await texts(store, "new", text=" \n")
    await texts(store, "new", family="", text=QUESTION)
    await texts(store, "new", window=0, text=QUESTION)
    assert tiny.seen == []
    await texts(store, "new", text=QUESTION)
    assert tiny.seen == [QUESTION]


async def test_what_has_no_family_is_not_embedded(store: Store, tiny: Tiny) -> None:
    await learn(store, ABOUT_BOUNDS, family="")
    assert await texts(store, "task", family="", text=QUESTION) == [ABOUT_BOUNDS]
    assert tiny.seen == []


async def test_the_same_question_has_the_same_answer(store: Store) -> None:
    for number in range(12):
        await learn(store, f"{('bound', 'price', 'token')[number % 3]} thought {number}", task=f"t{number}")
    answers = [await whys(store, "new", text="cost at the edge", window=9) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert list(answers[0]) == list(answers[1])


@pytest.mark.postgres
async def test_every_store_answers_alike(tmp_path: Path, postgres_url: str) -> None:
    stores: list[Store] = [
        InMemoryStore(embedder=Tiny()),
        SqlStore(f"sqlite:///{tmp_path}/x.db", embedder=Tiny()),
        SqlStore(postgres_url, embedder=Tiny()),
    ]
    answers: list[list[tuple[str, str]]] = []
    for store in stores:
        await taught(store)
        answers.append(list((await whys(store, "new", text=QUESTION, window=9)).items()))
        await store.aclose()
    assert answers[0] == answers[1] == answers[2]


async def test_secrets_do_not_reach_the_model(store: Store, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, IN_ENVIRONMENT)
    planted = "\n".join(text for text, _ in PLANTED.values())
    await learn(store, f"The key is printed: {planted}", task="a")
    await texts(store, "new", text=f"failed with {planted}")
    assert len(tiny.seen) == 2
    assert [kind for kind, (_, secret) in PLANTED.items() for text in tiny.seen if secret in text] == []


async def test_a_model_that_fails_loses_no_lesson_and_is_complained_of_at_recall(store: Store, tiny: Tiny) -> None:
    tiny.broken = True
    await taught(store)
    assert len(await texts(store, "new", window=9)) == 4
    with pytest.raises(ModelRejected, match="tiny is broken"):
        await store.recall("new", "family", text=QUESTION)
    tiny.broken = False
    assert "meaning 1" in (await whys(store, "new", text=QUESTION))[ABOUT_BOUNDS]


async def test_forgotten_lessons_have_no_vector(store: Store) -> None:
    first = await taught(store)
    await store.append(LessonMark(lesson_id=first, mark=Mark.FORGOTTEN))
    assert ABOUT_BOUNDS not in await texts(store, "new", text=QUESTION, window=9)
    if isinstance(store, SqlStore):
        assert len(await rows(store)) == len(TAUGHT) - 1


async def test_a_lesson_that_is_forgotten_while_it_is_embedded_has_none(store: Store, tiny: Tiny) -> None:
    lesson_id = new_id()
    tiny.meanwhile = lambda: store.append(LessonMark(lesson_id=lesson_id, mark=Mark.FORGOTTEN))
    await learn(store, ABOUT_BOUNDS, id=lesson_id)
    assert (tiny.meanwhile, tiny.seen) == (None, [ABOUT_BOUNDS])
    assert await texts(store, "new", text=QUESTION) == []
    if isinstance(store, SqlStore):
        assert await rows(store) == []


async def test_lessons_of_before_are_filled_in_up_to_the_window(url: str, tiny: Tiny) -> None:
    plain = SqlStore(url)
    await taught(plain)
    for number in range(RECALL_SCAN - 1):
        await learn(plain, f"thought {number} of the others", task=f"o{number}")
    assert await rows(plain) == []
    assert "meaning" not in str(await whys(plain, "new", text=QUESTION))
    await plain.aclose()
    store = SqlStore(url, embedder=tiny)
    await texts(store, "new", text=QUESTION)
    assert len(await rows(store)) == RECALL_SCAN > BATCH
    before = len(tiny.seen)
    await texts(store, "new", text=QUESTION)
    assert tiny.seen[before:] == [QUESTION]
    await store.aclose()


async def test_only_what_is_recalled_has_a_vector(durable: SqlStore) -> None:
    await learn(durable, ABOUT_BOUNDS)
    await learn(durable, ABOUT_BOUNDS)  # a repeat
    assert len(await rows(durable)) == 1


async def test_another_model_compares_its_own_vectors_only(url: str, durable: SqlStore) -> None:
    await taught(durable)
    mine = await rows(durable)
    other = Tiny("2", ({"edge", "mind"}, {"limit"}))
    store = SqlStore(url, embedder=other)
    found = await whys(store, "new", text=QUESTION, window=4)
    assert "meaning 1" not in found[ABOUT_BOUNDS], "to this model the limit is no edge"
    assert sorted(other.seen) == sorted([*TAUGHT, QUESTION])
    assert [row for row in await rows(store) if row[1] == "tiny@1"] == mine
    assert [row[3] for row in await rows(store) if row[1] == "tiny@2"] == [3] * 4
    await store.aclose()


async def test_vectors_do_not_cross_namespaces(url: str) -> None:
    anna, bert = (SqlStore(url, namespace=name, embedder=Tiny()) for name in ("anna", "bert"))
    await learn(anna, ABOUT_BOUNDS, task="a")
    assert await texts(bert, "new", text=QUESTION) == []
    await learn(bert, "Mind the cost.", task="a")
    await change(bert, "UPDATE lesson_vectors SET namespace = 'bert'")
    assert [row[2] for row in await rows(anna)] == ["bert", "bert"]
    assert await texts(anna, "new", text=QUESTION) == [ABOUT_BOUNDS]
    assert [row[2] for row in await rows(anna)] == ["anna", "bert"], "one under another's name is made again"
    for store in (anna, bert):
        await store.aclose()


NAN = struct.pack("<4f", math.nan, 0, 0, 0)


@pytest.mark.parametrize("vector", [b"", b"\x00", b"\xff" * 17, b"\x00" * 4096, NAN])
async def test_a_vector_that_is_none_is_no_crash(durable: SqlStore, vector: bytes) -> None:
    await taught(durable)
    good = (await rows(durable))[TAUGHT.index(ABOUT_BOUNDS)]
    await change(
        durable, "UPDATE lesson_vectors SET vector = :vector WHERE number = :number", vector=vector, number=good[0]
    )
    found = await whys(durable, "new", text=QUESTION, window=9)
    assert len(found) == 4
    if vector == NAN:
        assert "meaning" not in found[ABOUT_BOUNDS], "left out"
    else:
        assert "meaning 1" in found[ABOUT_BOUNDS], "of the wrong length: made again"
        assert good in await rows(durable)


async def test_a_rebuild_drops_them_and_recall_makes_them_again(durable: SqlStore) -> None:
    await taught(durable)
    before = await rows(durable)
    await rebuild_lessons(durable)
    assert await rows(durable) == []
    await texts(durable, "new", text=QUESTION)
    assert await rows(durable) == before


async def test_an_export_has_no_vectors_and_an_import_makes_its_own(durable: SqlStore, tmp_path: Path) -> None:
    await taught(durable)
    lines = [line async for line in export_lessons(durable)]
    assert not [line for line in lines if "vector" in line or "tiny" in line]
    other = SqlStore(f"sqlite:///{tmp_path}/other.db", embedder=Tiny())
    await import_lessons(other, lines)
    assert len(await rows(other)) == 4
    assert await Lessons(other).forget([(await Lessons(other).list())[-1].reflection.id]) == 1
    assert len(await rows(other)) == 3
    await other.aclose()


async def test_an_embedder_that_breaks_its_word_is_named() -> None:
    class Wrong:
        name, revision, dimensions = "wrong", "0", 2

        def __init__(self, answer: list[list[float]]) -> None:
            self._answer = answer

        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return self._answer

    async def said(*answer: list[float]) -> str:
        made: Embedder = Wrong(list(answer))
        with pytest.raises(ModelReplyInvalid, match="wrong@0 gave") as caught:
            await Meanings(made).of(["text"])
        return caught.value.what

    assert "0 vectors for 1 texts" in await said()
    assert "a vector of 3 numbers, not 2" in await said([1.0, 2.0, 3.0])
    for vector in ([0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]):
        assert "without a direction" in await said(vector)


@given(st.lists(st.binary(max_size=20) | st.text(max_size=3) | st.none(), max_size=8))
def test_nearest_takes_whatever_a_table_may_hold(kept: list[object]) -> None:
    asked = struct.pack("<2f", 0.6, 0.8)
    found = nearest(enumerate(kept), asked)
    assert len(found) == len(set(found))
    assert all(isinstance(kept[number], bytes) and len(kept[number]) == 8 for number in found)  # pyright: ignore[reportArgumentType]  # as it says before


def test_nearest_is_by_angle_and_then_the_newest() -> None:
    def of(*values: float) -> bytes:
        return struct.pack("<2f", *values)

    kept = [(1, of(1, 0)), (2, of(0, 1)), (3, of(1, 0)), (4, of(-1, 0))]
    assert nearest(kept, of(1, 0)) == [3, 1, 2, 4]
