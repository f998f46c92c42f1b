"""The easy functions that a small model writes in the demo's second act, as tasks."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from groundwire.core.candidates import Tree
from groundwire.core.tasks import Hidden, Task

__all__ = ["function_tasks"]

FAMILY = "functions"
CHECKS = "checks"


def function_tasks(file: Path | None = None) -> list[Task]:
    """The tasks: a stub each, tests that judge every try, and hidden tests that judge once.

    Args:
        file: a file like `functions.toml`; default: that one.
    """
    source = file or files("groundwire.demo").joinpath("functions.toml")
    return [_task(entry) for entry in tomllib.loads(source.read_text(encoding="utf-8"))["function"]]


def _task(entry: dict[str, Any]) -> Task:
    name: str = entry["id"]
    module, test, more = f"{name}.py", f"test_{name}.py", f"{CHECKS}/test_more_{name}.py"
    stub = f"{entry['stub'].strip()}\n    raise NotImplementedError\n"
    return Task(
        id=name,
        prompt=f"Write {name}.",
        tree=Tree({module: stub.encode(), test: _tests(name, entry["tests"])}),
        command=("python", "-m", "pytest", "-q", test),
        family=FAMILY,
        editable=(module,),
        hidden=Hidden(("python", "-m", "pytest", "-q", CHECKS), Tree({more: _tests(name, entry["hidden"])})),
    )


def _tests(name: str, claims: Sequence[str]) -> bytes:
    cases = [f"def test_{number}():\n    assert {claim}\n" for number, claim in enumerate(claims, 1)]
    return "\n\n".join([f"from {name} import {name}\n", *cases]).encode()
