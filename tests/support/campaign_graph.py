"""A graph for runs of several workers, `FILE.py:make`: its provider keeps a bill of its own, which no crash undoes.

`GROUNDWIRE_TEST_BILL` names the bill's file, `GROUNDWIRE_TEST_LATENCY` the seconds of a call and of a judging; while
the file exists that `GROUNDWIRE_TEST_HOLD` names, no task is solved whose id ends in an odd digit. Each task is solved
in its third trial, after five calls: three drafts and two words on what was wrong.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire import FeedbackGraph, Observation, Origin, Task, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection, ToolContext
from groundwire.core._models import Completion, Message, Request
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence

__all__ = ["CALLS", "PRICE", "TRIALS", "Provider", "bill", "make"]

TRIALS, CALLS, PRICE = 3, 5, 0.01
FILE = "solution.py"


def bill(path: Path) -> list[str]:
    """The requests that were charged, by their digests."""
    return path.read_text().split() if path.exists() else []


@dataclass
class Provider:
    """Charges for each request that reaches it, whether its answer arrives or not."""

    model: str = "provider/paid"

    async def complete(self, request: Request) -> Completion:
        digest = hashlib.sha256(request.canonical().encode()).hexdigest()
        if path := os.environ.get("GROUNDWIRE_TEST_BILL"):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(descriptor, f"{digest}\n".encode())
            os.close(descriptor)
        await asyncio.sleep(latency())
        while is_held(request):  # noqa: ASYNC110  another process removes it
            await asyncio.sleep(0.05)
        return Completion(texts=(f"text {digest[:8]}",), usd=PRICE, prompt_tokens=3, completion_tokens=4)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return 2 * PRICE


def is_held(request: Request) -> bool:
    """True for a last draft that somebody holds up, so that a run does not end before they are done with it."""
    path = os.environ.get("GROUNDWIRE_TEST_HOLD")
    task, is_last, _ = request.messages[0].content.partition(f", trial {TRIALS}:")
    return path is not None and is_last != "" and task[-1] in "13579" and Path(path).exists()


def latency() -> float:
    """Seconds."""
    return float(os.environ.get("GROUNDWIRE_TEST_LATENCY", "0"))


def asks(purpose: str, about: str, seed: int) -> Request:
    return Request(messages=(Message(role="user", content=about),), max_tokens=10, seed=seed, purpose=purpose)


@dataclass
class Writes:
    provider: Provider

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        said = context.reflection.text if context.reflection else ""
        about = f"{context.task.id}, trial {context.trial}: {said}"
        completion = await context.call(self.provider, asks("propose", about, context.trial))
        end = " right" if context.trial == TRIALS else ""
        return [Candidate(context.task.tree.digest, {FILE: f"# {completion.texts[0]}{end}\n".encode()})]


@dataclass
class Reflects:
    provider: Provider

    async def reflect(self, context: CriticContext) -> Reflection:
        about = f"{context.task.id}: {context.failing.candidate.digest}"
        completion = await context.call(self.provider, asks("reflect", about, 0))
        return Reflection(completion.texts[0], by=self.provider.model)


@dataclass
class Judges:
    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        await asyncio.sleep(latency())
        is_right = b"right" in task.tree.with_changes(candidate.changes).files.get(FILE, b"")
        case = CaseOutcome(id="right", result=CaseResult.PASSED if is_right else CaseResult.FAILED)
        return Observation(
            verdict=Verdict.PASS if is_right else Verdict.FAIL,
            origin=Origin.VERIFIER,
            evidence=Evidence(cases=(case,), detail="is it right?"),
        )


def make() -> FeedbackGraph:
    provider = Provider()
    graph = FeedbackGraph().add_actor("write", Writes(provider)).add_critic("reflect", Reflects(provider))
    graph.add_tool("test", Judges()).add_edge("write", "test")
    return graph.refine("test", via="reflect", to="write")
