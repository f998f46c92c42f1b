"""`groundwire show`: what the ledger holds of a run."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from functools import partial
from textwrap import indent
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from groundwire.cli._finding import store_with_either
from groundwire.cli._live import MARKS, counts, headline
from groundwire.cli._outcome import account_data, account_lines, strength_lines
from groundwire.cli._repair import open_store
from groundwire.cli._run_state import STYLES, state_of
from groundwire.cli._text import tokens
from groundwire.cli._verify import check_data, check_lines
from groundwire.core._records import (
    Admission,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    ProgramRun,
    Record,
    ReflectionRecord,
    RunRecord,
    RunState,
    episodes_with_records,
)
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._signals import Isolation, Origin, Signal, Verdict
from groundwire.core._text import plain, plural
from groundwire.graphs.run._account import VerdictAccount, VerdictsGiven, account_of
from groundwire.graphs.run._strength import Strength, strength_of
from groundwire.memory import SqlStore
from groundwire.memory._browsing import LedgerBrowser
from groundwire.memory._browsing_sql import OPEN, Sort
from groundwire.memory._checking import RunCheck, check_run

SIGNALS_SHOWN = 12
ID_CHARS = 36
SHORT_ID_CHARS = 13
"""Of an id, as far as the time of its making, which is enough for every command."""
NARROW, WIDE = 76, 100
"""Columns below which ids are cut short, and from which on there is room for the time too."""


def list_runs(flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Lists the last runs, newest first."""

    async def read() -> Sequence[_Line]:
        async with aclosing(open_store(Settings.resolve(flags))) as store:
            return [await _line(store, run) for run in await store.runs(limit=20)]

    runs = asyncio.run(read())
    if as_json:
        said = ({"state": line.state, "project": line.project, "verdict": line.verdict} for line in runs)
        told = _as_json([{**asdict(line.run), **more} for line, more in zip(runs, said, strict=True)])
        sys.stdout.write(f"{told}\n")
        return 0
    if not runs:
        Console().print("no runs yet: try  groundwire demo")
        return 0
    console = Console()
    is_wide, is_whole = console.width >= WIDE, console.width >= NARROW
    columns = [
        Column("run", no_wrap=True, min_width=ID_CHARS if is_whole else SHORT_ID_CHARS),
        Column("", no_wrap=True, min_width=len(RunState.INTERRUPTED)),
        Column("verdict", no_wrap=True),
        Column("project"),  # the only one that gives way, by the end of its names
    ]
    table = Table(*columns, *(["when"] if is_wide else []), box=None, header_style="bold")
    for line in runs:
        when = [line.run.created_at[:16].replace("T", " ")] if is_wide else []
        state, verdict = Text(line.state, style=STYLES[line.state]), Text(plain(line.verdict, limit=40))
        table.add_row(
            line.run.id if is_whole else line.run.id[:SHORT_ID_CHARS],
            state,
            verdict,
            Text(plain(line.project, limit=60), no_wrap=True, overflow="ellipsis"),
            *when,
        )
    console.print(table)
    return 0


@dataclass(frozen=True)
class _Line:
    """A run in the list of runs."""

    run: RunRecord
    state: RunState
    project: str
    verdict: str


async def _line(store: SqlStore, run: RunRecord) -> _Line:
    browser = LedgerBrowser(store)
    standing = await browser.standing(run.id)
    ended = standing.episodes - standing.verdicts.get(OPEN, 0)
    first = (await browser.episodes(run_id=run.id, sort=Sort.OLDEST, size=1)).rows if standing.tasks == 1 else ()
    verdict = f"{standing.verdicts.get(Verdict.PASS, 0)} of {ended} pass"
    if ended < 2:
        verdict = next(iter(await browser.stop_reasons(run.id)), "")
    project = first[0].task_id if first else plural(standing.tasks, "task") if standing.tasks else ""
    return _Line(run, await state_of(store, run), project, verdict)


@dataclass(frozen=True)
class _Shown:
    """One episode of a run, with all of its records."""

    episode: EpisodeRecord
    records: Sequence[Record]
    strength: Strength | None


def show_run(prefix: str, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Shows one run, an episode after the other, or one episode of it.

    Args:
        prefix: the beginning of the run's id, or of the episode's.
        flags: where the ledger is.
        as_json: print JSON.

    Returns:
        0; 1 if something is not as it was written.

    Raises:
        RecordNotFound: there is no such run or episode, or more than one.
    """
    return asyncio.run(_show(prefix, Settings.resolve(flags), as_json=as_json))


async def _show(prefix: str, settings: Settings, *, as_json: bool) -> int:
    async with store_with_either(settings, prefix) as (store, run, only):
        state = await state_of(store, run)
        checked = partial(check_run, store, run.id, keys=FileKeys(), keeps_episodes=as_json, only=only)
        show = _tell_json if as_json else _print_run
        check = await show(run, state, _shown(store, run, only), checked)
    return 0 if check.holds else 1


async def _shown(store: SqlStore, run: RunRecord, only: str) -> AsyncGenerator[_Shown]:
    """The run's episodes, or the only one that is wanted, one at a time in memory."""
    if only:
        records = await store.records(only)
        begun = [record for record in records if isinstance(record, EpisodeRecord)]
        yield _Shown(begun[0], records, await strength_of(store, only))
        return
    async for episode, records in episodes_with_records(store, run.id):
        yield _Shown(episode, records, await strength_of(store, episode.id))


class _SoFar:
    """What a run's numbers have to be read with, as far as its episodes have been seen.

    Args:
        run: the run.
    """

    def __init__(self, run: RunRecord) -> None:
        self._config: dict[str, Any] = json.loads(run.config)
        self._given = VerdictsGiven()
        self._oracle = False

    def take(self, shown: _Shown) -> VerdictAccount:
        """One more; its account."""
        self._given.take(record for record in shown.records if isinstance(record, Signal))
        account = account_of(shown.records)
        self._oracle |= account.oracle
        return account

    def as_data(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "grounded": self._config.get("grounded", True),
            "ungrounded": self._config.get("ungrounded", []),
            "oracle": self._oracle,
            "trust": self._config.get("trust", []),
            "non_discriminating": list(self._given.non_discriminating),
        }


async def _tell_json(
    run: RunRecord, state: RunState, episodes: AsyncIterable[_Shown], checked: Callable[[], Awaitable[RunCheck]]
) -> RunCheck:
    """One object, written an episode at a time."""
    check, so_far = await checked(), _SoFar(run)
    head = {"run": asdict(run), "state": state, "seals": _seals(check), "checked": check_data(check)}
    sys.stdout.write(_as_json(head).removesuffix("\n}") + ',\n  "episodes": [')
    between = "\n"
    async for shown in episodes:
        account = account_data(so_far.take(shown))
        records = [_as_data(record) for record in shown.records]
        told = {"episode": asdict(shown.episode), "account": account, "records": records}
        told |= {"test_strength": shown.strength.as_data() if shown.strength else None}
        sys.stdout.write(between + indent(_as_json(told), "    "))
        between = ",\n"
    sys.stdout.write("\n  ],\n" + _as_json(so_far.as_data()).removeprefix("{\n") + "\n")
    return check


def _seals(check: RunCheck) -> dict[str, Any]:
    said = "" if not check.unknown else f"There is no key for run {check.run_id} here."
    return {"verified": check.signals, "broken": check.broken, "unknown": check.unknown, "detail": said}


def _as_data(record: Record) -> dict[str, Any]:
    fields = record.model_dump(mode="json") if isinstance(record, Signal) else asdict(record)
    return {"kind": type(record).__name__, **fields}


def _as_json(value: object) -> str:
    return json.dumps(value, indent=2, default=str)


async def _print_run(
    run: RunRecord, state: RunState, episodes: AsyncIterable[_Shown], checked: Callable[[], Awaitable[RunCheck]]
) -> RunCheck:
    console, so_far = Console(highlight=False), _SoFar(run)
    head = Text(f"run {run.id}   {run.created_at[:19]}   {plain(run.graph)}   groundwire {run.version}   ")
    console.print(head.append(state, style=STYLES[state]))
    async for shown in episodes:
        console.print(Text(f"\nepisode {shown.episode.id}   {plain(shown.episode.task_id)}", style="bold"))
        _print_episode(console, shown.records)
        lines = list(account_lines(so_far.take(shown)))
        for said, style in [*lines, *strength_lines(shown.strength)] if shown.strength else lines:
            console.print(Text(f"  {said}", style=style))
    check = await checked()
    console.print()
    for line, style in check_lines(check):
        console.print(Text(line, style=style), soft_wrap=True)
    flags = so_far.as_data()
    oracle = "the answer key was used" if flags["oracle"] else "no answer key was used"
    named = f"   opinions named as trusted: {plain(', '.join(flags['trust']))}" if flags["trust"] else ""
    by = plain(", ".join(flags["ungrounded"])) or "a part of the graph"
    ungrounded = f"NOT grounded: {by} revises its own answers without an outside signal"
    grounded = "grounded" if flags["grounded"] else ungrounded
    console.print(Text(f"{grounded}   {oracle}{named}", style="" if flags["grounded"] else "bold red"))
    if idle := flags["non_discriminating"]:
        console.print(Text(f"non-discriminating (never gave both verdicts): {plain(', '.join(idle))}", style="yellow"))
    return check


def _print_episode(console: Console, records: Sequence[Record]) -> None:
    notes = {r.digest: r for r in records if isinstance(r, CandidateRecord)}
    shown: dict[tuple[int, str], int] = {}
    ended = {r.intent_id for r in records if isinstance(r, ModelCall)}
    for record in records:
        match record:
            case Signal(origin=Origin.RULE):
                console.print(Text(f"  rule     {plain(record.evidence.detail, limit=200)}", style="yellow"))
            case Signal():
                key = (record.trial, record.issuer)
                shown[key] = shown.get(key, 0) + 1
                if shown[key] <= SIGNALS_SHOWN or record.verdict is Verdict.PASS:
                    _print_signal(console, record, notes.get(record.candidate_digest))
                elif shown[key] == SIGNALS_SHOWN + 1:
                    console.print(Text("           … more candidates of this trial: --json has them all", style="dim"))
            case Admission():
                said = f"admitted by {record.edge}" if record.admitted else f"refused: {record.reason}"
                console.print(Text(f"  gate     {said}", style="cyan" if record.admitted else "yellow"))
            case Intent(kind="hidden_access"):
                console.print(Text(f"  hidden   {plain(json.loads(record.body)['reason'], limit=200)}", style="dim"))
            case Intent(kind="contradiction"):
                said = json.loads(record.body)
                line = f"{said['issuer']} says that {said['case']} contradicts the task: {said['reason']}"
                console.print(Text(f"  actor    {plain(line, limit=600)}", style="yellow"))
            case Intent(kind="model_call") if record.id not in ended:
                most = "at an unknown price" if record.usd is None else f"${record.usd:.4f}"
                said = f"cut off: it may have been paid for, so {most} and {tokens(record.tokens)} are counted"
                console.print(Text(f"  model    {said}", style="yellow"))
            case ReflectionRecord():
                console.print(Text(f"  reflect  {plain(record.text, limit=300)}", style="italic"))
            case ModelCall():
                price = "price unknown" if record.usd is None else f"${record.usd:.4f}"
                used = tokens(record.prompt_tokens + record.completion_tokens)
                said = plain(record.error) if record.error else f"{used}  {price}  {record.duration_s:.1f} s"
                said = f"answer reused, from intent {record.reused}" if record.reused else said
                console.print(Text(f"  model    {plain(record.model)}  {record.purpose}  {said}", style="dim"))
            case ProgramRun():
                console.print(Text(f"  program  {_program_line(record)}", style="dim"))
            case EpisodeEnd():
                mark, style = MARKS[record.verdict]
                line = Text(f"  {mark} {record.stop_reason}   {plain(record.detail)}", style=f"bold {style}")
                if isolation := _rests_on(record, records):
                    line.append(f"   {isolation.in_words}", style="" if isolation is Isolation.TWO_BOXES else "yellow")
                console.print(line)
            case _:
                pass


def _rests_on(end: EpisodeEnd, records: Sequence[Record]) -> Isolation | None:
    """How far the assertions that had the last word were from what they passed; None where nothing was run."""
    passes = [r for r in records if isinstance(r, Signal) and r.verdict is Verdict.PASS and r.sandbox is not None]
    of_best = [r for r in passes if not end.best_candidate or r.candidate_digest == end.best_candidate]
    return of_best[-1].isolation if end.verdict is Verdict.PASS and of_best else None


def _program_line(run: ProgramRun) -> str:
    ended = f"ended by {run.ended_by}" if run.ended_by else f"exit status {run.exit_code}"
    said = [plain(" ".join(run.command), limit=60), plain(run.error) if run.error else ended, f"{run.duration_s:.1f} s"]
    if run.refused:
        said.append(f"refused {plain(', '.join(run.refused), limit=120)}")
    return "  ".join(said)


def _print_signal(console: Console, signal: Signal, candidate: CandidateRecord | None) -> None:
    mark, style = MARKS[signal.verdict]
    line = Text(f"  trial {signal.trial:<3}")
    line.append(f"{mark} ", style=style)
    line.append(f"{signal.issuer:<9}{counts(signal.evidence) if signal.evidence.cases else signal.verdict}")
    if candidate is not None and candidate.note:
        line.append(f"   {plain(candidate.note, limit=70)}", style="dim")
    said = headline(signal)
    if said:
        line.append(f"   {said}", style="dim")
    if signal.taken_from:
        line.append(f"   nothing was run here: taken from {plain(signal.taken_from, limit=80)}", style="yellow")
    console.print(line)
