"""Real runs of an actor with tools: a stock list that is counted, and an answer that is judged."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from recorded_runs import trajectories

from groundwire import FeedbackGraph, Task
from groundwire.agents import ToolActor
from groundwire.graphs.library._tool_recovery import tool_recovery
from groundwire.models import ScriptedBackend
from groundwire.tools import AnswerCheck, Toolbox
from groundwire.training import Trajectory

__all__ = ["STOCK", "answering", "calling", "counted", "counting"]

STOCK = Task(id="stock", prompt="How many bolts are there in all stores together?")


def calling(tool: str, **arguments: Any) -> str:
    """A call, as the model writes it."""
    return json.dumps({"tool": tool, "arguments": arguments})


def answering(text: str) -> str:
    """An answer, as the model writes it."""
    return json.dumps({"answer": text})


def counting(*replies: str, hint: str = "there are north and south") -> FeedbackGraph:
    """The graph; its model gives these replies in their order.

    Args:
        replies: steps.
        hint: what the error of an unknown store says.
    """

    def count(store: str) -> int:
        """Bolts in one store."""
        stock = {"north": 20, "south": 22}
        if store not in stock:
            raise LookupError(f"no store {store}; {hint}")
        return stock[store]

    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    box = Toolbox(count, add)
    return tool_recovery(ToolActor(ScriptedBackend(replies), box.specs), box, AnswerCheck(lambda a: a == "42" or "no"))


def counted(folder: Path, *replies: str, **options: Any) -> Awaitable[list[Trajectory]]:
    """One run of it, read back from its ledger."""
    folder.mkdir(exist_ok=True)
    return trajectories(folder, counting(*replies, **options), STOCK)
