"""`groundwire demo`: real repairs on a bare machine; then, where one is installed, a small model and what checks it."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.cli._live import LiveView
from groundwire.cli._outcome import SAID, as_data
from groundwire.cli._repair import build, open_store
from groundwire.cli._run_state import end_of_run
from groundwire.cli._text import print_line
from groundwire.core._errors import ConfigError, GroundwireError, ModelError
from groundwire.core._intervals import wilson
from groundwire.core._paths import expand_user
from groundwire.core._records import StopReason, Store
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.core._text import plain, plural, visible
from groundwire.demo._writing import ANSWERS, SAMPLES, SHOWN, WrittenFunction, function_tasks, write_functions
from groundwire.graphs import EpisodeResult
from groundwire.memory import SqlStore
from groundwire.models._guard import check_model_calls
from groundwire.models.local_model import SMOLLM2, ServerOptions, engine_is_installed, find_model

# The second act of `groundwire demo`: how often a small model is right at first, and how often after the check.

LINES_SHOWN = 8
SLOTS = ServerOptions(slots=SAMPLES, context_tokens=512)
"""All samples of a trial at once."""


async def second_act(settings: Settings, store: Store, console: Console) -> dict[str, Any]:
    """Has functions written and judged, and prints it; where something is missing, says so in one line.

    Returns:
        The same for `--json`; under `error`, what went wrong.
    """
    missing = what_is_missing()
    console.print()
    if missing is not None:
        why, do = missing
        line = Text(f"second act skipped: {why}.", style="yellow")
        line.append(f"  {do}", style="default")
        console.print(line, soft_wrap=True)
        return {"left_out": why, "do": do}
    size = f"{SMOLLM2.file_bytes / 1e6:.0f} MB"
    intent = f"A small language model on this CPU ({SMOLLM2.name}, {size}, no key, no cost) writes easy functions."
    console.print(Text(f"Second act. {intent}", style="bold"), soft_wrap=True)
    said = f"It gives its likeliest answer first; only where the tests say FAIL does it draw up to {ANSWERS - 1} more."
    console.print(Text(said), soft_wrap=True)
    started, written = time.monotonic(), list[WrittenFunction]()
    try:
        await _write(settings, store, console, written)
    except GroundwireError as error:
        console.print(Text(f"second act stopped: {plain(error.what)}", style="yellow"), soft_wrap=True)
        if error.do:
            console.print(Text(f"  {plain(error.do)}", style="yellow"), soft_wrap=True)
        return {"error": error.what, "do": error.do, **_as_data(written, time.monotonic() - started)}
    seconds = time.monotonic() - started
    _print_share(console, written, seconds)
    return _as_data(written, seconds)


def what_is_missing() -> tuple[str, str] | None:
    """Why a local model can't be called here, and what to do about it; None where it can."""
    try:
        check_model_calls("local")
    except GroundwireError as error:
        return "model calls are refused here", error.do
    engine = engine_is_installed() and importlib.util.find_spec("aiohttp") is not None
    model = find_model() is not None
    if engine and model:
        return None
    steps = [] if engine else ['pip install "groundwire[local]"']
    steps += [] if model else ["groundwire model install"]
    what = "a small language model on this CPU"
    return f"{what} is not installed", f"Add it:  {' && '.join(steps)}"


async def _write(settings: Settings, store: Store, console: Console, written: list[WrittenFunction]) -> None:
    # imported here: it loads the engine's client
    from groundwire.models._local import LocalBackend

    tasks = [task for task in function_tasks() if task.id in SHOWN]
    async with aclosing(LocalBackend(options=SLOTS)) as backend:
        outcomes = write_functions(tasks, backend, store, sandbox=settings.sandbox, seed=settings.seed)
        with console.status(Text("writing …"), spinner="dots"):
            async with aclosing(outcomes):
                async for one in outcomes:
                    written.append(one)
                    _print_one(console, one)


def _print_one(console: Console, one: WrittenFunction) -> None:
    mark, style = ("✓", "green") if one.right else ("✗", "red")
    line = Text(f"{mark} ", style=style)
    line.append(f"{one.task.id:<17}", style="bold")
    line.append(_how(one), style="default")
    console.print(line, soft_wrap=True)
    if one.right and not one.right_at_once:
        for text in _body(one)[:LINES_SHOWN]:
            console.print(Text(f"    {visible(text)}", style="green"), no_wrap=True, overflow="ellipsis")


def _how(one: WrittenFunction) -> str:
    tries = plural(one.result.candidates, "different answer")
    if one.right_at_once:
        return "right on the first try"
    if one.right:
        return f"wrong on the first try; the tests picked a right one out of {tries}"
    if one.result.stop_reason is StopReason.HIDDEN_FAILED:
        return f"an answer passed the visible tests but failed the hidden ones, so none is accepted ({tries})"
    return f"none of {tries} is right; none is accepted"


def _body(one: WrittenFunction) -> list[str]:
    """What the model wrote: the lines that are not in the stub."""
    if one.result.best is None:
        return []
    given = one.task.tree.files
    return [
        line
        for path, content in one.result.best.candidate.changes.items()
        for line in (content or b"").decode(errors="replace").split("\n")
        if line.strip() and line not in given.get(path, b"").decode(errors="replace").split("\n")
    ]


def _print_share(console: Console, written: list[WrittenFunction], seconds: float) -> None:
    first, after = sum(w.right_at_once for w in written), sum(w.right for w in written)
    line = Text(f"right on the first try: {first} of {len(written)}   ", style="bold")
    line.append(f"after the check: {after} of {len(written)}", style="bold green")
    line.append(f"   in {seconds:.0f} s", style="dim")
    console.print(line, soft_wrap=True)
    console.print(Text(gain_line(after - first, len(written))), soft_wrap=True)
    console.print(Text(CHOSEN, style="dim"), soft_wrap=True)


CHOSEN = (
    "Not chosen blindly: eight of twenty functions that this model got right at least once in an earlier trial with "
    "other seeds, and one that it did not. On all twenty it gains less (bench/RESULTS.md)."
)


def gain_line(gained: int, of: int) -> str:
    """What the check brought, with its interval: the share of functions whose first answer was wrong and that were
    right after it. None is lost by it, since a right first answer is taken.
    """
    if not of:
        return "what the check brought can't be said: no function was finished"
    low, high = (round(100 * end) for end in wilson(gained, of))
    said = f"what the check brought: {100 * gained / of:+.0f} points (95 % interval {low:+d} to {high:+d})"
    return said if gained else f"{said}: nothing, this time"


def _as_data(written: list[WrittenFunction], seconds: float) -> dict[str, Any]:
    first, after = sum(w.right_at_once for w in written), sum(w.right for w in written)
    low, high = wilson(after - first, len(written))
    return {
        "model": SMOLLM2.name,
        "functions": [
            {
                "task_id": w.task.id,
                "run_id": w.result.run_id,
                "episode_id": w.result.episode_id,
                "right_at_once": w.right_at_once,
                "right": w.right,
                "stop_reason": w.result.stop_reason,
                "answers": w.result.candidates,
                "tokens": w.result.tokens,
                "usd": w.result.usd,
            }
            for w in written
        ],
        "known": len(written),
        "right_at_once": first,
        "right": after,
        "gain": (after - first) / len(written) if written else None,
        "gain_interval": [low, high],
        "seconds": round(seconds, 1),
    }


# `groundwire demo`: real repairs on a bare machine; then, where one is installed, a small model and what checks it.

LIMITS = {"max_trials": 5, "width": 16}
"""Of each project: small trials, so that a reader sees failing, reflecting and trying again. Work, and no clock: on a
busy machine it takes longer and ends as it ends on an idle one."""
PATIENCE_S = 600.0
"""Wall seconds of one judging, which takes a second; what hangs is ended by its processor time."""
BUSY = 1.5
"""Programs that want to run, for each core, from which on a machine is called busy."""
# its parser was never written
BEYOND_REACH = frozenset({"6_durations"})
"""Projects that the search actor must fail on, and say so."""


def write_projects(folder: Path, *, as_json: bool) -> int:
    """Writes the demo's projects into a folder of the reader's, and says what to try.

    Args:
        folder: is made.
        as_json: print JSON.

    Raises:
        ConfigError: it is there already, or can't be made.
    """
    place = expand_user(folder)
    try:
        with as_file(files("groundwire") / "demo" / "projects") as projects:
            shutil.copytree(projects, place, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        raise ConfigError(f"{folder} can't be made: {error.strerror or error}.", do="Name a new folder.") from error
    names = sorted(path.name for path in place.iterdir() if path.is_dir())
    if as_json:
        print_line({"folder": str(place), "projects": names})
    else:
        print(f"{plural(len(names), 'project')} in {plain(str(folder))}: {', '.join(names)}")
        print(f"next:  groundwire repair {shlex.quote(str(folder / names[0]))}")
    return 0


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
        named = "" if settings.db is None else f" --db {shlex.quote(store.url)}"
        run = f"{first['run_id'][:13]}{named}"
        show, view = f"groundwire show {run}", f"groundwire view {run}"
        yours = 'groundwire repair PROJECT --test "pytest -q"'
        console.print(Text(f"next:   {show:<46}  what was tried, and what decided", style="dim"), soft_wrap=True)
        console.print(Text(f"        {view:<46}  the same in a browser, step by step", style="dim"), soft_wrap=True)
        console.print(Text(f"        {yours:<46}  a project of yours", style="dim"), soft_wrap=True)
    if not repaired:
        return 1
    return ModelError.exit_code if "error" in second else 0


async def _first_act(
    projects: list[Path], settings: Settings, store: SqlStore, console: Console
) -> tuple[dict[str, Any], bool]:
    """What it came to, for `--json`, and whether that is what was expected."""
    started = time.monotonic()
    tasks = [_patient(Task.from_folder(p)) for p in projects]
    expected = [p.name not in BEYOND_REACH for p in projects]
    results: list[EpisodeResult] = []
    run_id = await build(settings, tasks[0], store).start_run({"demo": True})
    intent = "Repair without a model: tests outside the actor say what failed and decide what is kept."
    console.print(Text(intent), soft_wrap=True)
    if busy := busy_line(os.getloadavg()[0], len(os.sched_getaffinity(0))):
        console.print(Text(busy, style="yellow"), soft_wrap=True)
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
    _print_summary(console, results, seconds)
    solved = [r.stop_reason is StopReason.VERIFIED for r in results]
    data = [as_data(r, t, None, False, store.url) for r, t in zip(results, tasks, strict=True)]
    return {"run_id": run_id, "seconds": round(seconds, 1), "episodes": data}, solved == expected


def _patient(task: Task) -> Task:
    return replace(task, limits=task.limits.model_copy(update={"wall_s": PATIENCE_S}))


def busy_line(load: float, cores: int) -> str:
    """What is said of a machine on which others compute too; empty where it has time.

    Args:
        load: programs that wanted to run in the last minute, on average.
        cores: those that this process may use.
    """
    if load < BUSY * cores:
        return ""
    return f"This machine is busy (load {load:.1f}, {plural(cores, 'core')}): it takes longer, and ends the same."


def _print_result(console: Console, result: EpisodeResult, task: Task) -> None:
    if result.stop_reason is not StopReason.VERIFIED:
        said = f"         {SAID[result.stop_reason]}; nothing is claimed, nothing is changed"
        console.print(Text(said, style="yellow"), soft_wrap=True)
        return
    if result.best is not None:
        console.print(Text(f"         fixed: {plain(result.best.candidate.note)}", style="green"), soft_wrap=True)
    for line in result.patch.splitlines():
        if line[:1] in "+-" and not line.startswith(("+++", "---")):
            style = "green" if line[0] == "+" else "red"
            console.print(Text(f"         {visible(line)}", style=style), soft_wrap=True)


def _print_summary(console: Console, results: list[EpisodeResult], seconds: float) -> None:
    verified = sum(r.stop_reason is StopReason.VERIFIED for r in results)
    signals = sum(r.signals for r in results)
    console.print()
    line = Text(f"{verified} of {len(results)} repaired and verified in {seconds:.0f} s", style="bold green")
    line.append(f"   {plural(signals, 'signal')} sealed, hidden tests judged once each", style="dim")
    console.print(line, soft_wrap=True)
