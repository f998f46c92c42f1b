"""What a loader says of files that are wrong, and how it finds those that are right."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundwire.benchmarks import BENCHMARKS, benchmark
from groundwire.benchmarks._function_tasks import called_name, examples_of
from groundwire.core._errors import ConfigError, GroundwireError, RecordingError, TaskError

ROW: dict[str, Any] = {
    "task_id": "HumanEval/7",
    "prompt": 'def twice(n):\n    """\n    >>> twice(2)\n    4\n    """\n',
    "entry_point": "twice",
    "canonical_solution": "    return 2 * n  # the answer key",
    "test": "def check(candidate):\n    assert candidate(3) == 6\n",
}


def written(folder: Path, *rows: object, name: str = "HumanEval.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_a_file_is_found_by_name_in_its_folder_one_below_zipped_or_renamed(tmp_path: Path) -> None:
    plain = written(tmp_path / "data" / "humaneval", ROW)
    zipped = tmp_path / "zipped" / "HumanEval.jsonl.gz"
    zipped.parent.mkdir()
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    renamed = written(tmp_path / "other", ROW, name="mine.jsonl")
    for place in (plain, plain.parent, plain.parent.parent, zipped, zipped.parent, renamed):
        (item,) = benchmark("humaneval").items(place)
        assert item.task.id == "HumanEval/7" and "the answer key" not in repr(item)


WRONG: dict[str, tuple[Callable[[Path], Path], type[GroundwireError], str]] = {
    "no such file": (lambda folder: folder, TaskError, "HumanEval.jsonl, which humaneval reads, was not found in"),
    "cut short": (
        lambda folder: written(folder, ROW, json.dumps(ROW)[:60]),
        RecordingError,
        r"HumanEval.jsonl:2: this is not JSON",
    ),
    "a field is missing": (
        lambda folder: written(folder, ROW, {k: v for k, v in ROW.items() if k != "test"}),
        RecordingError,
        r"HumanEval.jsonl:2: this is no row of the benchmark humaneval: test: Field required",
    ),
    "another benchmark's": (
        lambda folder: written(folder, {"task_id": 2, "text": "Twice.", "test_list": ["assert f(1) == 2"]}),
        RecordingError,
        r"HumanEval.jsonl:1: this is no row of the benchmark humaneval: task_id",
    ),
    "no function": (
        lambda folder: written(folder, ROW | {"entry_point": "a b"}),
        TaskError,
        "'a b' is not the name of a function",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_place(case: str, tmp_path: Path) -> None:
    made, kind, message = WRONG[case]
    with pytest.raises(kind, match=message):
        list(benchmark("humaneval").items(made(tmp_path)))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_names_its_files_and_where_they_are_published(name: str, tmp_path: Path) -> None:
    found = benchmark(name)
    with pytest.raises(GroundwireError) as caught:
        list(found.items(tmp_path))
    assert found.files[0] in str(caught.value) and "https://" in caught.value.do


def test_halves_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    written(tmp_path, ROW, ROW)
    written(tmp_path, {"contract": "", "reference": "    pass", "base_input": []}, name="HumanEvalPlus.jsonl")
    written(tmp_path, name="HumanEvalPlusInputs.jsonl")
    with pytest.raises(TaskError, match=r"has 2 rows and .*HumanEvalPlus.jsonl 1"):
        list(benchmark("humaneval-plus").items(tmp_path))


def test_an_unknown_benchmark_is_an_error_that_names_the_nearest_or_all() -> None:
    with pytest.raises(ConfigError, match=r"no benchmark 'humanevl'.*\s.*Did you mean humaneval or"):
        benchmark("humanevl")
    with pytest.raises(ConfigError, match="no benchmark 'mine'") as caught:
        benchmark("mine")
    assert "humaneval" in caught.value.do and "swebench" in caught.value.do
    with pytest.raises(ConfigError, match="does not use --repos"):
        benchmark("mbpp", repos=Path())


SHOWN: dict[str, tuple[str, list[str]]] = {
    "doctest": ('    >>> f([1, 2])\n    [2]\n    >>> f([])\n    []', ["assert f([1, 2]) == [2]", "assert f([]) == []"]),
    "arrows": ("    f(1) ➞ 2\n    f(2) ==> true", ["assert f(1) == 2", "assert f(2) == True"]),
    "words": ("    f(1, 2) should return 3.", ["assert f(1, 2) == 3"]),
    "a sum, no value": ("    f(19) -> 19 - 5 = 14", []),
    "a name, no literal": ("    f(x) == 3", []),
    "another function": ("    ff(1) == 3", []),
    "code": ("    f(__import__('os')) == 3", []),
}  # fmt: skip


@pytest.mark.parametrize("case", SHOWN)
def test_examples_of_a_docstring(case: str) -> None:
    docstring, asserts = SHOWN[case]
    assert list(examples_of(f'def f(x):\n    """Does.\n\n{docstring}\n    """\n', "f")) == asserts


@pytest.mark.parametrize(
    ("asserts", "name"),
    [
        (["assert set(similar((1, 2))) == set((1,))"], "similar"),
        (["assert sum(10, 15) == 6"], "sum"),
        (["assert longest([Pair(1, 2)], 4) == 3"], "longest"),
        (["assert f(1) == 2", "assert g(1) == 2"], ""),
        (["assert f(1 == 2"], ""),
    ],
)
def test_the_function_that_asserts_call(asserts: list[str], name: str) -> None:
    assert called_name(asserts) == name


def test_mbpp_with_signatures_shows_parameters_and_nothing_else_of_a_solution(tmp_path: Path) -> None:
    def row(number: int, code: str) -> dict[str, Any]:
        return {"task_id": number, "text": "Add them.", "code": code, "test_list": ["assert add(1, 2) == 3"]}

    place = written(
        tmp_path,
        row(601, "import re\r\ndef help(a):\r\n  return a\r\ndef add(left, right=0): \r\n\treturn left + right"),
        row(602, "def add(left, right=LIMIT):\n    return LIMIT"),
        row(603, "print 'Python 2'"),
        row(604, "add = sum"),
        name="mbpp.jsonl",
    )
    (item,) = benchmark("mbpp-signatures").items(place)
    head = item.task.tree.files["solution.py"].decode()
    assert head.startswith("def add(left, right=0):\n") and "help" not in head and "left + right" not in head
    assert (item.task.id, item.split) == ("MBPP/601", "train")
    assert len(list(benchmark("mbpp").items(place))) == 4, "which shows no signature, and leaves none out"
