"""confident_vote: who votes, with what weight, and when sampling ends (methods rows 4, 14 and 37)."""

from __future__ import annotations

from typing import Any

import pytest
from guessing import Check
from sample_numbers import sample_of
from traces import Trace, Traces
from wide import QUESTION, asked, model, ran

from groundwire import StopReason
from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._confident_vote import ConfidentVote
from groundwire.core._errors import ConfigError
from groundwire.graphs.library._confident_vote import confident_vote

TEXT = TextAnswer()
SURE, UNSURE = [9.0] * 200, [9.0] * 60 + [1.0] * 64 + [9.0] * 76


def vote(backend: Any, **options: Any) -> ConfidentVote:
    return ConfidentVote(backend, TEXT, window=64, **options)


async def test_a_majority_of_normal_forms_wins_and_a_tie_is_told() -> None:
    said = ["A", "(a)", "B", "no answer"]
    backend, check = (
        model(lambda r, _: f"ANSWER: {said[sample_of(r)]}" if sample_of(r) < 3 else "?"),
        Check(["A"]),
    )
    got = await ran(confident_vote(vote(backend, samples=4), check), check)
    assert got.judged == ["A\n"] and "67% of 3 answers, 2 different; 4 traces" in got.candidates[0].note
    assert not any(request.logprobs for request in backend.requests)
    tied, check = model(lambda r, _: f"ANSWER: {sample_of(r) % 2}"), Check(["0"])
    got = await ran(confident_vote(vote(tied, samples=4), check), check)
    assert got.judged == ["0\n"] and "a tie: the first seen" in got.candidates[0].note


async def test_the_short_group_wins_over_a_larger_one_that_rambles() -> None:
    def says(request: Any, _purpose: str) -> str:
        return "words " * 6000 + "ANSWER: long" if sample_of(request) < 4 else "So.\nANSWER: short"

    for mode, winner in (("shortest", "short"), ("majority", "long")):
        backend, check = model(lambda r, p: says(r, p).replace("words ANSWER", "words\nANSWER")), Check([winner])
        got = await ran(confident_vote(vote(backend, samples=7, mode=mode), check), check)
        assert got.judged == [f"{winner}\n"]


async def test_offline_only_the_most_confident_share_votes_and_a_fail_lets_the_next_answer_in() -> None:
    def trace(seed: int) -> Trace:
        return ("wrong", UNSURE) if seed < 5 else ("right", SURE)

    check = Check(["right"])
    got = await ran(confident_vote(vote(Traces(trace), samples=8, mode="offline", keep=30), check), check)
    assert got.judged == ["right\n"]
    check = Check(["right"])
    plain = vote(Traces(trace), samples=8, mode="offline", keep=100, by="mean")
    got = await ran(confident_vote(plain, check), check, trials=2)
    assert got.judged == ["wrong\n", "right\n"] and got.result.stop_reason is StopReason.VERIFIED


async def test_online_ends_traces_whose_group_falls_and_sampling_at_consensus() -> None:
    """16 that agree are enough; 4 of 16 that differ take more, of which the unsure ones are cut."""
    agreeing, check = Traces(lambda _seed: ("7", SURE)), Check(["7"])
    got = await ran(confident_vote(vote(agreeing, samples=128, mode="online"), check), check)
    assert agreeing.calls == 16 and "100% of 16 answers" in got.candidates[0].note

    def trace(seed: int) -> Trace:
        if seed < 16:
            return ("8", [8.0] * 200) if seed % 4 == 0 else ("7", SURE)
        return ("8", UNSURE) if seed % 2 else ("7", SURE)

    runs: list[Traces] = []
    for streams in (True, False):
        backend, check = Traces(trace, streams=streams), Check(["7"])
        actor = vote(backend, samples=96, mode="online", keep=90, at_once=8)
        got = await ran(confident_vote(actor, check), check)
        assert got.judged == ["7\n"]
        assert (", 40 ended early" in got.candidates[0].note) is streams
        runs.append(backend)
    ended, whole = runs
    assert ended.calls == whole.calls == 96
    assert ended.written < whole.written - 40 * 60


async def test_traces_without_an_answer_take_no_place_among_those_that_vote() -> None:
    """Half of ten are the most confident, and hold no answer: of the other five, not of ten, 40 % vote."""

    def trace(seed: int) -> Trace:
        return ("", [9.5] * 200) if seed < 5 else ("right", SURE) if seed < 7 else ("wrong", UNSURE)

    check = Check(["right"])
    got = await ran(confident_vote(vote(Traces(trace), samples=10, mode="offline", keep=40), check), check)
    assert got.judged == ["right\n"] and "100% of 2 answers" in got.candidates[0].note


async def test_where_no_trace_is_confident_the_majority_decides() -> None:
    certain = [0.0] * 200  # as if every alternative were as likely as can be: nothing is left to weigh by
    for mode in ("offline", "online"):
        backend, check = Traces(lambda seed: ("7" if seed % 4 else "8", certain)), Check(["7"])
        got = await ran(confident_vote(vote(backend, samples=8, mode=mode, warm_up=4), check), check)
        assert got.judged == ["7\n"] and got.candidates[0].note.startswith("majority vote: 75% of 8 answers")


async def test_a_loop_that_is_stuck_draws_as_many_as_code_repair_does() -> None:
    backend, check = model(lambda _request, _: "ANSWER: 7"), Check(["8"])
    got = await ran(confident_vote(vote(backend, samples=2), check), check, trials=9)
    assert got.judged == ["7\n"] and got.result.stop_reason is StopReason.STUCK
    assert len(backend.requests) == 2 + 2 + 5 + 25
    assert "These answers were given before" in asked(backend.requests[-1].messages)
    assert [round(r.temperature, 2) for r in (backend.requests[2], backend.requests[4], backend.requests[-1])] == [
        0.6, 0.75, 0.9,
    ]  # fmt: skip


async def test_what_the_vote_rests_on_has_to_be_there() -> None:
    backend, check = model(lambda _request, _: "ANSWER: 1"), Check(["1"])
    with pytest.raises(ConfigError, match="no probabilities"):
        await confident_vote(vote(backend, mode="offline"), check).compile().arun(QUESTION)
    for options in ({"keep": 0}, {"samples": 0}, {"mode": "online", "samples": 1000, "at_once": 1}):
        with pytest.raises(ConfigError):
            vote(backend, **options)
