"""The tool that makes calls: one at a time, trimmed, and nothing that was not asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from groundwire import Candidate, Origin, Task, Verdict
from groundwire.core._contexts import ActingTool, ToolContext
from groundwire.core._errors import CandidateError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Sandbox
from groundwire.core._signals import NoVerdict, Observation
from groundwire.core._toolcalls import Answer, Call, Offer, SeenCall, Steps
from groundwire.tools import FunctionTool, Toolbox
from groundwire.tools._tool_calls import ToolCalls, trimmed

TASK = Task(id="t")


async def nobody(backend: Backend, request: Request) -> Completion:
    raise AssertionError("no model may be asked")


async def nowhere() -> Sandbox:
    raise AssertionError("no sandbox may be opened")


def shout(text: str) -> str:
    """Makes it loud."""
    return text.upper() * 200


def steps(*made: Call | Answer) -> Steps:
    return Steps(TASK.tree.digest, made)


async def judged(calls: ToolCalls, done: Steps) -> Observation:
    return await calls.judge(done.candidate, TASK, ToolContext(nowhere, nobody))


async def test_a_long_result_keeps_its_first_and_last_128_characters() -> None:
    seen = await judged(ToolCalls(Toolbox(shout)), steps(Call("shout", {"text": "<abc>"})))
    assert (seen.verdict, seen.reason, seen.origin) == (Verdict.NONE, NoVerdict.GO_ON, Origin.EXECUTION)
    whole = "<ABC>" * 200
    assert seen.evidence.stdout == f"{whole[:128]} […] {whole[-128:]}"
    assert seen.evidence.stdout_cut == 1000 - 256
    assert trimmed("x" * 256, 256) == ("x" * 256, 0)


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (steps(Answer("4")), "an answer is no call"),
        (steps(Call("whisper")), "there is no tool 'whisper'; there are shout, pay"),
        (steps(Call("shout", {"text": 1})), "arguments: text: Input should be a valid string"),
        (steps(Call("pay"), Call("shout", {"text": "a"}), Call("pay")), "this very call was made before"),
    ],
)
async def test_what_is_refused_names_the_step_and_is_a_tool_error(done: Steps, said: str) -> None:
    def pay() -> None:
        raise AssertionError("it was called")

    seen = await judged(ToolCalls(Toolbox(shout, FunctionTool(pay, once=True, irreversible=True))), done)
    assert (seen.verdict, seen.origin) == (Verdict.FAIL, Origin.TOOL_ERROR)
    (case,) = seen.evidence.cases
    assert case.id == done.ids[-1] and case.message.startswith(said)


async def test_what_is_not_on_offer_is_not_called() -> None:
    def never(seen: Sequence[SeenCall]) -> Offer:
        return Offer(calls=False, why="enough")

    seen = await judged(ToolCalls(Toolbox(shout), offers=never), steps(Call("shout", {"text": "a"})))
    assert seen.evidence.detail == "step 1: enough"


def test_only_calls_that_can_be_undone_may_be_made_again_after_a_crash() -> None:
    def pay() -> None:
        """Pays."""

    calls = ToolCalls(Toolbox(shout, FunctionTool(pay, irreversible=True)))
    assert isinstance(calls, ActingTool)
    made: list[Any] = [Call("pay"), Call("shout"), Answer("x"), Call("unknown")]
    assert [calls.can_be_undone(steps(step).candidate) for step in made] == [False, True, True, True]


def test_a_sequence_is_a_candidate_that_only_grows() -> None:
    one = steps(Call("a", {"y": 2, "x": 1}))
    two = one.then(Answer("é\n\u2028"))
    assert two.candidate.extends(one.candidate) and not one.candidate.extends(two.candidate)
    assert Steps.of(two.candidate) == two and two.first(1) == one
    assert two.ids[0] == one.ids[0] and len(set(two.ids)) == 2
    assert steps(Call("a", {"x": 1, "y": 2})).candidate.digest == one.candidate.digest
    assert steps().candidate.is_base
    with pytest.raises(CandidateError, match="neither a call nor an answer"):
        Steps.of(Candidate(TASK.tree.digest, {"steps.jsonl": b'{"tool": 1}\n'}))
