"""Flags that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
ModelSeconds = Annotated[
    float | None, typer.Option(min=0.1, help="Seconds that one request to a model may take.  [default: 120]")
]
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
SandboxKind = Annotated[
    str | None,
    typer.Option(
        help="bubblewrap, landlock, docker or subprocess (no isolation).  [default: the strongest without a daemon]"
    ),
]
Image = Annotated[str | None, typer.Option(help="Docker image.  [default: python:3.12-slim]")]
Db = Annotated[
    str | None, typer.Option(help="Database URL of ledger and memory.  [default: SQLite in the user's data folder]")
]
Reuse = Annotated[str | None, typer.Option(help="What of the ledger may stand for new work: never, calls or all.")]
Select = Annotated[
    str | None,
    typer.Option(
        help="best: only what passes the visible tests goes to the hidden ones; last: else the last candidate does."
        "  [default: best; last where a benchmark's functions are to be written]"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print a JSON object a line instead of text.")]
RunId = Annotated[str, typer.Argument(help="The run's id, or any unique beginning of it.")]
