"""The two arms of `groundwire learn`: with memory, and without, on the same worlds."""

from __future__ import annotations

from groundwire.benchmarks import Item
from groundwire.cli.arms import Control, Main
from groundwire.cli.finding import store_without_memory
from groundwire.cli.graph_choice import Builder
from groundwire.cli.suite import Suite
from groundwire.cli.world_kit import WorldKit
from groundwire.graphs import FeedbackApp, FeedbackGraph
from groundwire.graphs.control import without_memory_of
from groundwire.memory import SqlStore

__all__ = ["WithMemory", "WithoutMemory"]


class WithMemory(Main):
    """What an episode teaches is recalled in all later ones of the same family, in this run and in every other."""

    name = "with_memory"
    kit: WorldKit

    def __init__(self, suite: Suite, kit: WorldKit, store: SqlStore, builder: Builder) -> None:
        super().__init__(suite, kit, store, builder)
        self._app: FeedbackApp | None = None

    @property
    def at_once(self) -> int | None:
        """One after the other unless told, so that each episode knows of all before it."""
        return self.suite.workers or 1

    def app(self, item: Item) -> FeedbackApp:
        """See `Arm`. The world differs from task to task only by its seed, so one graph serves all."""
        if self._app is None:
            self._app = super().app(item)
        return self._app


class WithoutMemory(Control):
    """The same actor with as many trials, each played as if it were the first: no lesson, no reflection, no statistic.

    Its ledger is in a namespace of its own, and its actor is another instance.

    Args:
        main: the arm with memory.
        kit: as the other arm's, with an actor that has seen nothing.
    """

    name = "without_memory"

    def __init__(self, main: WithMemory, kit: WorldKit) -> None:
        super().__init__(main)
        self.store = store_without_memory(kit.settings)
        self._own = WithMemory(main.suite, kit, self.store, main.builder)
        self._app: FeedbackApp | None = None

    @property
    def held_to(self) -> str:
        """See `Control`."""
        return "as many trials"

    def check(self, item: Item) -> None:
        """See `Control`."""
        self._graph(item)

    def app(self, item: Item) -> FeedbackApp:
        """See `Arm`."""
        if self._app is None:
            self._app = self._own.compiled(self._graph(item), self._own.kit.budget, self._own.kit.rules)
        return self._app

    def _graph(self, item: Item) -> FeedbackGraph:
        return without_memory_of(self._own.graph(item), by_model=self._own.kit.backend is not None)
