"""`groundwire replay`: a recorded run once more, from the ledger alone, and the first difference if there is one."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire import __version__
from groundwire.benchmarks import Item
from groundwire.cli._repair import build, open_store, unique_run
from groundwire.cli._verify import refuse, tell
from groundwire.core._errors import ConfigError
from groundwire.core._records import RunRecord
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.core._text import plain, plural
from groundwire.graphs import FeedbackApp
from groundwire.graphs.replay._replay import Replayed
from groundwire.graphs.run._resuming import task_of
from groundwire.memory import SqlStore
from groundwire.memory._checking import RunCheck, check_run

SHOWN_CHARS = 400


def replay_run(prefix: str, flags: Mapping[str, Any], *, verify: bool, unverified: bool, as_json: bool) -> int:
    """Replays a run.

    Args:
        prefix: the run's id, or a unique beginning of it.
        flags: where the ledger is.
        verify: True: a difference is a failure.
        unverified: goes on though the run is not as it was written.
        as_json: print JSON.

    Returns:
        0; 1 where the run is not as it was written, and with `verify` where a replayed record is not the recorded one.

    Raises:
        SealError: the run is not as it was written.
    """

    async def replay() -> tuple[RunRecord, Sequence[Replayed], RunCheck]:
        async with aclosing(open_store(Settings.resolve(flags))) as store:
            run = await unique_run(store, prefix)
            check = await check_run(store, run.id, keys=FileKeys(), thorough=False, keeps_episodes=False)
            if not unverified:
                refuse([check])
            return run, await _replay(store, run), check

    run, episodes, check = asyncio.run(replay())
    differs = any(episode.difference for episode in episodes)
    if as_json:
        same = {"run_id": run.id, "version": run.version, "same": not differs}
        json.dump({**same, "episodes": [asdict(episode) for episode in episodes]}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(Console(highlight=False), run, episodes)
    tell(Console(stderr=True, highlight=False), [check])
    return 1 if not check.holds or (verify and differs) else 0


async def _replay(store: SqlStore, run: RunRecord) -> Sequence[Replayed]:
    episodes = await store.episodes(run.id)
    if not episodes:
        raise ConfigError(f"Run {run.id} has no episode.", do="List the runs:  groundwire show")
    app_of = _apps(run, store)
    replayed: list[Replayed] = []
    for episode in episodes:
        task = await task_of(episode, store)
        replayed.append(await app_of(task).areplay(task, run_id=run.id, episode_id=episode.id))
    return replayed


def _apps(run: RunRecord, store: SqlStore) -> Callable[[Task], FeedbackApp]:
    """What makes the graph of a task again, by what the run was asked to do."""
    config: dict[str, Any] = json.loads(run.config)
    if config.get("control_of"):
        raise ConfigError(
            f"Run {run.id} is a control arm, whose graph depends on what its run spent.",
            do=f"Replay the run it belongs to:  groundwire replay {config['control_of']}",
        )
    if "judge_once" in config:
        from groundwire.cli.coding_agents._judge_once import replaying

        return replaying(config["judge_once"], store)
    if "suite" not in config:
        settings = _settings(run)
        return lambda task: build(settings, task, store)
    from groundwire.cli._arms import Main
    from groundwire.cli._graph_choice import builder_of
    from groundwire.cli._run import parts_of
    from groundwire.cli._suite import Suite

    suite = Suite.from_data(config["suite"], {})
    main = Main(suite, parts_of(suite, repeats=config.get("learn", {}).get("repeats")), store, builder_of(suite.graph))
    return lambda task: main.app(Item(task))


def _settings(run: RunRecord) -> Settings:
    """What the run was asked to do; nothing of the environment has a say in it."""
    config: dict[str, Any] = json.loads(run.config)
    if config.get("demo"):
        from groundwire.cli._demo import LIMITS

        return Settings.model_validate(LIMITS)
    if config.get("cli"):
        return Settings.model_validate(config["cli"]["settings"])
    raise ConfigError(
        f"Run {run.id} was begun by no command of ours, so its graph is not known here.",
        do="Replay it where its graph is:  await app.areplay(task, run_id=…, episode_id=…)",
    )


def _print(console: Console, run: RunRecord, episodes: Sequence[Replayed]) -> None:
    if run.version != __version__:
        console.print(Text(f"recorded by groundwire {plain(run.version)}, replayed by {__version__}", style="yellow"))
    for episode in episodes:
        _print_episode(console, episode)


def _print_episode(console: Console, episode: Replayed) -> None:
    found = episode.difference
    line = Text("✗ " if found else "✓ ", style="bold red" if found else "bold green")
    line.append(f"episode {episode.episode_id}   {plain(episode.task_id, limit=60)}", style="default")
    line.append(f"   {plural(episode.compared, 'record')} the same", style="default")
    if not episode.is_whole:
        line.append("   up to where the clock or the disk ended it", style="yellow")
    if not episode.seals_verified:
        line.append("   seals not verified: the run's key is not here", style="yellow")
    console.print(line, soft_wrap=True)
    if found:
        console.print(Text(f"  record {found.position}, {found.kind}, {plain(found.field, limit=120)}"), soft_wrap=True)
        console.print(Text(f"    recorded: {plain(found.recorded, limit=SHOWN_CHARS)}"), soft_wrap=True)
        console.print(Text(f"    replayed: {plain(found.replayed, limit=SHOWN_CHARS)}"), soft_wrap=True)
