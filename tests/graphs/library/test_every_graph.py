"""Each ready-made graph by replay of a recording, with nobody to ask."""

from __future__ import annotations

import json

import pytest
from every_graph import EveryGraph, once
from trails import trail

from groundwire.core._models import Request
from groundwire.core._recordings import Recording, recorded_calls
from groundwire.core._records import ModelCall
from groundwire.core._signals import Signal
from groundwire.graphs.library._catalogue import NAMES, card
from groundwire.models import ScriptedBackend
from groundwire.models._replay import ReplayBackend


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
