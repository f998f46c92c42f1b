"""parallel_refine: PDR and GSR, by the prompts that were sent (methods rows 2 and 91)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from guessing import Check
from sample_numbers import sample_of, trial_of
from wide import model, prompts, purposes, ran

from groundwire import StopReason, Task, Tree
from groundwire.agents.width._answers import FunctionBody, TextAnswer
from groundwire.agents.width._parallel_refine import NEW, SYNTHESIS, VOTE, ParallelRefine
from groundwire.core._errors import ConfigError
from groundwire.core._models import Request
from groundwire.core._prompt_text import CHARS_PER_TOKEN
from groundwire.graphs.library._parallel_refine import parallel_refine
from groundwire.models._scripted import count_tokens
from groundwire.tools import Doctest

TEXT = TextAnswer()
MARKER = "MARKER-7f3"
GSR: dict[str, Any] = {"rounds": (5, 1), "workspace": "candidates"}


def number(request: Request) -> int:
    """Which sample of its stage it is."""
    return sample_of(request)


async def test_pdr_distils_into_a_bounded_workspace_that_is_made_anew_each_round() -> None:
    """Row 2: 13 drafts; round 3 sees the task and κ tokens, whatever round 1 wrote; what was left out stays out."""
    tokens = 300

    def says(request: Request, purpose: str) -> str:
        if purpose == "summarise":
            return f"Summary {request.purpose}. " + "more & more " * 5000
        return f"{MARKER} " * 3000 + f"\nANSWER: {42 if request.purpose == 'propose.4' else number(request)}"

    backend, check = model(says), Check(["42"])
    actor = ParallelRefine(backend, TEXT, rounds=(8, 4, 1), workspace_tokens=tokens)
    got = await ran(parallel_refine(actor, check), check)
    assert purposes(backend) == ["propose.0"] * 8 + ["summarise.1"] + ["propose.2"] * 4 + ["summarise.3", "propose.4"]
    (first, *_), (last,) = prompts(backend, "propose.0"), prompts(backend, "propose.4")
    added = len(last) - len(first)
    template = (
        len("This is a workspace that was made of earlier attempts at the task. It may hold what is wrong.") + 120
    )
    assert added <= tokens * CHARS_PER_TOKEN + template
    assert MARKER not in last and "Summary summarise.3." in last and "Summary summarise.1." not in last
    assert got.result.stop_reason is StopReason.VERIFIED
    longest = max(r.max_tokens for r in backend.requests if r.purpose.startswith("summarise"))
    assert longest == tokens
    waited_for_others = (7 + 3) * count_tokens(f"{MARKER} " * 3000 + "\nANSWER: 0")
    assert got.result.completion_tokens - got.result.critical_tokens == waited_for_others


async def test_agreement_is_measured_over_all_drafts_those_without_an_answer_among_them() -> None:
    """Two of eight that agree are no 90 %: the others may have been refusals."""

    def says(request: Request, purpose: str) -> str:
        return "ANSWER: 42" if request.purpose != "propose.0" or number(request) < 2 else "I can't tell."

    backend, check = model(says), Check(["42"])
    got = await ran(parallel_refine(ParallelRefine(backend, TEXT, rounds=(8, 1)), check), check)
    assert "propose.2" in purposes(backend) and got.candidates[0].edits == (SYNTHESIS,)


async def test_gsr_shows_shuffled_final_parts_with_the_sentence_of_doubt_and_may_say_what_no_draft_said() -> None:
    """Row 91: no thinking, an order of its own for each seed, right with none right."""

    seed = 0

    def says(request: Request, purpose: str) -> str:
        if request.purpose == "propose.0":
            of_sample = sample_of(request, seed)
            return f"<think>SECRET</think>Draft {of_sample} < 9.\nANSWER: {of_sample}"
        return "SECRET</think>None of them holds.\nANSWER: 42"

    orders: set[str] = set()
    for seed in (1, 2, 3):
        backend, check = model(says), Check(["42"])
        got = await ran(parallel_refine(ParallelRefine(backend, TEXT, **GSR), check), check, seed=seed)
        (prompt,) = prompts(backend, "propose.2")
        assert "SECRET" not in prompt
        assert "Any of them may be wrong, and all of them may be wrong." in prompt
        shown = re.findall(r"Draft (\d) &lt; 9", prompt)
        assert sorted(shown) == [str(sample) for sample in range(5)]
        orders.add("".join(shown))
        assert (got.result.stop_reason, got.candidates[0].edits) == (StopReason.VERIFIED, (NEW,))
    assert len(orders) > 1


async def test_a_synthesis_that_fails_is_followed_by_the_vote_and_by_what_the_check_said() -> None:
    answers = iter(["7", "7", "8", "9", "8"])

    def says(request: Request, purpose: str) -> str:
        if request.purpose == "propose.0":
            return f"ANSWER: {next(answers) if trial_of(request) == 1 else number(request)}"
        return "ANSWER: 9"

    backend, check = model(says), Check(["right"])
    got = await ran(parallel_refine(ParallelRefine(backend, TEXT, **GSR), check, width=3), check, trials=2)
    assert got.judged[:3] == ["9\n", "7\n", "8\n"]
    assert [record.edits for record in got.candidates[:3]] == [(SYNTHESIS,), (VOTE,), (VOTE,)]
    assert got.candidates[1].note == "vote: 40% of 5 answers, 3 different, a tie: the first seen"
    second = prompts(backend, "propose.0")[5]
    assert "<attempt" in second and 'id="right" result="failed"' in second


async def test_where_nearly_every_draft_is_right_the_vote_is_taken_and_nothing_is_written() -> None:
    sure, check = model(lambda _request, _: "ANSWER: 42"), Check(["42"])
    got = await ran(parallel_refine(ParallelRefine(sure, TEXT, **GSR), check), check)
    assert purposes(sure) == ["propose.0"] * 5
    assert got.candidates[0].edits == (VOTE,)
    known, check = model(lambda request, _: f"ANSWER: {number(request)}"), Check(["0"])
    await ran(parallel_refine(ParallelRefine(known, TEXT, pass_at_1=0.95, **GSR), check), check)
    assert len(known.requests) == 5


@pytest.mark.parametrize("workspace", ["top_k", "sample_top_k", "random_k"])
async def test_workspaces_of_drafts_hold_k_of_them(workspace: Any) -> None:
    said = ["1", "2", "2", "3", "3", "3"]
    backend, check = model(lambda r, _: f"ANSWER: {said[number(r) % 6]}"), Check(["3"])
    actor = ParallelRefine(backend, TEXT, rounds=(6, 3, 1), workspace=workspace, keep=3)
    await ran(parallel_refine(actor, check), check)
    shown = [
        re.findall(r"ANSWER: (\d)", prompt.partition("wrong.\n\n<candidate")[2])
        for prompt in prompts(backend, "propose.2")
    ]
    assert [len(one) for one in shown] == [3, 3, 3]
    if workspace == "top_k":
        assert shown == [["3", "3", "3"]] * 3


async def test_a_function_is_drafted_and_rewritten_by_a_model_whose_answer_is_begun() -> None:
    """The real doctest tool judges; drafts without a body are left out; the last one gone wrong is the vote's."""
    doc = ">>> double(2)\n    4\n    >>> double(3)\n    6\n"
    code = f'def double(n):\n    """Return twice.\n\n    {doc}    """\n    pass\n'
    task = Task(id="double", tree=Tree({"m.py": code.encode()}), command=("python", "-m", "doctest", "m.py"))
    bodies = ["\n    return n + 2  # a\n", "\n    return  n + 2\n", "nothing", "\n    return n * 2\n"]
    backend = model(
        lambda r, _: bodies[number(r)] if r.purpose == "propose.0" else "\n    return n * 2\n", continues=True
    )
    actor = ParallelRefine(backend, FunctionBody(), rounds=(4, 1), workspace="candidates", max_tokens=64)
    result = await parallel_refine(actor, Doctest()).compile().arun(task)
    assert result.stop_reason is StopReason.VERIFIED and "+    return n * 2" in result.patch
    (prompt,) = prompts(backend, "propose.2")
    assert prompt.endswith("```python\ndef double(n):") and "return n + 2" in prompt
    assert {request.stop for request in backend.requests} != {()}


def test_what_can_not_be_gone_through_is_refused() -> None:
    backend = model(lambda _request, _: "")
    refused: list[dict[str, Any]] = [{"rounds": (1,)}, {"rounds": (0, 1)}, {"workspace_tokens": 10}]
    refused.append(GSR | {"rounds": (11, 1)})
    for options in refused:
        with pytest.raises(ConfigError):
            ParallelRefine(backend, TEXT, **options)
