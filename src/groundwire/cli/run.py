"""`groundwire run` and `groundwire bench`: many tasks in one run, and a control arm on the same tasks and seeds."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.benchmarks import Item
from groundwire.cli.arms import Arm, Main, Resampling, Ungrounded, control_run_of
from groundwire.cli.graph_choice import builder_of, full_name
from groundwire.cli.kit import Kit
from groundwire.cli.repair import open_store
from groundwire.cli.suite import Suite
from groundwire.cli.tally import Tally
from groundwire.cli.text import plain
from groundwire.cli.verdict import say_what_correction_bought
from groundwire.errors import ConfigError
from groundwire.graphs.batch import Work, run_batch
from groundwire.graphs.result import EpisodeResult
from groundwire.graphs.sandboxes import Sandboxes
from groundwire.graphs.spending import run_meters
from groundwire.memory import SqlStore
from groundwire.records import EpisodeEnd, EpisodeRecord, RunEnd, RunRecord

__all__ = ["resume_suite", "run_suite"]


def run_suite(suite: Suite, *, as_json: bool) -> int:
    """Runs tasks, and the control arms that were asked for.

    Returns:
        The exit code: 0 if every task is verified.
    """
    return _Run(suite, as_json=as_json).blocking()


def resume_suite(run: RunRecord, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Goes on with a run of many tasks: what has ended is not repeated.

    Raises:
        ConfigError: it is a control arm, which goes on with the run that it belongs to; or its tasks have changed.
    """
    config: dict[str, Any] = json.loads(run.config)
    if config.get("control_of"):
        main = config["control_of"]
        raise ConfigError(f"Run {run.id} is a control arm.", do=f"Go on with its run:  groundwire resume {main}")
    suite = Suite.from_data(config["suite"], flags)
    return _Run(suite, as_json=as_json, run_id=run.id, recorded=config["suite"]["tasks"]).blocking()


class _Run:
    """One run from its first task to its last line.

    Args:
        suite: what is run.
        as_json: for scripts.
        run_id: a run to go on with.
        recorded: its tasks, as the ledger holds them.
    """

    def __init__(
        self, suite: Suite, *, as_json: bool, run_id: str = "", recorded: Sequence[Sequence[str]] | None = None
    ) -> None:
        self._suite = suite
        self._as_json = as_json
        self._run_id = run_id
        self._recorded = recorded
        self._console = Console(stderr=as_json, highlight=False)

    def blocking(self) -> int:
        """Runs it; an interrupt leaves a run that can be gone on with."""
        try:
            return asyncio.run(self._all())
        except KeyboardInterrupt:
            self._console.print(Text("interrupted; the ledger holds all so far", style="yellow"))
            if self._run_id:
                self._console.print(Text(f"go on with:  groundwire resume {self._run_id}", style="yellow"))
            return 130

    async def _all(self) -> int:
        suite, settings = self._suite, self._suite.settings
        builder = builder_of(suite.graph)  # before anything is written: a typing error leaves no run behind
        items = suite.items()
        self._check_same(items)
        kit = Kit.of(settings)
        sandboxes = Sandboxes(kit.sandbox)
        async with aclosing(open_store(settings)) as store:
            try:
                main = Main(suite, kit, store, builder)
                for kind in self._controls():
                    kind(main).check(items[0])
                await self._arm(main, items, sandboxes)
                controls = [await self._control(kind, main, items, sandboxes) for kind in self._controls()]
            finally:
                await sandboxes.aclose()
            await self._last_lines(store, main, controls)
        return main.tally.exit_code

    def _controls(self) -> list[type[Resampling | Ungrounded]]:
        wanted = self._suite
        return [*([Resampling] if wanted.control else []), *([Ungrounded] if wanted.ungrounded else [])]

    async def _arm(self, arm: Main, items: Sequence[Item], sandboxes: Sandboxes) -> None:
        suite = self._suite
        config = {"suite": {**suite.as_data(items), "graph": full_name(suite.graph)}, "model": suite.settings.model}
        arm.run_id = self._run_id or await arm.app(items[0]).start_run(config)
        self._run_id = arm.run_id
        if self._as_json:
            _print({"type": "run", "arm": arm.name, "run_id": arm.run_id, "tasks": len(items)})
        else:
            what = f"{len(items)} tasks   shard {suite.shard}   seed {suite.settings.seed}"
            said = f"run {arm.run_id}   {plain(suite.graph)}   {what}"
            self._console.print(Text(said, style="dim"), soft_wrap=True)
        await self._episodes(arm, items, sandboxes)

    async def _control(
        self, kind: type[Resampling | Ungrounded], main: Main, items: Sequence[Item], sandboxes: Sandboxes
    ) -> Arm:
        arm = kind(main)
        await arm.read(items)
        judged = [item for item in items if arm.is_paired(item)]
        config = {"control_of": main.run_id, "control": arm.name, "model": self._suite.settings.model}
        if not judged:
            return arm
        arm.run_id = await control_run_of(main.store, main.run_id, arm.name) or await arm.app(judged[0]).start_run(
            {**config, "suite": {"tasks": [[i.task.id, i.task.tree.digest, i.split] for i in judged]}}
        )
        if self._as_json:
            _print({"type": "run", "arm": arm.name, "run_id": arm.run_id, "control_of": main.run_id})
        else:
            said = f"control {arm.run_id}   {arm.name}, at {arm.held_to}   {len(judged)} tasks"
            self._console.print(Text(said, style="dim"), soft_wrap=True)
        await self._episodes(arm, judged, sandboxes)
        return arm

    async def _episodes(self, arm: Arm, items: Sequence[Item], sandboxes: Sandboxes) -> None:
        """Every episode of an arm that has not ended, and the arm's end."""
        suite, seed = self._suite, self._suite.settings.seed
        arm.tally = Tally(arm.name, len(items), self._console, as_json=self._as_json)
        ended, begun = await _known(arm.store, arm.run_id)
        for item in items:
            if item.task.id in ended:
                arm.tally.known(ended[item.task.id].stop_reason)
        splits = {item.task.id: item.split for item in items}
        meter = await run_meters(arm.store).of(arm.run_id, Kit.totals(suite.settings), arm.store)

        def works() -> Iterator[Work]:
            for item in items:
                if meter is not None and meter.used_up():
                    return  # what is not begun can be gone on with
                if item.task.id not in ended:
                    yield Work(arm.app(item), item.task, seed, begun.get(item.task.id))

        def tell(work: Work, result: EpisodeResult) -> None:
            arm.tally.ended(result, splits[work.task.id], seed=seed)

        with arm.tally:
            await run_batch(
                works(),
                tell,
                run_id=arm.run_id,
                sandboxes=sandboxes,
                at_once=suite.workers,
                reuse=suite.settings.reuse,
            )
        if arm.tally.done < len(items):
            used_up = meter.used_up() if meter else ""
            said = f"the run's {used_up} are used up: {len(items) - arm.tally.done} tasks were not begun"
            self._console.print(Text(said, style="yellow"), soft_wrap=True)
            raised = f"groundwire resume {self._run_id} --total-{used_up} MORE"
            self._console.print(Text(f"go on with:  {raised}", style="yellow"), soft_wrap=True)
        elif len(ended) < len(items):
            await arm.store.append(RunEnd(run_id=arm.run_id))

    async def _last_lines(self, store: SqlStore, main: Main, controls: Sequence[Arm]) -> None:
        ran = [arm for arm in controls if arm.run_id]
        bought = await say_what_correction_bought(store, main.run_id, [arm.run_id for arm in ran])
        ids = " ".join(arm.run_id for arm in (main, *ran))
        if self._as_json:
            arms = [{"run_id": arm.run_id, **arm.tally.as_data()} for arm in (main, *ran)]
            _print({"type": "summary", "exit_code": main.tally.exit_code, "arms": arms, "correction": bought})
            return
        for arm in (main, *ran):
            self._console.print(Text(f"{arm.name:<12} {arm.tally.counts()}", style="bold"), soft_wrap=True)
        for line in bought:
            self._console.print(Text(line["said"], style="bold"), soft_wrap=True)
        self._console.print(Text(f"report: groundwire report {ids}", style="dim"), soft_wrap=True)

    def _check_same(self, items: Sequence[Item]) -> None:
        if self._recorded is None:
            return
        now = [[item.task.id, item.task.tree.digest, item.split] for item in items]
        if now != [list(one) for one in self._recorded]:
            raise ConfigError(
                f"The tasks of run {self._run_id} are not what they were.",
                do="Restore their files as they were, or start a new run.",
            )


async def _known(store: SqlStore, run_id: str) -> tuple[Mapping[str, EpisodeEnd], Mapping[str, str]]:
    """By task: how its episode ended, and the id of an episode that was cut off."""
    ended: dict[str, EpisodeEnd] = {}
    begun: dict[str, str] = {}
    episodes: Sequence[EpisodeRecord] = await store.episodes(run_id)
    for episode in episodes:
        end = next((r for r in await store.records(episode.id) if isinstance(r, EpisodeEnd)), None)
        if end is None:
            begun[episode.task_id] = episode.id
        else:
            ended[episode.task_id] = end
    return ended, begun


def _print(value: Mapping[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()
