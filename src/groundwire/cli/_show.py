"""`groundwire show`: what the ledger holds of a run."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from groundwire.cli._finding import store_with
from groundwire.cli._live import MARKS, counts, headline
from groundwire.cli._outcome import account_data, account_lines, strength_line
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
)
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._signals import Isolation, Origin, Signal, Verdict
from groundwire.core._text import plain, plural
from groundwire.graphs.run._account import account_of, non_discriminating
from groundwire.graphs.run._strength import Strength, strength_of
from groundwire.memory import SqlStore
from groundwire.memory._browsing import LedgerBrowser
from groundwire.memory._browsing_sql import OPEN, Sort
from groundwire.memory._checking import RunCheck, check_run

SIGNALS_SHOWN = 12
ID_CHARS = 36
_Told = Sequence[tuple[EpisodeRecord, Sequence[Record]]]
"""Each episode, and its records."""
WIDE = 100
"""Columns of a terminal that has room for the time too, which an id begins with."""


def list_runs(flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Lists the last runs, newest first."""

    async def read() -> Sequence[_Line]:
        async with aclosing(open_store(Settings.resolve(flags))) as store:
            return [await _line(store, run) for run in await store.runs(limit=20)]

    runs = asyncio.run(read())
    if as_json:
        said = ({"state": line.state, "project": line.project, "verdict": line.verdict} for line in runs)
        _print_json([{**asdict(line.run), **more} for line, more in zip(runs, said, strict=True)])
        return 0
    if not runs:
        Console().print("no runs yet: try  groundwire demo")
        return 0
    console = Console()
    columns = [
        Column("run", min_width=ID_CHARS),
        Column("", min_width=len(RunState.INTERRUPTED)),
        Column("verdict", no_wrap=True),
        Column("project", no_wrap=True),
    ]
    is_wide = console.width >= WIDE
    table = Table(*columns, *(["when"] if is_wide else []), box=None, header_style="bold")
    for line in runs:
        when = [line.run.created_at[:16].replace("T", " ")] if is_wide else []
        state, verdict = Text(line.state, style=STYLES[line.state]), Text(plain(line.verdict, limit=40))
        table.add_row(line.run.id, state, verdict, Text(plain(line.project, limit=60)), *when)
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


def show_run(prefix: str, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Shows one run.

    Returns:
        0; 1 if something is not as it was written.
    """

    async def read() -> tuple[
        RunRecord, RunState, list[tuple[EpisodeRecord, Sequence[Record]]], RunCheck, dict[str, Strength]
    ]:
        async with store_with(Settings.resolve(flags), prefix) as (store, run):
            episodes = await store.episodes(run.id)
            check = await check_run(store, run.id, keys=FileKeys())
            measured = [(e.id, await strength_of(store, e.id)) for e in episodes]
            strengths = {id_: strength for id_, strength in measured if strength is not None}
            return run, await state_of(store, run), [(e, await store.records(e.id)) for e in episodes], check, strengths

    run, state, episodes, check, strengths = asyncio.run(read())
    if as_json:
        _print_json(
            {
                "run": asdict(run),
                "state": state,
                "seals": _seals(check),
                "checked": check_data(check),
                **_flags(run, episodes),
                "non_discriminating": _non_discriminating(episodes),
                "episodes": [
                    {**_episode_data(episode, records), "test_strength": _strength(strengths.get(episode.id))}
                    for episode, records in episodes
                ],
            }
        )
    else:
        _print_run(Console(highlight=False), run, state, episodes, check, strengths)
    return 0 if check.holds else 1


def _seals(check: RunCheck) -> dict[str, Any]:
    said = "" if not check.unknown else f"There is no key for run {check.run_id} here."
    return {"verified": check.signals, "broken": check.broken, "unknown": check.unknown, "detail": said}


def _non_discriminating(episodes: Sequence[tuple[EpisodeRecord, Sequence[Record]]]) -> list[str]:
    """Commands that never gave both verdicts in this run, so that their signals told nothing apart."""
    return list(non_discriminating(r for _, records in episodes for r in records if isinstance(r, Signal)))


def _flags(run: RunRecord, episodes: Sequence[tuple[EpisodeRecord, Sequence[Record]]]) -> dict[str, Any]:
    """What a run's numbers have to be read with."""
    config: dict[str, Any] = json.loads(run.config)
    return {
        "grounded": config.get("grounded", True),
        "ungrounded": config.get("ungrounded", []),
        "oracle": any(account_of(records).oracle for _, records in episodes),
        "trust": config.get("trust", []),
    }


def _episode_data(episode: EpisodeRecord, records: Sequence[Record]) -> dict[str, Any]:
    account = account_data(account_of(records))
    return {"episode": asdict(episode), "account": account, "records": [_as_data(r) for r in records]}


def _strength(strength: Strength | None) -> dict[str, Any] | None:
    return strength.as_data() if strength else None


def _as_data(record: Record) -> dict[str, Any]:
    fields = record.model_dump(mode="json") if isinstance(record, Signal) else asdict(record)
    return {"kind": type(record).__name__, **fields}


def _print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")


def _print_run(
    console: Console,
    run: RunRecord,
    state: RunState,
    episodes: Sequence[tuple[EpisodeRecord, Sequence[Record]]],
    check: RunCheck,
    strengths: Mapping[str, Strength],
) -> None:
    head = Text(f"run {run.id}   {run.created_at[:19]}   {plain(run.graph)}   groundwire {run.version}   ")
    console.print(head.append(state, style=STYLES[state]))
    for episode, records in episodes:
        console.print(Text(f"\nepisode {episode.id}   {plain(episode.task_id)}", style="bold"))
        _print_episode(console, records)
        for said, style in account_lines(account_of(records)):
            console.print(Text(f"  {said}", style=style))
        if episode.id in strengths:
            said, style = strength_line(strengths[episode.id])
            console.print(Text(f"  {said}", style=style))
    console.print()
    for line, style in check_lines(check):
        console.print(Text(line, style=style), soft_wrap=True)
    idle = _non_discriminating(episodes)
    flags = _flags(run, episodes)
    oracle = "the answer key was used" if flags["oracle"] else "no answer key was used"
    named = f"   opinions named as trusted: {plain(', '.join(flags['trust']))}" if flags["trust"] else ""
    by = plain(", ".join(flags["ungrounded"])) or "a part of the graph"
    ungrounded = f"NOT grounded: {by} revises its own answers without an outside signal"
    grounded = "grounded" if flags["grounded"] else ungrounded
    console.print(Text(f"{grounded}   {oracle}{named}", style="" if flags["grounded"] else "bold red"))
    if idle:
        console.print(Text(f"non-discriminating (never gave both verdicts): {plain(', '.join(idle))}", style="yellow"))


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
