"""GPT-4's published first programs for one task each, from five runs, as samples that can be voted on and checked."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from groundwire.agents import Extra, Question, SampledAnswer
from groundwire.agents.width._sampling import NOTHING
from groundwire.core import ActorContext, Candidate, Completion, Limits, Message, Recorded, Recording, Task, data
from groundwire.logs import SOLUTION, read_ldb, read_reflexion

__all__ = ["WholeProgram", "published"]

RUNS = ("simple_gpt4", "simple_gpt4_logging", "reflexion_ucs_gpt4_a", "reflexion_ucs_gpt4_b")
"""Of Reflexion's logs, those that hold first programs; in the ucs files `solution` is the first one (SOURCE.md)."""
SEEDS = "humaneval_gpt4seed"
"""Of LDB's; its first programs are the fifth run's, and its visible tests are the docstrings' examples."""
LIMITS = Limits(cpu_s=5, wall_s=120)


def published(data_folder: Path) -> tuple[list[Task], Recording]:
    """The tasks of HumanEval that all runs hold, and their programs by task, in the order of the runs."""
    seeds = {row.task_id: row for row in read_ldb(data_folder / "ldb" / f"{SEEDS}.jsonl.gz")}
    programs: dict[str, list[str]] = defaultdict(list)
    for run in RUNS:
        for row in read_reflexion(data_folder / "reflexion_humaneval" / f"{run}.jsonl"):
            programs[row.task_id].append(row.program)
    shared = [row for name, row in seeds.items() if len(programs[name]) == len(RUNS) and row.given_tests]
    calls: list[Recorded] = []
    for row in shared:
        texts = (*programs[row.task_id], row.programs[0])
        calls += [Recorded(completion=Completion(texts=(text,)), task=row.task_id) for text in texts]
    return [row.task(LIMITS) for row in shared], Recording(calls, source="published runs", model="gpt-4")


class WholeProgram:
    """Reads a whole program; two are the same if they parse to the same tree, docstrings and what was redefined left
    out. It only plays recordings: nobody is asked anything by it."""

    def question(self, context: ActorContext, added: Extra = NOTHING, *, told: bool = True) -> Question:
        """See `Asking`."""
        return Question((Message(role="user", content=context.task.prompt),), "")

    def statement(self, context: ActorContext) -> str:
        """See `Asking`."""
        return data("task", context.task.prompt, id=context.task.id)

    def read(self, text: str, context: ActorContext) -> SampledAnswer | None:
        """See `Asking`. A program that does not parse is an answer too, as the log had it."""
        return SampledAnswer(text, normal(text), Candidate(context.task.tree.digest, {SOLUTION: text.encode()}))

    def key_of(self, candidate: Candidate, context: ActorContext) -> str:
        """See `Asking`."""
        return normal((candidate.changes.get(SOLUTION) or b"").decode())

    def shown(self, text: str) -> str:
        """See `Asking`."""
        return text


def normal(program: str) -> str:
    """A program without comments, layout, docstrings and definitions that a later one replaces."""
    try:
        module = ast.parse(program)
    except (SyntaxError, ValueError):
        return program
    last = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    module.body = [node for node in module.body if not isinstance(node, ast.FunctionDef) or last[node.name] is node]
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(module)
