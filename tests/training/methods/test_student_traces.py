"""Failures stay, with what the student thinks of them; of two right answers the one that suits it is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import pytest
from made_rows import made
from recorded_runs import Certain, ledger_at, question, read, repairing, run, saying, trajectories

from groundwire.core._errors import ConfigError
from groundwire.training._exporting import Rules, export
from groundwire.training._losses import Losses
from groundwire.training._schema import Options
from groundwire.training._writing import opened
from groundwire.training.filters._texts import Perplexity
from groundwire.training.methods import _student_traces as student_traces
from groundwire.training.methods._selective_rewrites import SelectiveRewriteRow, better
from groundwire.training.methods._student_traces import StudentTraceRow


async def test_failed_runs_are_kept_with_their_perplexity_by_which_they_can_be_filtered(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, repairing([saying("41"), saying("42")], name="teacher"))
    rows, _ = made("student_traces", told, StudentTraceRow)
    assert [(row.reward, row.ppl_under_target, row.ppl_from) for row in rows] == [(0, None, None), (1, None, None)]
    wrong, right = (row.provenance.turns[0] for row in rows)
    losses = {wrong: Losses(turn=wrong, answer_given_prompt=0.5), right: Losses(turn=right, logprobs=(-2.0, -4.0))}
    rows, _ = made("student_traces", told, StudentTraceRow, losses=losses)
    assert [row.ppl_under_target for row in rows] == pytest.approx([1.6487, 20.0855], abs=1e-4)
    assert {row.ppl_from for row in rows} == {"losses"}
    file = tmp_path / "rows.jsonl"
    for most, kept, rejected in (
        (10.0, [wrong], {"perplexity_too_high": 1}),
        (30.0, [wrong, right], {}),
    ):
        with opened(file, student_traces.FORM) as sink:
            rules = Rules(filters=(Perplexity(most, losses),))
            report = export(student_traces.FORM, told, sink, options=Options(losses=losses), rules=rules)
        assert report.rejected == rejected
        assert [json.loads(line)["provenance"]["turns"][0] for line in file.read_text().splitlines()] == kept
    with opened(file, student_traces.FORM) as sink:
        rules = Rules(filters=(Perplexity(10.0, {wrong: losses[wrong]}),))
        assert export(student_traces.FORM, told, sink, rules=rules).rejected == {"perplexity_unknown": 1}
    for most, known in ((1.0, losses), (float("inf"), losses), (5.0, {})):
        with pytest.raises(ConfigError):
            Perplexity(most, known)


async def test_what_the_target_wrote_itself_has_its_perplexity_already(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, repairing([], backend=Certain([saying("42")], model="own")))
    (row,), _ = made("student_traces", told, StudentTraceRow, target="own")
    assert row.ppl_under_target == pytest.approx(1 / 0.9) and row.ppl_from == "stored"
    (row,), _ = made("student_traces", told, StudentTraceRow, target="another")
    assert row.ppl_under_target is None and row.provenance.off_policy


def given(turn: str, ifd: float, reversed_ifd: float | None = None) -> Losses:
    """Losses by their scores, as the logarithm has them."""
    import math

    values: dict[str, float] = {"answer_given_prompt": 2 + math.log(ifd), "answer_alone": 2}
    if reversed_ifd is not None:
        values |= {"prompt_given_answer": 2 + math.log(reversed_ifd), "prompt_alone": 2}
    return Losses(turn=turn, **values)  # pyright: ignore[reportArgumentType]  # by name


def test_the_better_score_wins() -> None:
    assert better(given("a", 0.5), given("b", 0.7), "ifd") == "rewrite"
    assert better(given("a", 0.7), given("b", 0.5), "ifd") == "original"
    assert better(given("a", 0.5), given("b", 1.7), "ifd") == "original", "the prompt is in the way of the answer"
    assert better(given("a", 1.9), given("b", 1.2), "ifd") == "rewrite", "the lesser evil"
    assert better(given("a", 0.5), given("b", 0.5), "ifd") == "original"
    assert better(given("a", 0.5, 0.9), given("b", 0.5, 0.3), "reversed_ifd") == "rewrite"
    assert better(given("a", 0.5, 0.3), given("b", 0.5, 0.9), "reversed_ifd") == "original"
    assert better(given("a", 0.5), given("b", 0.5, 0.9), "reversed_ifd") is None


async def test_the_rewrite_that_suits_the_student_is_kept_and_both_scores_are_told(tmp_path: Path) -> None:
    async with aclosing(ledger_at(tmp_path)) as store:
        first = await run(store, repairing([saying("42")], name="author"), question(), trials=1)
        rewrites = [saying("42", "at length"), saying("42", "in short"), saying("42", "unknown")]
        later = await run(store, repairing(rewrites, name="editor"), *[question()] * 3, trials=1)
        single = await run(store, repairing([saying("42")]), question("single"), trials=1)
    told = await read(tmp_path, first, later, single)
    ids = [turn.id for one in told for turn in one.turns]
    losses: Mapping[str, Losses] = {
        one.turn: one for one in (given(ids[0], 0.6, 0.5), given(ids[1], 0.9, 0.4), given(ids[2], 0.4, 0.8))
    }
    rows, reasons = made("selective_rewrites", told, SelectiveRewriteRow, losses=losses)
    assert [(row.kept, row.by) for row in rows] == [("rewrite", "reversed_ifd"), ("original", "reversed_ifd")]
    assert [row.completion[0].content for row in rows] == [rewrites[0], saying("42")]
    for row, scores in zip(rows, ((0.6, 0.9, 0.5, 0.4), (0.6, 0.4, 0.5, 0.8)), strict=True):
        both = (row.ifd_original, row.ifd_rewrite, row.reversed_ifd_original, row.reversed_ifd_rewrite)
        assert both == pytest.approx(scores)
    assert reasons == ["losses_unknown", "no_rewrite"]
