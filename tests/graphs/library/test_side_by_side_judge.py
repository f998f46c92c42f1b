"""side_by_side_judge: at least two answers, shuffled, with nothing that says whose they are (methods row 16)."""

from __future__ import annotations

import re
from functools import partial

import pytest
from guessing import Check
from sample_numbers import sample_of
from wide import QUESTION, asked, model, prompts, purposes, ran

from groundwire import StopReason
from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._sampling import Sampler
from groundwire.agents.width._side_by_side import SideBySide, judge_side_by_side
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError, UngroundedPartError
from groundwire.core._models import Request
from groundwire.graphs.library._side_by_side_judge import side_by_side_judge

TEXT = TextAnswer()
SAID = ["red", "red", "blue", "green"]


def says(request: Request, purpose: str, seed: int = 0) -> str:
    text = asked(request.messages)
    if purpose == "argue":
        return f"Reasons about {re.findall('red|blue|green', text)[-1]}."
    if purpose == "judge":
        place = re.findall(r'<candidate number="(\d)">\nblue', text)[0]
        return f"Blue.\nBEST: {place}\nCONFIDENCE: 0.8"
    return f"I am sure.\nANSWER: {SAID[sample_of(request, seed)]}"


async def test_the_preferred_answer_is_judged_first_whatever_most_said_and_wherever_it_stood() -> None:
    orders: set[tuple[str, ...]] = set()
    for seed in (0, 4, 8, 12):
        backend, check = model(partial(says, seed=seed)), Check(["right"])
        judge = model(partial(says, seed=seed), "judge")
        graph = side_by_side_judge(SideBySide(backend, TEXT, judge=judge), check, width=3)
        got = await ran(graph, check, seed=seed)
        assert purposes(backend) + purposes(judge) == ["propose.0"] * 4 + ["argue.1"] * 3 + ["judge.2"]
        assert got.judged == ["blue\n", "red\n", "green\n"]
        assert got.candidates[0].note == "preferred of 3 side by side, confidence 0.80"
        (prompt,) = prompts(judge, "judge")
        shown = tuple(re.findall(r'<candidate number="\d">\n(\w+)', prompt))
        assert sorted(shown) == ["blue", "green", "red"]
        assert re.findall(r"Reasons about (\w+)", prompt) == list(shown)
        assert "scripted" not in prompt and "sure" not in prompt.partition("</task>")[2]
        orders.add(shown)
    assert len(orders) > 1


async def test_one_answer_is_never_judged_alone() -> None:
    agreed, check = model(lambda _request, _: "ANSWER: red"), Check(["red"])
    judge = model(lambda _request, _: "", "judge")
    got = await ran(side_by_side_judge(SideBySide(agreed, TEXT, judge=judge), check), check)
    assert not judge.requests and purposes(agreed) == ["propose.0"] * 4 and got.judged == ["red\n"]
    with pytest.raises(ConfigError):
        SideBySide(agreed, TEXT, samples=1)


async def test_an_author_that_judges_its_own_answers_is_a_control() -> None:
    author, check = model(says), Check(["blue"])
    for actor in (SideBySide(author, TEXT), SideBySide(author, TEXT, judge=model(says))):
        with pytest.raises(UngroundedPartError, match="SideBySide"):
            side_by_side_judge(actor, check).compile()
    got = await ran(side_by_side_judge(SideBySide(author, TEXT), check, allow_ungrounded=True), check)
    assert not got.result.grounded
    assert side_by_side_judge(SideBySide(author, TEXT, judge=model(says, "judge")), check).compile().ungrounded == ()


async def test_where_all_was_judged_before_the_loop_escalates_and_is_stuck() -> None:
    backend, check = model(lambda _request, _: "ANSWER: red"), Check(["blue"])
    graph = side_by_side_judge(SideBySide(backend, TEXT, judge=model(says, "judge")), check)
    got = await ran(graph, check, trials=5)
    assert got.judged == ["red\n"] and got.result.stop_reason is StopReason.STUCK
    assert len(backend.requests) == 4 + 4 + 5 + 25, "the answers drawn: as usual, 5, then 25"


async def test_the_judge_refuses_a_single_candidate() -> None:
    context = ActorContext(QUESTION, QUESTION.tree, call=lambda backend, request: backend.complete(request))
    answer = TEXT.read("ANSWER: red", context)
    assert answer is not None
    with pytest.raises(ConfigError, match="at least two"):
        await judge_side_by_side(Sampler(model(says)), context, TEXT, [answer], phase=0)
