"""All commands. What they do is imported when one is called, so that `--help` stays fast."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from groundwire.cli.commands.audit import CODES as AUDIT_CODES
from groundwire.cli.commands.audit import audit
from groundwire.cli.commands.export import CODES as EXPORT_CODES
from groundwire.cli.commands.export import export
from groundwire.cli.commands.first_steps import demo, doctor, graphs
from groundwire.cli.commands.learn import CODES as LEARN_CODES
from groundwire.cli.commands.learn import learn
from groundwire.cli.commands.ledger import import_, replay, report, resume, show
from groundwire.cli.commands.memory import memory
from groundwire.cli.commands.model import models
from groundwire.cli.commands.repair import repair
from groundwire.cli.commands.run import CODES as RUN_CODES
from groundwire.cli.commands.run import bench, run
from groundwire.errors import GroundwireError

__all__ = ["app", "main"]

app = typer.Typer(
    name="groundwire",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Agents in which nothing is corrected unless something outside the model said it was wrong.",
    epilog="Exit codes: 0 verified, 1 unsolved, 2 usage, 3 no verdict, 4 budget, 5 model, 6 storage,"
    " 7 an error in a part, 130 interrupted.",
)
app.command()(demo)
app.command()(repair)
app.command()(resume)
app.command()(replay)
app.command(epilog=AUDIT_CODES)(audit)
app.command(epilog=RUN_CODES)(run)
app.command(epilog=RUN_CODES)(bench)
app.command(epilog=LEARN_CODES)(learn)
app.command(epilog="What each number means: docs/evaluation.md.")(report)
app.command(epilog=EXPORT_CODES)(export)
app.command("import", epilog="Which logs are known, and what they hold: docs/logs.md.")(import_)
app.command()(graphs)
app.command()(show)
app.command()(doctor)
app.add_typer(memory)
app.add_typer(models)


def _version(wanted: bool) -> None:
    if wanted:
        from groundwire import __version__

        typer.echo(f"groundwire {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Agents in which nothing is corrected unless something outside the model said it was wrong."""


def main() -> None:
    """The program: every error of ours is a message and an exit code, never a traceback."""
    try:
        app()
    except GroundwireError as error:
        _fail(error)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)


def _fail(error: GroundwireError) -> NoReturn:
    from groundwire.cli.text import plain

    typer.echo(f"error: {plain(error.what, limit=2000)}", err=True)
    if error.do:
        typer.echo(f"  {plain(error.do, limit=2000)}", err=True)
    sys.exit(error.exit_code)
