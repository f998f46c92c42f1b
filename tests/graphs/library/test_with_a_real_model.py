"""Graphs with actors of their own, once each with the real small model: what is outside of it decides."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from guessing import Check
from real_model import local_backend
from worlds import Corridor, Porch

from groundwire import Budget, FeedbackGraph, Origin, StopReason, Task, Tree, Verdict
from groundwire.agents.acting import EpisodeCritic, ReActActor
from groundwire.agents.backends.local_model import ServerOptions
from groundwire.agents.lookahead import LLMForesight, LookaheadActor
from groundwire.agents.step_beam import NextStep, StepBeamActor
from groundwire.completions import Backend
from groundwire.environments import environment_task
from groundwire.graphs.library.episodic import episodic
from groundwire.graphs.library.plan_ahead import plan_ahead
from groundwire.graphs.library.step_beam import step_beam
from groundwire.graphs.library.verified_steps import verified_steps
from groundwire.records import Admission, ModelCall
from groundwire.signals import Signal
from groundwire.stepwise import StepRules

PORCH = environment_task(Porch(), id="porch", prompt="Get in.")
TEXT = Task(id="text", prompt="Write one word.", tree=Tree({"answer.txt": b"?\n"}), editable=("answer.txt",))
TERSE = StepRules(lambda steps: "too many words" if len(steps[-1].split()) > 12 else "")


def planner(model: Backend) -> LookaheadActor:
    return LookaheadActor(LLMForesight(model, max_tokens=16), depth=1, width=1, simulations=1)


GRAPHS: dict[str, tuple[Origin, Task, Callable[[Backend], FeedbackGraph]]] = {
    "episodic": (
        Origin.ENVIRONMENT,
        environment_task(Corridor(), id="corridor", prompt="Walk on."),
        lambda m: episodic(ReActActor(m, max_tokens=12), EpisodeCritic(m), Corridor),
    ),
    "plan_ahead": (Origin.ENVIRONMENT, PORCH, lambda m: plan_ahead(planner(m), Porch)),
    "verified_steps": (
        Origin.VERIFIER,
        TEXT,
        lambda m: verified_steps(m, TERSE, path="answer.txt", corrections=0, max_tokens=24),
    ),
    "step_beam": (
        Origin.VERIFIER,
        TEXT,
        lambda m: step_beam(
            StepBeamActor(NextStep(m, "answer.txt", max_tokens=8), samples=2), Check(("zzz",)), depth=2
        ),
    ),
}


@pytest.mark.model
async def test_what_a_real_model_answers_is_decided_on_by_what_is_outside_of_it() -> None:
    ends: dict[str, StopReason] = {}
    async with local_backend(options=ServerOptions(slots=2, context_tokens=1280, threads=1)) as backend:
        for name, (origin, task, build) in GRAPHS.items():
            app = build(backend).compile(budget=Budget(trials=1, steps=1))
            result = await app.arun(task)
            records = await app.store.records(result.episode_id)
            ends[name] = result.stop_reason
            judged = [r for r in records if isinstance(r, Signal) and r.origin is not Origin.RULE]
            assert {s.origin for s in judged} <= {origin}, name
            passed = {s.candidate_digest for s in judged if s.verdict is Verdict.PASS}
            assert (result.verdict is Verdict.PASS) is bool(passed), name
            opened = {r.signal_id for r in records if isinstance(r, Admission) and r.admitted}
            assert opened <= {s.id for s in judged if s.verdict is not Verdict.PASS}, name
            assert any(isinstance(r, ModelCall) for r in records), name
    assert ends.keys() == GRAPHS.keys()
    assert not {StopReason.REFUSED, StopReason.STORAGE_ERROR, StopReason.INTERRUPTED} & set(ends.values()), ends
