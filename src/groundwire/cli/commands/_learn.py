"""`groundwire learn`: the command and its flags; what it does is in `groundwire.cli._learn`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_graph, check_into, loading, settled
from groundwire.cli.commands._options import (
    EpisodeLimits,
    JsonLines,
    Ledger,
    ModelCalls,
    Reuse,
    RunTotals,
    View,
    WonIf,
    checked_flags,
    flags_in,
    spelt_out,
    with_rule,
)


@dataclass(frozen=True, kw_only=True)
class SharedMemory(Ledger):
    """Where what is learnt is kept, and who shares it."""

    namespace: Annotated[
        str | None, typer.Option(help="Whose memory: runs of one namespace learn from each other.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class LearnOptions:
    """The flags of a run over the worlds of one kind."""

    env: Annotated[
        str | None,
        typer.Argument(
            help="A world: FrozenLake-v1 (Gymnasium), textworld:…, one of the built-in ones, an address.", metavar="ENV"
        ),
    ] = None
    episodes: Annotated[int, typer.Option(min=1, help="Worlds to play, each of another seed.")] = 30
    won_if: WonIf = None
    trials: Annotated[int, typer.Option("--trials", "--max-trials", min=1, help="Trials of each episode.")] = 5
    model: Annotated[
        str,
        typer.Option(
            help="A learner that needs no model (random, heuristic, bandit, tabular), or a model: an id (LiteLLM),"
            " local, vllm:PATH, replay:FILE, scripted:FILE."
        ),
    ] = "tabular"
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first world.")] = 0
    control: Annotated[
        bool, typer.Option("--control/--no-control", help="Play the same worlds without memory afterwards.")
    ] = True
    plot: Annotated[
        list[Path] | None, typer.Option(help="Write the curves to this .png, .svg or .pdf; may be repeated.")
    ] = None
    window: Annotated[
        int | None, typer.Option(min=1, help="Episodes of the learning curve's mean.  [default: a tenth, at least 5]")
    ] = None
    repeats: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How often in a row an action may get the same response before the trial is stuck; 0: no limit."
            "  [default: the world's, as a rule 3]",
        ),
    ] = None
    graph: Annotated[str, typer.Option(help="A graph of the library, or FILE.py:FUNCTION.")] = "episodic"
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1, help="Episodes at a time; those at the same time don't learn from each other. [default: 1]"
        ),
    ] = None
    limits: EpisodeLimits
    totals: RunTotals
    calls: ModelCalls
    memory: SharedMemory
    reuse: Reuse = None
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Resume this run with its original options; leave ENV out.")
    ] = None
    view: View = False
    json: JsonLines = False


@spelt_out
def learn(given: LearnOptions) -> None:
    """Play many worlds of one kind, with memory and without; see whether it learns. Processes that share --db share
    what they learn."""
    raise typer.Exit(_resumed(given.resume, given) if given.resume else _started(given))


def _resumed(run: str, given: LearnOptions) -> int:
    from groundwire.core._errors import ConfigError

    if given.env:
        raise ConfigError("A resumed run keeps its world.", do="Leave ENV out beside --resume.")
    flags = checked_flags(given.totals, given.memory)
    with loading():
        from groundwire.cli._resuming import resume_run
    return resume_run(run, flags, as_json=given.json, plots=given.plot or ())


def _started(given: LearnOptions) -> int:
    from groundwire.cli._suite import Suite, TaskSource
    from groundwire.core._errors import ConfigError

    if not given.env:
        raise ConfigError("No world is named.", do="Name one:  groundwire learn FrozenLake-v1")
    check_graph(given.graph)
    check_into(*(given.plot or ()))
    of_each = {"model": given.model, "seed": given.seed, "max_trials": given.trials, "reuse": given.reuse}
    suite = Suite(
        graph=given.graph,
        source=TaskSource("world", (), with_rule(given.env, given.won_if), seeds=given.episodes, first_seed=given.seed),
        settings=settled({**flags_in(given), **of_each}),
        at_once=given.at_once,
        control=given.control,
    )
    suite.source.check()
    with loading():
        from groundwire.cli._learn import Learn, run_learning
        from groundwire.cli._view import shown_in_a_browser
    learn = Learn(given.repeats, given.window, tuple(given.plot or ()))
    with shown_in_a_browser(suite.settings, wanted=given.view):
        return run_learning(suite, learn, as_json=given.json)
