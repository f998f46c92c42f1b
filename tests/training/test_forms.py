"""Rows of every form, from real runs."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest
from guessing import Check
from hypothesis import given
from hypothesis import strategies as st
from made_rows import made
from recorded_runs import Certain, ledger_at, question, read, repairing, run, saying, trajectories
from wide import model
from worlds import Porch

from groundwire import Origin, Task, Tree
from groundwire.agents import LLMActor, LLMCritic
from groundwire.agents.worlds import ReActActor
from groundwire.agents.worlds._acting import StepsCritic
from groundwire.core._environments import environment_task
from groundwire.core._errors import ConfigError
from groundwire.core._models import Completion, Request
from groundwire.core._records import ModelCall
from groundwire.core._steps import StepRules
from groundwire.graphs.library._code_repair import code_repair
from groundwire.graphs.library._episodic import episodic
from groundwire.graphs.library._verified_steps import verified_steps
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests
from groundwire.training import Trajectory, Turn
from groundwire.training._catalogue import form_names
from groundwire.training._grouping import PairRow
from groundwire.training.forms._grpo import GrpoRow, switched_rewards
from groundwire.training.forms._kto import KtoRow
from groundwire.training.forms._prm import PrmRow
from groundwire.training.forms._rlvr import RlvrRow
from groundwire.training.forms._sft import SftRow
from groundwire.training.forms._trajectory import TrajectoryRow
from groundwire.training.methods._score_steps import ScoreStepRow, step_offsets
from groundwire.training.methods._two_attempts import TwoAttemptsRow, shaped_reward


async def test_every_form_of_one_episode_that_failed_and_passed(tmp_path: Path) -> None:
    answers = [saying("41", "six sevens"), saying("42")]
    told = await trajectories(tmp_path, repairing(answers, name="m-1"), question())
    first, second = told[0].attempts
    assert {"sft", "dpo", "kto", "prm", "grpo", "rlvr", "trajectory"} <= set(form_names())

    (row,), reasons = made("sft", told, SftRow)
    assert row.completion[0].content == answers[1] and row.loss_mask == (False, False, True) and row.trial == 2
    assert reasons == ["failed"]
    assert row.provenance.signals == second.rewarded_by and row.provenance.model_revision == "m-1"
    assert "completion[0]" in row.provenance.not_evidence
    assert {part.origin.value for part in row.provenance.origins} == {"human", "env", "model"}
    both, _ = made("sft", told, SftRow, keep_failed=True)
    assert [r.reward for r in both] == [0.0, 1.0]
    thought = next(p for p in both[0].provenance.origins if p.what == "reasoning")
    assert both[0].completion[0].content[thought.start : thought.end] == "<think>six sevens</think>"

    labels, _ = made("kto", told, KtoRow)
    assert [(r.label, r.provenance.candidates) for r in labels] == [(False, (first.digest,)), (True, (second.digest,))]
    (pair,), _ = made("dpo", told, PairRow)
    assert (pair.chosen[0].content, pair.rejected[0].content, pair.same_prompt) == (answers[1], answers[0], False)
    assert pair.prompt == both[0].prompt and 0.5 < pair.similarity < 1.0
    (steps,), _ = made("prm", told, PrmRow)
    assert (steps.completions, steps.labels, steps.first_error) == (tuple(answers), (False, True), 0)
    assert steps.unit == "attempt" and "How much is 6 times 7?" in steps.prompt
    (asked,), _ = made("rlvr", told, RlvrRow)
    assert (asked.n, asked.correct_ratio, asked.issuers, asked.verified_by) == (1, 0.0, ("test",), (Origin.VERIFIER,))
    assert "41" not in asked.model_dump_json(include={"prompt"})
    (whole,), _ = made("trajectory", told, TrajectoryRow)
    again = Trajectory.model_validate_json(whole.trajectory.model_dump_json(exclude_computed_fields=True))
    assert again.model_dump() == told[0].model_dump()

    pieces, _ = made("score_steps", told, ScoreStepRow)
    for text, outcome in zip(answers, (0.0, 1.0), strict=True):
        mine = [p for p in pieces if p.outcome == outcome]
        assert "".join(p.step for p in mine) == text and len(mine) == mine[0].steps > 1
        assert all(text[p.start : p.end] == p.step for p in mine)


async def test_pairs_whose_first_answer_was_right_are_there_where_something_else_asked_for_more(
    tmp_path: Path,
) -> None:
    """r1 = 1: tests of a model refused what executed checks had passed, and the second try spoiled it."""
    answers = iter([saying("42"), saying("41"), saying("42 and 43")])
    scripted = model(lambda _, purpose: "Hm." if purpose == "reflect" else next(answers), "m")
    graph = code_repair(
        LLMActor(scripted, answer="whole"),
        LLMCritic(scripted),
        Check(("42",), Origin.TESTS),
        HiddenTests(),
        baseline=False,
        own_tests=Check(("43",), Origin.MODEL_TESTS),
    )
    told = await trajectories(tmp_path, graph, trials=2)
    (row,), _ = made("two_attempts", told, TwoAttemptsRow)
    assert (row.reward_first, row.reward_second) == (1.0, 0.0)


async def test_equal_texts_are_no_pair_and_none_is_under_both_labels(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, repairing([saying("41"), saying("42")]))
    first, second = told[0].trials

    def saying_as(turn: Turn) -> list[Trajectory]:
        """The same, but the second answer has the first one's text: the loop never judges one twice, a log may."""
        same = second.turns[0].model_copy(update={"answer": f"{turn.answer}\n", "prompt_digest": turn.prompt_digest})
        again = second.model_copy(update={"turns": (same, *second.turns[1:])})
        return [told[0].model_copy(update={"trials": (first, again)})]

    assert len(made("two_attempts", told, TwoAttemptsRow)[0]) == len(made("dpo", told, PairRow)[0]) == 1
    assert made("two_attempts", saying_as(first.turns[0]), TwoAttemptsRow) == ([], ["same_answer_again"])
    assert made("dpo", saying_as(first.turns[0]), PairRow) == ([], ["right_and_wrong"] * 2)
    assert made("kto", saying_as(first.turns[0]), KtoRow) == ([], ["right_and_wrong"] * 2)
    other = first.turns[0].model_copy(update={"answer": first.turns[0].answer.upper()})
    assert len(made("dpo", saying_as(other), PairRow)[0]) == 1, "a capital may be the whole repair"


async def test_twenty_two_attempt_runs_for_score(tmp_path: Path) -> None:
    check = Check(("42",))
    answers = [text for n in range(20) for text in (saying(f"{n}"), saying("42"))]
    told = await trajectories(
        tmp_path, repairing(answers, name="own", check=check), *map(question, map(str, range(20)))
    )
    rows, reasons = made("two_attempts", told, TwoAttemptsRow, target="own")
    assert len(rows) == 20 and not reasons
    signals = {signal.id: signal for trajectory in told for signal in trajectory.signals}
    for row in rows:
        assert (row.reward_first, row.reward_second, row.model_rev, row.provenance.off_policy) == (
            0.0,
            1.0,
            "own",
            False,
        )
        assert [signals[s].verdict for s in row.provenance.signals] == ["fail", "pass"]
        assert all(signals[s].executed for s in row.provenance.signals)
        assert "<reflection>\nCarry the four." in row.instruction[-1].content
        assert "<reflection>" not in row.prompt[-1].content
    assert shaped_reward(0.0, 1.0, 5.0) == 6.0 and shaped_reward(1.0, 0.0, 5.0) == -5.0
    (tmp_path / "later").mkdir()
    backend = Upgraded([saying("41"), "Think.", saying("42")])
    none, why = made(
        "two_attempts", await trajectories(tmp_path / "later", repairing([], backend=backend)), TwoAttemptsRow
    )
    assert (none, why) == ([], ["different_revisions"])


class Upgraded(Certain):
    """A server that is upgraded after the first answer."""

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        completion = await super().complete(request)
        return completion.model_copy(update={"model": f"rev-{min(len(self.requests), 2)}"})


async def test_groups_with_lengths_and_the_entropies_of_every_token(tmp_path: Path) -> None:
    answers = [saying("42"), saying("42", "long " * 20), saying("41"), saying("42", "ah"), saying("40"), saying("7")]
    async with aclosing(ledger_at(tmp_path)) as store:
        graph = repairing([], backend=Certain(answers), samples=2)
        record = await run(store, graph, question(), question(), question("other", "What is 42?"), trials=1)
        told = await read(tmp_path, record)
        calls = [r for t in told for r in await store.records(t.episode) if isinstance(r, ModelCall)]
    rows, _ = made("grpo", told, GrpoRow)
    stored = [top for call in calls for top in Completion.model_validate_json(call.completion).top_logprobs or ()]
    assert len(stored) == len(rows) == 6, "two answers that say the same are two, though they make one candidate"
    by_text = {row.completion[0].content: row for row in rows}
    for text, top in zip(answers, stored, strict=True):
        row = by_text[text]
        likely = np.exp(np.asarray(top))
        rest = 1 - likely.sum(axis=1)
        again = -(likely * np.log(likely)).sum(axis=1) - rest * np.log(rest)
        assert np.allclose(row.token_entropies or (), again, atol=1e-3) and len(again) == row.length
        assert row.step_entropy == pytest.approx(again.mean(), abs=1e-3)
    first = [row for row in rows if row.provenance.task == "sum"]
    assert len({row.group for row in first}) == 1 and {row.n for row in first} == {len(first)}
    assert {row.correct_ratio for row in first} == {sum(r.reward for r in first) / len(first)}
    assert all(row.lengths == tuple(r.length for r in first) and row.length_unit == "tokens" for row in first)


def test_length_has_a_price_only_where_most_are_right() -> None:
    few = switched_rewards([1, 0, 0, 0], [9, 1, 2, 3])
    assert few == (1, 0, 0, 0), "below the ratio: plain rewards"
    short, long, wrong = switched_rewards([1, 1, 0], [10, 30, 5], ratio=0.5, alpha=0.4)
    assert 1 > short > 0.8 > long > 0.6 and wrong == 0
    assert short + long == pytest.approx(1.6), "the price is even around the mean"
    with pytest.raises(ConfigError):
        switched_rewards([1], [1, 2])


async def test_a_world_step_by_step(tmp_path: Path) -> None:
    says = ["Action: look", "Action: kick door", "Action: lift mat", "Action: unlock door"]
    graph = episodic(ReActActor(ScriptedBackend(says)), StepsCritic(), Porch)
    told = await trajectories(tmp_path, graph, environment_task(Porch(), id="porch"))
    rows, _ = made("prm", told, PrmRow)
    assert [(r.unit, r.completions, r.labels, r.first_error) for r in rows] == [
        ("action", (says[0], f"You see a door and a mat.\n{says[1]}"), (-100, 0), 1),
        ("action", (says[2], f"You find a key.\n{says[3]}"), (-100, 1), None),
    ]
    assert [r.basis for r in rows] == [("accepted", "verdict")] * 2
    labels, _ = made("kto", told, KtoRow)
    assert [r.label for r in labels] == [False, False, True, True], "a step is judged by what became of its trial"
    last = labels[-1].provenance.origins
    assert {("env", "step"), ("model", "action"), ("model", "lesson")} <= {(p.origin.value, p.what) for p in last}
    assert [s.stdout.splitlines()[0] for s in told[0].signals][2] == "You find a key."


async def test_the_lines_that_a_step_checker_went_through(tmp_path: Path) -> None:
    rules = StepRules(check=lambda steps: "a lie" if "lie" in steps[-1] else "")
    task = Task(id="proof", prompt="Prove it.", tree=Tree({"answer.md": b""}), editable=("answer.md",))
    graph = verified_steps(ScriptedBackend(["one\nlie\nthree\n", "two\nthree\n"]), rules)
    told = await trajectories(tmp_path, graph, task)
    rows, _ = made("prm", told, PrmRow)
    assert [(r.unit, r.completions, r.labels) for r in rows] == [
        ("line", ("one\n", "lie\n"), (-100, 0)),
        ("line", ("one\n", "two\n", "three\n"), (1, 1, 1)),
    ]


async def test_pairs_that_keep_their_gap(tmp_path: Path) -> None:
    async with aclosing(ledger_at(tmp_path)) as store:
        old = await run(store, repairing([saying("41"), saying("42")], name="m0"), question(), question(), trials=1)
        new = await run(
            store, repairing([saying("42", "so"), saying("7")], name="m1"), question(), question(), trials=1
        )
    told = await read(tmp_path, old, new)
    (row,), reasons = made("anchored_pairs", told, PairRow)
    assert (row.rejected_model, row.chosen_model, row.same_prompt) == ("m0", "m1", True)
    assert (row.rejected[0].content, row.chosen[0].content) == (saying("41"), saying("42", "so"))
    assert 0.5 < row.similarity < 1.0 and not reasons
    ordinary, _ = made("dpo", told, PairRow)
    assert [(r.chosen_model, r.rejected_model) for r in ordinary] == [("m0", "m0"), ("m1", "m1")]


@given(st.text(alphabet=" \tab\n", max_size=60))
def test_steps_together_are_the_text(text: str) -> None:
    assert "".join(text[start:end] for start, end in step_offsets(text)) == text
