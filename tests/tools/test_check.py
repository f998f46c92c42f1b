"""A function as a tool: what it may say, what it may raise, and what is no verdict."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from groundwire import Candidate, FeedbackGraph, Observation, Origin, StopReason, Task, Verdict
from groundwire.core import ToolContext
from groundwire.core._errors import ConfigError, ToolError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Sandbox
from groundwire.tools import Check

TASK = Task.of("A number.")


async def nobody(backend: Backend, request: Request) -> Completion:
    raise AssertionError("no model may be asked")


async def nowhere() -> Sandbox:
    raise AssertionError("no sandbox may be opened")


async def said_by(check: Check, text: str = "7") -> Observation:
    candidate = Candidate(TASK.tree.digest, {TASK.answer_file: text.encode()})
    return await check.judge(candidate, TASK, ToolContext(nowhere, nobody))


def raises(error: Exception) -> Callable[[Candidate], bool]:
    def check(candidate: Candidate) -> bool:
        raise error

    return check


@pytest.mark.parametrize(
    ("said", "verdict", "message"),
    [
        (True, Verdict.PASS, ""),
        (False, Verdict.FAIL, "check says no"),
        ("", Verdict.PASS, ""),
        ("too short", Verdict.FAIL, "too short"),
        (1, Verdict.PASS, ""),
        (0.5, Verdict.FAIL, "score 0.5; at least 1 is asked for"),
        (float("inf"), Verdict.PASS, ""),
    ],
)
async def test_what_it_says_is_the_verdict(said: Any, verdict: Verdict, message: str) -> None:
    seen = await said_by(Check(lambda candidate: said))
    (case,) = seen.evidence.cases
    assert (seen.verdict, case.message, seen.origin) == (verdict, message, Origin.VERIFIER)


async def test_it_sees_the_candidate_and_the_task_where_it_asks_for_it() -> None:
    def same(candidate: Candidate, task: Task) -> bool:
        return (candidate.text, task.prompt) == ("7", "A number.")

    async def later(candidate: Candidate) -> str:
        await asyncio.sleep(0)
        return f"{candidate.text} is odd"

    class Rule:
        def __call__(self, candidate: Candidate) -> bool:
            return candidate.text == "7"

    assert (await said_by(Check(same))).evidence.cases[0].id == "same"
    assert (await said_by(Check(later))).evidence.detail == "7 is odd"
    assert (await said_by(Check(Rule()))).verdict is Verdict.PASS


async def test_a_score_passes_from_where_the_user_says() -> None:
    check = Check(lambda candidate: float(candidate.text), at_least=6.5, name="size")
    assert [(await said_by(check, text)).verdict for text in ("6", "6.5")] == [Verdict.FAIL, Verdict.PASS]
    assert (await said_by(check, "9")).evidence.detail == "score 9; at least 6.5 is asked for"


async def test_only_the_exceptions_that_are_named_are_a_fail() -> None:
    check = Check(lambda candidate: json.loads(candidate.text), fails_on=ValueError, name="parses")
    assert (await said_by(check, "[1]")).verdict is Verdict.PASS
    assert (await said_by(check, "null")).verdict is Verdict.PASS  # not raising is enough
    seen = await said_by(check, "{")
    assert seen.verdict is Verdict.FAIL and "Expecting property name" in seen.evidence.cases[0].message
    assert (await said_by(Check(raises(KeyError()), fails_on=(KeyError, ValueError)))).evidence.detail == "KeyError"
    with pytest.raises(TypeError, match="mine"):
        await said_by(Check(raises(TypeError("mine")), fails_on=ValueError))


@pytest.mark.parametrize("said", [None, float("nan"), b"bytes", ["list"], object()])
async def test_what_is_no_verdict_is_refused_and_says_what_would_be_one(said: Any) -> None:
    with pytest.raises(ToolError, match="True or False, a number, what is wrong in words"):
        await said_by(Check(lambda candidate: said))


async def test_with_fails_on_a_false_is_a_fail_all_the_same() -> None:
    assert (await said_by(Check(lambda candidate: False, fails_on=ValueError))).verdict is Verdict.FAIL


async def test_a_whole_observation_is_taken_as_it_is() -> None:
    whole = Observation(verdict=Verdict.FAIL, origin=Origin.EXECUTION)
    assert await said_by(Check(lambda candidate: whole)) is whole


async def test_an_answer_key_tells_the_actor_nothing() -> None:
    told: list[str] = []

    def guess(context: Any) -> str:
        told.append(str(context.failing and context.failing.signal.oracle))
        return str(len(told))

    app = FeedbackGraph.loop(guess, Check(lambda candidate: candidate.text == "2", oracle=True)).compile()
    result = await app.arun(TASK)
    assert (result.verdict, result.oracle, told) == (Verdict.PASS, True, ["None", "True"])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Check("no function"), "str, which can't be called"),  # pyright: ignore[reportArgumentType, reportCallIssue]
        (lambda: Check(lambda: True), "can't call"),  # pyright: ignore[reportArgumentType, reportCallIssue]
        (lambda: Check(lambda a, b, c: True), "can't call"),  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownLambdaType]
        (lambda: Check(bool, fails_on="ValueError"), "fails_on names 'ValueError'"),  # pyright: ignore[reportArgumentType, reportCallIssue]
        (lambda: Check(bool, fails_on=KeyboardInterrupt), "fails_on names"),  # pyright: ignore[reportArgumentType, reportCallIssue]
    ],
)
def test_what_is_no_check_is_met_where_it_is_made(make: Callable[[], Check], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        make()


async def test_a_broken_check_ends_the_episode_and_is_no_verdict() -> None:
    app = FeedbackGraph.loop(lambda context: "x", raises(RuntimeError("my own bug"))).compile()
    with pytest.raises(RuntimeError, match="my own bug"):
        await app.arun(TASK)
    result = await app.arun(TASK, on_error="end")
    assert (result.verdict, result.stop_reason) == (Verdict.NONE, StopReason.INTERNAL_ERROR)
