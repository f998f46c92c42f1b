"""What goes on with runs and reads them: `groundwire resume`, `replay`, `show`, `report` and `import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_exists, check_into, loading
from groundwire.cli.commands._options import Json, Ledger, RunId, RunTotals, checked_flags, spelt_out


@spelt_out
def resume(run: RunId, totals: RunTotals, ledger: Ledger, json: Json = False) -> None:
    """Go on with a run that was interrupted, or that had used up its totals; an answer that was had is not paid for
    again."""
    flags = checked_flags(totals, ledger)
    with loading():
        from groundwire.cli._resuming import resume_run
    raise typer.Exit(resume_run(run, flags, as_json=json))


@spelt_out
def replay(
    run: RunId,
    verify: Annotated[bool, typer.Option("--verify", help="Exit with 1 where a record differs.")] = False,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Run a recorded run again from the ledger alone, with no model and no sandbox, and say the first difference."""
    flags = checked_flags(ledger)
    with loading():
        from groundwire.cli._replay import replay_run
    raise typer.Exit(replay_run(run, flags, verify=verify, as_json=json))


@spelt_out
def show(
    run: Annotated[
        str | None, typer.Argument(help="The run's id, or any unique beginning of it.  [default: list the last runs]")
    ] = None,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Show what the ledger holds of a run, and whether its signals are still as they were sealed."""
    flags = checked_flags(ledger)
    with loading():
        from groundwire.cli._show import list_runs, show_run
    raise typer.Exit(show_run(run, flags, as_json=json) if run else list_runs(flags, as_json=json))


@spelt_out
def report(
    runs: Annotated[list[str], typer.Argument(help="The runs' ids, or any unique beginnings.", metavar="RUN...")],
    control: Annotated[
        str | None,
        typer.Option(help="Run that all others are compared with.  [default: the one made as a run's control]"),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write one self-contained HTML page to this file.")] = None,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Say whether reflection helped, what it cost, and how sure that is; several runs side by side."""
    flags = checked_flags(ledger)
    check_into(html)
    with loading():
        from groundwire.cli._report import run_report
    raise typer.Exit(run_report(runs, flags, control=control, html=html, as_json=json))


@spelt_out
def import_(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders of published logs, or files of them.", metavar="PATH...")
    ],
    only: Annotated[list[str] | None, typer.Option(help="Only the logged run of this name; may be repeated.")] = None,
    trials: Annotated[int, typer.Option(min=0, help="Only the first N trials of each episode; 0: all.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Also what was imported before.")] = False,
    *,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Read published logs (Reflexion's, LDB's, InterCode's) into the ledger, marked as taken from there."""
    check_exists(*paths, do="Name a folder of logs.")
    flags = checked_flags(ledger)
    with loading():
        from groundwire.cli._import_logs import import_logs
    raise typer.Exit(import_logs(paths, flags, only=only or (), trials=trials, again=again, as_json=json))
