"""What agrees is kept, right or wrong: SECToR's filters (arXiv 2309.08589), on an adder and on real runs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from made_rows import made
from recorded_runs import question, repairing, saying, trajectories

from groundwire.core._errors import ConfigError
from groundwire.training import Trajectory
from groundwire.training._exporting import ExportRules, export
from groundwire.training._schema import Options
from groundwire.training._writing import opened
from groundwire.training.filters._agreement import Agreement, K, SameAnswer, agreed, read_same_answers
from groundwire.training.forms import _sft as sft
from groundwire.training.methods import _consistent_answers as consistent_answers
from groundwire.training.methods._consistent_answers import ConsistentAnswerRow

Adder = Callable[[int, int], str]


def slips(draw: random.Random) -> Adder:
    """An adder that gets one digit wrong, any one, in a fifth of its sums."""

    def add(a: int, b: int) -> str:
        digits = list(str(a + b))
        if draw.random() < 0.2:
            place = draw.randrange(len(digits))
            digits[place] = draw.choice([d for d in "0123456789" if d != digits[place]])
        return "".join(digits)

    return add


def forgets_the_carry(a: int, b: int) -> str:
    """An adder that always makes the same error."""
    return "".join(str((int(x) + int(y)) % 10) for x, y in zip(f"{a:06}", f"{b:06}", strict=True))


def simplified(add: Adder, a: int, b: int) -> str | None:
    """What K guesses agree on, each after one more digit has been added by itself."""
    guesses: list[str | None] = []
    for step in range(1, K + 1):
        split = 10**step
        guesses.append(str(int(add(a // split, b // split)) * split + int(add(a % split, b % split))))
    return agreed(guesses, 0.6)


def filtered(keep: Callable[[int, int], str | None], draw: random.Random) -> tuple[float, float]:
    """Share of 3000 sums that are kept, and share of these that are wrong."""
    sums = [(draw.randrange(100_000, 400_000), draw.randrange(100_000, 400_000)) for _ in range(3000)]
    kept = [(a, b, answer) for a, b in sums if (answer := keep(a, b)) is not None]
    return len(kept) / len(sums), sum(int(answer) != a + b for a, b, answer in kept) / len(kept)


def test_random_errors_are_filtered_out_and_a_bug_that_is_always_made_is_not() -> None:
    draw = random.Random(7)
    add = slips(draw)
    kept, wrong = filtered(add, draw)
    assert kept == 1.0 and 0.17 < wrong < 0.23, "without a filter"

    def guessed(a: int, b: int) -> str | None:
        return simplified(add, a, b)

    def commuted(a: int, b: int) -> str | None:
        return agreed([add(a, b), add(b, a)])

    def both(a: int, b: int) -> str | None:
        return agreed([simplified(add, a, b), simplified(add, b, a)])

    for keep in (guessed, commuted, both):
        kept, wrong = filtered(keep, draw)
        assert kept > 0.5 and wrong < 0.01

    def carries(a: int, b: int) -> str | None:
        return agreed([simplified(forgets_the_carry, a, b), simplified(forgets_the_carry, b, a)])

    kept, wrong = filtered(carries, draw)
    assert kept == 1.0 and wrong > 0.9


def test_votes() -> None:
    assert agreed(["1", "1", "2"], 0.6) == "1" and agreed(["1", "1", "2"]) is None
    assert agreed(["1", "2"], 0.5) is None, "a tie"
    assert agreed([None, None, "1"], 0.6) is None, "no answer agrees with nothing"
    assert agreed([]) is None


async def test_a_bug_passes_the_export_and_the_report_says_that_agreement_is_no_proof(tmp_path: Path) -> None:
    texts = ["42", "42", "41", "42", "42", "1", "2", "3", "4", "5", "32", "32", "32", "32", "32"]
    answers = [saying(text, "so") for text in texts]
    tasks = [question(name) for name in ("slips", "guesses", "forgets the carry")]
    told = await trajectories(tmp_path, repairing(answers, samples=5), *tasks, trials=1)
    rows, reasons = made("consistent_answers", told, ConsistentAnswerRow, origin="model")
    assert [(r.provenance.task, r.agreement, r.n, r.reward) for r in rows] == [
        ("slips", 0.8, 5, 1.0),
        ("forgets the carry", 1.0, 5, 0.0),
    ]
    assert "<think>" not in rows[0].completion[0].content and reasons == ["answers_disagree"]
    assert made("consistent_answers", told, ConsistentAnswerRow, least_answers=6, origin="model") == (
        [],
        ["too_few_answers"] * 3,
    )
    form = consistent_answers.FORM
    with opened(tmp_path / "rows.jsonl", form) as sink:
        report = export(form, told, sink, rules=ExportRules(keep_model_only=True))
        assert report.means["reward"] == 0.5 and report.origins == {"model": 2}
        assert any("consistency ≠ verification" in note for note in report.notes)
        assert export(form, told, sink).rejected["model_only"] == 2, "agreement alone vouches for nothing"


async def test_only_independent_samples_vote(tmp_path: Path) -> None:
    """An answer taken from an earlier call, or drawn again without a temperature, is the same draw once more."""
    answers = [saying(text, "so") for text in ("42", "42", "42", "42", "41")]
    (told,) = await trajectories(tmp_path, repairing(answers, samples=5), question("sum"), trials=1)
    (trial,) = told.trials

    def turned(**change: object) -> list[Trajectory]:
        turns = [turn.model_copy(update=change) if at else turn for at, turn in enumerate(trial.turns)]
        return [told.model_copy(update={"trials": (trial.model_copy(update={"turns": tuple(turns)}),)})]

    (row,), _ = made("consistent_answers", [told], ConsistentAnswerRow, origin="model")
    assert (row.agreement, row.n) == (0.8, 5)
    none, why = made("consistent_answers", turned(reused=True), ConsistentAnswerRow, origin="model")
    assert (none, why) == ([], [*["not_an_independent_sample"] * 4, "too_few_answers"])
    none, why = made("consistent_answers", turned(temperature=0.0), ConsistentAnswerRow, origin="model")
    assert (none, why) == ([], [*["not_an_independent_sample"] * 3, "too_few_answers"])


async def test_any_form_can_ask_for_agreement_and_for_tasks_with_one_answer(tmp_path: Path) -> None:
    answers = [saying(text) for text in ["42"] * 4 + ["7"] + ["42", "42", "41", "41", "40"] + ["42"] * 5]
    tasks = [question("6*7"), question("7*6"), question("alone")]
    told = await trajectories(tmp_path, repairing(answers, samples=5), *tasks, trials=1)
    most = Agreement.of(told, 0.6)
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"tasks": ["6*7", "7*6"]}\n\n')
    same = SameAnswer.of(told, read_same_answers(pairs))
    for filters, rejected in (
        ((), {}),
        ((most,), {"answers_disagree": 2}),
        ((same,), {"same_answer_expected": 6}),
        ((Agreement.of(told, 0.6, 6),), {"too_few_answers": 11}),
    ):
        with opened(tmp_path / "rows.jsonl", sft.FORM) as sink:
            report = export(sft.FORM, told, sink, options=Options(), rules=ExportRules(filters=filters))
        # behind a PASS the same batch is not judged further
        assert report.rejected == {"no_executed_verdict": 4, **rejected}, filters
        assert report.notes == [one.note for one in filters]
    kept = [json.loads(line)["provenance"]["turns"] for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert kept == []
    for least, answered in ((0.0, 5), (1.1, 5), (0.5, 1)):
        with pytest.raises(ConfigError, match="makes no sense"):
            Agreement.of(told, least, answered)
    pairs.write_text('{"tasks": ["6*7"]}\n')
    with pytest.raises(ConfigError, match=r"pairs.jsonl:1 names no tasks"):
        read_same_answers(pairs)
