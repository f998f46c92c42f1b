"""Builds what the runtime would hand to actors and critics: real tasks, and signals from a real mint."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext, CriticContext, Judged
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.core._tasks import Task

BUGGY = {
    "shop/__init__.py": "",
    "shop/price.py": (
        "def total(prices):\n    result = 0\n    for price in prices:\n        result -= price\n    return result\n"
    ),
    "tests/test_price.py": "from shop.price import total\n\n\ndef test_some():\n    assert total([1, 2]) == 3\n",
}
MESSAGE = 'tests/test_price.py:5: AssertionError\nassert -3 == 3\n  File "/work/shop/price.py", line 4, in total'


class Caller:
    """A model caller without ledger or budget; it keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, backend: Backend, request: Request) -> Completion:
        self.requests.append(request)
        return await backend.complete(request)


class Scene:
    """One task and what is known about it."""

    Caller = Caller
    buggy = BUGGY
    message = MESSAGE

    def __init__(self) -> None:
        self.call = Caller()
        self._mint = Mint("run", secrets.token_bytes(32))

    def task(self, files: Mapping[str, str | bytes] = BUGGY, **fields: Any) -> Task:
        tree = Tree({path: text.encode() if isinstance(text, str) else text for path, text in files.items()})
        given: dict[str, Any] = {"prompt": "Make the tests pass.", "tree": tree}
        return Task(id="shop", **given | fields)

    def judged(
        self,
        candidate: Candidate,
        cases: Sequence[tuple[str, str]] = (("tests/test_price.py::test_some", MESSAGE),),
        *,
        passed: Sequence[str] = (),
        origin: Origin = Origin.TESTS,
        oracle: bool = False,
        partial: bool = False,
        **evidence: Any,
    ) -> Judged:
        """The candidate with a sealed FAIL whose failing cases are (id, message)."""
        outcomes = [CaseOutcome(id=name, result=CaseResult.FAILED, message=text) for name, text in cases]
        outcomes += [CaseOutcome(id=name, result=CaseResult.PASSED) for name in passed]
        observation = Observation(
            verdict=Verdict.FAIL,
            origin=origin,
            evidence=Evidence(cases=tuple(outcomes), **evidence),
            oracle=oracle,
            partial=partial,
        )
        signal = self._mint.signal(
            observation, episode_id="e", trial=0, issuer="test", candidate_digest=candidate.digest
        )
        return Judged(candidate, signal)

    def base(self, task: Task) -> Candidate:
        return Candidate(task.tree.digest, {})

    def context(self, task: Task | None = None, **fields: Any) -> ActorContext:
        """What an actor gets after the baseline has failed."""
        task = task or self.task()
        baseline = self.judged(self.base(task))
        given: dict[str, Any] = {
            "task": task,
            "tree": task.tree,
            "call": self.call,
            "best": baseline,
            "failing": baseline,
            "tried": frozenset({baseline.candidate.digest}),
        }
        return ActorContext(**given | fields)

    def critic_context(self, failing: Judged, task: Task, **fields: Any) -> CriticContext:
        tree = task.tree.with_changes(failing.candidate.changes)
        return CriticContext(task=task, failing=failing, tree=tree, call=self.call, **fields)


@pytest.fixture
def scene() -> Scene:
    return Scene()
