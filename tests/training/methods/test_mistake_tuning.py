"""Row 62: right and wrong answers 1:1, and a prompt about mistakes only where a check refused something."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

from guessing import Check
from method_rows import exported, made
from recorded_runs import ledger_at, question, read, repairing, run, saying, trajectories

from groundwire import Origin
from groundwire.training.methods._mistake_tuning import CORRECT, INCORRECT, MistakeRow, mistakes_in


async def test_both_domains_have_as_many_rows(tmp_path: Path) -> None:
    async with aclosing(ledger_at(tmp_path)) as store:
        runs = [
            await run(store, repairing([saying("41"), saying("40"), saying("42")])),
            await run(store, repairing([saying("42", "at once")])),
            await run(store, repairing([saying("7")]), question("other", "What is 6?"), trials=1),
        ]
    told = await read(tmp_path, *runs)
    rows, reasons = made("mistake_tuning", told, MistakeRow)
    assert [row.domain for row in rows] == [CORRECT, CORRECT, INCORRECT, INCORRECT]
    assert reasons == ["nothing_to_balance_it"], "nothing right is known of the other question"
    for row in rows:
        assert row.completion[0].content.startswith(f"{row.domain}\n")
        tag = next(part for part in row.provenance.origins if part.what == "tag")
        assert row.completion[0].content[: tag.end] == f"{row.domain}\n" and tag.origin == "human"
        assert (row.rethinking is None) == (row.domain == CORRECT) == (not row.mistakes)
    first, second = rows[2:]
    assert first.mistakes == ("42",) and len(second.mistakes) == 1, "the case that failed; the same one is named once"
    assert second.rethinking is not None
    assert second.rethinking[-2].content == saying("40") and "<evidence>\n- 42\n" in second.rethinking[-1].content
    # here the case that failed is named as the answer is: the leak check finds it wherever it was shown
    written, report = exported("mistake_tuning", told, tmp_path / "rows.jsonl", gold={"sum": ["42"]})
    assert [row["domain"] for row in written] == [CORRECT] and report.rejected["holds_the_answer"] == 3


async def test_no_prompt_where_nothing_executed_refused_it(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, repairing([saying("41"), saying("42")]))
    secret = [
        attempt.model_copy(
            update={"signals": tuple(s.model_copy(update={"origin": Origin.HIDDEN_TESTS}) for s in attempt.signals)}
        )
        for attempt in told[0].attempts
    ]
    trials = tuple(
        trial.model_copy(update={"attempts": (attempt,)})
        for trial, attempt in zip([t for t in told[0].trials if t.number], secret, strict=True)
    )
    hidden = told[0].model_copy(update={"trials": trials})
    rows, _ = made("mistake_tuning", [hidden], MistakeRow)
    assert [row.domain for row in rows] == [CORRECT, INCORRECT] and all(row.rethinking is None for row in rows)
    assert not mistakes_in([hidden]) and len(mistakes_in(told)) == 1


async def test_an_opinion_is_no_failure(tmp_path: Path) -> None:
    doubted = repairing([saying("41"), saying("42")], check=Check(("42",), origin=Origin.MODEL_TESTS))
    told = await trajectories(tmp_path, doubted)
    assert mistakes_in(told) == [] and "no_verdict" in told[0].flaws
