"""Row 71: one planted error, and how much accuracy is left under it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest
from guessing import ANSWER, Check
from hypothesis import given
from hypothesis import strategies as st
from method_rows import exported, made
from recorded_runs import ledger_at, question, read, repairing, run, saying

from groundwire import FeedbackGraph
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Needs
from groundwire.core._errors import ConfigError
from groundwire.core._models import Message, Request
from groundwire.models import ScriptedBackend
from groundwire.training.methods._flawed_thinking import KINDS, FlawedRow, Kind, inject_error, robustness
from groundwire.training.methods._score_steps import step_offsets

TRACE = "I multiply both numbers.\n6 * 7 = 42, which is more than 40.\nSo the result is 42.\n"


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 50))
def test_exactly_one_step_is_altered(kind: Kind, seed: int) -> None:
    flawed = inject_error(TRACE, kind, seed=seed)
    before = [TRACE[a:b] for a, b in step_offsets(TRACE)]
    after = [flawed.text[a:b] for a, b in step_offsets(flawed.text)]
    assert [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [flawed.step]
    assert (flawed.before, flawed.after) == (before[flawed.step], after[flawed.step])
    assert flawed.text[flawed.start : flawed.end] == flawed.after and flawed.step < 2, "never the last one if it can be"
    assert inject_error(TRACE, kind, seed=seed) == flawed
    if kind == "calculation":
        assert flawed.step == 1 and "= 42" not in flawed.after and flawed.after.endswith("more than 40.\n")


def test_what_can_not_be_altered_is_refused() -> None:
    assert inject_error("I take 7", "calculation").after != "I take 7"
    assert inject_error("ALL of it", "reasoning").after == "SOME of it"
    with pytest.raises(ConfigError):
        inject_error("nothing here", "calculation")
    with pytest.raises(ConfigError):
        inject_error("", "reasoning")
    with pytest.raises(ConfigError):
        inject_error("1", "typo")  # pyright: ignore[reportArgumentType]  what a caller may get wrong


@dataclass
class Begun:
    """An actor whose answer is begun for it."""

    backend: ScriptedBackend
    prefill: str
    needs = Needs()

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        messages = (Message(role="user", content=context.task.prompt), Message(role="assistant", content=self.prefill))
        completion = await context.call(self.backend, Request(messages=messages, purpose="propose"))
        result = completion.texts[0].split()[-1]
        return [Candidate(context.task.tree.digest, {ANSWER: result.encode()}, edits=("begun",))]


def beginning(prefill: str, *answers: str) -> FeedbackGraph:
    graph = FeedbackGraph()
    graph.add_actor("write", Begun(ScriptedBackend(answers), prefill))
    graph.add_tool("test", Check(("42",)))
    graph.add_edge("write", "test")
    return graph


async def test_rows_of_right_answers_and_the_accuracy_of_both_arms(tmp_path: Path) -> None:
    tasks = [question("sum"), question("again"), question("alone")]
    async with aclosing(ledger_at(tmp_path)) as store:
        clean = await run(store, repairing([saying("42", TRACE)] * 2 + [saying("7", TRACE)]), *tasks, trials=1)
        rows, reasons = made("flawed_thinking", await read(tmp_path, clean), FlawedRow)
        assert [row.kind for row in rows] == [*KINDS, *KINDS] and reasons == ["failed"]
        for row in rows:
            assert row.prefill.startswith("<think>I ") and row.prefill.endswith(row.after)
            assert row.after != row.before and "</think>" not in row.prefill and row.step < row.steps == 3
        prefill = rows[0].prefill
        begun = await run(store, beginning(prefill, "so 42", "hence 41"), *tasks[:2], trials=1)
    both = await read(tmp_path, clean, begun)
    told = robustness(both)
    assert (told.tasks, told.clean, told.prefilled, told.lost, told.left_out) == (2, 1.0, 0.5, 0.5, 1)
    with pytest.raises(ConfigError):
        robustness(both[:3])
    said = both[0].trials[-1]
    program = said.turns[0].model_copy(update={"reasoning": "", "answer": "return 6 * 7 == 42\n"})
    change = said.attempts[0].changes[0].model_copy(update={"path": "sum.py", "content": program.answer})
    attempt = said.attempts[0].model_copy(update={"changes": (change,)})
    bare = said.model_copy(update={"turns": (program,), "attempts": (attempt,)})
    no_thought = both[0].model_copy(update={"trials": (bare,)})
    assert made("flawed_thinking", [no_thought], FlawedRow) == ([], ["no_thinking"])
    assert "begun_already" in made("flawed_thinking", both, FlawedRow)[1]
    written, report = exported("flawed_thinking", both[:1], tmp_path / "rows.jsonl", gold={"sum": ["40"]})
    held = sum("40" in row.prefill for row in rows[:2])
    assert held and (report.rejected["holds_the_answer"], len(written)) == (held, 2 - held), (
        "it may not hold the answer"
    )
