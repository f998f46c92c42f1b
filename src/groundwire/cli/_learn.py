"""`groundwire learn`: one kind of world many times, with memory and without, and whether that made a difference.

It is `groundwire run` on the tasks of a world, one a seed: the same ledger, budgets, resuming and reports.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.text import Text

from groundwire.agents.worlds._learners import LEARNERS
from groundwire.benchmarks import Item
from groundwire.cli._arms import Control, Main, RunArm
from groundwire.cli._checks import check_into
from groundwire.cli._finding import store_without_memory
from groundwire.cli._graph_choice import Builder
from groundwire.cli._learning_view import ARMS, LearningTally, difference_line, show_learning
from groundwire.cli._repair import unique_run
from groundwire.cli._run import SuiteRun
from groundwire.cli._suite import Suite
from groundwire.cli._text import print_line
from groundwire.cli._world_parts import WorldParts
from groundwire.core._errors import ConfigError
from groundwire.core._paths import expand_user
from groundwire.core._records import RunRecord
from groundwire.core._text import plain
from groundwire.graphs import FeedbackApp, FeedbackGraph
from groundwire.graphs.build._control import without_memory_of
from groundwire.memory import SqlStore

# The two arms of `groundwire learn`: with memory, and without, on the same worlds.


class WithMemory(Main):
    """What an episode teaches is recalled in all later ones of the same family, in this run and in every other."""

    name = "with_memory"
    parts: WorldParts

    def __init__(self, suite: Suite, parts: WorldParts, store: SqlStore, builder: Builder) -> None:
        super().__init__(suite, parts, store, builder)
        self._app: FeedbackApp | None = None

    @property
    def at_once(self) -> int | None:
        """One after the other unless told, so that each episode knows of all before it."""
        return self.suite.at_once or 1

    def app(self, item: Item) -> FeedbackApp:
        """See `RunArm`. The world differs from task to task only by its seed, so one graph serves all."""
        if self._app is None:
            self._app = super().app(item)
        return self._app


class WithoutMemory(Control):
    """The same actor with as many trials, each played as if it were the first: no lesson, no reflection, no statistic.

    Its ledger is in a namespace of its own, and its actor is another instance.

    Args:
        main: the arm with memory.
        parts: as the other arm's, with an actor that has seen nothing.
    """

    name = "without_memory"

    def __init__(self, main: WithMemory, parts: WorldParts) -> None:
        super().__init__(main)
        self.store = store_without_memory(parts.settings)
        self._own = WithMemory(main.suite, parts, self.store, main.builder)
        self._app: FeedbackApp | None = None

    @property
    def held_to(self) -> str:
        """See `Control`."""
        return "as many trials"

    def check(self, item: Item) -> None:
        """See `Control`."""
        self._graph(item)

    def app(self, item: Item) -> FeedbackApp:
        """See `RunArm`."""
        if self._app is None:
            self._app = self._own.compiled(self._graph(item), self._own.parts.budget, self._own.parts.rules)
        return self._app

    def _graph(self, item: Item) -> FeedbackGraph:
        return without_memory_of(self._own.graph(item), by_model=self._own.parts.backend is not None)


# `groundwire learn`: many episodes in one kind of world, with memory and without, and whether that made a difference.

FORMATS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Learn:
    """What is asked for beside the suite.

    Args:
        repeats: as `WorldKit.in_world`.
        window: episodes of the learning curve's running mean; None: a tenth, and no fewer than five.
        plots: files that the picture is written to.
    """

    repeats: int | None = None
    window: int | None = None
    plots: tuple[Path, ...] = ()

    def check(self) -> None:
        """Says before anything is played if a picture can't be made.

        Raises:
            ConfigError: why it can't.
        """
        for path in self.plots:
            if path.suffix not in FORMATS:
                raise ConfigError(
                    f"{path} is not the name of an image file.", do=f"Use one of the endings {', '.join(FORMATS)}."
                )
        check_into(*self.plots)
        if self.plots:
            _saver()

    def as_data(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        plots = [str(expand_user(path).resolve()) for path in self.plots]
        return {"repeats": self.repeats, "window": self.window, "plots": plots}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """From what the ledger keeps."""
        return cls(data["repeats"], data["window"], tuple(map(Path, data["plots"])))


def run_learning(suite: Suite, learn: Learn, *, as_json: bool) -> int:
    """Plays, and says what memory bought.

    Returns:
        The exit code: 0 if every episode with memory was won.
    """
    return _LearnRun(suite, learn, as_json=as_json).blocking()


def resume_learning(run: RunRecord, flags: Mapping[str, Any], *, as_json: bool, plots: Sequence[Path] = ()) -> int:
    """Goes on with such a run: no episode that has ended is played again.

    Args:
        run: the run.
        flags: where the ledger is, and totals.
        as_json: for scripts.
        plots: files for the picture, in the place of those named before.

    Raises:
        ConfigError: its worlds have changed.
    """
    config: dict[str, Any] = json.loads(run.config)
    learn = Learn.from_data(config["learn"])
    learn = Learn(learn.repeats, learn.window, tuple(plots)) if plots else learn
    suite = Suite.from_data(config["suite"], flags)
    return _LearnRun(suite, learn, as_json=as_json, run_id=run.id, recorded=config["suite"]["tasks"]).blocking()


class _LearnRun(SuiteRun):
    go_on = "groundwire learn --resume"

    def __init__(self, suite: Suite, learn: Learn, *, as_json: bool, **known: Any) -> None:
        super().__init__(suite, as_json=as_json, **known)
        self._learn = learn

    def main(self, builder: Builder, store: SqlStore) -> WithMemory:
        self._learn.check()
        return WithMemory(self.suite, self._new_parts(), store, builder)

    def controls(self, main: Main) -> Sequence[Control]:
        assert isinstance(main, WithMemory)
        # an actor without a model may keep in mind what it has read, so the other arm gets one of its own
        return (
            [WithoutMemory(main, main.parts if main.parts.backend else self._new_parts())] if self.suite.control else []
        )

    async def before(self, main: Main) -> None:
        """Says if the curve can't begin at nothing, because memory knows this kind of world."""
        assert isinstance(main, WithMemory)
        known = await main.store.recall("", main.parts.world.name, window=1)
        if self.as_json:
            print_line({"type": "memory", "is_empty": not known})
        elif known:
            known_world = plain(main.parts.world.name, limit=60)
            said = f"memory already knows {known_world}; to start from nothing: --namespace NAME"
            self.console.print(Text(said, style="yellow"), soft_wrap=True)

    def tally(self, arm: RunArm, episodes: int) -> LearningTally:
        # a learner's trials are over too soon to be read, and to be told of each record costs it a third of its speed
        watches = self.console.is_terminal and self.suite.settings.model not in LEARNERS
        return LearningTally(arm.name, episodes, self.console, as_json=self.as_json, watches=watches)

    def config(self) -> Mapping[str, Any]:
        return {"learn": self._learn.as_data()}

    def head(self, tasks: int) -> str:
        source, settings = self.suite.source, self.suite.settings
        seeds = f"seeds {source.first_seed} to {source.first_seed + tasks - 1}"
        who = plain(settings.model or "", limit=60)
        return (
            f"{plain(source.name, limit=60)}   {who}   {tasks} episodes of up to {settings.max_trials} trials   {seeds}"
        )

    async def last_lines(self, main: Main, controls: Sequence[Control]) -> None:
        try:
            from groundwire.evaluation._learning import PairedDifference, differences, learning_of
            from groundwire.evaluation._measuring import as_data
            from groundwire.evaluation._reading import read_run
        except ConfigError as error:  # what measures is not installed; the run is in the ledger all the same
            self._without_numbers(main, controls, error)
            return
        most = main.parts.budget.trials
        arms: list[RunArm] = [main, *controls]
        read = [(await read_run(arm.store, await unique_run(arm.store, arm.run_id))).trials for arm in arms]
        learned = {
            arm.name: learning_of(trials, most, window=self._learn.window)
            for arm, trials in zip(arms, read, strict=True)
        }
        bought: Sequence[PairedDifference] = differences(read[0], read[1], most) if controls else ()
        for path in self._learn.plots:
            self._save(path, learned, main.run_id)
        if self.as_json:
            told = [{**as_data(one), "said": difference_line(one)} for one in bought]
            print_line(
                {
                    **self.summary(main, controls),
                    "learning": {name: as_data(one) for name, one in learned.items()},
                    "memory": told,
                    "plots": [str(path) for path in self._learn.plots],
                }
            )
            return
        show_learning(self.console, learned, bought, whole=all(arm.tally.done == arm.tally.total for arm in arms))
        for path in self._learn.plots:
            self.console.print(Text(f"plot: {plain(str(path), limit=400)}", style="dim"), soft_wrap=True)
        self.console.print(Text(f"report: groundwire report {main.run_id}", style="dim"), soft_wrap=True)
        self.console.print(Text(f"in a browser: groundwire view {main.run_id}", style="dim"), soft_wrap=True)

    def _without_numbers(self, main: Main, controls: Sequence[Control], error: ConfigError) -> None:
        if self.as_json:
            print_line({**self.summary(main, controls), "learning": None, "memory": [], "detail": str(error)})
            return
        for arm in (main, *controls):
            self.console.print(Text(f"{arm.name:<16} {arm.tally.counts()}", style="bold"), soft_wrap=True)
        self.console.print(Text(str(error), style="yellow"), soft_wrap=True)

    def _save(self, path: Path, arms: Mapping[str, Any], run_id: str) -> None:
        title = f"{self.suite.source.name}   {self.suite.settings.model}"
        try:
            _saver()(expand_user(path), title, {ARMS[name]: arm for name, arm in arms.items()})
        except OSError as error:
            raise ConfigError(
                f"The plot can't be written to {path}: {error.strerror}.",
                do=f"Name another file; nothing is played again:  groundwire learn --resume {run_id} --plot FILE",
            ) from error

    def _new_parts(self) -> WorldParts:
        parts = WorldParts.in_world(self.suite.settings, self.suite.source.name, self._learn.repeats)
        parts.check(parts.world.task(self.suite.source.first_seed))
        return parts


def _saver() -> Any:
    try:
        from groundwire.evaluation.page._plots import save_learning_plot
    except (ImportError, ConfigError) as error:
        raise ConfigError("A plot needs matplotlib and numpy.", do='pip install "groundwire[eval]"') from error
    return save_learning_plot
