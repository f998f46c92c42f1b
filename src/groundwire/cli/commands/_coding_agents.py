"""What coding agents call: `groundwire mcp` and `groundwire hook`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_folders, loading
from groundwire.cli.commands._options import Ledger, OfSettings, TaskSandbox, checked_flags, spelt_out

hook = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Answer a coding agent's hooks: its session ends only on a sealed PASS.",
    epilog="How to set it up for each agent: docs/coding-agents.md.",
)

TestsFrom = Annotated[
    str,
    typer.Option(
        metavar="COMMIT",
        help="Whose tests judge: a commit, branch or tag; HEAD, as it is at the start; or worktree, those that lie"
        " there. Without a commit: those that lie there.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class WhatJudges(OfSettings):
    """What judges a work tree."""

    test: Annotated[
        str | None, typer.Option(help='Command that judges it.  [default: the project\'s own, else "pytest -q"]')
    ] = None
    hidden: Annotated[str | None, typer.Option(help="Command that judges once, after the tests pass.")] = None
    hidden_dir: Annotated[
        str | None, typer.Option(help="Folder that only this last judging may see, relative to the project.")
    ] = None
    report: Annotated[
        str | None, typer.Option(help="JUnit XML file that the test command writes, relative to the project.")
    ] = None
    rejudge: Annotated[
        int | None, typer.Option(min=0, help="Times a verdict is repeated.  [default: 1; of a quick pass: 2]")
    ] = None


@spelt_out
def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(help="Folder that it is for, and nothing outside; may be repeated.  [default: this one]"),
    ] = None,
    *,
    judging: WhatJudges,
    tests_from: TestsFrom = "HEAD",
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP on this machine, for who brings the token that is printed.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --http; 0: any that is free.")] = 0,
    call_seconds: Annotated[float, typer.Option(min=1, help="Wall seconds that one call may take.")] = 600,
    session_seconds: Annotated[float, typer.Option(min=1, help="Wall seconds of all calls together.")] = 7200,
    session_calls: Annotated[int, typer.Option(min=1, help="Calls that run something.")] = 500,
    sandbox: TaskSandbox,
    ledger: Ledger,
) -> None:
    """Serve coding agents over MCP: verify, repair, recall, reflect, audit and history, for folders that you name."""
    roots = root or [Path()]
    check_folders(roots, do="Name folders with --root.")
    flags = checked_flags(judging, sandbox, ledger)
    with loading():
        from groundwire.cli._mcp import run_mcp
    raise typer.Exit(
        run_mcp(
            roots,
            flags,
            tests_from=tests_from,
            http=http,
            port=port,
            call_seconds=call_seconds,
            session_seconds=session_seconds,
            session_calls=session_calls,
        )
    )


HookRoot = Annotated[Path | None, typer.Option("--root", help="The project.  [default: what the agent says]")]


@hook.command(epilog="Reads the event's JSON from standard input.")
def start(root: HookRoot = None, tests_from: TestsFrom = "HEAD") -> None:
    """Note at a session's start whose tests judge it, so that no commit of the agent's own changes that."""
    with loading():
        from groundwire.cli.coding_agents._hook import hook_start
    raise typer.Exit(hook_start(root, tests_from=tests_from))


@hook.command(epilog="Reads the event's JSON from standard input; prints the answer that this agent understands.")
@spelt_out
def stop(
    root: HookRoot = None,
    *,
    judging: WhatJudges,
    tests_from: TestsFrom = "HEAD",
    tries: Annotated[int, typer.Option(min=1, help="Refusals in a row; then it ends unverified, and says so.")] = 3,
    changed_only: Annotated[
        bool, typer.Option("--changed-only", help="Judge nothing where nothing differs from the commit.")
    ] = False,
    require_tests: Annotated[
        bool,
        typer.Option(
            "--require-tests",
            help="Refuse the end where the project has no tests.  [default: let it end, and say that nothing was"
            " verified]",
        ),
    ] = False,
    max_seconds: Annotated[float, typer.Option(min=1, help="Wall seconds; less than the agent gives its hook.")] = 300,
    sandbox: TaskSandbox,
    ledger: Ledger,
) -> None:
    """Let a coding agent's session end only on a sealed PASS of the project's tests for the tree as it is."""
    flags = checked_flags(judging, sandbox, ledger) | {"max_seconds": max_seconds}
    with loading():
        from groundwire.cli.coding_agents._hook import hook_stop
    raise typer.Exit(
        hook_stop(
            root, flags, tests_from=tests_from, tries=tries, changed_only=changed_only, require_tests=require_tests
        )
    )
