"""Each benchmark's own files: counts, splits, five tasks judged in the sandbox, and nothing hidden in what is seen."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from judging import by_hidden, by_visible
from published import published

from groundwire.benchmarks import Item, benchmark
from groundwire.core._signals import Verdict
from groundwire.graphs.run._sandboxes import Sandboxes

pytestmark = pytest.mark.slow
PASS, FAIL = Verdict.PASS, Verdict.FAIL
FOLDERS = {
    "humaneval": "humaneval",
    "humaneval-plus": "evalplus",
    "humanevalfix": "humanevalpack",
    "mbpp": "mbpp",
    "mbpp-sanitized": "mbpp",
    "mbpp-plus": "evalplus",
}
COUNTS = {
    "humaneval": 164,
    "humaneval-plus": 164,
    "humanevalfix": 164,
    "mbpp": 974,
    "mbpp-sanitized": 427,
    "mbpp-plus": 399,
}
NO_EXAMPLE = {"humaneval": 25, "humaneval-plus": 25, "humanevalfix": 6}
"""Tasks whose docstring shows no call with its value, so that nothing is visible."""
JUDGED = {"humaneval": (0, 1, 4, 53, 161), "humanevalfix": (0, 1, 2, 5, 9), "humaneval-plus": (0, 1, 4, 53, 161)}
SENTINEL_CHARS = 12
FIRST_JUDGED = 1


def rows_of(path: Path) -> list[dict[str, Any]]:
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
    return json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]


def right_and_wrong(name: str) -> list[tuple[str, str]]:
    """By task a program that the benchmark says is right, and one that is not."""
    data = published(FOLDERS[name]).parent
    if name.startswith("humaneval-") or name == "humaneval":
        rows = rows_of(data / "humaneval" / "HumanEval.jsonl")
        return [(r["prompt"] + r["canonical_solution"], f"{r['prompt']}    return 'no'\n") for r in rows]
    if name == "humanevalfix":
        rows = rows_of(data / "humanevalpack" / "humanevalpack_python.jsonl")
        return [(r["declaration"] + r["canonical_solution"], r["declaration"] + r["buggy_solution"]) for r in rows]
    if name == "mbpp-plus":
        rows = rows_of(data / "evalplus" / "MbppPlus.jsonl.gz")
        return [(r["canonical_solution"], f"def {r['entry_point']}(*_):\n    return 'no'\n") for r in rows]
    rows = rows_of(data / "mbpp" / ("mbpp.jsonl" if name == "mbpp" else "sanitized-mbpp.json"))
    return [(r["code"], r["code"].replace("return", "return None and")) for r in rows]


def items_of(name: str) -> list[Item]:
    return list(benchmark(name).items(published(FOLDERS[name]).parent))


@pytest.mark.parametrize("name", FOLDERS)
async def test_right_programs_pass_and_wrong_ones_fail(name: str) -> None:
    items, programs = items_of(name), right_and_wrong(name)
    assert len(items) == len(programs) == COUNTS[name]
    boxes = Sandboxes(None)
    try:
        for at in JUDGED.get(name, (1, 3, 5, 8, 13)):
            task, (right, wrong) = items[at].task, programs[at]
            assert await by_hidden(task, {"solution.py": right.encode()}, boxes) is PASS, task.id
            assert await by_hidden(task, {"solution.py": wrong.encode()}, boxes) is FAIL, task.id
            if at == FIRST_JUDGED:
                assert await by_visible(task, {"solution.py": right.encode()}, boxes) is PASS, task.id
    finally:
        await boxes.aclose()


@pytest.mark.parametrize("name", FOLDERS)
def test_no_line_of_a_hidden_test_is_in_what_actors_see(name: str) -> None:
    """Nor the answer key: not a line of it that is not in the task's own head."""
    items, programs = items_of(name), right_and_wrong(name)
    nothing_hidden: list[str] = []
    for item, (right, _) in zip(items, programs, strict=True):
        task = item.task
        assert task.hidden is not None
        # its visible asserts stand in its hidden test as well: published so
        files = {k: v for k, v in task.public().tree.files.items() if name != "humanevalfix" or "visible" not in k}
        seen = "\n".join((task.public().prompt, *(body.decode() for body in files.values())))
        hidden = "\n".join(body.decode() for body in task.hidden.tree.files.values())
        secret = [
            line.strip() for line in hidden.splitlines() if "assert" in line and len(line.strip()) > SENTINEL_CHARS
        ]
        assert not any(line in seen for line in secret), task.id
        nothing_hidden += [task.id] * (not secret)
        assert name == "humanevalfix" or right.strip() not in seen, task.id
    assert nothing_hidden == (["MBPP/37"] if name == "mbpp" else []), "its three asserts are one and the same"
    empty = sum(b"assert" not in item.task.tree.files["tests/test_visible.py"] for item in items)
    assert empty == NO_EXAMPLE.get(name, 0)


def test_mbpp_keeps_its_published_splits() -> None:
    assert Counter(item.split for item in items_of("mbpp")) == {
        "prompt": 10,
        "test": 500,
        "validation": 90,
        "train": 374,
    }
    assert Counter(item.split for item in items_of("mbpp-sanitized")) == {
        "prompt": 7,
        "test": 257,
        "validation": 43,
        "train": 120,
    }


async def test_further_inputs_find_what_the_first_tests_let_pass() -> None:
    head, _ = right_and_wrong("humaneval")[0]
    narrow = (
        head.rpartition('"""')[0] + '"""\n    if min(numbers) < 0:\n        return False\n' + head.rpartition('"""')[2]
    )
    boxes = Sandboxes(None)
    try:
        verdicts = [
            await by_hidden(items_of(name)[0].task, {"solution.py": narrow.encode()}, boxes)
            for name in ("humaneval", "humaneval-plus")
        ]
    finally:
        await boxes.aclose()
    assert verdicts == [PASS, FAIL]
