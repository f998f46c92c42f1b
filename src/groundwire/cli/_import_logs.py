"""`groundwire import`: published logs into the ledger, reported on and exported like runs of one's own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire import __version__
from groundwire.cli._repair import open_store
from groundwire.core._chain import Heads
from groundwire.core._errors import RecordingError
from groundwire.core._ids import new_id
from groundwire.core._records import Store
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._text import plain, plural
from groundwire.logs.runs import LoggedRun, runs_in, write_run
from groundwire.logs.runs._writing import WrittenRun

RUNS_SEARCHED = 1000


def import_logs(
    paths: Sequence[Path], flags: Mapping[str, Any], *, only: Sequence[str], trials: int, again: bool, as_json: bool
) -> int:
    """Imports the runs of logs.

    Args:
        paths: folders of logs, or files.
        flags: where the ledger is.
        only: names of the runs that are wanted; empty: all.
        trials: only so many of each episode; 0: all.
        again: also import what is there already.
        as_json: print a JSON object a run.

    Returns:
        0.
    """
    wanted = _wanted([run for path in paths for run in runs_in(path)], only)
    asyncio.run(_import(wanted, Settings.resolve(flags), trials, again, as_json))
    return 0


def _wanted(found: Sequence[LoggedRun], only: Sequence[str]) -> Sequence[LoggedRun]:
    known = {name: run for run in found for name in (run.name, run.name.partition("/")[2])}
    if unknown := [name for name in only if name not in known]:
        names = ", ".join(run.name for run in found)
        raise RecordingError(f"There is no logged run called {', '.join(unknown)}.", do=f"Choose from {names}.")
    return [run for run in found if not only or {run.name, run.name.partition("/")[2]} & set(only)]


async def _import(runs: Sequence[LoggedRun], settings: Settings, trials: int, again: bool, as_json: bool) -> None:
    console = Console(stderr=as_json, highlight=False)
    keys = FileKeys()
    async with aclosing(open_store(settings)) as store:
        there = {} if again else await _imported(store, trials)
        for run in runs:
            if before := there.get(run.name):
                console.print(Text(f"{plain(run.name)}: imported before, as run {before}", style="dim"), soft_wrap=True)
                continue
            run_id = new_id()
            reflecting = [there[other.name] for other in runs if other.control == run.name and other.name in there]
            written = await write_run(
                store,
                run,
                key=keys.create(run_id),
                run_id=run_id,
                heads=Heads(keys.heads_file(run_id), store.url),
                version=__version__,
                trials=trials,
                control_of=reflecting[0] if reflecting else "",
            )
            there[run.name] = run_id
            _say(console, run, written, as_json)
    _say_what_next(console, runs, there)


async def _imported(store: Store, trials: int) -> dict[str, str]:
    """What is there already and whole: the logged run's name → the id it got."""
    found: dict[str, str] = {}
    for run in await store.runs(limit=RUNS_SEARCHED):
        imported: Mapping[str, Any] = json.loads(run.config).get("imported") or {}
        if not imported or (imported["trials"] or 0) != trials:
            continue
        if len(await store.episodes(run.id)) == imported["episodes"]:  # else it was cut off
            found.setdefault(imported["name"], run.id)
    return found


def _say(console: Console, run: LoggedRun, written: WrittenRun, as_json: bool) -> None:
    if as_json:
        told = {"run_id": written.run.id, "name": run.name, "log": run.log, "episodes": written.episodes}
        sys.stdout.write(json.dumps({**told, "solved_by_trial": written.solved}) + "\n")
        return
    line = Text(plain(run.name), style="bold")
    line.append(f"  {plural(written.episodes, 'episode')}, solved after each trial: ", style="not bold")
    line.append(" ".join(map(str, written.solved)), style="not bold")
    line.append(f"  run {written.run.id}", style="not bold dim")
    console.print(line, soft_wrap=True)


def _say_what_next(console: Console, runs: Sequence[LoggedRun], there: Mapping[str, str]) -> None:
    for run in runs:
        against = f" --control {there[run.control]}" if run.control in there else ""
        if against or len(runs) == 1:
            console.print(
                Text(f"groundwire report {there[run.name]}{against}   # {plain(run.name)}", style="dim"), soft_wrap=True
            )
