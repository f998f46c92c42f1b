"""`groundwire report`: what runs came to, in the terminal, as one HTML page, or as data."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire.cli._finding import store_with, store_without_memory
from groundwire.cli._repair import open_store
from groundwire.cli._run_state import STYLES as STATES
from groundwire.cli._run_state import state_of
from groundwire.cli._verify import refuse, tell
from groundwire.core._errors import ConfigError
from groundwire.core._records import RunRecord, RunState, Store
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._text import plain
from groundwire.evaluation import Arm, read_run
from groundwire.evaluation._comparing import Conclusion
from groundwire.evaluation._measuring import as_data
from groundwire.evaluation._table import episode_sets, groups_of
from groundwire.evaluation._trials import Episodes
from groundwire.evaluation._verdicts import ArmReport, Report, report_on
from groundwire.memory._checking import RunCheck, check_run

RUNS_SEARCHED = 500
"""Latest runs among which a run's control arm is looked for."""
STYLES = {
    Conclusion.HELPED: "bold green",
    Conclusion.HURT: "bold red",
    Conclusion.CANT_TELL: "bold yellow",
    None: "bold",
}


def run_report(
    prefixes: Sequence[str],
    flags: Mapping[str, Any],
    *,
    control: str | None,
    html: Path | None,
    unverified: bool = False,
    as_json: bool,
) -> int:
    """Reports on runs, side by side.

    Returns:
        0; 1 where a run is not as it was written, and `unverified` said to report on it all the same.

    Raises:
        SealError: a run is not as it was written.
    """
    arms, control_id, states, checks = asyncio.run(_read(prefixes, flags, control))
    if not unverified:
        refuse(checks)
    report = report_on(arms, control=control_id)
    console = Console(stderr=as_json, highlight=False)
    if html is not None:
        _write(html, report)
    if as_json:
        json.dump(_data(report, states), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(console, report, states)
    if html is not None:
        console.print(Text(f"page: {html}", style="dim"), soft_wrap=True)
    tell(Console(stderr=True, highlight=False), checks)
    return 0 if all(check.holds for check in checks) else 1


async def _read(
    prefixes: Sequence[str], flags: Mapping[str, Any], control: str | None
) -> tuple[Sequence[Arm], str, Mapping[str, RunState], Sequence[RunCheck]]:
    """The arms, the run that all others are compared with, how each run stands, and whether it is as it was written."""
    settings = Settings.resolve(flags)
    runs: dict[str, RunRecord] = {}
    arms: list[Arm] = []
    states: dict[str, RunState] = {}
    checks: dict[str, RunCheck] = {}
    last = ""
    for prefix in (*prefixes, *([control] if control is not None else [])):
        async with store_with(settings, prefix) as (store, run):
            arms += [await read_run(store, run)] if run.id not in runs else []
            runs[run.id], last = run, run.id
            states[run.id] = await state_of(store, run)
            checks[run.id] = await check_run(store, run.id, keys=FileKeys(), thorough=False, keeps_episodes=False)
    if control is not None:
        return arms, last, states, list(checks.values())
    learns = any("learn" in json.loads(run.config) for run in runs.values())
    for opened in (open_store, *([store_without_memory] if learns else [])):
        async with aclosing(opened(settings)) as store:
            for run in (await _controls(store, runs)).values():
                arms.append(await read_run(store, run))
                states[run.id] = await state_of(store, run)
                checks[run.id] = await check_run(store, run.id, keys=FileKeys(), thorough=False, keeps_episodes=False)
    return arms, "", states, list(checks.values())


async def _controls(store: Store, runs: Mapping[str, RunRecord]) -> dict[str, RunRecord]:
    """Control arms of these runs that nobody named: what a number is compared with belongs beside it."""
    latest = await store.runs(limit=RUNS_SEARCHED)
    return {run.id: run for run in latest if run.id not in runs and json.loads(run.config).get("control_of") in runs}


def _write(path: Path, report: Report) -> None:
    try:
        from groundwire.evaluation.page import render_page
    except ImportError as error:
        raise ConfigError(f"A page needs {error.name}.", do='pip install "groundwire[eval]"') from error
    try:
        path.write_text(render_page(report), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"The page can't be written to {path}: {error.strerror}.", do="Name another file.") from error


def _print(console: Console, report: Report, states: Mapping[str, RunState]) -> None:
    for arm in report.arms:
        _print_head(console, arm, states[arm.arm.name])
    for group in groups_of(report):
        table = Table(group.title, *(arm.label for arm in report.arms), box=None, header_style="bold", pad_edge=False)
        for line in group.lines:
            table.add_row(Text(line.name, style="dim"), *(Text(plain(cell.text)) for cell in line.cells))
        console.print()
        console.print(table)


def _print_head(console: Console, arm: ArmReport, state: RunState) -> None:
    facts = arm.arm.facts
    head = Text(f"{arm.label}  ", style="bold")
    head.append(f"{plain(facts.graph)}  run {plain(arm.arm.name)}  {plain(facts.created_at[:19])}", style="dim")
    if state is not RunState.FINISHED:
        head.append(f"  {state}: incomplete", style=STATES[state])
    if arm.against:
        head.append(f"  control: {', '.join(one.control for one in arm.against)}", style="dim")
    if facts.control:
        head.append(f"  a control: {plain(facts.control)}", style="dim")
    console.print(head, soft_wrap=True)
    console.print(Text(f"   {plain(arm.verdict.text, limit=600)}", style=STYLES[arm.verdict.answer]), soft_wrap=True)
    for remark in arm.remarks:
        console.print(Text(f"   {plain(remark.text, limit=400)}"), soft_wrap=True)


def _data(report: Report, states: Mapping[str, RunState]) -> dict[str, Any]:
    return {"runs": [_arm_data(arm, states[arm.arm.name]) for arm in report.arms]}


def _arm_data(arm: ArmReport, state: RunState) -> dict[str, Any]:
    trials = arm.arm.trials
    episodes = Episodes.of(trials)
    named = [trials.episode[int(row)] for row in trials.starts]
    return {
        "label": arm.label,
        "run": arm.arm.name,
        "state": state,
        **as_data(arm.arm.facts),
        "verdict": arm.verdict.text,
        "answer": as_data(arm.verdict.answer),
        "remarks": [remark.text for remark in arm.remarks],
        "controls": [as_data(one) for one in arm.against],
        "measured": as_data(arm.measured),
        "sets": {name: [named[at] for at in numbers] for name, numbers in episode_sets(trials).items()},
        "episodes": [
            {
                "episode": named[at],
                "task": trials.task[int(first)],
                "seed": int(trials.seed[first]),
                "stop": trials.stop[int(first)],
                "first_right": bool(episodes.first_right[at]),
                "right": bool(episodes.final_right[at]),
                "trials": int(trials.ends[at] - first + 1),
                "tokens": int(trials.tokens[first : trials.ends[at] + 1].sum()),
            }
            for at, first in enumerate(trials.starts)
        ],
    }
