"""`groundwire task …`: the commands and their flags; what they do is in `groundwire.cli._judging`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_exists, check_folders, loading, settled
from groundwire.cli.commands._options import Json, SandboxKind
from groundwire.core._paths import expand_user

tasks = typer.Typer(
    name="task",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Check whether a task is sound.",
)


@tasks.callback()
def group() -> None:
    """Whether a task is a good one."""


@tasks.command(epilog="Exit codes: 0 as it has to be, 1 not so, 2 usage, 3 no verdict.")
def check(
    path: Annotated[
        Path, typer.Argument(help="The task's folder; or a file of rows in SWE-bench's form.", metavar="TASK")
    ],
    solution: Annotated[
        Path | None, typer.Option(help="A patch, or a folder with the files that it changes; its tests must pass then.")
    ] = None,
    test: Annotated[str | None, typer.Option(help='Command that judges.  [default: the task\'s, "pytest -q"]')] = None,
    hidden: Annotated[str | None, typer.Option(help="Command that judges once, after the tests pass.")] = None,
    hidden_dir: Annotated[str | None, typer.Option(help="Folder that only this last judging may see.")] = None,
    repos: Annotated[
        Path | None, typer.Option(help="Folder of git clones, for rows; each one's own solution is checked.")
    ] = None,
    python: Annotated[Path | None, typer.Option(help="Interpreter that runs the project.")] = None,
    sandbox: SandboxKind = None,
    image: Annotated[str | None, typer.Option(help="Docker image.  [default: python:3.12-slim]")] = None,
    json: Json = False,
) -> None:
    """Check a task: without a solution it has to fail, and with a given one it has to pass.

    Of a file of rows each is checked with its own solution; a row that can't be had is told with the reason."""
    from groundwire.core._errors import ConfigError

    flags = {
        "test": test, "hidden": hidden, "hidden_dir": hidden_dir, "python": python, "sandbox": sandbox, "image": image,
    }  # fmt: skip
    if expand_user(path).is_file():
        if repos is None or any((solution, test, hidden, hidden_dir)):
            raise ConfigError(
                "Rows bring their tests and their solutions, and need clones of their repositories.",
                do=f"groundwire task check {path} --repos FOLDER",
            )
        check_folders([repos], do="Give a folder of git clones.")
        settings = settled(flags)
        with loading():
            from groundwire.cli._judging import check_rows
        raise typer.Exit(check_rows(path, repos, settings, as_json=json))
    check_folders([path], do="Give the path of the task's folder, or a file of rows.")
    if repos is not None:
        raise ConfigError("--repos is for a file of rows.", do="Leave it out.")
    if solution is not None:
        check_exists(solution, do="Give a patch, or a folder with the files that it changes.")
    settings = settled(flags, project=path)
    with loading():
        from groundwire.cli._judging import check_task
    raise typer.Exit(check_task(path, settings, solution=solution, as_json=json))
