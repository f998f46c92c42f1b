"""`groundwire memory …`: the commands and their flags; what they do is in `groundwire.cli._lessons`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_exists, loading
from groundwire.cli.commands._options import Ledger, Yes, checked_flags, spelt_out

memory = typer.Typer(
    name="memory",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Inspect and curate what memory holds.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Family = Annotated[str, typer.Option(help="Only lessons of this family.")]
TaskId = Annotated[str, typer.Option("--task", help="Only lessons of this task.")]
Limit = Annotated[int, typer.Option(min=1, max=100_000, help="Show at most this many.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, or any unique beginnings of them.")]
Reason = Annotated[str, typer.Option(help="Why; kept with the decision.")]


@dataclass(frozen=True, kw_only=True)
class MemoryOptions(Ledger):
    """Where memory is, and whose."""

    db: Annotated[str | None, typer.Option(help="Database URL.  [default: SQLite in the user's data folder]")] = None
    namespace: Annotated[
        str | None, typer.Option(help="Whose memory.  [default: $GROUNDWIRE_NAMESPACE, else the unnamed one]")
    ] = None


@memory.command("list")
@spelt_out
def list_(
    family: Family = "",
    task: TaskId = "",
    state: Annotated[
        str, typer.Option(help="active, quarantined, repeat, echo or unbacked.  [default: all of them]")
    ] = "",
    limit: Limit = 30,
    json: Json = False,
    *,
    place: MemoryOptions,
) -> None:
    """List lessons, newest first."""
    from groundwire.memory._policy import state_named

    wanted = state_named(state)
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import list_lessons
    raise typer.Exit(list_lessons(flags, family=family, task=task, state=wanted, limit=limit, as_json=json))


@memory.command()
@spelt_out
def search(
    text: Annotated[str, typer.Argument(help="Words that the lesson holds.")],
    family: Family = "",
    task: TaskId = "",
    limit: Limit = 10,
    json: Json = False,
    *,
    place: MemoryOptions,
) -> None:
    """Search lessons by their words, best match first, among the newest 200 that match."""
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import search_lessons
    raise typer.Exit(search_lessons(text, flags, family=family, task=task, limit=limit, as_json=json))


@memory.command()
@spelt_out
def show(
    lesson: Annotated[str, typer.Argument(metavar="ID", help="An id, or any unique beginning of it.")],
    json: Json = False,
    *,
    place: MemoryOptions,
) -> None:
    """Show a lesson: its text, the signal behind it, when it was recalled and what came of it."""
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import show_lesson
    raise typer.Exit(show_lesson(lesson, flags, as_json=json))


@memory.command()
@spelt_out
def forget(
    lessons: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Ids, or beginnings of them.")] = None,
    family: Annotated[str, typer.Option(help="All lessons of this family.")] = "",
    task: Annotated[str, typer.Option(help="All lessons of this task.")] = "",
    reason: Reason = "",
    yes: Yes = False,
    json: Json = False,
    *,
    place: MemoryOptions,
) -> None:
    """Delete lessons and their duplicates; that they existed stays on record."""
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import forget_lessons
    raise typer.Exit(
        forget_lessons(lessons or [], flags, family=family, task=task, reason=reason, yes=yes, as_json=json)
    )


@memory.command()
@spelt_out
def quarantine(
    lessons: Ids,
    release: Annotated[
        bool, typer.Option("--release", help="Recall them again; what was measured before no longer counts.")
    ] = False,
    reason: Reason = "",
    yes: Yes = False,
    json: Json = False,
    *,
    place: MemoryOptions,
) -> None:
    """Quarantine lessons: keep them, but do not recall them."""
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import quarantine_lessons
    raise typer.Exit(quarantine_lessons(lessons, flags, release=release, reason=reason, yes=yes, as_json=json))


@memory.command()
@spelt_out
def export(
    file: Annotated[Path | None, typer.Argument(help="Where to write; - for standard output.  [default: -]")] = None,
    *,
    place: MemoryOptions,
) -> None:
    """Write all lessons as JSON lines, each with the signal behind it."""
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import export_to
    raise typer.Exit(export_to(file, flags))


@memory.command("import")
@spelt_out
def import_(
    file: Annotated[Path, typer.Argument(help="A file that `groundwire memory export` wrote; - for standard input.")],
    json: Json = False,
    *,
    place: MemoryOptions,
) -> None:
    """Import lessons from a file; those already there are left as they are."""
    if str(file) != "-":
        check_exists(file, do="Name a file that you may read.")
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import import_from
    raise typer.Exit(import_from(file, flags, as_json=json))


@memory.command()
@spelt_out
def stats(*, json: Json = False, place: MemoryOptions) -> None:
    """Show how much memory holds, how often trials pass, and which lessons help or harm."""
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import show_stats
    raise typer.Exit(show_stats(flags, as_json=json))


@memory.command()
@spelt_out
def vacuum(
    older_than: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Drop prompts, answers and bodies of episodes that ended before."),
    ] = None,
    quarantined: Annotated[
        float | None, typer.Option(min=0, metavar="DAYS", help="Forget lessons that were quarantined before.")
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild all conclusions from the ledger.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be dropped.")] = False,
    yes: Yes = False,
    json: Json = False,
    *,
    place: MemoryOptions,
) -> None:
    """Drop what retention rules no longer keep, and free the disk space."""
    flags = checked_flags(place)
    with loading():
        from groundwire.cli._lessons import tidy_up
    raise typer.Exit(
        tidy_up(
            flags,
            older_than=older_than,
            quarantined=quarantined,
            rebuild=rebuild,
            dry_run=dry_run,
            yes=yes,
            as_json=json,
        )
    )
