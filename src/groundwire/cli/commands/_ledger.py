"""What goes on with runs and reads them: `groundwire resume`, `replay`, `show`, `verify`, `report`, `import` and
`archive`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_exists, check_into, loading
from groundwire.cli.commands._options import Json, Ledger, RunId, RunTotals, Unverified, Yes, checked_flags, spelt_out


@spelt_out
def resume(
    run: RunId,
    totals: RunTotals,
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="More wall seconds for a repair that used up its own.")
    ] = None,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Continue a run that was interrupted, or that used up its totals or its seconds; what was judged is not judged
    again, and answers already received are not paid for again."""
    flags = checked_flags(totals, ledger) | {"max_seconds": max_seconds}
    with loading():
        from groundwire.cli._resuming import resume_run
    raise typer.Exit(resume_run(run, flags, as_json=json))


@spelt_out
def replay(
    run: RunId,
    verify: Annotated[bool, typer.Option("--verify", help="Exit with 1 where a record differs.")] = False,
    unverified: Unverified = False,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Replay a recorded run from the ledger alone, with no model and no sandbox, and show the first difference."""
    flags = checked_flags(ledger)
    with loading():
        from groundwire.cli._replay import replay_run
    raise typer.Exit(replay_run(run, flags, verify=verify, unverified=unverified, as_json=json))


@spelt_out
def show(
    run: Annotated[
        str | None,
        typer.Argument(
            help="The id of a run, or of one episode, or any unique beginning of it.  [default: list the latest runs]"
        ),
    ] = None,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Show what the ledger holds of a run or an episode, and whether its records are still as they were written."""
    flags = checked_flags(ledger)
    with loading():
        from groundwire.cli._show import list_runs, show_run
    raise typer.Exit(show_run(run, flags, as_json=json) if run else list_runs(flags, as_json=json))


@spelt_out
def verify(
    target: Annotated[
        str,
        typer.Argument(
            metavar="[RUN|FILE]",
            help="The beginning of a run's or an episode's id, a ledger's file, a signed statement, or a report of"
            " pytest --groundwire, whose tests are run again.  [default: all runs]",
            show_default=False,
        ),
    ] = "",
    key: Annotated[
        str | None, typer.Option(metavar="PUBLIC", help="Public key that must have sealed it, or a file of it.")
    ] = None,
    statement: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the run's outcome as a signed statement.")
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="Of a report: the project's root.  [default: where the report says]")
    ] = None,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Check on any machine that a run, ledger or statement is as it was written; a ledger's file is not touched."""
    flags = checked_flags(ledger)
    check_into(statement)
    with loading():
        from groundwire.cli._verify import verify_target
    raise typer.Exit(verify_target(target, flags, key=key, statement=statement, as_json=json, project=project))


@spelt_out
def report(
    runs: Annotated[list[str], typer.Argument(help="The runs' ids, or any unique beginnings.", metavar="RUN...")],
    control: Annotated[
        str | None,
        typer.Option(help="Run that all others are compared with.  [default: the one made as a run's control]"),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write one self-contained HTML page to this file.")] = None,
    unverified: Unverified = False,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Say whether reflection helped, what it cost, and how sure that is; several runs side by side."""
    flags = checked_flags(ledger)
    check_into(html)
    with loading():
        from groundwire.cli._report import run_report
    raise typer.Exit(run_report(runs, flags, control=control, html=html, unverified=unverified, as_json=json))


@spelt_out
def import_(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders of published logs, or files of them.", metavar="PATH...")
    ],
    only: Annotated[list[str] | None, typer.Option(help="Only the logged run of this name; may be repeated.")] = None,
    trials: Annotated[int, typer.Option(min=0, help="Only the first N trials of each episode; 0: all.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Import again what was imported before.")] = False,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Read published logs (Reflexion's, LDB's, InterCode's, inspect_ai's) into the ledger, marked as imported."""
    check_exists(*paths, do="Name a folder of logs.")
    flags = checked_flags(ledger)
    with loading():
        from groundwire.cli._import_logs import import_logs
    raise typer.Exit(import_logs(paths, flags, only=only or (), trials=trials, again=again, as_json=json))


@spelt_out
def archive(
    runs: Annotated[
        list[str] | None, typer.Argument(help="The runs' ids, or any unique beginnings.", metavar="[RUN...]")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="All runs whose episodes ended before this day or time (ISO 8601, UTC)."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the archive is, or is made.  [required]")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Only copy: the ledger keeps the runs.")] = False,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also runs with episodes that have not ended.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be archived.")] = False,
    yes: Yes = False,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Move whole runs into a folder of Parquet files, verified before anything leaves the ledger; read them again with
    --db archive:FOLDER.  [extra: archive]"""
    flags = checked_flags(ledger)
    with loading():
        from groundwire.cli._archive import archive_runs
    raise typer.Exit(
        archive_runs(
            runs or (),
            flags,
            before=before,
            to=to,
            keep=keep,
            unfinished=unfinished,
            dry_run=dry_run,
            yes=yes,
            as_json=json,
        )
    )
