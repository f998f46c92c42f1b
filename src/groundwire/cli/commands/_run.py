"""`groundwire run` and `groundwire bench`: the commands and their flags; what they do is in `groundwire.cli._run`."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    WonIf,
    flags_in,
    spelt_out,
    with_rule,
)
from groundwire.cli.graph_options._flags import ACTING, LEARNER, WRITING, checked_options, every_flag

if TYPE_CHECKING:
    from groundwire.cli._suite import Suite, TaskSource

    class GraphFlags:
        """The options of all ready-made graphs, as flags."""
else:
    GraphFlags = every_flag()


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
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1, help="Episodes at a time, in each worker.  [default: 4; of a local engine: what keeps it full]"
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes that share the tasks, each with sandboxes of its own; steered by  groundwire campaign."
            "  [default: this process alone; with --on: two a machine]",
        ),
    ] = None
    on: Annotated[
        str,
        typer.Option(
            metavar="CLUSTER",
            help="Where they run: ray (the cluster that this machine is part of) or ray://HOST:PORT; the ledger is then"
            " in PostgreSQL. See docs/scale.md.  [default: this machine]",
            show_default=False,
        ),
    ] = ""
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
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Let the answer key of a question steer; every report says so.")
    ] = False
    sandbox: TaskSandbox
    kept: KeptWork
    view: View = False
    json: JsonLines = False


@dataclass(frozen=True, kw_only=True)
class OtherTasks:
    """What is worked on where no folder is named."""

    world: Annotated[
        str | None,
        typer.Option(
            help="Play in this world, or write all actions of it at once, as the graph does; see docs/worlds.md."
        ),
    ] = None
    won_if: WonIf = None
    episodes: Annotated[int, typer.Option(min=1, help="Worlds to play, each of another seed, from --seed on.")] = 1
    ask: Annotated[str | None, typer.Option(help="A question, in the place of a task.")] = None
    expect: Annotated[
        list[str] | None, typer.Option(help="Its right answer, which judges and never steers (may be repeated).")
    ] = None
    repos: Annotated[Path | None, typer.Option(help="Folder of git clones, for files of rows.")] = None


WITH_PASSAGES = ("hotpotqa", "2wiki", "musique")
"""Sets whose items bring the passages that hold their answers."""


@spelt_out
def run(
    graph: Annotated[str, typer.Argument(help="A graph of the library (code_repair), or FILE.py:FUNCTION.")],
    tasks: Annotated[
        list[Path] | None,
        typer.Argument(help="Task folders, or folders of them; or files of rows in SWE-bench's form (--repos)."),
    ] = None,
    *,
    other: OtherTasks,
    given: SuiteOptions,
    options: GraphFlags,
) -> None:
    """Run a graph on many tasks, worlds or a question; every episode is in the ledger, and an interrupted run can be
    resumed. What a graph's own options are, and a command to begin with:  groundwire graphs NAME"""
    raise typer.Exit(_start(graph, _source(graph, tasks or [], other, given), given, options))


def _source(graph: str, tasks: list[Path], other: OtherTasks, given: SuiteOptions) -> TaskSource:
    from groundwire.benchmarks._catalogue import SWEBENCH
    from groundwire.cli._suite import TaskSource
    from groundwire.core._errors import ConfigError
    from groundwire.core._paths import expand_user

    check_graph(graph)
    if sum((bool(tasks), other.world is not None, other.ask is not None)) != 1:
        raise ConfigError(
            "Nothing says what is worked on, or several things do.",
            do='Name task folders, or a world (--world NAME), or a question (--ask "…" --expect "…").',
        )
    rows = [path for path in tasks if expand_user(path).is_file()]
    alone = {
        "--expect": ("--ask", other.expect and other.ask is None),
        "--won-if": ("--world", other.won_if and other.world is None),
        "--repos": ("a file of rows", other.repos and not rows),
    }
    if unused := next((flag for flag, (_, unmet) in alone.items() if unmet), ""):
        what = alone[unused][0]
        raise ConfigError(f"{unused} says nothing without {what}.", do=f"Add {what}, or leave it out.")
    if other.ask is not None:
        return TaskSource("question", (), other.ask, expect=tuple(other.expect or ()))
    if rows:
        if len(rows) != len(tasks):
            raise ConfigError("Files of rows and task folders are not run together.", do="Run them one after another.")
        return TaskSource("bench", tuple(rows), SWEBENCH, other.repos, given.split)
    if other.world is None:
        return TaskSource("folders", tuple(tasks), split=given.split)
    if graph not in (*ACTING, *WRITING) and ":" not in graph:
        raise ConfigError(f"{graph} neither acts in a world nor writes actions.", do="Name task folders.")
    seed = given.attempts.seed or 0
    return TaskSource(
        "world",
        (),
        with_rule(other.world, other.won_if),
        seeds=other.episodes,
        first_seed=seed,
        in_one_go=graph in WRITING,
    )


@spelt_out
def bench(
    name: Annotated[
        str,
        typer.Argument(
            help="Code: humaneval, humaneval-plus, humanevalfix, mbpp, mbpp-sanitized, mbpp-signatures, mbpp-plus,"
            " swebench (its form). Puzzles: lr2bench. Questions: gsm8k, math, math-500, aime, amc, olympiadbench, gpqa,"
            " mmlu, commonsenseqa, hotpotqa, 2wiki, musique, bamboogle, nq, triviaqa, popqa. Judges: processbench."
        ),
    ],
    data: Annotated[Path, typer.Option(help="The benchmark's file, or a folder that holds it; nothing is fetched.")],
    *,
    graph: Annotated[str, typer.Option(help="A graph of the library, or FILE.py:FUNCTION.")] = "code_repair",
    repos: Annotated[Path | None, typer.Option(help="Folder of git clones; for swebench.")] = None,
    given: SuiteOptions,
    options: GraphFlags,
) -> None:
    """Run a graph on a public benchmark that is on this machine; its hidden tests never steer."""
    from groundwire.cli._suite import TaskSource

    raise typer.Exit(_start(graph, TaskSource("bench", (data,), name, repos, given.split), given, options))


@spelt_out
def correctbench(
    name: Annotated[str, typer.Argument(help="A benchmark, as for  groundwire bench.")],
    data: Annotated[Path, typer.Option(help="The benchmark's file, or a folder that holds it; nothing is fetched.")],
    *,
    intrinsic: Annotated[
        str, typer.Option(help="How the model corrects itself: a control of the library.")
    ] = "self_refine",
    external: Annotated[
        str | None,
        typer.Option(
            help="The graph that a signal steers.  [default: search_judge where items bring passages, else code_repair;"
            " of questions with --oracle, since nothing but their key can tell]"
        ),
    ] = None,
    given: SuiteOptions,
    options: GraphFlags,
) -> None:
    """Set intrinsic beside external correction on one benchmark: accuracy, time, and the difference with its interval.

    Three arms on the same tasks and seeds: the model's plain answer, the model that goes back over it, and a graph in
    which a signal from outside asks for another try (CorrectBench, arXiv 2510.16062). Options of a graph are the
    external one's."""
    from groundwire.benchmarks._catalogue import EXACT, OPEN
    from groundwire.cli._suite import TaskSource

    with_passages = name in WITH_PASSAGES
    graph = external or ("search_judge" if with_passages else "code_repair")
    oracle = given.oracle or (external is None and not with_passages and name in (*EXACT, *OPEN))
    check_graph(intrinsic)
    suite = _suite(graph, TaskSource("bench", (data,), name, split=given.split), replace(given, oracle=oracle), options)
    with loading():
        from groundwire.cli._correctbench import arms_of, run_correctbench
    raise typer.Exit(run_correctbench(arms_of(suite, intrinsic, graph), as_json=given.json))


def _start(graph: str, source: TaskSource, given: SuiteOptions, options: GraphFlags) -> int:
    suite = _suite(graph, source, given, options)
    with loading():
        from groundwire.cli._run import run_suite
        from groundwire.cli._view import shown_in_a_browser
    with shown_in_a_browser(suite.settings, wanted=given.view):
        return run_suite(suite, as_json=given.json)


def _suite(graph: str, source: TaskSource, given: SuiteOptions, options: GraphFlags) -> Suite:
    from groundwire.cli._suite import Shard, Suite
    from groundwire.core._errors import ConfigError

    check_graph(graph)
    if given.on:
        from groundwire.cli._ray_fleet import check_form

        check_form(given.on)
    told = {name: value for name, value in vars(options).items() if value is not None}
    if ":" not in graph:
        checked_options(graph, told)
    source.check()
    select = given.select or ("best" if source.repairs else "last")
    if select not in ("best", "last"):
        raise ConfigError(f"--select {select} is neither best nor last.")
    flags = flags_in(given) | ({"own_tests": True} if told.get("own_tests") else {})
    if source.kind == "world" and not source.in_one_go and flags["model"] is None:
        flags["model"] = LEARNER
    return Suite(
        graph=graph,
        source=source,
        settings=settled(flags),
        limit=given.limit,
        shard=Shard.parse(given.shard),
        select=select,
        at_once=given.at_once,
        workers=given.workers,
        on=given.on,
        control=given.control,
        ungrounded=given.ungrounded,
        graph_options=told,
        oracle=given.oracle,
    )
