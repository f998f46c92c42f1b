"""`groundwire run` and `groundwire bench`: many tasks in one run, a control arm, and what correction bought."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import asdict, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.benchmarks import Item
from groundwire.benchmarks.answers._key import is_question
from groundwire.cli._arms import Control, Main, Resampling, RunArm, Ungrounded, control_run_of, first_app
from groundwire.cli._graph_choice import SAMPLES, Builder, builder_of, full_name
from groundwire.cli._parts import GraphParts, check_ready
from groundwire.cli._repair import open_store, unique_run
from groundwire.cli._run_state import end_of_run
from groundwire.cli._scores import PROCESSBENCH, SetScores, check_judge, set_scores, task_scores
from groundwire.cli._suite import Suite
from groundwire.cli._tally import EndedEpisode, Tally
from groundwire.cli._text import print_line
from groundwire.cli._world_parts import WorldParts
from groundwire.core._errors import ConfigError
from groundwire.core._records import EpisodeEnd, EpisodeRecord, RunRecord
from groundwire.core._text import plain, plural
from groundwire.graphs.run._batch import QueuedEpisode, run_batch
from groundwire.graphs.run._budget import run_meters
from groundwire.graphs.run._result import EpisodeResult
from groundwire.graphs.run._sandboxes import Sandboxes, SandboxOptions
from groundwire.memory import SqlStore

PAUSED = "paused"
"""Why a run of several workers stands still though nothing is used up: a person has said so."""

# What correction bought, in one line for each control arm: `reflection helped`, `hurt`, or `can't tell`.


async def say_what_correction_bought(
    store: SqlStore, main: str, controls: Sequence[str]
) -> Sequence[Mapping[str, Any]]:
    """Compares a run with its control arms, paired by task and seed.

    Args:
        store: the ledger.
        main: the run's id.
        controls: the ids of its control arms.

    Returns:
        For each control a line for people in `said`, with the numbers behind it. Where what measures is not installed,
        the line says so: the run is in the ledger all the same.
    """
    if not controls:
        return []
    try:
        from groundwire.evaluation._reading import read_run
        from groundwire.evaluation._verdicts import compared, what_it_lacks
    except ConfigError as error:
        return [{"control_run": run_id, "said": str(error)} for run_id in controls]
    arm = await read_run(store, await unique_run(store, main))
    bought: list[Mapping[str, Any]] = []
    for run_id in controls:
        control = await read_run(store, await unique_run(store, run_id))
        bought_here = compared(arm, control)
        said = bought_here.sentence(what_it_lacks(control))
        bought.append({"control_run": run_id, "answer": bought_here.answer, "said": said, **asdict(bought_here)})
    return bought


# `groundwire run` and `groundwire bench`: many tasks in one run, and a control arm on the same tasks and seeds.


def run_suite(suite: Suite, *, as_json: bool) -> int:
    """Runs tasks, and the control arms that were asked for.

    Returns:
        The exit code: 0 if every task is verified.
    """
    return SuiteRun(suite, as_json=as_json).blocking()


def resume_suite(run: RunRecord, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Goes on with a run of many tasks: what has ended is not repeated.

    Raises:
        ConfigError: it is a control arm, which goes on with the run that it belongs to; or its tasks have changed.
    """
    config: dict[str, Any] = json.loads(run.config)
    suite = Suite.from_data(config["suite"], flags)
    return SuiteRun(suite, as_json=as_json, run_id=run.id, recorded=config["suite"]["tasks"]).blocking()


def parts_of(suite: Suite, *, repeats: int | None = None) -> GraphParts:
    """The parts of a suite's graph.

    Args:
        suite: what is run.
        repeats: as `WorldParts.in_world`, where the suite's own options do not say.

    Raises:
        ConfigError, ModelError: the world, the learner, the model or the program can't be had.
    """
    if suite.source.kind == "world" and not suite.source.in_one_go:
        return WorldParts.in_world(suite.settings, suite.source.name, suite.graph_options.get("repeats", repeats))
    return replace(GraphParts.of(suite.settings), oracle=suite.oracle)


class SuiteRun:
    """One run from its first task to its last line; other commands are made of it as well.

    Args:
        suite: what is run.
        as_json: for scripts.
        run_id: a run to go on with.
        recorded: its tasks, as the ledger holds them.
    """

    go_on = "groundwire resume"
    """What goes on with it, followed by its id."""

    def __init__(
        self, suite: Suite, *, as_json: bool, run_id: str = "", recorded: Sequence[Sequence[str]] | None = None
    ) -> None:
        self.suite = suite
        self.as_json = as_json
        self.console = Console(stderr=as_json, highlight=False)
        self._run_id = run_id
        self._recorded = recorded
        self._items: Sequence[Item] = ()
        self._is_paused = False

    @property
    def run_id(self) -> str:
        """Empty before it has begun."""
        return self._run_id

    def blocking(self) -> int:
        """Runs it; an interrupt leaves a run that can be resumed."""
        try:
            return asyncio.run(self._all())
        except KeyboardInterrupt:
            self.console.print(Text("interrupted; everything so far is in the ledger", style="yellow"))
            if self._run_id:
                self.console.print(Text(f"continue with:  {self.go_on} {self._run_id}", style="yellow"))
            return 130

    async def _all(self) -> int:
        suite = self.suite
        builder = builder_of(suite.graph)  # before anything is written: a typing error leaves no run behind
        self._items = items = suite.items()
        self._check_same(items)
        if suite.is_shared:
            from groundwire.cli._campaign import check_shareable

            await check_shareable(suite)
        async with AsyncExitStack() as closing:
            main = self.main(builder, await closing.enter_async_context(aclosing(open_store(suite.settings))))
            if not self._run_id:
                check_ready(suite.settings, main.parts.backend)
            sandboxes = Sandboxes(suite_sandbox(suite))
            closing.push_async_callback(sandboxes.aclose)
            controls = self.controls(main)
            for control in controls:
                if control.store is not main.store:
                    await closing.enter_async_context(aclosing(control.store))
                control.check(items[0])
            await self.before(main)
            await self._arm(main, items, sandboxes)
            for control in () if self._is_paused else controls:
                await self._control(control, main, items, sandboxes)
            await self.last_lines(main, [control for control in controls if control.run_id])
        return main.tally.exit_code

    def main(self, builder: Builder, store: SqlStore) -> Main:
        """The arm that is asked about."""
        return Main(self.suite, parts_of(self.suite), store, builder)

    def controls(self, main: Main) -> Sequence[Control]:
        """What it is compared with."""
        wanted = self.suite
        return [*([Resampling(main)] if wanted.control else []), *([Ungrounded(main)] if wanted.ungrounded else [])]

    async def before(self, main: Main) -> None:
        """What is said, or refused, before the first task."""
        await check_judge(main.store, self.suite.graph, self.suite.graph_options)

    def tally(self, arm: RunArm, episodes: int) -> Tally:
        """What an arm's episodes are counted and shown by."""
        return Tally(arm.name, episodes, self.console, as_json=self.as_json)

    def config(self) -> Mapping[str, Any]:
        """What else the ledger keeps of what was asked for."""
        return {}

    def head(self, tasks: int) -> str:
        """What is run, for people."""
        suite = self.suite
        return f"{plain(suite.graph)}   {plural(tasks, 'task')}   shard {suite.shard}   seed {suite.settings.seed}"

    async def _arm(self, arm: Main, items: Sequence[Item], sandboxes: Sandboxes) -> None:
        suite = self.suite
        asked = {**suite.as_data(items), "graph": full_name(suite.graph)}
        config = {"suite": asked, "model": suite.settings.model, **self.config()}
        arm.run_id = self._run_id or await first_app(arm, items).start_run(config)
        self._run_id = arm.run_id
        if self.as_json:
            print_line({"type": "run", "arm": arm.name, "run_id": arm.run_id, "tasks": len(items)})
        else:
            said = f"run {arm.run_id}   {self.head(len(items))}"
            self.console.print(Text(said, style="dim"), soft_wrap=True)
        await self._episodes(arm, items, sandboxes)

    async def _control(self, arm: Control, main: Main, items: Sequence[Item], sandboxes: Sandboxes) -> None:
        await arm.read(items)
        judged = [item for item in items if arm.is_paired(item)]
        config = {
            "control_of": main.run_id,
            "control": arm.name,
            "held_to": "allowance",
            "model": self.suite.settings.model,
        }
        if not judged:
            return
        arm.run_id = await control_run_of(arm.store, main.run_id, arm.name) or await first_app(arm, judged).start_run(
            {**config, "suite": {"tasks": [[i.task.id, i.task.tree.digest, i.split] for i in judged]}}
        )
        if self.as_json:
            print_line({"type": "run", "arm": arm.name, "run_id": arm.run_id, "control_of": main.run_id})
        else:
            said = f"control {arm.run_id}   {arm.name}, at {arm.held_to}   {plural(len(judged), 'task')}"
            self.console.print(Text(said, style="dim"), soft_wrap=True)
        await self._episodes(arm, judged, sandboxes)

    async def _episodes(self, arm: RunArm, items: Sequence[Item], sandboxes: Sandboxes) -> None:
        """Every episode of an arm that has not ended, and the arm's end."""
        arm.tally = self.tally(arm, len(items))
        if self.suite.is_shared:
            from groundwire.cli._campaign import drive_campaign

            held_up = await drive_campaign(self, arm, items)
        else:
            held_up = await self._here(arm, items, sandboxes)
        if not held_up:
            await end_of_run(arm.store, arm.run_id)
            return
        left = f"not started: {plural(len(items) - arm.tally.done, 'task')}"
        if held_up == PAUSED:
            self._is_paused = True
            said, more = f"paused; {left}", ""
        else:
            said, more = f"the run's {held_up} are used up; {left}", f" --total-{held_up} MORE"
        self.console.print(Text(said, style="yellow"), soft_wrap=True)
        self.console.print(Text(f"continue with:  {self.go_on} {self._run_id}{more}", style="yellow"), soft_wrap=True)

    async def _here(self, arm: RunArm, items: Sequence[Item], sandboxes: Sandboxes) -> str:
        """All of it in this process.

        Returns:
            The kind of budget that was used up before the last task had begun; else empty.
        """
        suite = self.suite
        ended, begun = await known_episodes(arm.store, arm.run_id)
        for item in items:
            if item.task.id in ended:
                arm.tally.known(ended[item.task.id].stop_reason)
        splits = {item.task.id: item.split for item in items}
        meter = await run_meters(arm.store).of(arm.run_id, GraphParts.totals(suite.settings), arm.store)

        def works(of_image: Sequence[Item]) -> Iterator[QueuedEpisode]:
            for item in of_image:
                if meter is not None and meter.used_up():
                    return  # what is not begun can be gone on with
                if item.task.id not in ended:
                    yield queued_episode(arm, item, items, suite.seed_of(item), begun.get(item.task.id))

        def tell(work: QueuedEpisode, result: EpisodeResult) -> None:
            arm.tally.ended(EndedEpisode.of(result, work.task), splits[work.task.id], seed=work.seed)

        with arm.tally:
            for image, of_image in suite.by_image(items).items():
                async with AsyncExitStack() as closing:
                    boxes = sandboxes
                    if image:
                        boxes = Sandboxes(replace(suite_sandbox(suite), image=image))
                        closing.push_async_callback(boxes.aclose)
                    await run_batch(
                        works(of_image),
                        tell,
                        run_id=arm.run_id,
                        sandboxes=boxes,
                        at_once=arm.at_once,
                        observers=arm.tally.observers,
                        reuse=suite.settings.reuse,
                    )
        return (meter.used_up() if meter else "") if arm.tally.done < len(items) else ""

    async def last_lines(self, main: Main, controls: Sequence[Control]) -> None:
        """What it came to; `controls` are those that have run."""
        bought = await say_what_correction_bought(main.store, main.run_id, [arm.run_id for arm in controls])
        ids = " ".join(arm.run_id for arm in (main, *controls))
        of_set = await self._of_set(main)
        if self.as_json:
            scores = {"scores": of_set.as_data()} if of_set else {}
            print_line(self.summary(main, controls) | {"correction": bought} | scores)
            return
        for arm in (main, *controls):
            self.console.print(Text(f"{arm.name:<12} {arm.tally.counts()}", style="bold"), soft_wrap=True)
        if of_set:
            self.console.print(Text(of_set.sentence(), style="bold"), soft_wrap=True)
        for line in bought:
            self.console.print(Text(line["said"], style="bold"), soft_wrap=True)
        self.console.print(Text(f"report: groundwire report {ids}", style="dim"), soft_wrap=True)
        self.console.print(Text(f"in a browser: groundwire view {main.run_id}", style="dim"), soft_wrap=True)

    async def _of_set(self, main: Main) -> SetScores | None:
        """What the set itself counts, where it is one of questions."""
        if self.suite.source.kind != "bench" or not is_question(self._items[0].task):
            return None
        scores = await task_scores(main.store, main.run_id, self._items)
        return set_scores(scores, judges=self.suite.source.name == PROCESSBENCH)

    def summary(self, main: Main, controls: Sequence[Control]) -> dict[str, Any]:
        """The last line for scripts."""
        arms = [{"run_id": arm.run_id, **arm.tally.as_data()} for arm in (main, *controls)]
        return {"type": "summary", "exit_code": main.tally.exit_code, "arms": arms}

    def _check_same(self, items: Sequence[Item]) -> None:
        if self._recorded is None:
            return
        now = [[item.task.id, item.task.tree.digest, item.split] for item in items]
        if now != [list(one) for one in self._recorded]:
            raise ConfigError(
                f"The tasks of run {self._run_id} have changed since it began.",
                do="Restore their files as they were, or start a new run.",
            )


def suite_sandbox(suite: Suite) -> SandboxOptions:
    """Where a suite's tools run code, all tasks together. Samples are many, and short, and each is judged once."""
    return replace(GraphParts.sandbox_of(suite.settings), fork_servers=suite.graph == SAMPLES)


def queued_episode(arm: RunArm, item: Item, items: Sequence[Item], seed: int, episode_id: str | None) -> QueuedEpisode:
    """One task's episode; where its graph can't be made, whatever the error is, it is that task's alone."""
    try:
        return QueuedEpisode(arm.app(item), item.task, seed, episode_id)
    except Exception as error:
        return QueuedEpisode(first_app(arm, items), item.task, seed, episode_id, error)


async def known_episodes(store: SqlStore, run_id: str) -> tuple[Mapping[str, EpisodeEnd], Mapping[str, str]]:
    """By task: how its episode ended, and the id of an episode that was cut off."""
    ended: dict[str, EpisodeEnd] = {}
    begun: dict[str, str] = {}
    episodes: Sequence[EpisodeRecord] = await store.episodes(run_id)
    ends = {end.episode_id: end for end in await store.ends(run_id) if isinstance(end, EpisodeEnd)}
    for episode in episodes:
        end = ends.get(episode.id)
        if end is None:
            begun[episode.task_id] = episode.id
        else:
            ended[episode.task_id] = end
    return ended, begun
