"""Real runs of our graphs in a real SQLite ledger, for what is made of ledgers afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from guessing import ANSWER, Check
from wide import model

from groundwire import Budget, FeedbackGraph, Task, Tree
from groundwire.agents import LLMActor, LLMCritic
from groundwire.core._contexts import Tool
from groundwire.core._models import Completion, Request
from groundwire.core._records import RunRecord
from groundwire.memory import SqlStore
from groundwire.models import ScriptedBackend
from groundwire.training import Trajectories, Trajectory, trajectories_of

__all__ = ["Certain", "gone_through", "ledger_at", "question", "read", "repairing", "run", "saying", "trajectories"]


def question(name: str = "sum", prompt: str = "How much is 6 times 7?") -> Task:
    """A task whose answer is one file."""
    return Task(id=name, prompt=prompt, family="sums", tree=Tree({ANSWER: b"?\n"}), editable=(ANSWER,))


def saying(text: str, thought: str = "") -> str:
    """An answer of an actor that gives the whole file, perhaps after some thought."""
    return f"{f'<think>{thought}</think>' if thought else ''}I count.\n\nFILE: {ANSWER}\n```\n{text}\n```\n"


def repairing(
    answers: Sequence[str], *, name: str = "scripted", check: Tool | None = None, reflection: str = "Carry the four.",
    samples: int = 1, backend: ScriptedBackend | None = None,
) -> FeedbackGraph:  # fmt: skip
    """An LLM actor and an LLM critic around a check; the actor's answers are played in their order."""
    script = iter(answers)

    def answer(_request: Request, purpose: str) -> str:
        return reflection if purpose == "reflect" else next(script)

    backend = backend or model(answer, name)
    graph = FeedbackGraph()
    graph.add_actor("write", LLMActor(backend, answer="whole", samples=samples), width=samples)
    graph.add_tool("test", check or Check(("42",)))
    graph.add_critic("reflect", LLMCritic(backend))
    graph.add_edge("write", "test")
    return graph.refine("test", via="reflect", to="write")


class Certain(ScriptedBackend):
    """A scripted backend whose tokens have log probabilities: every token of a text the same likeliest ones."""

    top = (math.log(0.9), math.log(0.05), math.log(0.03))

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        completion = await super().complete(request)
        return completion.model_copy(
            update={
                "logprobs": tuple((self.top[0],) * len(text.split()) for text in completion.texts),
                "top_logprobs": tuple((self.top,) * len(text.split()) for text in completion.texts),
            }
        )


def ledger_at(folder: Path) -> SqlStore:
    """The ledger of a test."""
    return SqlStore(f"sqlite:///{folder / 'ledger.db'}")


async def run(
    store: SqlStore, graph: FeedbackGraph, *tasks: Task, trials: int = 3, seed: int = 0, **config: object
) -> RunRecord:
    """Runs a graph on tasks, all in one run."""
    app = graph.compile(store=store, budget=Budget(trials=trials))
    run_id = await app.start_run(config)
    for task in tasks or (question(),):
        await app.arun(task, run_id=run_id, seed=seed)
    await app.end_run(run_id)
    (record,) = await store.runs(prefix=run_id)
    return record


async def read(folder: Path, *runs: RunRecord) -> list[Trajectory]:
    """The trajectories of runs, read anew."""
    async with aclosing(ledger_at(folder)) as store:
        return [trajectory async for trajectory in trajectories_of(store, runs)]


async def trajectories(folder: Path, graph: FeedbackGraph, *tasks: Task, **options: Any) -> list[Trajectory]:
    """What one run of a graph comes to, read back from its ledger."""
    async with aclosing(ledger_at(folder)) as store:
        record = await run(store, graph, *tasks, **options)
    return await read(folder, record)


def gone_through(folder: Path, *runs: RunRecord) -> Trajectories:
    """The same for code that is not async."""
    return Trajectories(ledger_at(folder), runs)
