"""refined_best_of_n: a planted bad step is mended, what is before it kept, and the check chooses (rows 52 and 94)."""

from __future__ import annotations

import pytest
from guessing import Check
from sample_numbers import sample_of
from wide import model, ran

from groundwire import StopReason, Task, Tree, Verdict
from groundwire.agents.width._answers import FunctionBody, TextAnswer
from groundwire.agents.width._refined_best_of_n import ModelStepJudge, RefinedBestOfN, steps_of
from groundwire.core._errors import ConfigError
from groundwire.core._models import Request
from groundwire.graphs.library._refined_best_of_n import refined_best_of_n
from groundwire.tools import Doctest

TEXT = TextAnswer()
BAD = "Six times seven is 48."


def writes(request: Request, _purpose: str) -> str:
    if request.messages[-1].role == "assistant":
        return "So that is it.\n\nANSWER: 42"
    number = sample_of(request)
    step = BAD if number == 2 else f"It is about 4{number}."
    return f"First, {number}.\n\n{step}\n\nANSWER: 4{number + 3}"


def judges(request: Request, _purpose: str) -> str:
    return "STEP: 2\nCORRECTED: Six times seven is 42." if BAD in request.messages[-1].content else "STEP: none"


async def test_the_pool_is_the_samples_and_one_continuation_of_the_one_with_a_bad_step() -> None:
    author, judge, check = model(writes, continues=True), model(judges, "judge"), Check(["42"])
    actor = RefinedBestOfN(author, TEXT, ModelStepJudge(judge), samples=4)
    got = await ran(refined_best_of_n(actor, check, width=8), check)
    assert len(author.requests) == 5 and len(judge.requests) == 4
    begun = author.requests[-1].messages[-1]
    assert (begun.role, begun.content) == ("assistant", "First, 2.\n\nSix times seven is 42.\n\n")
    assert [record.edits for record in got.candidates].count(("best_of_n.refined",)) == 1 and len(got.candidates) == 5
    assert got.judged[-1] == "42\n" and got.result.stop_reason is StopReason.VERIFIED


@pytest.mark.parametrize(
    "more",
    [
        "So that is it.\n\nANSWER: 42",
        "Continuing:\n\nSo that is it.\n\nANSWER: 42",
        "First, 2.\n\nSix times seven is 42.\n\nSo that is it.\n\nANSWER: 42",
        "<think>ANSWER: 41</think>```\nFirst, 2.\n\nSix times seven is 42.\n\nANSWER: 42\n```",
    ],
)
async def test_a_backend_that_continues_nothing_is_asked_for_what_follows_and_may_repeat_itself(more: str) -> None:
    def says(request: Request, purpose: str) -> str:
        return more if "What stands above is kept" in request.messages[-1].content else writes(request, purpose)

    author, judge, check = model(says), model(judges, "judge"), Check(["42"])
    actor = RefinedBestOfN(author, TEXT, ModelStepJudge(judge), samples=4)
    got = await ran(refined_best_of_n(actor, check, width=8), check)
    *_, begun, told = author.requests[-1].messages
    assert (begun.role, begun.content, told.role) == ("assistant", "First, 2.\n\nSix times seven is 42.\n\n", "user")
    assert got.judged[-1] == "42\n" and [r.edits for r in got.candidates].count(("best_of_n.refined",)) == 1


async def test_without_a_right_one_the_best_fraction_is_kept_and_the_task_is_unsolved() -> None:
    """Row 94: the check is the scorer; nothing but it declares success."""
    author, check = model(lambda r, _: f"ANSWER: {['a', 'a b', 'c'][sample_of(r)]}"), Check(["a", "b", "z"])
    sound = ModelStepJudge(model(lambda _request, _: "STEP: none", "judge"))
    got = await ran(refined_best_of_n(RefinedBestOfN(author, TEXT, sound, samples=3), check, width=6), check)
    assert got.result.verdict is Verdict.FAIL and got.result.patch == ""
    assert got.result.best is not None and got.result.best.candidate.changes["answer.txt"] == b"a b\n"


async def test_lines_of_code_are_steps_too() -> None:
    code = 'def double(n):\n    """Return twice.\n\n    >>> double(2)\n    4\n    """\n    pass\n'
    task = Task(id="double", tree=Tree({"m.py": code.encode()}), command=("python", "-m", "doctest", "m.py"))

    def says(request: Request, _purpose: str) -> str:
        return (
            "    return m\n" if request.messages[-1].content.endswith("m = n * 2\n") else "\n    m = n\n    return m\n"
        )

    judge = model(lambda _request, _: "STEP: 2\nCORRECTED: m = n * 2", "judge")
    actor = RefinedBestOfN(model(says, continues=True), FunctionBody(), ModelStepJudge(judge), samples=1)
    result = await refined_best_of_n(actor, Doctest(), width=2).compile().arun(task)
    assert result.stop_reason is StopReason.VERIFIED and "+    m = n * 2\n+    return m" in result.patch


def test_an_author_does_not_judge_its_own_steps() -> None:
    with pytest.raises(ConfigError, match="agree with themselves"):
        RefinedBestOfN(model(writes), TEXT, ModelStepJudge(model(judges)))
    assert ["".join(steps_of(text)) for text in ("a\nb", "a\n\nb\n\n c", "")] == ["a\nb", "a\n\nb\n\n c", ""]
