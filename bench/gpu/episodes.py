"""Episodes like those of `code_repair`, of three trials, whose judging takes 50 ms and whose answers are never read.

The prompts are what `LLMActor` writes for real Python modules. A model with random weights answers gibberish, so the
candidate is the module with a digest of the answer as its last line, and a scripted tool passes the third one.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from groundwire import FeedbackGraph, Observation, Origin, Task, Verdict
from groundwire.agents import LLMActor, RuleCritic
from groundwire.core import ActorContext, Backend, Candidate, CaseOutcome, CaseResult, Evidence, ToolContext, Tree
from groundwire.graphs import code_repair

__all__ = ["TRIALS", "graph", "tasks"]

TRIALS = 3
JUDGING_S = 0.05
LINES = 130
"""Of each module: about 1,200 tokens."""
CODE, TESTS = "module.py", "tests/test_module.py"
_TRIAL = re.compile(rb"\n# trial (\d+): \w+\n\Z")


def tasks(count: int, sources: Path) -> list[Task]:
    """Tasks about the beginnings of real modules, no two of them with the same text.

    Args:
        count: how many.
        sources: a folder of Python modules.
    """
    modules = [path for path in sorted(sources.rglob("*.py")) if path.read_bytes().count(b"\n") > LINES // 2]
    return [_task(i, modules[i % len(modules)]) for i in range(count)]


def graph(backend: Backend, max_tokens: int) -> FeedbackGraph:
    """`code_repair` with everything real but what is said and how it is judged."""
    return code_repair(_Actor(backend, max_tokens=max_tokens, answer="edits"), RuleCritic(), _Judge(), _Judge())


class _Actor(LLMActor):
    """Asks as `LLMActor` asks, and takes whatever comes for an edit."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        asked = self._request(context, self._opening(context, 1), 0, 0)
        said = (await context.call(self.backend, asked)).texts[0]
        digest = hashlib.sha256(said.encode()).hexdigest()
        base = context.task.tree.files[CODE]
        return [
            Candidate(context.task.tree.digest, {CODE: base + f"\n# trial {context.trial}: {digest}\n".encode()}),
        ]


class _Judge:
    """Waits as long as a quick test run takes; each trial fails one case fewer, and the last none."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """A verdict with three cases."""
        await asyncio.sleep(JUDGING_S)
        found = _TRIAL.search(candidate.changes.get(CODE) or b"")
        passed = int(found[1]) if found else 0
        cases = tuple(
            CaseOutcome(
                id=f"{TESTS}::test_case_{i}",
                result=CaseResult.PASSED if i < passed else CaseResult.FAILED,
                message="" if i < passed else f"{CODE}:{20 + i}: assert value == {i}: got {passed}, expected {i}",
            )
            for i in range(TRIALS)
        )
        verdict = Verdict.PASS if passed >= TRIALS else Verdict.FAIL
        return Observation(verdict=verdict, origin=Origin.TESTS, evidence=Evidence(cases=cases))


def _task(number: int, module: Path) -> Task:
    lines = module.read_text().splitlines()[:LINES]
    code = "\n".join([f'"""Variant {number}."""', *lines]) + "\n"
    tests = "\n".join(
        [f"import module  # variant {number}", ""]
        + [f"\ndef test_case_{i}():\n    assert module.value({i}) == {i}\n" for i in range(TRIALS)]
    )
    return Task(
        id=f"{module.stem}-{number}",
        family=module.stem,
        prompt=f"Repair {module.stem} (variant {number}) so that its tests pass.",
        tree=Tree({CODE: code.encode(), TESTS: tests.encode()}),
    )
