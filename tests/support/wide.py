"""What tests of width methods share: a question with one answer, a model by function, and what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from guessing import ANSWER, Check

from groundwire import Budget, EpisodeResult, FeedbackGraph, Task, Tree
from groundwire.core._models import Message, Request
from groundwire.core._records import CandidateRecord, Record
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

QUESTION = Task(id="sum", prompt="How much is 6 times 7?", tree=Tree({ANSWER: b""}), editable=(ANSWER,))


@dataclass
class Ran:
    """One episode of a graph, and all that its models were asked."""

    result: EpisodeResult
    store: InMemoryStore
    records: Sequence[Record]
    judged: Sequence[str]

    @property
    def candidates(self) -> list[CandidateRecord]:
        return [record for record in self.records if isinstance(record, CandidateRecord)]


async def ran(graph: FeedbackGraph, check: Check, *, task: Task = QUESTION, trials: int = 1, seed: int = 0) -> Ran:
    """Runs the graph once, and replays it: nobody is asked, and the ledger comes out the same."""
    store = InMemoryStore()
    app = graph.compile(store=store, budget=Budget(trials=trials))
    result = await app.arun(task, seed=seed)
    judged = list(check.judged)
    replayed = await app.areplay(task, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None
    return Ran(result, store, await store.records(result.episode_id), judged)


def model(
    answers: Callable[[Request, str], str], name: str = "scripted", *, continues: bool = False
) -> ScriptedBackend:
    """A model that answers by the request and by its purpose without the stage."""
    return ScriptedBackend(
        lambda request: answers(request, request.purpose.partition(".")[0]), model=name, continues=continues
    )


def asked(messages: Sequence[Message]) -> str:
    """A conversation as one text."""
    return "\n\n".join(message.content for message in messages)


def purposes(backend: ScriptedBackend) -> list[str]:
    """What each call was for, with its stage, in order."""
    return [request.purpose for request in backend.requests]


def prompts(backend: ScriptedBackend, purpose: str) -> list[str]:
    """The conversations of one purpose or stage."""
    return [asked(r.messages) for r in backend.requests if r.purpose == purpose or r.purpose.startswith(f"{purpose}.")]
