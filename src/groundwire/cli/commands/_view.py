"""`groundwire view`: what happened, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_into, loading
from groundwire.cli.commands._options import Ledger, checked_flags, spelt_out


@spelt_out
def view(
    run: Annotated[
        str | None,
        typer.Argument(help="Open this run: its id, or any unique beginning of it.  [default: the list of runs]"),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: any that is free.")] = 0,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse notes, and decisions about lessons, from the browser.")
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Also open the address in a browser.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the run to one HTML file instead, which needs no server."),
    ] = None,
    *,
    ledger: Ledger,
) -> None:
    """Look at runs in a browser: what a model saw and said, what the tests said, why a gate opened, what a lesson did.
    Only this machine is answered, and only who has the address that is printed."""
    flags = checked_flags(ledger)
    check_into(export)
    with loading():
        from groundwire.cli._view import export_to, serve
    if export is not None:
        raise typer.Exit(export_to(export, run, flags))
    raise typer.Exit(serve(run, flags, port=port, read_only=read_only, opens=open_browser))
