"""`groundwire run` and `groundwire bench`: the commands and their flags; what they do is in `groundwire.cli._run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire.cli._checks import check_graph, loading, settled
from groundwire.cli.commands._options import (
    ActorCommand,
    Calls,
    Control,
    Db,
    Image,
    JsonLines,
    Limit,
    Model,
    ModelSeconds,
    Python,
    Reuse,
    SandboxKind,
    Seconds,
    Seed,
    Select,
    ShardOf,
    Split,
    Tokens,
    TotalCalls,
    TotalSeconds,
    TotalTokens,
    TotalUsd,
    Trials,
    UngroundedToo,
    Usd,
    UsdPerToken,
    Width,
    Workers,
)


def run(
    graph: Annotated[str, typer.Argument(help="A graph of the library (code_repair), or FILE.py:FUNCTION.")],
    tasks: Annotated[list[Path], typer.Argument(help="Task folders, or folders of them.")],
    limit: Limit = None,
    shard: ShardOf = "1/1",
    split: Split = "",
    seed: Seed = None,
    max_trials: Trials = None,
    model: Model = None,
    actor_command: ActorCommand = None,
    width: Width = None,
    workers: Workers = None,
    max_seconds: Seconds = None,
    max_tokens: Tokens = None,
    max_calls: Calls = None,
    max_usd: Usd = None,
    total_usd: TotalUsd = None,
    total_tokens: TotalTokens = None,
    total_calls: TotalCalls = None,
    total_seconds: TotalSeconds = None,
    usd_per_token: UsdPerToken = None,
    model_seconds: ModelSeconds = None,
    control: Control = False,
    ungrounded: UngroundedToo = False,
    select: Select = None,
    python: Python = None,
    sandbox: SandboxKind = None,
    image: Image = None,
    db: Db = None,
    reuse: Reuse = None,
    json: JsonLines = False,
) -> None:
    """Run a graph on many tasks; every episode is in the ledger, and an interrupted run can be gone on with."""
    from groundwire.cli._suite import Source

    given = dict(locals())
    raise typer.Exit(_start(given["graph"], Source("folders", tuple(tasks), split=split), given))


def bench(
    name: Annotated[
        str,
        typer.Argument(
            help="humaneval, humaneval-plus, humanevalfix, mbpp, mbpp-sanitized, mbpp-plus, lr2bench, or swebench"
            " (its form)."
        ),
    ],
    data: Annotated[Path, typer.Option(help="The benchmark's file, or a folder that holds it; nothing is fetched.")],
    graph: Annotated[str, typer.Option(help="A graph of the library, or FILE.py:FUNCTION.")] = "code_repair",
    repos: Annotated[Path | None, typer.Option(help="Folder of git clones; for swebench.")] = None,
    limit: Limit = None,
    shard: ShardOf = "1/1",
    split: Split = "",
    seed: Seed = None,
    max_trials: Trials = None,
    model: Model = None,
    actor_command: ActorCommand = None,
    width: Width = None,
    workers: Workers = None,
    max_seconds: Seconds = None,
    max_tokens: Tokens = None,
    max_calls: Calls = None,
    max_usd: Usd = None,
    total_usd: TotalUsd = None,
    total_tokens: TotalTokens = None,
    total_calls: TotalCalls = None,
    total_seconds: TotalSeconds = None,
    usd_per_token: UsdPerToken = None,
    model_seconds: ModelSeconds = None,
    control: Control = False,
    ungrounded: UngroundedToo = False,
    select: Select = None,
    python: Python = None,
    sandbox: SandboxKind = None,
    image: Image = None,
    db: Db = None,
    reuse: Reuse = None,
    json: JsonLines = False,
) -> None:
    """Run a graph on a public benchmark that is on this machine; its hidden tests never steer."""
    from groundwire.cli._suite import Source

    given = dict(locals())
    raise typer.Exit(_start(graph, Source("bench", (data,), name, repos, split), given))


OF_THE_RUN = ("limit", "shard", "split", "workers", "control", "ungrounded", "select", "json", "graph")
OF_THE_SOURCE = ("tasks", "name", "data", "repos", "Source")


def _start(graph: str, source: Any, given: dict[str, Any]) -> int:
    from groundwire.cli._suite import Shard, Suite
    from groundwire.core._errors import ConfigError

    check_graph(graph)
    source.check()
    select = given["select"] or ("best" if source.repairs else "last")
    if select not in ("best", "last"):
        raise ConfigError(f"--select {select} is neither best nor last.")
    flags = {name: value for name, value in given.items() if name not in (*OF_THE_RUN, *OF_THE_SOURCE)}
    suite = Suite(
        graph=graph,
        source=source,
        settings=settled(flags),
        limit=given["limit"],
        shard=Shard.parse(given["shard"]),
        select=select,
        workers=given["workers"],
        control=given["control"],
        ungrounded=given["ungrounded"],
    )
    with loading():
        from groundwire.cli._run import run_suite
    return run_suite(suite, as_json=given["json"])
