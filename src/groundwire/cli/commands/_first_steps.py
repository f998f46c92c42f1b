"""`groundwire demo`, `doctor` and `graphs`: what it can do, and whether it can here."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli._checks import loading, settled
from groundwire.cli.commands._options import Db, Json, SandboxKind


def demo(json: Json = False, db: Db = None, sandbox: SandboxKind = None) -> None:
    """Repair small buggy packages with no model, key, GPU or daemon; then let a small local model write."""
    settled({"db": db, "sandbox": sandbox})
    with loading():
        from groundwire.cli._demo import run_demo
    raise typer.Exit(run_demo({"db": db, "sandbox": sandbox}, as_json=json))


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


def doctor(json: Json = False, db: Db = None) -> None:
    """Try what groundwire needs on this machine, and say what to do about what does not work."""
    from groundwire.cli._doctor import run_doctor

    raise typer.Exit(run_doctor({"db": db}, as_json=json))
