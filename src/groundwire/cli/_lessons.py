"""What the commands of `groundwire memory` do and print."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire.cli._repair import open_store
from groundwire.core._errors import ConfigError
from groundwire.core._records import Mark
from groundwire.core._settings import Settings
from groundwire.core._text import plain, plural, visible
from groundwire.memory import SqlStore
from groundwire.memory._lessons import LessonInfo, Lessons, LessonView
from groundwire.memory._policy import State
from groundwire.memory._retention import (
    bytes_of,
    compact,
    count_old,
    drop_old,
    old_quarantined,
    rebuild_lessons,
    size_of,
)
from groundwire.memory._transfer import export_lessons, import_lessons

# Lessons for people and for scripts.

ID_CHARS = 13


def as_data(info: LessonInfo) -> dict[str, Any]:
    standing = info.standing
    low, high = standing.interval
    return {
        **asdict(info.reflection),
        "state": info.state.value,
        "root": info.root,
        "trials": standing.trials,
        "passed": standing.passed,
        "expected": round(standing.expected, 3),
        "effect": round(standing.effect, 3),
        "interval": [round(low, 3), round(high, 3)],
    }


def print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")


def say(data: Mapping[str, Any], text: str, *, as_json: bool) -> int:
    if as_json:
        print_json(data)
    else:
        print_line(text)
    return 0


def print_line(text: str, style: str = "") -> None:
    Console(highlight=False).print(Text(text, style=style), soft_wrap=True)


def print_lessons(found: Sequence[LessonInfo], *, as_json: bool, empty: str) -> int:
    if as_json:
        print_json([as_data(info) for info in found])
        return 0
    if not found:
        print_line(empty)
        return 0
    table = Table("lesson", "task", "state", "worth", box=None, header_style="bold")
    table.add_column("text", no_wrap=True, overflow="ellipsis")
    for info in found:
        reflection = info.reflection
        worth = f"{info.standing.effect:+.2f} of {info.standing.trials}" if info.standing.trials else ""
        cells = (reflection.id[:ID_CHARS], plain(reflection.task_id, limit=30), info.state.value, worth)
        table.add_row(*map(Text, cells), Text(plain(reflection.text, limit=160)))
    Console(highlight=False).print(table)
    return 0


def print_view(view: LessonView) -> None:
    info, reflection = view.info, view.info.reflection
    print_line(f"lesson {reflection.id}   {info.state.value}   {reflection.created_at[:19]}", "bold")
    print_line(f"task {plain(reflection.task_id)}   family {plain(reflection.family) or '-'}")
    print_line(f"by {plain(reflection.by) or '-'}   about a candidate of {plain(reflection.model) or 'no model'}")
    if reflection.signature:
        print_line(f"failed with  {plain(reflection.signature)}")
    print_line(visible(reflection.text))
    if reflection.raw:
        print_line(f"said by a person: {visible(reflection.raw)}")
    signal = view.signal
    if signal is None:
        print_line(f"signal {reflection.signal_id} is not in this ledger", "yellow")
    else:
        print_line(f"signal {signal.id}   {signal.verdict} by {signal.origin}   {plain(signal.evidence.detail)}")
    if info.root != reflection.id:
        print_line(f"says what {info.root} says")
    elif view.same:
        print_line(f"said again by {', '.join(view.same)}")
    print_line(f"worth: {info.standing}")
    for recalled in view.recalled:
        outcome = recalled.verdict or "open"
        place = f"{recalled.created_at[:19]}  episode {recalled.episode_id} trial {recalled.trial}"
        print_line(f"  {place}  {outcome}  {plain(recalled.why)}")
    for mark in view.marks:
        print_line(f"  {mark.created_at[:19]}  {mark.mark.value} by {plain(mark.by) or '-'}  {plain(mark.reason)}")


def print_stats(data: Mapping[str, Any]) -> None:
    print_line(f"{data['ledger']}   {in_bytes(data['bytes'])}, {sum(data['rows'].values())} rows", "bold")
    states = ", ".join(f"{count} {state}" for state, count in data["states"].items())
    print_line(f"lessons: {states or 'none'}")
    for scope, title in (("all", "all"), ("family", "family"), ("task", "task")):
        for rate in data["rates"][scope][:10]:
            name = plain(rate["key"], limit=40) or "-"
            print_line(f"  {title:<7}{name:<42}{rate['passed']} of {plural(rate['trials'], 'trial')} passed")
    measured = data["measured"]
    shown = measured if len(measured) <= 10 else [*measured[:5], *measured[-5:]]
    for lesson in shown:
        worth = f"{lesson['effect']:+.2f} of {lesson['trials']}"
        print_line(f"  {lesson['id'][:ID_CHARS]}  {worth:<14}{lesson['state']:<13}{plain(lesson['text'], limit=90)}")


def in_bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


# What the commands of `groundwire memory` do and print.

T = TypeVar("T")
Flags = Mapping[str, Any]

EVERYTHING = 1_000_000
BY = "command line"


def list_lessons(flags: Flags, *, family: str, task: str, state: State | None, limit: int, as_json: bool) -> int:
    """Lists lessons."""
    found = _run(flags, lambda s: Lessons(s).list(family=family, task_id=task, state=state, limit=limit))
    return print_lessons(found, as_json=as_json, empty="no lessons yet: they come from trials that fail")


def search_lessons(text: str, flags: Flags, *, family: str, task: str, limit: int, as_json: bool) -> int:
    """Searches lessons."""
    found = _run(flags, lambda s: Lessons(s).search(text, family=family, task_id=task, limit=limit))
    return print_lessons(found, as_json=as_json, empty="no lesson holds any of these words")


def show_lesson(prefix: str, flags: Flags, *, as_json: bool) -> int:
    """Shows one lesson."""

    async def read(store: SqlStore) -> LessonView:
        lessons = Lessons(store)
        return await lessons.show((await lessons.find([prefix]))[0])

    view = _run(flags, read)
    if as_json:
        print_json(
            {
                **as_data(view.info),
                "signal": json.loads(view.signal.to_json()) if view.signal else None,
                "same": list(view.same),
                "recalled": [asdict(recalled) for recalled in view.recalled],
                "marks": [asdict(mark) for mark in view.marks],
            }
        )
    else:
        print_view(view)
    return 0


def forget_lessons(
    prefixes: Sequence[str], flags: Flags, *, family: str, task: str, reason: str, yes: bool, as_json: bool
) -> int:
    """Forgets lessons."""
    if not prefixes and not family and not task:
        raise ConfigError("No lesson was named, so nothing was forgotten.", do="Give ids, --family or --task.")

    async def forget(store: SqlStore) -> int:
        lessons = Lessons(store)
        ids = list(await lessons.find(prefixes))
        if family or task:
            bulk = await lessons.list(family=family, task_id=task, limit=EVERYTHING)
            ids += [info.reflection.id for info in bulk]
        every = await lessons.same_as(ids)
        if not every or not agreed(f"Forget {plural(len(every), 'lesson')} for good?", yes=yes):
            return 0
        return await lessons.forget(ids, reason=reason, by=BY)

    count = _run(flags, forget)
    return say({"forgotten": count}, f"{plural(count, 'lesson')} forgotten", as_json=as_json)


def quarantine_lessons(
    prefixes: Sequence[str], flags: Flags, *, release: bool, reason: str, yes: bool, as_json: bool
) -> int:
    """Quarantines or releases lessons."""
    mark, done = (Mark.RELEASED, "released") if release else (Mark.QUARANTINED, "quarantined")

    async def change(store: SqlStore) -> int:
        lessons = Lessons(store)
        ids = await lessons.find(prefixes)
        if len(ids) > 1 and not agreed(f"{plural(len(ids), 'lesson')} will be {done}. Go on?", yes=yes):
            return 0
        await lessons.mark(ids, mark, reason=reason, by=BY)
        return len(ids)

    count = _run(flags, change)
    return say({done: count}, f"{plural(count, 'lesson')} {done}", as_json=as_json)


def export_to(file: Path | None, flags: Flags) -> int:
    """Exports lessons."""

    async def write(store: SqlStore, target: TextIO) -> int:
        count = -1
        async for line in export_lessons(store):
            target.write(f"{line}\n")
            count += 1
        return count

    if file is None or str(file) == "-":
        _run(flags, lambda store: write(store, sys.stdout))
        return 0
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as target:
            count = _run(flags, lambda store: write(store, target))
    except OSError as error:
        raise ConfigError(f"{file} can't be written: {error.strerror}.", do="Name another file.") from error
    Console(stderr=True, highlight=False).print(Text(f"{plural(count, 'lesson')} written to {file}"))
    return 0


def import_from(file: Path, flags: Flags, *, as_json: bool) -> int:
    """Imports lessons."""
    try:
        with contextlib.ExitStack() as stack:
            is_stdin = str(file) == "-"
            lines = sys.stdin if is_stdin else stack.enter_context(file.open(encoding="utf-8"))
            done = _run(flags, lambda store: import_lessons(store, lines))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} can't be read: {error}.", do="Name a file you can read.") from error
    new = done.read - done.known
    said = f"{plural(new, 'lesson')} imported, {done.known} already there"
    if done.unbacked:
        said += f"; {done.unbacked} with no signal behind them: kept, but never recalled"
    return say({**asdict(done), "imported": new}, said, as_json=as_json)


def show_stats(flags: Flags, *, as_json: bool) -> int:
    """Shows statistics."""

    async def read(store: SqlStore) -> dict[str, Any]:
        lessons = Lessons(store)
        size = await size_of(store)
        return {
            "ledger": store.url,
            "namespace": store.namespace,
            "states": {state.value: count for state, count in (await lessons.states()).items()},
            "rates": {
                scope: [{"key": key, "trials": n, "passed": k} for key, n, k in await lessons.rates(scope)]
                for scope in ("all", "family", "task")
            },
            "measured": [as_data(info) for info in await lessons.measured()],
            "bytes": size.bytes,
            "rows": dict(size.rows),
        }

    data = _run(flags, read)
    if as_json:
        print_json(data)
    else:
        print_stats(data)
    return 0


def tidy_up(
    flags: Flags,
    *,
    older_than: float | None,
    quarantined: float | None,
    rebuild: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Applies retention rules and gives space back."""

    async def work(store: SqlStore) -> dict[str, Any]:
        rows: Mapping[str, int] = {}
        if older_than is not None:
            rows = await count_old(store, days=older_than)
        stale = await old_quarantined(store, days=quarantined) if quarantined is not None else []
        data: dict[str, Any] = {"dropped": dict(rows), "forgotten": len(stale), "dry_run": dry_run}
        if dry_run:
            return data
        said = [f"{plural(count, 'row')} of {table}" for table, count in rows.items()]
        said += [plural(len(stale), "quarantined lesson")] if stale else []
        if said and not agreed(f"Drop {', '.join(said)} for good?", yes=yes):
            return {**data, "dropped": {}, "forgotten": 0}
        before = await bytes_of(store)
        if older_than is not None:
            data["dropped"] = dict(await drop_old(store, days=older_than))
        if stale:
            data["forgotten"] = await Lessons(store).forget(stale, reason="quarantined for long", by="retention")
        if rebuild:
            await rebuild_lessons(store)
        await compact(store)
        return {**data, "bytes_before": before, "bytes": await bytes_of(store)}

    data = _run(flags, work)
    if as_json:
        print_json(data)
        return 0
    would = "would be " if dry_run else ""
    for table, count in data["dropped"].items():
        print_line(f"{plural(count, 'row')} of {table} {would}dropped")
    if data["forgotten"]:
        print_line(f"{plural(data['forgotten'], 'quarantined lesson')} {would}forgotten")
    if "bytes" in data:
        print_line(f"{in_bytes(data['bytes_before'])} before, {in_bytes(data['bytes'])} now")
    elif dry_run and not data["dropped"] and not data["forgotten"]:
        print_line("nothing would be dropped")
    return 0


@contextlib.asynccontextmanager
async def _open(flags: Flags) -> AsyncGenerator[SqlStore]:
    store = open_store(Settings.resolve(flags))
    try:
        yield store
    finally:
        await store.aclose()


def _run(flags: Flags, work: Callable[[SqlStore], Awaitable[T]]) -> T:
    async def run() -> T:
        async with _open(flags) as store:
            return await work(store)

    return asyncio.run(run())


def agreed(question: str, *, yes: bool) -> bool:
    """Whether a person at the terminal says yes.

    Raises:
        ConfigError: there is no terminal.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ConfigError(f"{question} There is no terminal to answer on.", do="Confirm with --yes.")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
