"""`groundwire archive`: whole runs out of the ledger into Parquet files, once these are known to be as they were
written."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.cli._finding import store_with, store_without_memory
from groundwire.cli._lessons import agreed, in_bytes
from groundwire.cli._repair import open_store
from groundwire.cli._verify import check_lines
from groundwire.core._errors import ConfigError
from groundwire.core._paths import expand_user
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._text import plain, plural
from groundwire.memory import SqlStore
from groundwire.memory._archive import (
    check_archived,
    copy_run,
    ended_before,
    episode_count,
    open_episodes,
    remove_runs,
)
from groundwire.memory._archive_files import ArchivedRun, check_pyarrow
from groundwire.memory._checking import RunCheck
from groundwire.memory._place import archive_name
from groundwire.memory._retention import bytes_of, compact

EPISODES_BETWEEN = 50
"""Between two words about how far it is."""


@dataclass(frozen=True)
class _Asked:
    runs: Sequence[str]
    before: str | None
    folder: Path
    keep: bool
    unfinished: bool
    dry_run: bool
    yes: bool


@dataclass
class _Outcome:
    """What became of it, so far."""

    found: Mapping[str, int] = field(default_factory=dict[str, int])
    """Episodes by run."""
    archived: Sequence[ArchivedRun] = ()
    checks: Sequence[RunCheck] = ()
    removed: Mapping[str, int] = field(default_factory=dict[str, int])
    bytes_before: int | None = None
    bytes_now: int | None = None

    @property
    def damaged(self) -> Sequence[RunCheck]:
        """Runs that are not as they were written: they stay in the ledger."""
        return [check for check in self.checks if not check.holds]


def archive_runs(
    runs: Sequence[str],
    flags: Mapping[str, Any],
    *,
    before: str | None,
    to: Path | None,
    keep: bool,
    unfinished: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Archives runs.

    Returns:
        0; 1 where a run is not as it was written, and stays in the ledger.

    Raises:
        ConfigError: something is missing, or a run is not over.
        RecordNotFound: there is no such run.
        StorageError: the ledger can't be read, or the archive not be written.
    """
    if to is None or bool(runs) == (before is not None):
        raise ConfigError(
            "An archive needs a folder, and runs or a date.",
            do="groundwire archive RUN --to FOLDER   or   groundwire archive --before 2026-01-31 --to FOLDER",
        )
    check_pyarrow()
    folder = expand_user(to)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder.", do="Name another one.")
    asked = _Asked(runs, _time(before) if before is not None else None, folder, keep, unfinished, dry_run, yes)
    outcome = asyncio.run(_archive(asked, Settings.resolve(flags)))
    if as_json:
        json.dump(_data(asked, outcome), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(asked, outcome)
    return 1 if outcome.damaged else 0


async def _archive(asked: _Asked, settings: Settings) -> _Outcome:
    outcome = _Outcome()
    async with aclosing(open_store(settings)) as store:
        found = await _chosen(asked, settings, store)
        outcome.found = found
        if asked.dry_run or not found:
            return outcome
        if not asked.keep:
            what = f"{plural(len(found), 'run')} with {plural(sum(found.values()), 'episode')}"
            if not agreed(f"Move {what} out of {store.url} into {asked.folder}?", yes=asked.yes):
                return _Outcome()
            outcome.bytes_before = await bytes_of(store)
        console = Console(stderr=True, highlight=False)
        with console.status("") as status:

            def say(run: str, episodes: int) -> None:
                if episodes % EPISODES_BETWEEN == 0:
                    status.update(f"run {run}: {plural(episodes, 'episode')} copied")

            outcome.archived = [
                await copy_run(store, run, asked.folder, progress=lambda episodes, of=run: say(of, episodes))
                for run in found
            ]
            status.update("reading the archive back, and checking its seals")
            outcome.checks = await check_archived(asked.folder, outcome.archived)
            if asked.keep:
                return outcome
            damaged = {check.run_id for check in outcome.damaged}
            sound = [run for run in outcome.archived if run.run not in damaged]
            status.update("taking it out of the ledger")
            outcome.removed = await remove_runs(store, asked.folder, sound)
            await compact(store)
            outcome.bytes_now = await bytes_of(store)
    return outcome


async def _chosen(asked: _Asked, settings: Settings, store: SqlStore) -> dict[str, int]:
    """The runs, with how many episodes each has; those of a date that are not over are left out."""
    keys = FileKeys()
    found: list[str] = []
    if asked.before is not None:
        found += await ended_before(store, asked.before)
        async with aclosing(store_without_memory(settings)) as apart:
            found += await ended_before(apart, asked.before)
        found = [run for run in found if not keys.is_held(run)]
    for prefix in asked.runs:
        async with store_with(settings, prefix) as (_, run):
            found.append(run.id)
        if keys.is_held(run.id):
            raise ConfigError(f"Run {run.id} is going on.", do="Archive it when it has ended.")
        unended = await open_episodes(store, run.id)
        if unended and not asked.unfinished:
            raise ConfigError(
                f"{plural(unended, 'episode')} of run {run.id} not ended yet.",
                do=f"Go on with it first:  groundwire resume {run.id}   Or archive it as it is:  --unfinished",
            )
    return {run: await episode_count(store, run) for run in dict.fromkeys(found)}


def _time(text: str) -> str:
    """As the ledger writes times."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"{text!r} is no day or time.", do="Write 2026-01-31, or 2026-01-31T18:00.") from None
    known = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return known.astimezone(UTC).isoformat(timespec="microseconds")


def _size(asked: _Asked, outcome: _Outcome) -> int:
    return sum(path.stat().st_size for run in outcome.archived for path in (asked.folder / run.run).iterdir())


def _data(asked: _Asked, outcome: _Outcome) -> dict[str, Any]:
    return {
        "archive": archive_name(asked.folder),
        "dry_run": asked.dry_run,
        "runs": [{"id": run, "episodes": episodes} for run, episodes in outcome.found.items()],
        "archived": [run.run for run in outcome.archived],
        "bytes": _size(asked, outcome),
        "records": sum(check.records for check in outcome.checks),
        "signals": sum(check.signals for check in outcome.checks),
        "findings": [{"run": c.run_id, **finding._asdict()} for c in outcome.damaged for finding in c.findings],
        "removed": dict(outcome.removed),
        "ledger_bytes": {"before": outcome.bytes_before, "now": outcome.bytes_now},
    }


def _print(asked: _Asked, outcome: _Outcome) -> None:
    console = Console(highlight=False)

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    if not outcome.found:
        say("nothing to archive")
        return
    count = f"{plural(len(outcome.found), 'run')}, {plural(sum(outcome.found.values()), 'episode')}"
    if asked.dry_run:
        for run, episodes in outcome.found.items():
            say(f"run {run}   {plural(episodes, 'episode')}")
        say(f"{count} would be archived")
        return
    say(f"archived: {count}, {in_bytes(_size(asked, outcome))} in {plain(str(asked.folder), limit=400)}")
    records, signals = (sum(getattr(check, name) for check in outcome.checks) for name in ("records", "signals"))
    say(f"read back: {plural(records, 'record')} and {plural(signals, 'signal')} as they were written", "green")
    for check in outcome.damaged:
        for line, style in check_lines(check):
            say(f"run {check.run_id}: {line}", style)
        say(f"run {check.run_id} stays in the ledger", "red")
    if outcome.bytes_before is not None and outcome.bytes_now is not None:
        say(
            f"out of the ledger: {plural(sum(outcome.removed.values()), 'row')};"
            f" {in_bytes(outcome.bytes_before)} before, {in_bytes(outcome.bytes_now)} now; lessons stay there"
        )
    say(f"to read them:  --db {shlex.quote(archive_name(asked.folder))}", "dim")
