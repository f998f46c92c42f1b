"""The graphs of tool-using actors with the real small model: whatever it says, only what tools saw decides.

One server, and prompts that begin alike, so that the model reads that part once.
"""

from __future__ import annotations

from typing import Literal

import pytest
from real_model import local_backend

from groundwire import Budget, FeedbackGraph, Origin, Task
from groundwire.agents import ToolActor
from groundwire.agents.backends.local_model import ServerOptions
from groundwire.completions import Backend
from groundwire.graphs.library.preflight import preflight
from groundwire.graphs.library.search_judge import search_judge
from groundwire.graphs.library.tool_recovery import tool_recovery
from groundwire.records import ModelCall
from groundwire.signals import Signal
from groundwire.toolcalls import Ruling
from groundwire.tools import AnswerCheck, Corpus, FunctionTool, RuleReviewer, Toolbox
from groundwire.tools.environments.worlds.fiction_search.corpus import PASSAGES, QUESTIONS

WORDS = ServerOptions(slots=1, context_tokens=1536, threads=1)
ALLOWED = {Origin.EXECUTION, Origin.TOOL_ERROR, Origin.VERIFIER}


def graphs(backend: Backend, thrown: list[str]) -> list[FeedbackGraph]:
    def count(store: Literal["north", "south"]) -> int:
        """Bolts in a store."""
        return {"north": 20, "south": 22}[store]

    def throw(store: Literal["north", "south"]) -> None:
        """Throws all bolts of a store away."""
        thrown.append(store)

    def actor(tools: Toolbox) -> ToolActor:
        return ToolActor(backend, tools.specs, form="schema", max_tokens=24, repairs=0, resamples=0)

    check = AnswerCheck(lambda answer: "42" in answer)
    counting, throwing = Toolbox(count), Toolbox(FunctionTool(throw, irreversible=True))
    veto = RuleReviewer(lambda call: Ruling(False, "bolts are kept", "answer 42"))
    return [
        tool_recovery(actor(counting), counting, check),
        preflight(actor(throwing), throwing, check, veto),
        search_judge(backend, Corpus(PASSAGES).tool(k=1), form="schema"),
    ]


@pytest.mark.model
async def test_a_real_model_is_held_to_what_tools_saw() -> None:
    thrown: list[str] = []
    async with local_backend(options=WORDS) as backend:
        for graph in graphs(backend, thrown):
            app = graph.compile(budget=Budget(trials=1, steps=1))
            task = Task(id=graph.name, prompt=QUESTIONS[0].text)
            result = await app.arun(task)
            records = await app.store.records(result.episode_id)
            assert any(isinstance(r, ModelCall) and not r.error for r in records), result.error
            assert {r.origin for r in records if isinstance(r, Signal)} <= ALLOWED
            assert not thrown
            replayed = await app.areplay(task, run_id=result.run_id, episode_id=result.episode_id)
            assert replayed.difference is None
