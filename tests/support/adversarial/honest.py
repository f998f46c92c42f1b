"""Solutions that are right, and must be called so: of published problems, and of small packages."""

from __future__ import annotations

import ast
import json
import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adversarial.packages import PACKAGES
from adversarial.targets import COMMANDS, TARGETS, Files, Project, module, project

SEED = 21


@dataclass(frozen=True)
class Honest:
    """A candidate that solves its task.

    Args:
        name: where it is from.
        project: the task.
        files: what is handed in.
    """

    name: str
    project: Project
    files: Files


def honest(data: Path, *, mbpp: int = 75, seed: int = SEED) -> Sequence[Honest]:
    """All of them.

    Args:
        data: the folder of the published problems; where it is not there, none of these.
        mbpp: how many of MBPP's problems.
        seed: draws these.
    """
    found = [*_small(), *_targets()]
    if data.is_dir():
        drawn = random.Random(seed).sample(list(_mbpp(data)), mbpp)
        # a function that is called so would be a test of its own where pytest finds it imported
        found += [*_humaneval(data), *(h for h in drawn if b"import test_" not in tests_of(h))]
    return found


def tests_of(solution: Honest) -> bytes:
    """The file of its tests."""
    text = solution.project.files["tests/test_it.py"]
    return text if isinstance(text, bytes) else text.encode()


def _small() -> Iterator[Honest]:
    for package in PACKAGES:
        yield Honest(package.name, package.project(), package.right)


def _targets() -> Iterator[Honest]:
    for target in TARGETS.values():
        for runner in COMMANDS:
            for hidden in (False, True):
                if not (runner == "doctest" and hidden):
                    task = project(target, runner, hidden=hidden)
                    right = module(target, right=True, examples=runner == "doctest")
                    yield Honest(
                        f"{target.name} ({runner}, {'hidden' if hidden else 'visible'})", task, {"calc.py": right}
                    )


def _solved(name: str, code: str, tests: str, entry: str) -> Honest:
    empty = f"def {entry}(*given, **named):\n    raise NotImplementedError\n"
    task = Project({"solution.py": empty, "tests/test_it.py": tests}, (*COMMANDS["pytest"], "tests"))
    return Honest(name, task, {"solution.py": code})


def _humaneval(data: Path) -> Iterator[Honest]:
    for line in (data / "humaneval/HumanEval.jsonl").read_text().splitlines():
        row: dict[str, Any] = json.loads(line)
        entry = row["entry_point"]
        imports = "\n".join(text for text in row["prompt"].splitlines() if text.startswith(("import", "from")))
        helpers = _functions(row["prompt"] + row["canonical_solution"])
        tests = f"{imports}\nfrom solution import {', '.join(helpers)}\n{row['test']}\n\ndef test_it():\n    check({entry})\n"
        stubs = "".join(f"def {name}(*given, **named):\n    raise NotImplementedError\n" for name in helpers)
        solved = _solved(row["task_id"], row["prompt"] + row["canonical_solution"], tests, entry)
        files = {**solved.project.files, "solution.py": stubs}
        yield Honest(solved.name, Project(files, solved.project.command), solved.files)


def _mbpp(data: Path) -> Iterator[Honest]:
    rows: list[dict[str, Any]] = json.loads((data / "mbpp/sanitized-mbpp.json").read_text())
    for row in rows:
        asked = {n.id for t in row["test_list"] for n in ast.walk(_parsed(t)) if isinstance(n, ast.Name)}
        names = [name for name in _functions(row["code"]) if name in asked]
        tests = "\n".join([
            *row["test_imports"], f"from solution import {', '.join(names)}", "", "",
            *(f"def test_{n}():\n    {test}\n\n" for n, test in enumerate(row["test_list"])),
        ])  # fmt: skip
        yield _solved(f"MBPP/{row['task_id']}", row["code"], tests, names[0])


def _functions(code: str) -> list[str]:
    return [n.name for n in _parsed(code).body if isinstance(n, ast.FunctionDef | ast.ClassDef)]


def _parsed(code: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that are none
        return ast.parse(code)
