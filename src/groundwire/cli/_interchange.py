"""`groundwire export --format atif|inspect|harbor`: what other frameworks read, in the form that they read it in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from groundwire.cli._repair import open_store, unique_run
from groundwire.cli._suite import TaskSource
from groundwire.cli._text import print_line
from groundwire.cli._verify import refuse, tell
from groundwire.core._errors import ConfigError, StorageError
from groundwire.core._records import RunRecord
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._text import plain, plural
from groundwire.memory import SqlStore
from groundwire.memory._checking import RunCheck, check_run
from groundwire.training._runs import Trajectories
from groundwire.training._trajectories import Trajectory

DO = {
    "atif": "groundwire export RUN --format atif --out FOLDER",
    "inspect": "groundwire export RUN --format inspect --out run.eval",
    "harbor": "groundwire export TASK_FOLDER --format harbor --out FOLDER",
}


def run_interchange(
    given: Sequence[str], form: str, out: Path | None, flags: Mapping[str, object], *, as_it_is: bool, as_json: bool
) -> int:
    """Exports runs, or task folders for `harbor`.

    Args:
        given: ids of runs, or any unique beginnings; task folders, or folders of them, for `harbor`.
        form: one of `DO`.
        out: a file for `inspect`, else a folder.
        flags: where the ledger is.
        as_it_is: go on though the records are not as they were written.
        as_json: for scripts.

    Returns:
        0; 1 where the records are not as they were written.

    Raises:
        ConfigError: something is missing, or can't be exported so.
        StorageError: the ledger can't be read, or the files not be written.
    """
    if not given or out is None:
        raise ConfigError("An export needs what is to be exported, and where to.", do=DO[form])
    console = Console(stderr=as_json, highlight=False)
    if form == "harbor":
        _told(console, form, out, _tasks(given, out), as_json=as_json)
        return 0
    store = open_store(Settings.resolve(flags))
    try:
        runs, checks = asyncio.run(_read(store, given))
        if not as_it_is:
            refuse(checks)
        trajectories = Trajectories(store, runs)
        written = _atif(trajectories, out) if form == "atif" else _inspect(trajectories, out)
    finally:
        asyncio.run(store.aclose())
    _told(console, form, out, written, as_json=as_json)
    tell(console, checks)
    return 0 if all(check.holds for check in checks) else 1


async def _read(store: SqlStore, prefixes: Sequence[str]) -> tuple[Sequence[RunRecord], Sequence[RunCheck]]:
    """The runs that were named, each once, and whether the records of each are as they were written."""
    runs = {run.id: run for run in [await unique_run(store, prefix) for prefix in prefixes]}
    return list(runs.values()), [
        await check_run(store, id, keys=FileKeys(), thorough=False, keeps_episodes=False) for id in runs
    ]


def _tasks(given: Sequence[str], out: Path) -> int:
    from groundwire.integrations.harbor import write_harbor_task

    source = TaskSource("folders", tuple(map(Path, given)))
    source.check()
    return sum(1 for item in source.items() if write_harbor_task(item.task, out))


def _atif(trajectories: Iterable[Trajectory], out: Path) -> int:
    """A file each, named by its episode: what is there already is never written over."""
    from groundwire.integrations.harbor import atif_of

    written = 0
    try:
        out.mkdir(parents=True, exist_ok=True)
        for one in trajectories:
            with (out / f"{one.episode}.json").open("x", encoding="utf-8") as file:
                json.dump(atif_of(one), file, ensure_ascii=False, indent=1)
            written += 1
    except OSError as error:
        raise StorageError(f"{out} can't be written: {error.strerror}.", do="Name an empty folder.") from error
    return written


def _inspect(trajectories: Iterable[Trajectory], out: Path) -> int:
    from groundwire.integrations.inspect import write_inspect_log

    return write_inspect_log(trajectories, out)


def _told(console: Console, form: str, out: Path, written: int, *, as_json: bool) -> None:
    if as_json:
        print_line({"format": form, "written": written, "to": str(out)})
        return
    what = plural(written, {"atif": "trajectory", "inspect": "sample", "harbor": "task"}[form])
    console.print(Text(f"{what} written: {plain(str(out), limit=400)}"), soft_wrap=True)
