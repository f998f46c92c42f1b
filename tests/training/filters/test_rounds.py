"""Rounds of self-training side by side, from real runs of each round."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
from recorded_runs import Certain, gone_through, ledger_at, question, repairing, run, saying

from groundwire.core._records import RunRecord
from groundwire.evaluation._drift import avalanche
from groundwire.training._exporting import Report, Rules, export
from groundwire.training._writing import opened
from groundwire.training.filters._agreement import Agreement
from groundwire.training.filters._rounds import Round, Rounds, answer_entropy
from groundwire.training.forms import _grpo as grpo


async def recorded(folder: Path, rounds: Sequence[str]) -> list[RunRecord]:
    """One run a round; each word is what one question's samples say: `a` is right."""
    records: list[RunRecord] = []
    async with aclosing(ledger_at(folder)) as store:
        for number, said in enumerate(rounds):
            groups = said.split()
            texts = [saying({"a": "42"}.get(letter, f"{ord(letter)} is wrong")) for letter in "".join(groups)]
            graph = repairing([], backend=Certain(texts, model=f"round-{number}"), samples=len(groups[0]))
            tasks = [question(f"q{at}") for at in range(len(groups))]
            records.append(await run(store, graph, *tasks, trials=1))
    return records


def compared(folder: Path, records: Sequence[RunRecord]) -> tuple[Sequence[Round], Report]:
    told = gone_through(folder, *records)
    rounds = Rounds(told, [record.id for record in records])
    with opened(folder / "rows.jsonl", grpo.FORM) as sink:
        report = export(grpo.FORM, told, sink, rules=Rules(filters=(Agreement.of(told, 1.0, 2), rounds)))
    return rounds.told(), report


def alarm(told: Sequence[Round]) -> int | None:
    return avalanche([one.accuracy for one in told], [one.acceptance for one in told])


def test_fewer_are_right_and_more_are_kept_until_the_alarm(tmp_path: Path) -> None:
    folder = tmp_path / "falling"
    folder.mkdir()
    records = asyncio.run(recorded(folder, ["aa ca bc", "aa bb bc", "bb bb cc", "bb bb cc", "bb bb cc"]))
    told, report = compared(folder, records)
    assert [one.run for one in told] == [record.id for record in records]
    assert [one.answers for one in told] == [6] * 5
    assert [one.accuracy for one in told] == pytest.approx([3 / 6, 2 / 6, 0, 0, 0])
    assert [one.acceptance for one in told] == pytest.approx([2 / 6, 4 / 6, 1, 1, 1])
    assert [one.disagreement for one in told] == pytest.approx([2 / 6, 1 / 6, 0, 0, 0])
    assert avalanche([one.accuracy for one in told], [one.acceptance for one in told]) == 3
    assert report.rejected == {"answers_disagree": 6} and report.rows == 24, "counting refuses nothing"


def test_sameness_and_scatter_show_by_round(tmp_path: Path) -> None:
    told, _ = compared(tmp_path, asyncio.run(recorded(tmp_path, ["bcde bcde", "bbcd bbcd", "bbcc bbbb", "bbbb bbbb"])))
    assert [one.distinct for one in told] == [8, 6, 3, 2]
    assert [one.entropy for one in told] == pytest.approx(
        [math.log(4), 1.5 * math.log(2), math.log(2) / 2, 0.0], abs=1e-9
    )
    likely = [math.exp(value) for value in Certain.top]
    token = -sum(p * math.log(p) for p in [*likely, 1 - sum(likely)])
    assert [one.token_entropy for one in told] == pytest.approx([token] * 4)
    assert avalanche([one.accuracy for one in told], [one.acceptance for one in told]) is None, "a flat series"
    assert answer_entropy(Counter("aabb")) == pytest.approx(math.log(2))
