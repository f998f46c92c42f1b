"""The arms of a comparison: the graph as it is, and its controls on the same tasks and seeds at equal cost."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from groundwire.benchmarks import Item
from groundwire.cli._graph_choice import SAMPLES, Builder, built, kind_of_samples, self_refine_of
from groundwire.cli._parts import GraphParts
from groundwire.cli._suite import Suite
from groundwire.cli._tally import Tally
from groundwire.cli.graph_options._declared import OPTIONS
from groundwire.cli.graph_options._flags import checked_options
from groundwire.cli.graph_options._making import Making
from groundwire.cli.graph_options._wiring import graph_of
from groundwire.core._errors import ConfigError
from groundwire.core._records import EpisodeEnd, episodes_with_records
from groundwire.graphs import FeedbackApp, FeedbackGraph, Rules
from groundwire.graphs.build._control import CONTROL_RULES, EpisodeUsage, allowance_of, control_budget, resampling_of
from groundwire.graphs.run._budget import Budget
from groundwire.graphs.run._result import EXIT_CODES
from groundwire.memory import SqlStore
from groundwire.tools import world

RUNS_LOOKED_AT = 1000
BROKEN = frozenset({3, 5, 6, 7, 130})
"""Exit codes of episodes that say nothing of an arm: no verdict, a model's or the ledger's trouble, an error in a part,
interrupted."""


class RunArm(Protocol):
    """One side of a comparison."""

    name: str
    store: SqlStore
    run_id: str
    """Empty before it has begun."""
    tally: Tally

    @property
    def at_once(self) -> int | None:
        """Episodes at a time; None: four, or as many as keep a local engine full."""
        ...

    def app(self, item: Item) -> FeedbackApp:
        """The graph for one task."""
        ...


class Main:
    """The graph as it was named.

    Args:
        suite: what is run.
        parts: its parts.
        store: ledger and memory.
        builder: makes the graph.
    """

    name = "main"
    tally: Tally

    def __init__(self, suite: Suite, parts: GraphParts, store: SqlStore, builder: Builder) -> None:
        self.suite = suite
        self.parts = parts
        self.store = store
        self.builder = builder
        self.run_id = ""
        self._of_samples: dict[tuple[str, ...], FeedbackApp] = {}

    @property
    def at_once(self) -> int | None:
        """See `RunArm`."""
        return self.suite.at_once

    def graph(self, item: Item) -> FeedbackGraph:
        """Not yet compiled."""
        suite, task = self.suite, item.task
        if suite.graph not in OPTIONS:
            return built(self.builder, self.parts, task, {**suite.options, **suite.graph_options})
        options = checked_options(suite.graph, suite.graph_options)
        written_in = world(suite.source.name) if suite.source.in_one_go else None
        return graph_of(Making(suite.graph, options, self.parts, task, written_in, **suite.options))

    def app(self, item: Item) -> FeedbackApp:
        """See `RunArm`."""
        # what is required of tests is looked at task by task
        alone = self.suite.graph != SAMPLES or self.parts.settings.require_two_boxes
        kind = None if alone else kind_of_samples(item.task)
        if kind is not None and kind in self._of_samples:
            return self._of_samples[kind]
        app = self.compiled(self.graph(item), self.parts.budget_for(item.task), self.parts.rules)
        if kind is not None:
            self._of_samples[kind] = app
        return app

    def compiled(self, graph: FeedbackGraph, budget: Budget, rules: Rules) -> FeedbackApp:
        """With the run's ledger and sandbox."""
        return graph.compile(
            store=self.store,
            budget=budget,
            run_budget=GraphParts.totals(self.parts.settings),
            sandbox=self.parts.sandbox,
            rules=rules,
        )


class Control(ABC):
    """What all controls share: they may use what each episode of the other arm might have used.

    Args:
        main: the other arm, which has ended.
    """

    name = ""
    tally: Tally

    def __init__(self, main: Main) -> None:
        self.main = main
        self.store = main.store
        self.run_id = ""
        self._spent: dict[str, EpisodeUsage] = {}

    @property
    def at_once(self) -> int | None:
        """See `RunArm`."""
        return self.main.suite.at_once

    @abstractmethod
    def app(self, item: Item) -> FeedbackApp:
        """See `RunArm`."""

    @abstractmethod
    def check(self, item: Item) -> None:
        """Says so before anything is paid for if this control can't be made.

        Raises:
            ConfigError, GraphError: it can't, and why.
        """

    async def read(self, items: Sequence[Item]) -> None:
        """Reads what the other arm's episodes might have used, of each task the last; those that broke are left out."""
        wanted = {item.task.id for item in items}
        store = self.main.store
        async for episode, records in episodes_with_records(store, self.main.run_id):
            end = next((r for r in records if isinstance(r, EpisodeEnd)), None)
            self._spent.pop(episode.task_id, None)
            if end and EXIT_CODES[end.stop_reason] not in BROKEN and episode.task_id in wanted:
                self._spent[episode.task_id] = allowance_of(records, self.main.parts.budget)

    def is_paired(self, item: Item) -> bool:
        """True if the other arm came to an end there that can be compared with."""
        return item.task.id in self._spent

    @property
    def held_to(self) -> str:
        """What is equal, for people."""
        return "as many tokens" if any(s.by_model for s in self._spent.values()) else "as many candidates"


class Resampling(Control):
    """First tries over and over: no feedback, no reflection, no memory."""

    name = "resampling"

    def check(self, item: Item) -> None:
        """See `Control`."""
        resampling_of(self.main.graph(item), EpisodeUsage())

    def app(self, item: Item) -> FeedbackApp:
        """See `RunArm`."""
        spent = self._spent[item.task.id]
        rules = CONTROL_RULES.model_copy(
            update=self.main.parts.rules.model_dump(include={"rejudge_fails", "rejudge_passes"})
        )
        graph = resampling_of(self.main.graph(item), spent)
        return self.main.compiled(graph, control_budget(self.main.parts.budget, spent), rules)


class Ungrounded(Control):
    """The model goes back over its own answer (Self-Refine), and nothing outside it steers."""

    name = "self_refine"

    def check(self, item: Item) -> None:
        """See `Control`."""
        self_refine_of(self.main.parts, item.task)

    def app(self, item: Item) -> FeedbackApp:
        """See `RunArm`."""
        parts = self.main.parts
        budget = control_budget(parts.budget, self._spent[item.task.id])
        return self.main.compiled(self_refine_of(parts, item.task), budget, parts.rules)


def first_app(arm: RunArm, items: Sequence[Item]) -> FeedbackApp:
    """The graph of the first task that it can be made for: one bad task is no reason to run none.

    Raises:
        Exception: what the first task raised, where none can be had.
    """
    first: Exception | None = None
    for item in items:
        try:
            return arm.app(item)
        except Exception as error:
            first = first or error
    raise first or ConfigError("There are no tasks.")


async def control_run_of(store: SqlStore, main: str, name: str) -> str:
    """The control arm of a run, where it has begun; else empty."""
    for run in await store.runs(limit=RUNS_LOOKED_AT):
        config = json.loads(run.config)
        if config.get("control_of") == main and config.get("control") == name:
            return run.id
    return ""
