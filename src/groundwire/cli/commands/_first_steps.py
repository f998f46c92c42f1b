"""`groundwire demo`, `doctor` and `graphs`: what it can do, and whether it can here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import loading, settled
from groundwire.cli.commands._options import Json, Ledger, SandboxKind, flags_in, spelt_out


@spelt_out
def demo(
    *,
    projects: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Only write the buggy packages into this new folder, to try commands on."),
    ] = None,
    json: Json = False,
    ledger: Ledger,
    sandbox: SandboxKind = None,
) -> None:
    """Repair small buggy packages with no model, key, GPU or daemon; then let a small local model write."""
    if projects is not None:
        from groundwire.cli._demo import write_projects

        raise typer.Exit(write_projects(projects, as_json=json))
    flags = {**flags_in(ledger), "sandbox": sandbox}
    settled(flags)
    with loading():
        from groundwire.cli._demo import run_demo
    raise typer.Exit(run_demo(flags, as_json=json))


def graphs(
    name: Annotated[str | None, typer.Argument(help="One graph.  [default: list all]")] = None, json: Json = False
) -> None:
    """List the ready-made graphs: what each is for, what steers it, and what it costs."""
    if name:
        from groundwire.graphs.library._catalogue import check_name

        check_name(name)
    with loading():
        from groundwire.cli._graphs import list_graphs, show_graph
    raise typer.Exit(show_graph(name, as_json=json) if name else list_graphs(as_json=json))


@spelt_out
def doctor(*, json: Json = False, ledger: Ledger) -> None:
    """Try what groundwire needs on this machine, and say what to do about what does not work."""
    from groundwire.cli._doctor import run_doctor

    raise typer.Exit(run_doctor(flags_in(ledger), as_json=json))
