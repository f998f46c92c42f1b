"""`groundwire campaign`: the command and its flags; what it does is in `groundwire.cli._campaign`."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli._checks import loading
from groundwire.cli.commands._options import Json, Ledger, RunId, RunTotals, checked_flags, spelt_out


@spelt_out
def campaign(
    run: RunId,
    pause: Annotated[
        bool,
        typer.Option(
            "--pause",
            help="Hand out no more tasks; what is in flight ends by itself. Continue with  groundwire resume RUN.",
        ),
    ] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="From now on so many workers.")] = None,
    at_once: Annotated[int | None, typer.Option(min=1, help="From now on so many episodes at a time in each.")] = None,
    requeue: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK",
            help="Run this task once more, with a new episode, or let another worker go on with it; may be repeated.",
        ),
    ] = None,
    *,
    totals: RunTotals,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Show how a run of several workers stands, and steer it while it runs; from any machine that reaches its
    ledger."""
    flags = checked_flags(totals, ledger)
    with loading():
        from groundwire.cli._campaign import steer_campaign
    raise typer.Exit(
        steer_campaign(run, flags, pause=pause, workers=workers, at_once=at_once, requeue=requeue or (), as_json=json)
    )
