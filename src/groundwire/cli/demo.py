"""`groundwire demo`: real repairs on a bare machine; then, where one is installed, a small model and what checks it."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from contextlib import aclosing
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.cli.demo_writing import second_act
from groundwire.cli.live import LiveView
from groundwire.cli.outcome import SAID, as_data
from groundwire.cli.repair import build, open_store
from groundwire.cli.run_state import end_of_run
from groundwire.cli.text import plain, plural, visible
from groundwire.errors import ModelError
from groundwire.graphs import EpisodeResult
from groundwire.memory import SqlStore
from groundwire.records import StopReason
from groundwire.settings import Settings
from groundwire.tasks import Task

__all__ = ["run_demo"]

LIMITS = {"max_seconds": 40.0, "max_trials": 6, "width": 16}
"""Of each project: small trials, so that a reader sees failing, reflecting and trying again."""
# its parser was never written
BEYOND_REACH = frozenset({"6_durations"})
"""Projects that the search actor must fail on, and say so."""


def run_demo(flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Repairs every project of the demo; one of them can't be repaired by the search actor, and is shown as such.

    Returns:
        0 if every other project was repaired and verified, else 1; 5 if the model of the second act broke.
    """
    settings = Settings.resolve({**flags, **LIMITS})
    console = Console(stderr=as_json, highlight=False)
    with as_file(files("groundwire") / "demo" / "projects") as folder:
        return asyncio.run(_demo(sorted(p for p in folder.iterdir() if p.is_dir()), settings, console, as_json))


async def _demo(projects: list[Path], settings: Settings, console: Console, as_json: bool) -> int:
    async with aclosing(open_store(settings)) as store:
        first, repaired = await _first_act(projects, settings, store, console)
        second = await second_act(settings, store, console)
    if as_json:
        json.dump({**first, "second_act": second}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        console.print(Text('next:   groundwire repair YOUR_PROJECT --test "pytest -q"', style="dim"))
    if not repaired:
        return 1
    return ModelError.exit_code if "error" in second else 0


async def _first_act(
    projects: list[Path], settings: Settings, store: SqlStore, console: Console
) -> tuple[dict[str, Any], bool]:
    """What it came to, for `--json`, and whether that is what was expected."""
    started = time.monotonic()
    tasks = [Task.from_folder(p) for p in projects]
    expected = [p.name not in BEYOND_REACH for p in projects]
    results: list[EpisodeResult] = []
    run_id = await build(settings, tasks[0], store).start_run({"demo": True})
    intent = "Repair without a model: tests outside the actor say what failed and decide what is kept."
    console.print(Text(intent), soft_wrap=True)
    for task in tasks:
        console.print()
        console.print(Text(f"{task.id}: {plain(task.prompt)}", style="bold"), soft_wrap=True)
        view = LiveView(console)
        try:
            result = await build(settings, task, store).arun(task, run_id=run_id, observers=(view,), report=view.report)
        finally:
            view.close()
        results.append(result)
        _print_result(console, result, task)
    await end_of_run(store, run_id)
    seconds = time.monotonic() - started
    _print_summary(console, results, run_id, store.url, seconds)
    solved = [r.stop_reason is StopReason.VERIFIED for r in results]
    data = [as_data(r, t, None, False, store.url) for r, t in zip(results, tasks, strict=True)]
    return {"run_id": run_id, "seconds": round(seconds, 1), "episodes": data}, solved == expected


def _print_result(console: Console, result: EpisodeResult, task: Task) -> None:
    if result.stop_reason is not StopReason.VERIFIED:
        console.print(
            Text(f"         {SAID[result.stop_reason]}; nothing is claimed, nothing is changed", style="yellow")
        )
        return
    if result.best is not None:
        console.print(Text(f"         fixed: {plain(result.best.candidate.note)}", style="green"), soft_wrap=True)
    for line in result.patch.splitlines():
        if line[:1] in "+-" and not line.startswith(("+++", "---")):
            style = "green" if line[0] == "+" else "red"
            console.print(Text(f"         {visible(line)}", style=style), soft_wrap=True)


def _print_summary(console: Console, results: list[EpisodeResult], run_id: str, ledger: str, seconds: float) -> None:
    verified = sum(r.stop_reason is StopReason.VERIFIED for r in results)
    signals = sum(r.signals for r in results)
    console.print()
    line = Text(f"{verified} of {len(results)} repaired and verified in {seconds:.0f} s", style="bold green")
    line.append(f"   {plural(signals, 'signal')} sealed, hidden tests judged once each", style="dim")
    console.print(line, soft_wrap=True)
    console.print(Text(f"record: groundwire show {run_id[:13]}   ({ledger})", style="dim"), soft_wrap=True)
