"""`groundwire plant`: the command and its flags; what it does is in `groundwire.cli._plant`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_folders, loading, settled
from groundwire.cli.commands._options import Json, Ledger, SandboxKind, flags_in, spelt_out


@spelt_out
def plant(
    projects: Annotated[list[Path], typer.Argument(help="Folders of projects whose tests pass.", metavar="PROJECT…")],
    *,
    bugs: Annotated[int, typer.Option(min=1, help="Bugs that are tried in each project.")] = 100,
    seed: Annotated[int | None, typer.Option(help="Chooses the bugs.")] = None,
    hold_out: Annotated[
        list[str] | None,
        typer.Option(help="Glob of project names: their bugs become task folders to evaluate on; none is taught."),
    ] = None,
    tasks_out: Annotated[Path | None, typer.Option(help="Folder for the bugs that are held out.")] = None,
    test: Annotated[str | None, typer.Option(help="Command that judges.  [default: as of task check]")] = None,
    python: Annotated[Path | None, typer.Option(help="Interpreter that runs the projects.")] = None,
    sandbox: SandboxKind = None,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Plant bugs in projects that work, and keep those that a test notices as examples of repair: what failed, and the
    edit that undoes it. No model is asked. Export them:  groundwire export RUN --format sft"""
    check_folders(projects, do="Give folders of projects.")
    with loading():
        from groundwire.cli._plant import AskedPlanting, run_planting
    settings = settled({**flags_in(ledger), "seed": seed, "test": test, "python": python, "sandbox": sandbox})
    asked = AskedPlanting(projects, bugs, tuple(hold_out or ()), tasks_out, json)
    raise typer.Exit(run_planting(asked, settings))
