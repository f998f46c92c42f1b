"""`groundwire audit`: what groundwire-audit does, under our name; it reads its arguments itself."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

audit = typer.Typer(add_completion=False, rich_markup_mode=None)


class _HandedOn(TyperCommand):
    """A command whose arguments are another program's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return ctx.args


@audit.command("audit", cls=_HandedOn)
def _audit(ctx: typer.Context) -> None:  # pyright: ignore[reportUnusedFunction] # the decorator keeps it
    """Say of each loop of a LangGraph graph whether anything outside the model decides it. Only --trace runs it."""
    from groundwire_audit import main

    raise typer.Exit(main(ctx.args, program="groundwire audit"))
