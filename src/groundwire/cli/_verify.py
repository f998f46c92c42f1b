"""`groundwire verify`: whether runs, a ledger or a signed statement are as they were written, and by whose key."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.cli._repair import open_store
from groundwire.cli._reported import HEAD_BYTES, is_report, verify_report
from groundwire.core._attestation import Statement, Subject
from groundwire.core._candidates import Candidate, Tree, make_patch
from groundwire.core._chain import Heads
from groundwire.core._errors import CandidateError, ConfigError, RecordNotFound, SealError, TaskError
from groundwire.core._ids import now
from groundwire.core._paths import expand_user
from groundwire.core._records import CandidateRecord, EpisodeRecord, tree_key
from groundwire.core._seal import FileKeys, Keys
from groundwire.core._settings import Settings
from groundwire.core._signing import PublicKey, signer
from groundwire.core._text import plain, plural
from groundwire.memory import SqlStore
from groundwire.memory._checking import Discrepancy, EpisodeCheck, RunCheck, check_run
from groundwire.memory._kept_rows import episodes_named, run_ids

SQLITE = b"SQLite format 3\0"
UNKNOWN = 3
"""Exit code where all fits together, and nothing from outside says whose key it is."""
FINDINGS_SHOWN = 20


@dataclass(frozen=True)
class _Asked:
    target: str
    flags: Mapping[str, Any]
    public: PublicKey | None
    statement: Path | None
    as_json: bool


def verify_target(
    target: str,
    flags: Mapping[str, Any],
    *,
    key: str | None,
    statement: Path | None,
    as_json: bool,
    project: Path | None = None,
) -> int:
    """Verifies a run, all runs of a ledger, a signed statement, or a report of pytest.

    Args:
        target: the beginning of the id of a run or of one episode, or a file: a ledger of SQLite, which is not touched,
            a statement, or what `pytest --groundwire` wrote, whose tests are run again; empty: all runs of the ledger
            that the flags name.
        flags: where the ledger is.
        key: the public key that must have sealed it, or a file of it; None: the keys that are kept here.
        statement: where to write what the run came to, signed.
        as_json: print JSON.
        project: the root of the project that a report is about; None: where the report says.

    Returns:
        0; 1 where something is not as it was written; 3 where all fits, and whose key it is is not known here, or where
        the tests of a report come to no verdict.
    """
    asked = _Asked(target, flags, PublicKey.read(key) if key else None, statement, as_json)
    path = expand_user(Path(target))
    if target and path.is_file():
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if is_report(head):
            return verify_report(path, flags, project=project, as_json=as_json)
        if not head.startswith(SQLITE):
            return _verify_statement(path, asked)
        with _copy_of(path) as copy:
            return asyncio.run(_verify_runs(SqlStore(f"sqlite:///{copy}"), "", asked))
    return asyncio.run(_verify_runs(open_store(Settings.resolve(flags)), target, asked))


@contextmanager
def _copy_of(path: Path) -> Generator[Path]:
    """A copy of a ledger: opening one of an older version would bring it up to date."""
    with tempfile.TemporaryDirectory(prefix="groundwire-") as folder:
        copy = Path(folder) / "ledger.db"
        # where nobody writes beside it, not even the files are made that readers share
        alone = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
        source = f"{path.resolve().as_uri()}?mode=ro{alone}"
        try:
            with closing(sqlite3.connect(source, uri=True)) as there, closing(sqlite3.connect(copy)) as here:
                there.backup(here)
        except sqlite3.Error as error:
            raise ConfigError(f"{path} can't be read as a ledger: {error}.", do="Name another file.") from error
        yield copy


async def _verify_runs(store: SqlStore, prefix: str, asked: _Asked) -> int:
    keys = FileKeys()
    async with aclosing(store):
        wanted, only = [run for run in await run_ids(store) if run.startswith(prefix)], ""
        if prefix and not wanted:
            # a run of which the ledger has nothing left may be known outside of it
            wanted = keys.noted(prefix)
        if prefix and not wanted:
            named = await episodes_named(store, prefix)
            wanted, only = [run for _, run in named], named[0][0] if named else ""
        if prefix and len(wanted) != 1:
            many = f"There is more than one run or episode whose id begins with {prefix!r}."
            none = f"There is no run or episode whose id begins with {prefix!r}, and no file of that name."
            raise RecordNotFound(many if wanted else none, do="List them:  groundwire show")
        if not prefix:
            # so may a run that an older copy of this very ledger does not have yet
            wanted += [run for run in keys.noted("") if run not in wanted and _noted_for(store, run, keys)]
        if only and asked.statement is not None:
            raise ConfigError("A statement is about a whole run.", do=f"groundwire verify {wanted[0]} --statement FILE")
        checks = [await check_run(store, run, keys=keys, public=asked.public, only=only) for run in wanted]
        if asked.as_json:
            json.dump([check_data(check) for check in checks], sys.stdout, indent=2)
            sys.stdout.write("\n")
        else:
            console = Console(highlight=False)
            if not checks:
                console.print("no runs to verify")
            for check in checks:
                console.print(Text(f"run {check.run_id}   {plain(check.graph)}", style="bold"), soft_wrap=True)
                for line, style in check_lines(check):
                    console.print(Text(f"  {line}", style=style), soft_wrap=True)
        if asked.statement is not None:
            await _write_statement(store, checks, keys, asked)
    return max((_code(check) for check in checks), key=_severity, default=0)


def _noted_for(store: SqlStore, run_id: str, keys: FileKeys) -> bool:
    return Heads(keys.heads_file(run_id)).read()[0] == store.url


def _code(check: RunCheck) -> int:
    if not check.holds:
        return 1
    return 0 if check.is_authentic else UNKNOWN


def _severity(code: int) -> int:
    return (0, UNKNOWN, 1).index(code)


# What a look at a run came to, for people, for scripts, and for commands that go no further.


def check_lines(check: RunCheck) -> Iterator[tuple[str, str]]:
    """Lines for people, each with its style."""
    if check.findings:
        yield f"NOT as it was written: {plural(len(check.findings), 'finding')}", "bold red"
    for finding in check.findings[:FINDINGS_SHOWN]:
        yield plain(_said(check, finding), limit=400), "red"
    if len(check.findings) > FINDINGS_SHOWN:
        yield f"… {len(check.findings) - FINDINGS_SHOWN} more: --json has them all", "red"
    if check.signals:
        yield f"{plural(check.signals, 'signal')} verified: as they were sealed", "green"
    if check.records:
        where = plural(check.looked_at, "episode")
        yield f"{plural(check.records, 'record')} in {where} as they were written", "green"
    for note in check.notes:
        yield plain(note, limit=300), "yellow"
    yield _key_line(check)


def _said(check: RunCheck, finding: Discrepancy) -> str:
    return finding.what if finding.of == check.run_id else f"episode {finding.of}: {finding.what}"


def _key_line(check: RunCheck) -> tuple[str, str]:
    """Under which key all of that is so, and who says so."""
    if check.key is None:
        if check.is_authentic:
            return "sealed as version 0.1 did, with the key that is kept here; there are no chains", "yellow"
        return "seals not verified: the run's key is not here, and version 0.1 had no public ones", "yellow"
    if check.is_authentic:
        heads = "; heads as they were noted outside of the ledger" if check.has_heads else ""
        return f"key {check.key}, known from outside the ledger{heads}", "green"
    if check.is_authentic is False:
        return f"key {check.key}, which is NOT this run's", "red"
    return f"key {check.key}, on the ledger's own word: compare it, or give it with --key", "yellow"


def check_data(check: RunCheck) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "run_id": check.run_id,
        "holds": check.holds,
        "authentic": check.is_authentic,
        "key": str(check.key) if check.key else None,
        "heads_compared": check.has_heads,
        "records": check.records,
        "signals": {"verified": check.signals, "broken": check.broken, "unknown": check.unknown},
        "findings": [finding._asdict() for finding in check.findings],
        "notes": check.notes,
        "episodes": [
            {
                "id": episode.id,
                "task": episode.task_id,
                "verdict": episode.end.verdict if episode.end else None,
                "stop_reason": episode.end.stop_reason if episode.end else None,
                "links": episode.links,
                "head": episode.head,
            }
            for episode in check.episodes
        ],
    }


def refuse(checks: Sequence[RunCheck]) -> None:
    """Goes no further with runs that are not as they were written.

    Raises:
        SealError: one of them is not.
    """
    for check in checks:
        if not check.holds:
            first = _said(check, check.findings[0])
            more = f" (and {len(check.findings) - 1} more)" if len(check.findings) > 1 else ""
            raise SealError(
                f"Run {check.run_id} is not as it was written. {first}{more}",
                do=f"See all of it:  groundwire verify {check.run_id}   To go on all the same: --unverified",
            )


def tell(console: Console, checks: Sequence[RunCheck]) -> None:
    """Says of runs that are shown all the same what is not as it was written, or could not be verified."""
    for check in checks:
        for line, style in check_lines(check) if not check.holds else [_key_line(check)]:
            if style != "green":
                console.print(Text(f"run {check.run_id}: {line}", style=style), soft_wrap=True)


# What a run came to as a signed statement.


async def _write_statement(store: SqlStore, checks: Sequence[RunCheck], keys: Keys, asked: _Asked) -> None:
    if len(checks) != 1 or asked.statement is None:
        raise ConfigError("A statement is about one run.", do="groundwire verify RUN --statement FILE")
    refuse(checks)
    check = checks[0]
    if check.key is None:
        raise ConfigError(
            f"Run {check.run_id} was sealed as version 0.1 did, with a key that can't be shown to anybody.",
            do="Run the task again: its verdict can then be handed out.",
        )
    sealing = signer(check.run_id, keys.load(check.run_id))
    subjects: list[Subject] = []
    for episode in check.episodes:
        subjects.append(Subject(f"episode {episode.id}", episode.head))
        patch = await _patch_of(store, episode)
        if patch:
            subjects.append(Subject(f"{episode.task_id}/fix.patch", hashlib.sha256(patch).hexdigest()))
    text = Statement(subjects, _predicate(check), sealing.public).signed(sealing)
    try:
        expand_user(asked.statement).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"The statement can't be written to {asked.statement}: {error.strerror}.") from error
    Console(stderr=asked.as_json, highlight=False).print(
        Text(f"statement: {asked.statement}   key {sealing.public}", style="dim"), soft_wrap=True
    )


def _predicate(check: RunCheck) -> dict[str, Any]:
    return {
        "run": {"id": check.run_id, "graph": check.graph, "key": str(check.key)},
        "verified_at": now(),
        "records": check.records,
        "signals": check.signals,
        "notes": list(check.notes),
        "episodes": [
            {
                "id": episode.id,
                "task": episode.task_id,
                "chain": {"head": episode.head, "links": episode.links},
                "end": asdict(episode.end) if episode.end else None,
                "borne_out_by": [witness._asdict() for witness in episode.passes],
            }
            for episode in check.episodes
        ],
    }


async def _patch_of(store: SqlStore, episode: EpisodeCheck) -> bytes:
    """The patch of an episode that was solved, byte for byte as it was written; empty where the ledger can't say it."""
    best = episode.end.best_candidate if episode.end and episode.passes else ""
    records = await store.records(episode.id)
    body = next((r.artifact for r in records if isinstance(r, CandidateRecord) and r.digest == best), "")
    base = next((r.base_digest for r in records if isinstance(r, EpisodeRecord)), "")
    if not body or not base:
        return b""
    try:
        tree = Tree.from_bytes(await store.artifact(tree_key(base)))
        candidate = Candidate.from_bytes(await store.artifact(body))
    except (RecordNotFound, CandidateError, TaskError):
        return b""
    return make_patch(tree, candidate.changes, candidate.modes)


def _verify_statement(path: Path, asked: _Asked) -> int:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} can't be read: {error}.", do="Name a ledger or a statement.") from error
    stated = Statement.read(text, asked.public)
    run: Mapping[str, Any] = stated.predicate.get("run") or {}
    known = asked.public or _kept_key(str(run.get("id", "")))
    if known is not None and known != stated.key:
        raise SealError(f"The statement was signed by {stated.key}, and the run was sealed by {known}.")
    if asked.as_json:
        told = {"holds": True, "authentic": True if known else None, "key": str(stated.key)}
        about = [asdict(subject) for subject in stated.subjects]
        json.dump({**told, "subjects": about, "predicate": stated.predicate}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print_statement(Console(highlight=False), stated, is_known=known is not None)
    return 0 if known is not None else UNKNOWN


def _kept_key(run_id: str) -> PublicKey | None:
    try:
        return signer(run_id, FileKeys().load(run_id)).run if run_id and Path(run_id).name == run_id else None
    except SealError:
        return None


def _print_statement(console: Console, stated: Statement, *, is_known: bool) -> None:
    run: Mapping[str, Any] = stated.predicate.get("run") or {}
    console.print(Text(f"statement about run {plain(str(run.get('id')))}: as it was signed", style="bold green"))
    episodes: Sequence[Mapping[str, Any]] = stated.predicate.get("episodes") or ()
    for episode in episodes:
        end: Mapping[str, Any] = episode.get("end") or {}
        said = f"{end.get('verdict')} {end.get('stop_reason')}" if end else "not ended"
        console.print(Text(f"  {plain(str(episode.get('task')))}   {plain(said)}"), soft_wrap=True)
    for subject in stated.subjects:
        console.print(Text(f"  sha256 {plain(subject.sha256)}   {plain(subject.name)}", style="dim"), soft_wrap=True)
    said = "known from elsewhere" if is_known else "on the statement's own word: compare it, or give it with --key"
    console.print(Text(f"  key {stated.key}, {said}", style="green" if is_known else "yellow"), soft_wrap=True)
