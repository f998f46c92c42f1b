"""What every test of the search shares: all edits of a small file, and contexts as the runtime would make them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from groundwire.agents.search._candidates import proposals
from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._examples import read_examples
from groundwire.agents.search._source import apply, parse_source
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext, Judged
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.core._tasks import Task

Offers = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def offers() -> Offers:
    """All edits of a file as (operator, the whole new text)."""

    def collect(code: str, tests: str = "") -> list[tuple[str, str]]:
        source = parse_source("m.py", code.encode())
        assert source is not None
        scene = EditContext(source, read_examples([tests.encode()]))
        return [
            (p.name, apply(source.data, p.splices).decode())
            for site in source.sites
            if site.statement is not None
            for p in proposals(site, scene, evaluated=not site.is_expression or site in source.evaluated)
        ]

    return collect


@pytest.fixture
def weights() -> Callable[[str, str], float]:
    """The weight, within its operator, of the likeliest edit after which a file holds a text; 0: none."""

    def weigh(code: str, text: str) -> float:
        source = parse_source("m.py", code.encode())
        assert source is not None
        scene = EditContext(source, read_examples([]))
        found = (
            p.weight
            for site in source.sites
            if site.statement is not None
            for p in proposals(site, scene, evaluated=not site.is_expression or site in source.evaluated)
            if text in apply(source.data, p.splices).decode()
        )
        return max(found, default=0.0)

    return weigh


async def no_model(backend: Backend, request: Request) -> Completion:
    """The search asks no model."""
    raise AssertionError("the search actor needs no model")


class Maker:
    """Makes tasks, signals and contexts."""

    def __init__(self) -> None:
        self._mint = Mint("run", secrets.token_bytes(32))

    def task(self, files: Mapping[str, str], **fields: Any) -> Task:
        """A task of these files."""
        return Task(id="t", tree=Tree({path: text.encode() for path, text in files.items()}), **fields)

    def judged(
        self,
        candidate: Candidate,
        failed: Sequence[str],
        passed: Sequence[str] = (),
        *,
        messages: Mapping[str, str] | None = None,
        origin: Origin = Origin.TESTS,
        partial: bool = False,
    ) -> Judged:
        """The candidate with a sealed signal about these cases."""
        said = messages or {}
        cases = [CaseOutcome(id=i, result=CaseResult.FAILED, message=said.get(i, "")) for i in failed]
        cases += [CaseOutcome(id=i, result=CaseResult.PASSED) for i in passed]
        seen = Observation(
            verdict=Verdict.FAIL if failed else Verdict.PASS,
            origin=origin,
            evidence=Evidence(cases=tuple(cases), collected=len(cases)),
            partial=partial,
        )
        signal = self._mint.signal(seen, episode_id="e", trial=0, issuer="test", candidate_digest=candidate.digest)
        return Judged(candidate, signal)

    def context(
        self, task: Task, failed: Sequence[str] = ("t::a",), passed: Sequence[str] = (), **fields: Any
    ) -> ActorContext:
        """What the actor gets after the baseline has failed."""
        baseline = self.judged(Candidate(task.tree.digest, {}), failed, passed)
        given: dict[str, Any] = {
            "task": task,
            "tree": task.tree,
            "call": no_model,
            "best": baseline,
            "failing": baseline,
            "judged": (baseline,),
            "tried": frozenset({baseline.candidate.digest}),
        }
        return ActorContext(**given | fields)


@pytest.fixture
def maker() -> Maker:
    return Maker()
