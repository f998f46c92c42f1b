"""`groundwire reward repair`: of the wrong attempts of runs, how many a model mends when it is shown what failed.

A measurement that was cut off goes on when it is asked for again: what was answered and judged is in the ledger.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rich.console import Console
from rich.text import Text

from groundwire.cli._improve_parts import ModelPlace
from groundwire.cli._parts import backend_of, check_ready
from groundwire.cli._repair import open_store, unique_run
from groundwire.cli._suite import TaskSource
from groundwire.core._errors import ConfigError
from groundwire.core._records import RunRecord
from groundwire.core._settings import Settings
from groundwire.core._signals import canonical
from groundwire.core._tasks import Task
from groundwire.core._text import plain, plural
from groundwire.training import trajectories_of
from groundwire.training._answers import judged_in
from groundwire.training.rewards._judging import RewardJudge, RewardRules
from groundwire.training.rewards._ledger import RewardLedger
from groundwire.training.rewards._repairing import MendedShare, answered_before, measure_repair, wrong_attempts

RUNS_LOOKED_AT = 2000


@runtime_checkable
class Closing(Protocol):
    """What holds something open."""

    async def aclose(self) -> None:
        """Closes it."""
        ...


@dataclass(frozen=True)
class AskedRepair:
    """What is measured.

    Args:
        runs: where the wrong attempts are from, by id or its beginning.
        source: where the tasks come from.
        samples: answers to each question.
        temperature: of these.
        max_tokens: of each answer.
        limit: only the first so many attempts; None: all.
        as_json: print one JSON object.
    """

    runs: Sequence[str]
    source: TaskSource
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 1024
    limit: int | None = None
    as_json: bool = False


def run_repair(asked: AskedRepair, settings: Settings) -> int:
    """Measures, and prints the shares. All answers go into the ledger, before they are judged.

    Returns:
        0; 130 where it was interrupted.

    Raises:
        ConfigError: no model is named, or no attempt is of a task that was given.
        ModelError: the model can't be asked.
    """
    if not settings.model:
        raise ConfigError("No model is named.", do="Give  --model MODEL.")
    backend = backend_of(settings)
    check_ready(settings, backend)
    tasks = {item.task.id: item.task for item in asked.source.items()}

    async def work() -> tuple[list[MendedShare], int, str]:
        async with aclosing(open_store(settings)) as store:
            runs = [await unique_run(store, prefix) for prefix in asked.runs]
            async with aclosing(trajectories_of(store, runs)) as found:
                told = [one async for one in found if one.task in tasks]
            attempts = list(wrong_attempts(told))[: asked.limit]
            if not attempts and (wrong := sum(one.reward == 0.0 for one in judged_in(told)[0])):
                raise ConfigError(
                    f"{plural(wrong, 'attempt')} failed, and none by a test that may be shown: hidden tests judged.",
                    do="Give runs in which visible tests judged too, as those of  groundwire run  do.",
                )
            wrong_in = sorted(run.id for run in runs)
            key = _key(asked, settings, wrong_in, tasks)
            config = {
                "repair_of": wrong_in,
                "samples": asked.samples,
                "temperature": asked.temperature,
                "key": key,
            }
            begun = [run for run in await store.runs(limit=RUNS_LOOKED_AT) if _key_in(run) == key]
            async with aclosing(trajectories_of(store, begun)) as found:
                earlier = [one async for one in found if one.task in tasks]
            ledger = RewardLedger(store, model=settings.model or "", config=config)
            judge = RewardJudge(tasks, rules=RewardRules(), sandbox=settings.sandbox, ledger=ledger)
            known = answered_before(earlier, judge)
            if known:
                count = plural(sum(map(len, known.values())), "answer")
                Console(stderr=True, highlight=False).print(f"going on: {count} asked for and judged before")
            try:
                shares = await measure_repair(
                    backend,
                    attempts,
                    judge,
                    known=known,
                    samples=asked.samples,
                    temperature=asked.temperature,
                    max_tokens=asked.max_tokens,
                    seed=settings.seed,
                )
                run_id = ledger.run_id or next((run.id for run in begun), "")
            finally:
                await judge.aclose()
                if isinstance(backend, Closing):
                    await backend.aclose()
            return shares, len(attempts), run_id

    try:
        shares, attempts, run_id = asyncio.run(work())
    except KeyboardInterrupt:
        said = "interrupted; what was answered is in the ledger: the same command goes on from here"
        Console(stderr=True, highlight=False).print(said, soft_wrap=True)
        return 130
    if asked.as_json:
        rows = [{**asdict(one), "share": one.share} for one in shares]
        json.dump({"model": settings.model, "attempts": attempts, "run": run_id, "shares": rows}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(shares, attempts, run_id)
    return 0


def _key(asked: AskedRepair, settings: Settings, runs: Sequence[str], tasks: Mapping[str, Task]) -> str:
    """Equal for the same measurement of the same weights, of however many attempts."""
    told = [
        settings.model,
        _weights(settings.model or ""),
        [[name, task.tree.digest] for name, task in sorted(tasks.items())],
        runs,
        asked.samples,
        asked.temperature,
        asked.max_tokens,
        settings.seed,
    ]
    return hashlib.sha256(canonical(told).encode()).hexdigest()


def _weights(model: str) -> list[list[str | int]]:
    """What changes when a folder of weights is trained further under its name; empty where a model lies elsewhere."""
    try:
        place = ModelPlace.of(model)
    except ConfigError:
        return []
    adapter = [Path(path) for name, path in place.options if name == "lora"]
    files = [file for folder in (place.folder, *adapter) for file in sorted(folder.glob("*.safetensors"))]
    return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]


def _key_in(run: RunRecord) -> str:
    config: dict[str, Any] = json.loads(run.config)
    about: dict[str, Any] = config.get("reward") or {}
    return str(about.get("key", ""))


def _print(shares: Sequence[MendedShare], attempts: int, run_id: str) -> None:
    console = Console(highlight=False)
    console.print(Text(f"{attempts} wrong attempts; run {run_id}"), soft_wrap=True)
    widest = max(len(one.error_type) for one in shares)
    for one in shares:
        shown = "shown what failed" if one.evidence else "asked once more   "
        lacking = f"   {one.no_verdict} without a verdict" if one.no_verdict else ""
        line = (
            f"{plain(one.error_type):<{widest}}  {shown}  {one.right}/{one.answers} right  {one.share:.1%}"
            f"  (95 % {one.low:.1%} to {one.high:.1%}){lacking}"
        )
        console.print(Text(line), soft_wrap=True)
