"""round_table: different models only, weights as published, no debate where they agree (methods row 18)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from guessing import Check
from wide import asked, model, prompts, ran

from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._round_table import RoundTable, stated_confidence, weight_of
from groundwire.core._errors import ConfigError, UngroundedPartError
from groundwire.graphs.library._round_table import round_table
from groundwire.models import ScriptedBackend

TEXT = TextAnswer()


def seat(name: str, first: str, sure: float, then: Callable[[str], str] | None = None) -> ScriptedBackend:
    """A model that says `first`, and later what `then` makes of what it was told."""

    def says(request: object, _purpose: str) -> str:
        told = asked(backend.requests[-1].messages)
        answer = then(told) if then and "Others answered" in told else first
        return f"Because of {name} <b>.\nCONFIDENCE: {sure}\nANSWER: {answer}"

    backend = model(says, name)
    return backend


async def test_a_confident_one_outweighs_two_that_doubt_and_two_debates_are_the_most() -> None:
    seats = [seat("one", "A", 0.95), seat("two", "B", 0.65), seat("three", "B", 0.5)]
    check = Check(["A"])
    got = await ran(round_table(RoundTable(seats, TEXT), check), check)
    assert got.judged == ["A\n"]
    assert got.candidates[0].note == "round table: 67% of 3 answers, 2 different; 2 debates"
    assert [len(backend.requests) for backend in seats] == [3, 3, 3]
    told = prompts(seats[1], "propose.1")[0]
    assert "Because of one &lt;b&gt;." in told and "Because of three" in told and "Because of two" not in told
    assert got.result.grounded


async def test_agreement_ends_it_at_once_or_after_the_debate_that_brings_it() -> None:
    check = Check(["A"])
    agreeing = [seat("one", "A", 0.7), seat("two", "(a)", 0.2)]
    got = await ran(round_table(RoundTable(agreeing, TEXT), check), check)
    assert got.candidates[0].note.endswith("0 debates") and [len(b.requests) for b in agreeing] == [1, 1]
    check = Check(["A"])
    swayed = seat("two", "B", 0.9, then=lambda told: "A" if "Because of one" in told else "B")
    got = await ran(round_table(RoundTable([seat("one", "A", 0.7), swayed], TEXT), check), check)
    assert got.judged == ["A\n"] and got.candidates[0].note.endswith("1 debates")


def test_one_model_in_two_seats_is_refused_and_a_control_if_it_is_wanted() -> None:
    twice = [seat("one", "A", 1), seat("two", "A", 1), seat("one", "A", 1)]
    with pytest.raises(ConfigError, match="one sits at the table twice"):
        RoundTable(twice, TEXT)
    with pytest.raises(UngroundedPartError, match="RoundTable"):
        round_table(RoundTable(twice, TEXT, allow_homogeneous=True), Check()).compile()
    round_table(RoundTable(twice, TEXT, allow_homogeneous=True), Check(), allow_ungrounded=True).compile()
    with pytest.raises(ConfigError):
        RoundTable(twice[:1], TEXT)


def test_weights_are_the_published_ones_and_one_above_1_is_taken_for_1() -> None:
    stated = (1.0, 0.99, 0.9, 0.89, 0.8, 0.79, 0.61, 0.6, 0.0, 7.0)
    assert [weight_of(p) for p in stated] == [1, 0.8, 0.8, 0.5, 0.5, 0.3, 0.3, 0.1, 0.1, 1]
    assert [stated_confidence(t) for t in ("Confidence: 95%", "CONFIDENCE: 1.5", "**Confidence:** .", "")] == [
        0.95,
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("said", "confidence"),
    [("CONFIDENCE: 40", 0.4), ("CONFIDENCE: 9/10", 0.9), ("CONFIDENCE: .9", 0.9), ("Confidence = 0.9", 0.9),
     ("**Confidence:** 0.9", 0.9), ("Confidence: **90%**", 0.9), ("Confidence level: 90 percent", 0.9),
     ("Confidence: 0,9", 0.9), ("Confidence: 9 out of 10", 0.9), ("CONFIDENCE: 9", 0.9), ("CONFIDENCE: 100", 1),
     ('"confidence": 0.9', 0.9), ("My confidence is 0.9.", 0.9), ("CONFIDENCE: 0.2\nCONFIDENCE: 0.9", 0.9),
     ("<think>CONFIDENCE: 0.1</think>CONFIDENCE: 0.9", 0.9), ("CONFIDENCE: 3/0", 1), ("CONFIDENCE: high", 0)],
)  # fmt: skip
def test_a_confidence_is_read_in_the_forms_in_which_models_state_one(said: str, confidence: float) -> None:
    assert stated_confidence(said) == pytest.approx(confidence)
