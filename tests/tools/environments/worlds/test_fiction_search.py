"""Search in an invented country: a key that only the passages hold, in every edition of them."""

from __future__ import annotations

import pytest

from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments.worlds._fiction_search import (
    PASSAGES,
    QUESTIONS,
    WORLD,
    begin,
    edition,
    is_same_answer,
)
from groundwire.tools.environments.worlds._playing import Refused, shortest

EDITIONS = range(15)


def answered(seed: int, answer: str) -> Scene:
    played = WORLD.make()
    played.reset(seed)
    return played.act(f"answer: {answer}")


def test_every_question_of_every_edition_is_won_by_search_and_its_answer_is_in_few_passages() -> None:
    for seed in range(-20, 10 * len(EDITIONS)):
        way = shortest(begin(seed))
        assert way is not None and [action.partition(":")[0] for action in way] == ["search", "open", "answer"]
        country = edition(seed // 10)
        asked = country.questions[seed % 10]
        assert is_same_answer(way[-1].removeprefix("answer:"), asked.answer)
        assert 1 <= sum(asked.answer.lower() in passage.lower() for passage in country.corpus.passages) <= 4
        assert asked.answer not in asked.text


def test_checker_and_key_agree_and_any_other_answer_loses() -> None:
    for number in EDITIONS:
        keys = [question.answer for question in edition(number).questions]
        for place, key in enumerate(keys):
            for answer in keys:
                expected = Status.WON if answer == key else Status.LOST
                scene = answered(10 * number + place, answer)
                assert scene.status is expected
                assert scene.status is Status.WON or key not in scene.text.splitlines()[-1], "a loss gives no key away"


def test_what_was_learned_by_heart_in_one_edition_is_wrong_in_the_others() -> None:
    for number in EDITIONS[1:]:
        others, first = edition(number).questions, QUESTIONS
        assert not {q.answer for q in others} & {q.answer for q in first}
        assert not {q.text for q in others} & {q.text for q in first}
        assert [q.hops for q in others] == [q.hops for q in first]
        told = "\n".join(edition(number).corpus.passages)
        assert not [word for word in ("Velmar", "Torrend", "Quessaly", "1873", "osmiridium") if word in told]
        assert len(set(edition(number).corpus.passages)) == len(PASSAGES)
    assert edition(3).corpus.passages != edition(4).corpus.passages


def test_nothing_can_be_answered_by_what_a_scene_offers_before_something_was_read() -> None:
    for seed in range(60):
        at = begin(seed)
        assert not [action for action in at.scene().actions if not action.startswith("search: ")]
        found = at.after(at.scene().actions[0])
        for wrong in ("open: 999", "open: x", f"open: {len(PASSAGES) - 1 - found.found[0]} "):
            with pytest.raises(Refused, match="only what the last search found"):
                at.after(wrong)
        with pytest.raises(Refused, match="an action is search"):
            found.after("read it all")


@pytest.mark.parametrize(
    ("given", "right", "same"),
    [
        ("The Ilme.", "the Ilme", True),
        ("ilme", "the Ilme", True),
        ("  Comet   ASTERBY! ", "Comet Asterby", True),
        ("Asterby", "Comet Asterby", False),
        ("in 1873", "1873", False),
        ("", "1873", False),
        ("the", "the Ilme", False),
        ("Ilsa Torrend; Dornwick", "Ilsa Torrend", False),
    ],
)
def test_an_answer_is_compared_without_case_punctuation_and_articles(given: str, right: str, same: bool) -> None:
    assert is_same_answer(given, right) is same


def test_what_is_read_stays_read_and_a_new_search_takes_the_place_of_the_last() -> None:
    played = WORLD.make()
    played.reset(7)
    found = played.act("search: The Glass Orchard")
    assert found.text.splitlines()[:2] == [f"Question: {QUESTIONS[7].text}", "Found:"]
    assert "  4: The Glass Orchard is an …" in found.text and "  nothing" in found.text
    read = played.act("open: 4")
    assert PASSAGES[4] in read.text and "search: Ilsa Torrend" in read.actions
    again = played.act("SEARCH:  Ilsa Torrend")
    assert "  5: Ilsa Torrend was born in …" in again.text and PASSAGES[4] in again.text
    assert "answer: Pellingate" not in again.actions
    assert "answer: Pellingate" in played.act("open: 5").actions
    assert played.act("Answer: pellingate").status is Status.WON


def test_the_world_goes_by_a_key_and_says_so() -> None:
    assert getattr(WORLD.make(), "oracle", False) is True
