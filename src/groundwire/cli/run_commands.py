"""`groundwire run` and `groundwire bench`: the commands and their flags; what they do is in `groundwire.cli.run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["CODES", "bench", "run"]

Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N tasks.")]
ShardOf = Annotated[str, typer.Option(metavar="I/N", help="Only part I of N; the parts share no task.")]
Split = Annotated[str, typer.Option(help="Only tasks of this split.  [default: all]")]
Seed = Annotated[int | None, typer.Option(help="Seed of every choice, in every episode.")]
Trials = Annotated[int | None, typer.Option("--trials", "--max-trials", min=1, help="Trials of each episode.")]
Model = Annotated[
    str | None,
    typer.Option(help="Model id (LiteLLM), local, local:PATH.gguf or scripted:FILE.  [default: the search actor]"),
]
ActorCommand = Annotated[str | None, typer.Option(help="Program that edits the files; see  groundwire repair --help.")]
Width = Annotated[int | None, typer.Option("--width", "--n", "-n", min=1, help="Candidates of one trial.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Episodes at a time.  [default: 4; of a local engine: what keeps it full]")
]
Seconds = Annotated[float | None, typer.Option(min=0, help="Wall seconds of each episode.")]
Tokens = Annotated[int | None, typer.Option(min=0, help="Prompt and completion tokens of each episode.")]
Calls = Annotated[int | None, typer.Option(min=0, help="Model calls of each episode.")]
Usd = Annotated[float | None, typer.Option(min=0, help="US dollars of each episode; an unknown price is refused.")]
TotalUsd = Annotated[float | None, typer.Option(min=0, help="US dollars of all episodes of a run together.")]
TotalTokens = Annotated[int | None, typer.Option(min=0, help="Tokens of all episodes of a run together.")]
TotalCalls = Annotated[int | None, typer.Option(min=0, help="Model calls of all episodes of a run together.")]
TotalSeconds = Annotated[float | None, typer.Option(min=0, help="Wall seconds of the whole run, in this process.")]
UsdPerToken = Annotated[float | None, typer.Option(min=0, help="Price of a model whose price is not known.")]
Control = Annotated[
    bool,
    typer.Option(
        "--control",
        help="Then blind resampling on the same tasks and seeds: the same actor with no feedback, no reflection and no"
        " memory, at equal tokens (without a model: as many candidates).",
    ),
]
UngroundedToo = Annotated[
    bool,
    typer.Option(
        "--ungrounded",
        help="Then Self-Refine, which nothing outside the model steers, likewise at equal tokens; for functions to be"
        " written, by a model.",
    ),
]
Python = Annotated[Path | None, typer.Option(help="Interpreter that runs the tasks.  [default: the task's own]")]
SandboxKind = Annotated[str | None, typer.Option(help="bubblewrap, landlock, docker or subprocess (no isolation).")]
Image = Annotated[str | None, typer.Option(help="Docker image.  [default: python:3.12-slim]")]
Db = Annotated[
    str | None, typer.Option(help="Database URL of ledger and memory.  [default: in the user's data folder]")
]
Reuse = Annotated[str | None, typer.Option(help="What of the ledger may stand for new work: never, calls or all.")]
Select = Annotated[
    str | None,
    typer.Option(
        help="best: only what passes the visible tests goes to the hidden ones; last: else the last candidate does."
        "  [default: best; last where a benchmark's functions are to be written]"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print a JSON object a line instead of text.")]
CODES = (
    "Exit codes: 0 all verified, 1 some unsolved, 2 usage, 3 some without a verdict, 4 budget, 5 model, 6 storage, 130."
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
    control: Control = False,
    ungrounded: UngroundedToo = False,
    select: Select = None,
    python: Python = None,
    sandbox: SandboxKind = None,
    image: Image = None,
    db: Db = None,
    reuse: Reuse = None,
    json: Json = False,
) -> None:
    """Run a graph on many tasks; every episode is in the ledger, and an interrupted run can be gone on with."""
    from groundwire.cli.suite import Source

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
    control: Control = False,
    ungrounded: UngroundedToo = False,
    select: Select = None,
    python: Python = None,
    sandbox: SandboxKind = None,
    image: Image = None,
    db: Db = None,
    reuse: Reuse = None,
    json: Json = False,
) -> None:
    """Run a graph on a public benchmark that is on this machine; its hidden tests never steer."""
    from groundwire.cli.suite import Source

    given = dict(locals())
    raise typer.Exit(_start(graph, Source("bench", (data,), name, repos, split), given))


OF_THE_RUN = ("limit", "shard", "split", "workers", "control", "ungrounded", "select", "json", "graph")
OF_THE_SOURCE = ("tasks", "name", "data", "repos", "Source")


def _start(graph: str, source: Any, given: dict[str, Any]) -> int:
    from groundwire.cli.run import run_suite
    from groundwire.cli.suite import Shard, Suite
    from groundwire.errors import ConfigError
    from groundwire.settings import Settings

    select = given["select"] or ("best" if source.repairs else "last")
    if select not in ("best", "last"):
        raise ConfigError(f"--select {select} is neither best nor last.")
    flags = {name: value for name, value in given.items() if name not in (*OF_THE_RUN, *OF_THE_SOURCE)}
    suite = Suite(
        graph=graph,
        source=source,
        settings=Settings.resolve(flags),
        limit=given["limit"],
        shard=Shard.parse(given["shard"]),
        select=select,
        workers=given["workers"],
        control=given["control"],
        ungrounded=given["ungrounded"],
    )
    return run_suite(suite, as_json=given["json"])
