"""All commands: the module of one is imported, and its flags are made, once it is called or listed by `--help`."""

from __future__ import annotations

import errno
import io
import json
import sys
from collections import UserDict
from importlib import import_module
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from groundwire.cli._checks import loading
from groundwire.core._errors import GroundwireError

RUN_CODES = (
    "Exit codes: 0 all verified, 1 some unsolved, 2 usage, 3 some without a verdict, 4 budget, 5 model, 6 storage,"
    " 7 an error in a part, 8 a contradiction, 130 interrupted."
)
LEARN_CODES = (
    "Exit codes: 0 all won, 1 some not won, 2 usage, 3 some without a verdict, 4 budget, 5 model, 6 storage,"
    " 7 an error in a part, 130 interrupted."
)
IMPROVE_CODES = (
    "Exit codes: 0 all rounds were trained, 1 it ended before (the report says why), 2 usage, 3 sandbox, 5 model,"
    " 6 storage, 9 training, 130 interrupted. What is learned, and what is not: docs/improving.md."
)
EXPORT_CODES = (
    "Exit codes: 0 rows were written, 1 nothing could be exported, 2 usage, 6 storage, 130 interrupted. Formats:"
    " docs/training.md."
)
VERIFY_CODES = (
    "Exit codes: 0 everything is as it was written, 1 something is not, 2 usage, 3 consistent, but the key is not known"
    " here, or a report's tests come to no verdict, 6 storage, 130 interrupted. What that rests on: docs/security.md."
)
ARCHIVE_CODES = (
    "Exit codes: 0 archived, or nothing to archive, 1 a run is not as it was written and stays in the ledger, 2 usage,"
    " 6 storage, 130 interrupted. What stays in the ledger: docs/scale.md."
)

AGENT_CODES = "Exit codes: 0 the client has gone, 2 usage. How to name it in each agent: docs/coding-agents.md."


REPAIR_CODES = (
    "Exit codes: 0 verified, 1 unsolved, 2 usage, 3 no verdict, 4 budget, 5 model, 6 storage, 7 an error in a part,"
    " 8 a test contradicts the task, 130 interrupted."
)


class _CommandSource(NamedTuple):
    """Where a command is, or a group of them, and what its help ends with: examples, a line each, and a sentence."""

    module: str
    name: str
    epilog: str = ""
    examples: tuple[str, ...] = ()

    @property
    def ending(self) -> str | None:
        """Both, as Click takes them: a paragraph that begins with `\\b` is not filled."""
        lines = "\n".join(("\b", "Examples:", *(f"  groundwire {example}" for example in self.examples)))
        return "\n\n".join(filter(None, (lines if self.examples else "", self.epilog))) or None


_MODEL = "--model openai/gpt-5-mini"
_SOURCES = {
    "demo": _CommandSource("first_steps", "demo", examples=("demo", "demo --projects tries")),
    "repair": _CommandSource(
        "repair", "repair", REPAIR_CODES, ('repair . --test "pytest -q"', f"repair . {_MODEL} --max-usd 0.50 --apply")
    ),
    "resume": _CommandSource("ledger", "resume", REPAIR_CODES, ("resume 01a2290a",)),
    "replay": _CommandSource("ledger", "replay", examples=("replay 01a2290a --verify",)),
    "audit": _CommandSource("audit", "audit"),
    "run": _CommandSource(
        "run",
        "run",
        RUN_CODES,
        (f"run code_repair tasks {_MODEL} --control", f'run confident_vote --ask "6 times 7?" --expect 42 {_MODEL}'),
    ),
    "bench": _CommandSource("run", "bench", RUN_CODES, (f"bench humaneval --data HumanEval.jsonl {_MODEL}",)),
    "correctbench": _CommandSource(
        "run",
        "correctbench",
        "Exit codes: as of bench; 1 is no failure here.",
        (f"correctbench gsm8k --data test.jsonl {_MODEL} --oracle --limit 50",),
    ),
    "campaign": _CommandSource(
        "campaign",
        "campaign",
        "Runs of several workers, and clusters of them: docs/scale.md.",
        ("campaign 01a2290a", "campaign 01a2290a --pause"),
    ),
    "learn": _CommandSource("learn", "learn", LEARN_CODES, ("learn maze --episodes 50 --plot curve.svg",)),
    "report": _CommandSource(
        "ledger", "report", "What each number means: docs/evaluation.md.", ("report 01a2290a --html report.html",)
    ),
    "improve": _CommandSource(
        "improve", "improve", IMPROVE_CODES, ("improve models/small --tasks tasks --eval unseen --out improved",)
    ),
    "export": _CommandSource("export", "export", EXPORT_CODES, ("export 01a2290a --format sft --out rows.jsonl",)),
    "import": _CommandSource(
        "ledger", "import_", "Which logs are known, and what they hold: docs/logs.md.", ("import reflexion_logs",)
    ),
    "reward": _CommandSource("reward", "rewards"),
    "plant": _CommandSource(
        "plant",
        "plant",
        "Exit codes: 0, 1 no test noticed any bug, 2 usage, 6 storage, 130 interrupted.",
        ("plant my_project --bugs 50",),
    ),
    "archive": _CommandSource("ledger", "archive", ARCHIVE_CODES, ("archive --before 2026-06-01 --to archived",)),
    "graphs": _CommandSource("first_steps", "graphs", examples=("graphs", "graphs code_repair")),
    "show": _CommandSource("ledger", "show", examples=("show", "show 01a2290a")),
    "view": _CommandSource(
        "view",
        "view",
        "What each page shows, and the interface for programs: docs/viewer.md.",
        ("view", "view 01a2290a --export run.html"),
    ),
    "verify": _CommandSource("ledger", "verify", VERIFY_CODES, ("verify", "verify 01a2290a", "verify ledger.db")),
    "mcp": _CommandSource("coding_agents", "mcp", AGENT_CODES, ("mcp --root .",)),
    "hook": _CommandSource("coding_agents", "hook"),
    "doctor": _CommandSource("first_steps", "doctor"),
    "task": _CommandSource("task", "tasks"),
    "memory": _CommandSource("memory", "memory"),
    "model": _CommandSource("model", "models"),
}


class _Commands(UserDict[str, Any]):
    """The commands by their names, in the order of `--help`; one is made when it is first looked up."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(_SOURCES))

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = _made(name, _SOURCES[name])
        return self.data[name]


def _made(name: str, source: _CommandSource) -> Any:
    with loading():
        command = getattr(import_module(f"groundwire.cli.commands._{source.module}"), source.name)
    if isinstance(command, typer.Typer):
        return get_command(command)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, epilog=source.ending)(command)
    return get_command(alone)


class _Group(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with loading():  # the first flag that Typer reads makes it import pydantic
            return super().parse_args(ctx, args)


app = typer.Typer(
    name="groundwire",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},  # every command takes these over
    help="Agents in which nothing is corrected unless something outside the model said it was wrong.",
    epilog="Exit codes: 0 verified, 1 unsolved, 2 usage, 3 no verdict, 4 budget, 5 model, 6 storage,"
    " 7 an error in a part, 8 a test contradicts the task, 9 a training failed, 130 interrupted.",
)


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
    """The program: every error of ours is a message and an exit code, never a traceback.

    Under `--json` the error is one JSON object on standard output too, `{"error": {"what", "do", "exit_code"}}`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter is no reason to stop
    as_json = "--json" in sys.argv[1:]
    try:
        _run(as_json)
    except GroundwireError as error:
        _fail(error.what, error.do, error.exit_code, as_json=as_json)
    except KeyboardInterrupt:
        _fail("interrupted", "", 130, as_json=as_json)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _no_space(error)


def _run(as_json: bool) -> None:
    if not as_json:
        app()
        return
    try:
        code = app(standalone_mode=False)  # what is wrong in the words of a command is raised, not printed
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        shown = getattr(error, "format_message", None)  # of Click's errors, whose classes Typer has of its own
        if shown is None:
            raise
        _fail(str(shown()), "See its flags:  groundwire COMMAND --help", 2, as_json=True)
    sys.exit(code if isinstance(code, int) else 0)


def _no_space(error: OSError) -> NoReturn:
    """The disk is full on which a file, or standard output, is written; what the ledger holds, it holds."""
    from groundwire.cli._text import discard

    where = str(error.filename) if error.filename else "what standard output goes to"
    if not error.filename:
        discard(sys.stdout)
    _fail(f"{where} can't be written: the disk is full.", "Free space on that disk.", 6, as_json=False)


def _fail(what: str, do: str, code: int, *, as_json: bool) -> NoReturn:
    from groundwire.core._text import plain

    if as_json:
        typer.echo(json.dumps({"error": {"what": what, "do": do, "exit_code": code}}))
    typer.echo(what if code == 130 else f"error: {plain(what, limit=2000)}", err=True)
    if do:
        typer.echo(f"  {plain(do, limit=2000)}", err=True)
    sys.exit(code)
