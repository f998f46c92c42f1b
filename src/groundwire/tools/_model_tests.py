"""Tests that a model wrote: they may ask for another try, and never declare success."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import CaseWriter, ToolContext, WriterContext, WrittenCases
from groundwire.core._signals import Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.core._traits import ToolTraits
from groundwire.tools._hidden_tests import judge_overlaid
from groundwire.tools._pytest_tool import Pytest

FILE = "test_written_by_model.py"
COMMAND = ("python", "-m", "pytest", "-q", FILE)
CASES = 6
"""Tests asked for, as in Reflexion (arXiv 2303.11366)."""

Reference = Callable[[Task], Mapping[str, bytes | None] | None]
"""The changes that make a task's tree right, where they are known; None where they are not."""


class ModelTests:
    """Judges by tests that a model writes once for each episode, before it is known what will be proposed.

    They are run by the project's own pytest, in the sandbox: what a model wrote is code of a stranger. All that they
    say is of origin `model_tests`.

    Args:
        writer: has them written.
        cases: how many are asked for.
        reference: a solution that is known to be right, per task. A test that it fails is dropped, and every run that
            used one is marked `oracle`.
    """

    traits = ToolTraits(repeatable=True)

    def __init__(self, writer: CaseWriter, *, cases: int = CASES, reference: Reference | None = None) -> None:
        self._writer = writer
        self._cases = cases
        self._reference = reference
        self._pytest = Pytest()

    async def write(self, task: Task, context: ToolContext) -> WrittenCases:
        """See `groundwire.core._contexts.WritingTool`."""
        written = await self._writer.write(
            WriterContext(task.public(), context.call, context.seed, context.seed_rule), self._cases
        )
        changes = self._reference(task) if self._reference else None
        if changes is None or not written.cases:
            return written
        right = replace(task, tree=task.tree.with_changes(changes))
        seen = await self._run(written, Candidate(right.tree.digest, {}), right, context)
        if seen.verdict is Verdict.NONE and seen.reason is not NoVerdict.MODULE_MISSING:
            return written
        failed = {case.id.rpartition("::")[2] for case in seen.evidence.failed()}
        wrong = [case for case in written.cases if _name(case) in failed]
        return replace(
            written,
            cases=tuple(case for case in written.cases if case not in wrong),
            dropped=(*written.dropped, *((case, "the reference fails it") for case in wrong)),
            validated=True,
        )

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        written = context.written
        if written is None or not written.cases:
            dropped = len(written.dropped) if written else 0
            return _nothing(NoVerdict.NOTHING_COLLECTED, f"The model wrote no test that can judge ({dropped} dropped).")
        if candidate.base_digest != task.tree.digest:
            return _nothing(NoVerdict.USAGE, "The candidate was made against another base tree than the task's.")
        seen = await self._run(written, candidate, task, context)
        return seen.model_copy(update={"origin": Origin.MODEL_TESTS, "coverage": None})

    async def _run(self, written: WrittenCases, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        files = Tree({FILE: "\n\n".join(written.cases).encode()})
        return await judge_overlaid(self._pytest, COMMAND, files, candidate, task, context)


def _name(case: str) -> str:
    return case.removeprefix("def ").partition("(")[0]


def _nothing(reason: NoVerdict, detail: str) -> Observation:
    return Observation(verdict=Verdict.NONE, reason=reason, origin=Origin.MODEL_TESTS, evidence=Evidence(detail=detail))
