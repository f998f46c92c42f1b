"""HumanEval and MBPP: functions to be written, with the examples of them that are visible."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import AliasChoices, Field

from groundwire.benchmarks._base import Item, find_file, read_rows
from groundwire.core._errors import TaskError
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import Task
from groundwire.logs._functions import function_task, statement
from groundwire.logs._rows import LogRow

# The examples that a docstring gives, as asserts: what is visible of a function that is still to be written.

BETWEEN = re.compile(
    r"\s*(?:#\s*)?(?:={0,2}=>|==|->|➞|→|=|\breturns?\b|\bshould (?:return|be)\b|\bis equal to\b)\s*:?\s*"
)
MAX_EXAMPLES = 20


def examples_of(head: str, entry_point: str) -> tuple[str, ...]:
    """The asserts that a function's docstring stands for; none where it shows no call with its value.

    Read are doctests, and lines such as `f(1, 2) == 3` or `f([1]) ➞ 2`. Only literals are taken for values.

    Args:
        head: imports, signature and docstring.
        entry_point: the function's name.
    """
    found = dict.fromkeys((*_doctests(head, entry_point), *_lines(head, entry_point)))
    return tuple(found)[:MAX_EXAMPLES]


def called_name(asserts: list[str]) -> str:
    """The function that all these asserts call; empty where it can't be told.

    A task may ask for a function that is called like a built-in; so one of these is taken where no other is called.
    """
    names: list[set[str]] = []
    for text in asserts:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return ""
        called = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        names.append(set(called))
    common = set[str].intersection(*names) if names else set[str]()
    own = {name for name in common if not hasattr(builtins, name)} or common
    functions = {name for name in own if not name[0].isupper()} or own
    return functions.pop() if len(functions) == 1 else ""


def _doctests(head: str, entry_point: str) -> Iterator[str]:
    docstring = _docstring(head, entry_point)
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return
    for example in examples:
        source, want = example.source.strip(), example.want.strip()
        if f"{entry_point}(" in source and (value := _literal(want)) and _is_expression(source):
            yield f"assert {source} == {value}"


def _lines(head: str, entry_point: str) -> Iterator[str]:
    call = re.compile(rf"(?<![\w.]){re.escape(entry_point)}\(")
    for line in _docstring(head, entry_point).splitlines():
        for match in call.finditer(line):
            source = _balanced(line[match.start() :])
            rest = line[match.start() + len(source) :]
            between = BETWEEN.match(rest)
            value = _literal(rest[between.end() :]) if source and between else ""
            if value and _is_literal_call(source):
                yield f"assert {source} == {value}"


def _docstring(head: str, entry_point: str) -> str:
    """The function's docstring; a head without a body is no whole program, so it is given one."""
    for text in (head, f"{head}\n    pass\n"):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == entry_point:
                return ast.get_docstring(node) or ""
    return ""


def _balanced(text: str) -> str:
    """The call that `text` begins with; empty where its brackets never close."""
    for end in (at + 1 for at, char in enumerate(text) if char == ")"):
        if _is_expression(text[:end]):
            return text[:end]
    return ""


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _is_literal_call(text: str) -> bool:
    call = ast.parse(text, mode="eval").body
    return isinstance(call, ast.Call) and all(
        _literal(ast.unparse(value)) for value in (*call.args, *(k.value for k in call.keywords))
    )


def _literal(text: str) -> str:
    """The literal that `text` is, or begins with where words follow; empty where it is none."""
    text = text.strip()
    first, _, rest = text.partition(" ")
    word = first.rstrip(".,;:") if rest.lstrip()[:1].isalpha() or rest.lstrip()[:1] == "(" else ""
    for cut in (text.rstrip(".,;:"), text.split("#")[0].strip(), word):
        cut = {"true": "True", "false": "False"}.get(cut, cut)
        try:
            ast.literal_eval(cut)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return cut
    return ""


# HumanEval (Chen et al., arXiv 2107.03374): 164 functions to be written from signature and docstring.


class HumanEvalRow(LogRow):
    """What is read of a row: everything but its solution."""

    task_id: str = Field(min_length=1)
    prompt: str = Field(min_length=1)
    """Imports, signature and docstring."""
    entry_point: str = Field(min_length=1)
    test: str = Field(min_length=1)
    """Defines `check(candidate)`."""

    def task(self, hidden: str, limits: Limits) -> Task:
        """The task: the examples in the docstring are visible.

        Args:
            hidden: the hidden tests.
            limits: ceilings of one judging.
        """
        visible = examples_of(self.prompt, self.entry_point)
        return function_task(
            self.task_id,
            self.prompt,
            self.entry_point,
            visible=visible,
            hidden=hidden,
            family="humaneval",
            limits=limits,
        )


@dataclass(frozen=True)
class HumanEval:
    """Visible: the examples in the docstring. Hidden: the benchmark's own `check`.

    A few docstrings show an example that the published solution itself fails; see docs/evaluation-running.md.

    Args:
        limits: ceilings of one judging.
    """

    limits: Limits = Limits(cpu_s=10)
    name: str = "humaneval"
    files: tuple[str, ...] = ("HumanEval.jsonl",)
    download: str = "https://github.com/openai/human-eval (data/HumanEval.jsonl.gz)"
    repairs: bool = False

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        for row, _ in read_rows(HumanEvalRow, find_file(data, self.files, self), self.name):
            yield Item(row.task(row.test, self.limits))


# MBPP (Austin et al., arXiv 2108.07732): small functions from a sentence and three asserts; full and sanitized.

SPLITS = ((10, "prompt"), (510, "test"), (600, "validation"))
"""The last task of each; the rest is for training (as published with the data)."""


class MbppRow(LogRow):
    """What is read of a row, of either file; of its solution the signature alone, where that is asked for."""

    task_id: int
    text: str = Field(min_length=1, validation_alias=AliasChoices("text", "prompt"))
    test_list: list[str] = Field(min_length=1)
    challenge_test_list: list[str] = Field(default_factory=list)
    test_setup_code: str = ""
    test_imports: list[str] = Field(default_factory=list)
    code: str = ""

    @property
    def setup(self) -> str:
        """What the asserts need first."""
        return "\n".join(filter(None, (self.test_setup_code, *self.test_imports)))


@dataclass(frozen=True)
class Mbpp:
    """Visible: the first assert, which also shows the function's name. Hidden: all the others.

    Args:
        sanitized: the 427 tasks that people looked over, not all 974.
        signatures: the function's parameters are shown too, named as the published solution names them; a task whose
            solution has no readable signature is left out.
        limits: ceilings of one judging.
    """

    sanitized: bool = False
    signatures: bool = False
    limits: Limits = Limits(cpu_s=10)
    repairs: bool = False

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"mbpp{'-sanitized' if self.sanitized else ''}{'-signatures' if self.signatures else ''}"

    @property
    def files(self) -> tuple[str, ...]:
        """The file that is read."""
        return ("sanitized-mbpp.json",) if self.sanitized else ("mbpp.jsonl",)

    @property
    def download(self) -> str:
        """Where it is published."""
        return f"https://github.com/google-research/google-research (mbpp/{self.files[0]})"

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        for row, where in read_rows(MbppRow, find_file(data, self.files, self), self.name):
            visible = row.test_list[:1]
            hidden = [one for one in (*row.test_list[1:], *row.challenge_test_list) if one not in visible]
            entry_point = called_name(row.test_list)
            if not entry_point:
                raise TaskError(f"{where}: which function the asserts of task {row.task_id} call can't be told.")
            signature = ""
            if self.signatures and not (signature := _signature_of(row.code, entry_point)):
                continue
            yield Item(
                assert_task(
                    f"MBPP/{row.task_id}",
                    row.text,
                    entry_point,
                    setup=row.setup,
                    visible=visible,
                    hidden=_check(hidden, row.setup),
                    limits=self.limits,
                    signature=signature,
                ),
                split_of(row.task_id),
            )


def _signature_of(code: str, name: str) -> str:
    """`name(parameters)` of a function in a solution; empty where there is none that can be read."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    last = next(reversed(list(found)), None)
    # what a default or an annotation names may be nowhere but in the solution
    plain = last is not None and not any(isinstance(node, ast.Name | ast.Call) for node in ast.walk(last.args))
    return f"{name}({ast.unparse(last.args)})" if last is not None and plain else ""


def split_of(number: int) -> str:
    """The published split that a task belongs to."""
    return next((name for last, name in SPLITS if number <= last), "train")


def assert_task(
    task_id: str,
    text: str,
    entry_point: str,
    *,
    setup: str,
    visible: Sequence[str],
    hidden: str,
    limits: Limits,
    signature: str = "",
) -> Task:
    """A function to be written from a sentence and visible asserts, since nothing else names its parameters but a
    signature, where there is one.

    Args:
        task_id: its id.
        text: what it does.
        entry_point: its name.
        setup: what the asserts need first.
        visible: asserts that are shown, and steer.
        hidden: source that defines `check(candidate)`.
        limits: ceilings of one judging.
        signature: `name(parameters)`, which is shown; empty: it is not.
    """
    shown = "\n".join((text.strip(), *visible)).replace("\\", "\\\\").replace('"""', r"\"\"\"")
    begun = f"{setup}\n\n" if setup else ""
    docstring = f'"""{shown}\n"""\n'
    head = f"def {signature}:\n{textwrap.indent(docstring, '    ')}" if signature else docstring
    return function_task(
        task_id,
        f"{begun}{head}",
        entry_point,
        visible=[f"{setup}\n{one}" if setup else one for one in visible],
        hidden=hidden,
        family="mbpp",
        limits=limits,
    )


def _check(asserts: Sequence[str], setup: str) -> str:
    body = "".join(f"{textwrap.indent(statement(text), '    ')}\n" for text in asserts) or "    pass\n"
    return f"{setup}\n\n\ndef check(candidate):\n{body}"
