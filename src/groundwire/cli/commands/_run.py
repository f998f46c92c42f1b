"""`groundwire run` and `groundwire bench`: the commands and their flags; what they do is in `groundwire.cli._run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundwire.cli._checks import check_graph, loading, settled
from groundwire.cli.commands._options import (
    EpisodeLimits,
    JsonLines,
    Ledger,
    ModelCalls,
    OfSettings,
    Reuse,
    RunTotals,
    TaskSandbox,
    View,
    flags_in,
    spelt_out,
)

if TYPE_CHECKING:
    from groundwire.cli._suite import TaskSource


@dataclass(frozen=True, kw_only=True)
class AttemptOptions(OfSettings):
    """Who tries, and how often."""

    seed: Annotated[int | None, typer.Option(help="Seed of every choice, in every episode.")] = None
    max_trials: Annotated[
        int | None, typer.Option("--trials", "--max-trials", min=1, help="Trials of each episode.")
    ] = None
    model: Annotated[
        str | None,
        typer.Option(help="Model id (LiteLLM), local, local:PATH.gguf or scripted:FILE.  [default: the search actor]"),
    ] = None
    actor_command: Annotated[
        str | None, typer.Option(help="Program that edits the files; see  groundwire repair --help.")
    ] = None
    width: Annotated[int | None, typer.Option("--width", "--n", "-n", min=1, help="Candidates of one trial.")] = None


@dataclass(frozen=True, kw_only=True)
class KeptWork(Ledger):
    """What is kept, and what of it may be used again."""

    reuse: Reuse = None


@dataclass(frozen=True, kw_only=True)
class SuiteOptions:
    """The flags of a run over many tasks."""

    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks.")] = None
    shard: Annotated[str, typer.Option(metavar="I/N", help="Only part I of N; the parts share no task.")] = "1/1"
    split: Annotated[str, typer.Option(help="Only tasks of this split.  [default: all]")] = ""
    attempts: AttemptOptions
    workers: Annotated[
        int | None, typer.Option(min=1, help="Episodes at a time.  [default: 4; of a local engine: what keeps it full]")
    ] = None
    limits: EpisodeLimits
    totals: RunTotals
    calls: ModelCalls
    control: Annotated[
        bool,
        typer.Option(
            "--control",
            help="Then blind resampling on the same tasks and seeds: the same actor with no feedback, no reflection and"
            " no memory, with as many tokens as the run might use (without a model: candidates).",
        ),
    ] = False
    ungrounded: Annotated[
        bool,
        typer.Option(
            "--ungrounded",
            help="Then Self-Refine, which nothing outside the model steers, likewise with as many tokens; for functions"
            " to be written, by a model.",
        ),
    ] = False
    select: Annotated[
        str | None,
        typer.Option(
            help="best: only what passes the visible tests goes to the hidden ones; last: else the last candidate does."
            "  [default: best; last where a benchmark's functions are to be written]"
        ),
    ] = None
    sandbox: TaskSandbox
    kept: KeptWork
    view: View = False
    json: JsonLines = False


@spelt_out
def run(
    graph: Annotated[str, typer.Argument(help="A graph of the library (code_repair), or FILE.py:FUNCTION.")],
    tasks: Annotated[list[Path], typer.Argument(help="Task folders, or folders of them.")],
    given: SuiteOptions,
) -> None:
    """Run a graph on many tasks; every episode is in the ledger, and an interrupted run can be resumed."""
    from groundwire.cli._suite import TaskSource

    raise typer.Exit(_start(graph, TaskSource("folders", tuple(tasks), split=given.split), given))


@spelt_out
def bench(
    name: Annotated[
        str,
        typer.Argument(
            help="humaneval, humaneval-plus, humanevalfix, mbpp, mbpp-sanitized, mbpp-plus, lr2bench, or swebench"
            " (its form)."
        ),
    ],
    data: Annotated[Path, typer.Option(help="The benchmark's file, or a folder that holds it; nothing is fetched.")],
    *,
    graph: Annotated[str, typer.Option(help="A graph of the library, or FILE.py:FUNCTION.")] = "code_repair",
    repos: Annotated[Path | None, typer.Option(help="Folder of git clones; for swebench.")] = None,
    given: SuiteOptions,
) -> None:
    """Run a graph on a public benchmark that is on this machine; its hidden tests never steer."""
    from groundwire.cli._suite import TaskSource

    raise typer.Exit(_start(graph, TaskSource("bench", (data,), name, repos, given.split), given))


def _start(graph: str, source: TaskSource, given: SuiteOptions) -> int:
    from groundwire.cli._suite import Shard, Suite
    from groundwire.core._errors import ConfigError

    check_graph(graph)
    source.check()
    select = given.select or ("best" if source.repairs else "last")
    if select not in ("best", "last"):
        raise ConfigError(f"--select {select} is neither best nor last.")
    suite = Suite(
        graph=graph,
        source=source,
        settings=settled(flags_in(given)),
        limit=given.limit,
        shard=Shard.parse(given.shard),
        select=select,
        workers=given.workers,
        control=given.control,
        ungrounded=given.ungrounded,
    )
    with loading():
        from groundwire.cli._run import run_suite
        from groundwire.cli._view import shown_in_a_browser
    with shown_in_a_browser(suite.settings, wanted=given.view):
        return run_suite(suite, as_json=given.json)
