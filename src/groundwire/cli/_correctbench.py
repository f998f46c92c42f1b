"""`groundwire correctbench`: one set, answered straight, corrected by the model itself, and corrected from outside.

After CorrectBench (arXiv 2510.16062), which sets intrinsic and external correction beside a plain chain of thought and
reports accuracy and time. Each arm is a run of its own in one ledger, on the same tasks and seeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire.cli._arms import Main
from groundwire.cli._repair import open_store
from groundwire.cli._run import SuiteRun
from groundwire.cli._scores import TaskScore, set_scores, task_scores
from groundwire.cli._suite import Suite
from groundwire.cli._text import print_line
from groundwire.core._errors import ConfigError

PLAIN = "blind_resampling"
"""One answer, as the model gives it."""
PAIRS = (("intrinsic", "plain"), ("external", "plain"), ("external", "intrinsic"))
"""What is compared with what."""


@dataclass(frozen=True)
class CorrectionArm:
    """One way of answering.

    Args:
        name: `plain`, `intrinsic` or `external`.
        suite: what is run.
    """

    name: str
    suite: Suite


def arms_of(suite: Suite, intrinsic: str, external: str) -> Sequence[CorrectionArm]:
    """The three arms.

    Args:
        suite: the set; the model, the limits; `graph_options` and `oracle` are the external arm's.
        intrinsic: a control of the library: the model goes back over its answer, and no signal asks it to.
        external: a graph that a signal steers.
    """
    alone = replace(suite, graph_options={}, oracle=False)
    once = suite.settings.model_copy(update={"max_trials": 1})
    return (
        CorrectionArm("plain", replace(alone, graph=PLAIN, settings=once)),
        CorrectionArm("intrinsic", replace(alone, graph=intrinsic, settings=once)),
        CorrectionArm("external", replace(suite, graph=external)),
    )


def run_correctbench(arms: Sequence[CorrectionArm], *, as_json: bool) -> int:
    """Runs the arms, one after the other, and compares them.

    Returns:
        The exit code: 0 where every arm ran to its end.
    """
    runs: dict[str, str] = {}
    worst = 0
    for arm in arms:
        one = _ArmRun(arm.suite, as_json=as_json)
        code = one.blocking()
        if not one.main_run or code in (2, 6, 130):
            return code
        worst = worst or (code if code in (3, 4, 5, 7) else 0)
        runs[arm.name] = one.main_run
    scores = asyncio.run(_scores(arms, runs))
    compared = [_compared(*pair, scores) for pair in PAIRS]
    if as_json:
        told = {name: _data(runs[name], found) for name, found in scores.items()}
        print_line({"type": "correctbench", "arms": told, "compared": compared, "exit_code": worst})
        return worst
    _show(arms, runs, scores, compared)
    return worst


class _ArmRun(SuiteRun):
    """A run that remembers its id."""

    main_run = ""

    async def last_lines(self, main: Main, controls: Sequence[Any]) -> None:
        self.main_run = main.run_id
        await super().last_lines(main, controls)


async def _scores(arms: Sequence[CorrectionArm], runs: Mapping[str, str]) -> Mapping[str, Sequence[TaskScore]]:
    async with aclosing(open_store(arms[0].suite.settings)) as store:
        items = arms[0].suite.items()
        return {name: await task_scores(store, run_id, items) for name, run_id in runs.items()}


def _compared(arm: str, other: str, scores: Mapping[str, Sequence[TaskScore]]) -> dict[str, Any]:
    """The difference in accuracy on tasks that both arms have an answer to, with its 95 % interval."""
    mine = {one.task_id: one.right for one in scores[arm] if one.right is not None}
    theirs = {one.task_id: one.right for one in scores[other] if one.right is not None}
    both = [name for name in mine if name in theirs]
    apart = [float(bool(mine[name])) - float(bool(theirs[name])) for name in both]
    found: dict[str, Any] = {
        "arm": arm,
        "against": other,
        "tasks": len(both),
        "better": sum(one > 0 for one in apart),
        "worse": sum(one < 0 for one in apart),
        "difference": fmean(apart) if apart else None,
        "low": None,
        "high": None,
    }
    try:
        import numpy as np

        from groundwire.evaluation._comparing import paired_interval
    except (ImportError, ConfigError):
        return found | {"detail": 'an interval needs  pip install "groundwire[eval]"'}
    if apart:
        found["low"], found["high"] = paired_interval(np.array(apart))
    return found


def _data(run_id: str, scores: Sequence[TaskScore]) -> dict[str, Any]:
    return {
        "run_id": run_id,
        **set_scores(scores).as_data(),
        "seconds_of_each": fmean(one.seconds for one in scores) if scores else None,
        "tokens": sum(one.tokens for one in scores),
    }


def _show(
    arms: Sequence[CorrectionArm],
    runs: Mapping[str, str],
    scores: Mapping[str, Sequence[TaskScore]],
    compared: Sequence[Mapping[str, Any]],
) -> None:
    console = Console(highlight=False)
    table = Table(
        "arm", "graph", "right", "of", "accuracy", "F1 of words", "s each", "tokens", box=None, header_style="bold"
    )
    for arm in arms:
        found = _data(runs[arm.name], scores[arm.name])
        cells = (
            arm.name,
            f"{arm.suite.graph}{' (oracle)' if arm.suite.oracle else ''}",
            str(found["right"]),
            str(found["of"]),
            _percent(found["accuracy"]),
            _percent(found["f1_of_words"]),
            "" if found["seconds_of_each"] is None else f"{found['seconds_of_each']:.1f}",
            str(found["tokens"]),
        )
        table.add_row(*map(Text, cells))
    console.print(table)
    for one in compared:
        if one["difference"] is None:
            said = "no task has an answer of both"
        else:
            said = (
                f"{100 * one['difference']:+.1f} points, {one['better']} better, {one['worse']} worse of {one['tasks']}"
            )
            if one["low"] is not None:
                low, high = 100 * one["low"], 100 * one["high"]
                said += f"; 95 % interval {low:+.1f} to {high:+.1f}"
        console.print(Text(f"{one['arm']} against {one['against']}: {said}", style="bold"), soft_wrap=True)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
