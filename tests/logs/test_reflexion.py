"""Reflexion's logs of programs and of written tests."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from looking_at_functions import judge_all
from published import published

from groundwire.core._errors import RecordingError
from groundwire.core._signals import Verdict
from groundwire.logs import read_reflexion, read_written_tests

HUMANEVAL: dict[str, Any] = {
    "task_id": "HumanEval/0",
    "prompt": 'def f(n):\n    """Twice n."""\n',
    "entry_point": "f",
    "canonical_solution": "    return 2 * n\n",
    "test": "def check(candidate):\n    assert candidate(3) == 6\n",
    "solution": "    return n + n\n",
    "is_solved": True,
    "reflections": ["I forgot n."],
}
MBPP = {
    **{name: HUMANEVAL[name] for name in ("prompt", "entry_point", "is_solved")},
    "name": "mbpp_7_f",
    "test": f"{HUMANEVAL['test']}\ndef test_check():\n    check(f)\n\ntest_check()\n",
    "solution": 'def f(n):\n    """Twice n."""\n    return n * n',
    "language": "py",
}
COUNTS = {
    "reflexion_humaneval/reflexion_gpt4.jsonl": (109, 101),
    "reflexion_humaneval/reflexion_ucs_gpt4_a.jsonl": (109, 102),
    "reflexion_humaneval/reflexion_ucs_gpt4_b.jsonl": (109, 101),
    "reflexion_humaneval/simple_gpt4.jsonl": (109, 91),
    "reflexion_humaneval/simple_gpt4_logging.jsonl": (109, 93),
    "reflexion_humaneval/simple_gpt4_hardest50.jsonl": (32, 22),
    "reflexion_humaneval/simple_gpt35.jsonl": (109, 25),
    "reflexion_humaneval/simple_davinci003.jsonl": (109, 63),
    "reflexion_mbpp/simple_gpt4_a.jsonl": (397, 318),
    "reflexion_mbpp/simple_gpt4_b.jsonl": (397, 320),
    "reflexion_mbpp/reflexion_gpt4_a.jsonl": (397, 306),
    "reflexion_mbpp/reflexion_gpt4_b_257.jsonl": (257, 204),
}


def log(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_both_forms_of_a_row(tmp_path: Path) -> None:
    first, second = read_reflexion(log(tmp_path / "log", HUMANEVAL, MBPP))
    assert (first.task_id, first.family, first.reflections) == ("HumanEval/0", "humaneval", ["I forgot n."])
    assert (second.task_id, second.family, second.reflections) == ("mbpp_7_f", "mbpp", [])
    assert first.program.endswith('"""\n    return n + n\n') and second.program.count("def f") == 2


async def test_a_body_and_a_whole_function_are_judged_by_hidden_tests_alone(tmp_path: Path) -> None:
    for row, verdict in zip(read_reflexion(log(tmp_path / "log", HUMANEVAL, MBPP)), ("pass", "fail"), strict=True):
        (said,) = await judge_all(row.task(), [row.program])
        assert (said.visible.verdict, said.hidden.verdict) == (Verdict.NONE, Verdict(verdict))


def test_written_tests_are_a_row_of_their_own(tmp_path: Path) -> None:
    file = log(tmp_path / "log", {**HUMANEVAL, "solution": ["assert f(1) == 2"], "is_solved": False})
    (row,) = read_written_tests(file)
    assert (row.tests, row.logged_solved) == (["assert f(1) == 2"], False)
    with pytest.raises(RecordingError, match="log:1: this is no row of a Reflexion log of programs: solution"):
        list(read_reflexion(file))


@pytest.mark.parametrize("field", ["task_id", "prompt", "entry_point", "test", "solution", "is_solved"])
def test_a_missing_field_is_named_with_its_line(tmp_path: Path, field: str) -> None:
    row = {name: value for name, value in HUMANEVAL.items() if name != field}
    with pytest.raises(RecordingError, match=f"log:2: this is no row of a Reflexion log of programs: {field}"):
        list(read_reflexion(log(tmp_path / "log", MBPP, row)))


@pytest.mark.parametrize("name", COUNTS)
def test_the_published_files_as_their_source_counts_them(name: str) -> None:
    folder, _, file = name.partition("/")
    rows = list(read_reflexion(published(folder) / file))
    assert (len(rows), sum(row.logged_solved for row in rows)) == COUNTS[name]
    assert any(row.reflections for row in rows) is file.startswith("reflexion")


def test_what_a_model_s_own_tests_were_worth_on_mbpp() -> None:
    """16.3 % of what passed them was wrong: why such tests may ask for another try and never declare success."""
    rows = list(read_reflexion(published("reflexion_mbpp") / "reflexion_gpt4_a.jsonl"))
    stopped = Counter(row.logged_solved for row in rows if len(row.reflections) < 4)
    assert (stopped.total(), stopped[False]) == (289, 47)


def test_written_tests_that_the_reference_does_not_pass() -> None:
    rows = list(read_written_tests(published("reflexion_humaneval") / "testacc_gpt4.jsonl"))
    assert (len(rows), sum(row.logged_solved for row in rows)) == (109, 64)
    assert all(row.tests for row in rows)


@pytest.mark.parametrize(
    ("simple", "reflexion", "fixed", "broken"),
    [
        ("reflexion_humaneval/simple_gpt4", "reflexion_humaneval/reflexion_gpt4", 12, 2),
        ("reflexion_mbpp/simple_gpt4_a", "reflexion_mbpp/reflexion_gpt4_a", 17, 29),
        ("reflexion_mbpp/simple_gpt4_b", "reflexion_mbpp/reflexion_gpt4_a", 14, 28),
    ],
)
def test_what_reflection_fixed_and_broke_by_the_logs_own_verdicts(
    simple: str, reflexion: str, fixed: int, broken: int
) -> None:
    root = published("reflexion_mbpp").parent
    before, after = (
        {row.task_id: row.logged_solved for row in read_reflexion(root / f"{name}.jsonl")}
        for name in (simple, reflexion)
    )
    changed = Counter((before[task], after[task]) for task in before.keys() & after.keys())
    assert (changed[False, True], changed[True, False]) == (fixed, broken)
