"""EvalPlus (Liu et al., arXiv 2305.01210): further hidden inputs for HumanEval and MBPP.

There are no expected outputs in the data: the published reference makes them, inside the hidden judging. It lies in the
hidden file alone, which no actor, critic or memory ever sees; an input that it rejects, or takes more than a second
for, is left out.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, field_validator

from groundwire.benchmarks._base import Item, find_file, read_rows
from groundwire.benchmarks._function_tasks import HumanEvalRow, assert_task, split_of
from groundwire.core._errors import TaskError
from groundwire.core._sandboxes import Limits
from groundwire.logs._rows import Row

Inputs = Sequence[Sequence[object]]

COMPARING = """
import copy as _copy
import json as _json
import signal as _signal

_SECONDS = 1.0


def _too_long(*_):
    raise TimeoutError


def _reference(inputs):
    space = {"__name__": "reference"}
    exec(_REFERENCE, space)
    _signal.signal(_signal.SIGPROF, _too_long)
    _signal.setitimer(_signal.ITIMER_PROF, _SECONDS)
    try:
        return space[_NAME](*_copy.deepcopy(inputs))
    finally:
        _signal.setitimer(_signal.ITIMER_PROF, 0)


def _same(got, wanted):
    if isinstance(wanted, float) or (isinstance(wanted, (list, tuple)) and any(isinstance(w, float) for w in wanted)):
        if isinstance(wanted, (list, tuple)):
            return type(got) is type(wanted) and len(got) == len(wanted) and all(map(_same, got, wanted))
        return got == wanted or (isinstance(got, (int, float)) and abs(got - wanted) <= max(_ATOL, 1e-6 * abs(wanted)))
    return got == wanted


def _check_plus(candidate):
    for inputs in _json.loads(_INPUTS):
        try:
            wanted = _reference(inputs)
        except BaseException:
            continue
        got = candidate(*_copy.deepcopy(inputs))
        assert _same(got, wanted), f"another answer than the reference for input {str(inputs)[:200]}"
"""


class _EarlyRow(Row):
    """A row of the first HumanEvalPlus.jsonl, which stands in HumanEval's order and has no id."""

    contract: str
    reference: str = Field(min_length=1)
    base_input: list[list[object]]
    atol: float = 0


class _InputsRow(Row):
    task_id: str = Field(min_length=1)
    inputs: list[list[object]]


class _PlusRow(Row):
    """A row of MbppPlus.jsonl."""

    task_id: str = Field(min_length=1)
    prompt: str
    entry_point: str = Field(min_length=1)
    canonical_solution: str = Field(min_length=1)
    contract: str = ""
    base_input: list[list[object]]
    plus_input: list[list[object]]
    assertion: str = ""
    atol: float = 0

    @field_validator("plus_input", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return value or []  # one row has an empty object


@dataclass(frozen=True)
class HumanEvalPlus:
    """HumanEval's tasks and tests, with these inputs besides.

    Args:
        limits: ceilings of one judging.
    """

    limits: Limits = Limits(cpu_s=30)
    name: str = "humaneval-plus"
    files: tuple[str, ...] = ("HumanEval.jsonl", "HumanEvalPlus.jsonl", "HumanEvalPlusInputs.jsonl")
    download: str = "https://github.com/evalplus/evalplus at commit 8939a53, and HumanEval.jsonl of openai/human-eval"
    repairs: bool = False

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        base, plus, inputs = (find_file(data, (name,), self) for name in self.files)
        rows = [row for row, _ in read_rows(HumanEvalRow, base, self.name)]
        early = [row for row, _ in read_rows(_EarlyRow, plus, self.name)]
        if len(rows) != len(early):
            raise TaskError(
                f"{base} has {len(rows)} rows and {plus} {len(early)}; they go together row by row.",
                do="Take both whole.",
            )
        more = {row.task_id.replace("_", "/"): row.inputs for row, _ in read_rows(_InputsRow, inputs, self.name)}
        for row, extra in zip(rows, early, strict=True):
            reference = f"{row.prompt}{extra.contract}{extra.reference}"
            every: Inputs = [*extra.base_input, *more.get(row.task_id, ())]
            hidden = _hidden(row.test, row.entry_point, reference, every, extra.atol)
            yield Item(row.task(hidden, self.limits))


@dataclass(frozen=True)
class MbppPlus:
    """MBPP's tasks: the first assert is visible; the others and these inputs are hidden.

    Args:
        limits: ceilings of one judging.
    """

    limits: Limits = Limits(cpu_s=30)
    name: str = "mbpp-plus"
    files: tuple[str, ...] = ("MbppPlus.jsonl",)
    download: str = "https://github.com/evalplus/evalplus at commit 767efcc"
    repairs: bool = False

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        for row, where in read_rows(_PlusRow, find_file(data, self.files, self), self.name):
            setup, asserts = _apart(row.assertion, where)
            reference = f"{row.canonical_solution}\n"
            test = "\n".join((setup, "def check(candidate):", *(f"    {one}" for one in asserts[1:]), "    pass"))
            hidden = _hidden(test, row.entry_point, reference, [*row.base_input, *row.plus_input], row.atol)
            number = row.task_id.partition("/")[2]
            yield Item(
                assert_task(
                    f"MBPP/{number}",
                    _sentence(row.prompt),
                    row.entry_point,
                    setup=setup,
                    visible=asserts[:1],
                    hidden=hidden,
                    limits=self.limits,
                ),
                split_of(int(number)) if number.isdigit() else "test",
            )


def _hidden(test: str, entry_point: str, reference: str, inputs: Inputs, atol: float) -> str:
    """`check` of the benchmark, and after it the inputs."""
    values: Mapping[str, object] = {
        "_REFERENCE": reference,
        "_NAME": entry_point,
        "_INPUTS": json.dumps(inputs),
        "_ATOL": atol,
    }
    given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    both = "\n_check_base = check\n\n\ndef check(candidate):\n    _check_base(candidate)\n    _check_plus(candidate)\n"
    return f"{test}\n{given}{COMPARING}{both}"


def _apart(assertion: str, where: str) -> tuple[str, list[str]]:
    """What the asserts need first, and the asserts."""
    try:
        body = ast.parse(assertion.strip()).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise TaskError(f"{where}: the asserts can't be read: {error}.") from error
    asserts = [ast.unparse(node) for node in body if isinstance(node, ast.Assert)]
    if not asserts:
        raise TaskError(f"{where}: the row has no assert.")
    return "\n".join(ast.unparse(node) for node in body if not isinstance(node, ast.Assert)), asserts


def _sentence(prompt: str) -> str:
    return prompt.strip().strip("'\"").strip()
