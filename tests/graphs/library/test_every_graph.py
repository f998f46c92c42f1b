"""Each ready-made graph once with the real small model, and once by replay of a recording, with nobody to ask."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from every_graph import EveryGraph, Run
from real_model import local_backend
from trails import trail

from groundwire import EpisodeResult, StopReason, Verdict
from groundwire.agents import ScriptedBackend
from groundwire.agents.backends.local_model import ServerOptions
from groundwire.agents.backends.replay import ReplayBackend
from groundwire.completions import Request
from groundwire.graphs.library.catalogue import NAMES, card
from groundwire.memory import InMemoryStore
from groundwire.recordings import Recording, recorded_calls
from groundwire.records import Admission, ModelCall, Record
from groundwire.signals import Signal

ONE_SLOT = ServerOptions(slots=1, context_tokens=2048, threads=1)
BROKEN = {StopReason.REFUSED, StopReason.STORAGE_ERROR, StopReason.INTERRUPTED}


async def once(run: Run) -> tuple[EpisodeResult, Sequence[Record]]:
    """Runs it, and again from its ledger, in which nobody is asked and all comes out the same."""
    app = run.graph.compile(store=InMemoryStore(), budget=run.budget)
    result = await app.arun(run.task)
    records = await app.store.records(result.episode_id)
    replayed = await app.areplay(run.task, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None and replayed.seals_verified
    return result, records


@pytest.mark.model
@pytest.mark.parametrize("names", [NAMES], ids=["one server"])
async def test_what_a_real_model_answers_is_decided_on_by_what_is_outside_of_it(names: Sequence[str]) -> None:
    async with local_backend(options=ONE_SLOT) as backend:
        every = EveryGraph(backend)
        for name in names:
            run = every.run(name)
            result, records = await once(run)
            assert any(isinstance(r, ModelCall) and not r.error for r in records), (name, result.error)
            assert result.stop_reason not in BROKEN, (name, result.detail)
            judged = [r for r in records if isinstance(r, Signal)]
            assert {s.origin for s in judged} <= run.origins, name
            passed = {s.candidate_digest for s in judged if s.verdict is Verdict.PASS}
            assert result.verdict is not Verdict.PASS or passed, name
            opened = {r.signal_id for r in records if isinstance(r, Admission) and r.admitted}
            assert opened <= {s.id for s in judged if s.verdict is not Verdict.PASS}, name
            assert result.grounded is card(name).grounded, name
    assert not every.thrown, "what was vetoed was not done"


def says(request: Request) -> str:
    """A model that is wrong at first, names a tool where it may, and gives no step that a reader could not read."""
    words = " ".join(message.content for message in request.messages)
    if request.json_schema or '{"tool"' in words or "JSON" in words:
        return json.dumps({"answer": "42"}) if len(request.messages) > 3 else json.dumps(tool_step(words))
    if "FILE:" in words:
        return f"FILE: answer.txt\n```\n4{(request.seed or 0) % 7}\n```\n"
    return f"First, {(request.seed or 0) % 10}.\n\nCONFIDENCE: 0.7\nANSWER: 4{(request.seed or 0) % 3}"


def tool_step(words: str) -> dict[str, object]:
    name = next((tool for tool in ("count", "throw", "search") if f'"{tool}"' in words or f"{tool}(" in words), "none")
    return {"tool": name, "arguments": {"query": "harbour"} if name == "search" else {"store": "north"}}


async def test_answers_of_which_none_can_be_used_replay_too() -> None:
    every = EveryGraph(ScriptedBackend(lambda _request: "..."))
    result, records = await once(every.run("parallel_refine"))
    assert result.candidates == 0 and not any(isinstance(r, Signal) for r in records)


@pytest.mark.parametrize("name", NAMES)
async def test_a_recorded_run_takes_the_same_way_with_nobody_to_ask(name: str) -> None:
    result, records = await once(EveryGraph(ScriptedBackend(says), trials=2, form="auto").run(name))
    way = trail(records)
    calls = [r for r in records if isinstance(r, ModelCall)]
    assert calls and any(isinstance(r, Signal) for r in records), way
    recording = Recording(recorded_calls(calls), source=name)
    played, again = await once(EveryGraph(ReplayBackend(recording), trials=2, form="auto").run(name))
    assert trail(again) == way
    assert (played.stop_reason, played.verdict, played.patch) == (result.stop_reason, result.verdict, result.patch)
    assert (played.candidates, played.reflections, played.grounded) == (
        result.candidates, result.reflections, card(name).grounded,
    )  # fmt: skip
