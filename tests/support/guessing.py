"""Small deterministic parts for graph tests: a number to be guessed, and a tool that checks it in process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from groundwire import FeedbackGraph, Observation, Origin, Task, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection, Tool, ToolContext
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict

ANSWER = "answer.txt"


def answer(task: Task, text: str) -> Candidate:
    return Candidate(task.tree.digest, {ANSWER: text.encode()}, edits=("guess",))


@dataclass
class Guesser:
    """An actor that plays given answers, one batch a call, and remembers what it was given."""

    batches: Sequence[Sequence[str]]
    seen: list[ActorContext] = field(default_factory=list[ActorContext])

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        self.seen.append(context)
        index = len(self.seen) - 1
        return [answer(context.task, text) for text in self.batches[index]] if index < len(self.batches) else []


@dataclass
class Noter:
    """A critic that quotes the failing evidence."""

    seen: list[CriticContext] = field(default_factory=list[CriticContext])

    async def reflect(self, context: CriticContext) -> Reflection:
        self.seen.append(context)
        return Reflection(f"failed: {context.failing.signal.evidence.detail}", by="noter")


@dataclass
class Check:
    """A tool with one case a wanted word: passes when the answer holds it."""

    wanted: Sequence[str] = ("right",)
    origin: Origin = Origin.VERIFIER
    judged: list[str] = field(default_factory=list[str])
    override: Callable[[str], Observation | None] = lambda _text: None

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        tree = task.tree.with_changes(candidate.changes)
        text = tree.files.get(ANSWER, b"").decode()
        self.judged.append(text)
        forced = self.override(text)
        if forced is not None:
            return forced
        cases = tuple(
            CaseOutcome(id=word, result=CaseResult.PASSED if word in text else CaseResult.FAILED)
            for word in self.wanted
        )
        ok = all(c.result.ok for c in cases)
        return Observation(
            verdict=Verdict.PASS if ok else Verdict.FAIL,
            origin=self.origin,
            evidence=Evidence(cases=cases, detail=f"{sum(c.result.ok for c in cases)} of {len(cases)}"),
        )


def no_verdict(reason: NoVerdict, origin: Origin = Origin.VERIFIER) -> Observation:
    return Observation(verdict=Verdict.NONE, origin=origin, reason=reason)


def loop(actor: Guesser, check: Tool, critic: Noter | None = None, *, width: int = 1) -> FeedbackGraph:
    """write → test, refined through reflect where there is a critic."""
    graph = FeedbackGraph()
    graph.add_actor("write", actor, width=width)
    graph.add_tool("test", check)
    graph.add_edge("write", "test")
    if critic is not None:
        graph.add_critic("reflect", critic)
    return graph.refine("test", via="reflect" if critic else None, to="write")
