"""A work tree judged once, by its tests, in the sandbox: sealed, in the ledger, and nothing is proposed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.cli._checks import loading
from groundwire.cli._run_state import end_of_run
from groundwire.cli.coding_agents._work_tree import WorkTree
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._records import Record, Store
from groundwire.core._settings import Settings
from groundwire.core._signals import Origin, Signal
from groundwire.core._tasks import Task
from groundwire.core._traits import ActorTraits, Needs
from groundwire.memory import SqlStore

with loading():
    from groundwire.cli._parts import GraphParts, budget_of
    from groundwire.graphs import EpisodeResult, FeedbackApp, FeedbackGraph

NAME = "judge_once"
Told = Callable[[Record], None]


class GivenCandidate:
    """Proposes what a coding agent made, once; it has no say in it.

    Args:
        candidate: what it made; None in a replay, which takes the recorded one.
    """

    def __init__(self, candidate: Candidate | None) -> None:
        self._candidate = candidate
        self.traits = ActorTraits(needs=Needs(lessons=0), calls_only=True, revision=1 if candidate else 2)

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`."""
        return [] if self._candidate is None or context.trial > 1 else [self._candidate]


@dataclass(frozen=True)
class JudgedTree:
    """What came of it.

    Args:
        work: what was judged.
        result: the episode's outcome.
        signal: the signal that decided; None where nothing could be run at all.
    """

    work: WorkTree
    result: EpisodeResult
    signal: Signal | None


def judging_app(settings: Settings, task: Task, store: Store, *, candidate: Candidate | None) -> FeedbackApp:
    """The graph of one judging: visible tests first, then the hidden ones, where there are any.

    Args:
        settings: what was asked for; no model is asked.
        task: what is judged, with its tests.
        store: the ledger.
        candidate: what was made of the task's files; the base itself where nothing was, None in a replay.
    """
    parts = GraphParts.of(settings.model_copy(update={"model": None, "actor_command": None}))
    graph = FeedbackGraph(name=NAME)
    graph.add_tool("test", parts.judge(task)).add_tool("hidden", parts.hidden(task))
    if candidate is not None and candidate.is_base:
        graph.set_entry("test")
    else:
        graph.add_actor("given", GivenCandidate(candidate)).add_edge("given", "test")
    graph.confirm("test", by="hidden")
    return graph.compile(store=store, budget=budget_of(settings, 1), sandbox=parts.sandbox, rules=parts.rules)


def replaying(told: Mapping[str, Any], store: Store) -> Callable[[Task], FeedbackApp]:
    """What makes the graph of a recorded judging again.

    Args:
        told: what its run says of it (`judge_once`).
        store: the ledger.
    """
    settings = Settings.model_validate(told["settings"])

    def app(task: Task) -> FeedbackApp:
        base = Candidate(task.tree.digest, {}) if told["is_base"] else None
        return judging_app(settings, task, store, candidate=base)

    return app


async def judge_once(
    work: WorkTree, store: SqlStore, *, asked: Mapping[str, Any], told: Told | None = None
) -> JudgedTree:
    """Judges a work tree; the run, its signals and its end are in the ledger.

    Args:
        work: what is judged.
        store: the ledger.
        asked: who asked for it and how, kept with the run.
        told: told of each record after the ledger has it.
    """
    settings = work.settings
    app = judging_app(settings, work.task, store, candidate=work.candidate)
    kept = settings.model_dump(mode="json", exclude={"db"})
    about = {"tests_from": work.tests_from, "left_out": list(work.left_out), "is_base": work.candidate.is_base}
    run_id = await app.start_run({NAME: {**asked, **about, "settings": kept}})
    signals: list[Signal] = []

    def note(record: Record) -> None:
        if isinstance(record, Signal) and record.origin is not Origin.RULE:
            signals.append(record)
        if told is not None:
            told(record)

    result = await app.arun(work.task, run_id=run_id, seed=settings.seed, observers=(note,), on_error="end")
    await end_of_run(store, run_id)
    return JudgedTree(work, result, signals[-1] if signals else None)
