"""The filters of `groundwire export`, by their flags."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from cli import groundwire
from recorded_runs import ledger_at, question, repairing, run, saying

from groundwire.cli._export import AskedFilters, ExportRequest, run_export
from groundwire.core._errors import ConfigError

ROUNDS = ("41 42", "5 6"), ("40 42", "6 6"), ("40 40", "6 6")
"""Two questions with two samples each: more and more agree, and fewer are right."""


async def recorded(folder: Path, rounds: Sequence[Sequence[str]] = ROUNDS) -> list[str]:
    """One run a round."""
    found: list[str] = []
    async with aclosing(ledger_at(folder)) as store:
        for number, groups in enumerate(rounds):
            answers = [saying(text, f"thought {number} of {text}") for group in groups for text in group.split()]
            graph = repairing(answers, name=f"round-{number}", samples=2)
            tasks = [question(name) for name, _ in zip("abc", groups, strict=False)]
            found.append((await run(store, graph, *tasks, trials=1)).id)
    return found


def exported(folder: Path, runs: list[str], **options: Any) -> int:
    name, out = options.pop("form", "grpo"), folder / options.pop("out", "rows.jsonl")
    asked = ExportRequest(
        runs=runs, form=name, out=out, as_json=True, filters=AskedFilters(**options), target_model="x"
    )
    return run_export(asked, {"db": f"sqlite:///{folder / 'ledger.db'}"})


def test_every_filter_has_its_flag_and_its_line_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = asyncio.run(recorded(tmp_path))
    db, out = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "rows.jsonl"
    done = groundwire(
        *("export", *runs, "--format", "grpo", "--out", out, "--db", db),
        *("--min-agreement", "1", "--min-answers", "2", "--rounds"),
    )
    assert done.code == 0, done.err
    assert "answers_disagree" in done.err and "consistency ≠ verification" in done.err
    for line in ("round 1  4 answers  right 0.25  kept 0.00", "round 3  4 answers  right 0.00  kept 1.00"):
        assert line in done.err
    assert "disagree 0.50  distinct 4  entropy 0.69" in done.err

    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"tasks": ["a", "b"]}\n')
    assert exported(tmp_path, runs, same_answer=pairs, out="none.parquet") == 1
    assert not list(tmp_path.glob("*none*")), "nothing half-written is left, and nobody complains"
    assert json.loads(capsys.readouterr().out)["rejected"] == {"same_answer_expected": 12}
    assert exported(tmp_path, runs, near_duplicates=0.5) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] + told["rejected"]["near_duplicate"] == 12 and told["rejected"]["near_duplicate"] >= 3
    assert told["rows"] >= 4

    turns = [json.loads(line)["provenance"]["turns"][0] for line in out.read_text().splitlines()]
    losses = tmp_path / "losses.jsonl"
    losses.write_text("".join(f'{{"turn": "{t}", "answer_given_prompt": {n + 0.5}}}\n' for n, t in enumerate(turns)))
    assert exported(tmp_path, runs, losses=losses, max_ppl=5.0) == 0
    rejected = json.loads(capsys.readouterr().out)["rejected"]
    assert rejected == {"perplexity_too_high": len(turns) - 2, "perplexity_unknown": 12 - len(turns)}
    assert exported(tmp_path, runs, form="student_traces", losses=losses) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["ppl_from"] for row in rows].count("losses") == len(turns) < len(rows)
    capsys.readouterr()

    before = out.read_text()
    for wrong in ({"max_ppl": 5.0}, {"min_agreement": 2.0}, {"near_duplicates": 0.1}):
        with pytest.raises(ConfigError):
            exported(tmp_path, runs, **wrong)
    with pytest.raises(ConfigError, match="at least two runs"):
        exported(tmp_path, runs[:1], rounds=True)
    assert out.read_text() == before


def test_an_avalanche_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    falling = ("42 42", "7 42", "7 8"), ("42 42", "7 7", "7 8"), ("7 7", "7 7", "8 8")
    runs = asyncio.run(recorded(tmp_path, falling))
    assert exported(tmp_path, runs, rounds=True, min_agreement=1.0, min_answers=2) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(round(one["accuracy"], 2), round(one["acceptance"], 2)) for one in told["rounds"]] == [
        (0.5, 0.33),
        (0.33, 0.67),
        (0.0, 1.0),
    ]
    assert told["alarm"] == 3 and any("error avalanche: by round 3" in warning for warning in told["warnings"])
    assert exported(tmp_path, runs, rounds=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert {one["acceptance"] for one in told["rounds"]} == {1.0}
    assert told["alarm"] == 3, "what lets all through from the start has no room to let more through"
