"""`groundwire learn`: the command and its flags; what it does is in `groundwire.cli._learn`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire.cli._checks import check_graph, check_into, loading, settled
from groundwire.cli.commands._options import (
    Calls,
    Db,
    JsonLines,
    ModelSeconds,
    Reuse,
    Seconds,
    Tokens,
    TotalCalls,
    TotalSeconds,
    TotalTokens,
    TotalUsd,
    Usd,
    UsdPerToken,
)


def learn(
    env: Annotated[
        str | None,
        typer.Argument(
            help="A world: FrozenLake-v1 (Gymnasium), textworld:…, one of the built-in ones, an address.", metavar="ENV"
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Worlds to play, each of another seed.")] = 30,
    trials: Annotated[int, typer.Option("--trials", "--max-trials", min=1, help="Trials of each episode.")] = 5,
    model: Annotated[
        str,
        typer.Option(
            help="A learner that needs no model (random, heuristic, bandit, tabular), or a model: an id (LiteLLM),"
            " local, vllm:PATH, replay:FILE, scripted:FILE."
        ),
    ] = "tabular",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first world.")] = 0,
    control: Annotated[
        bool, typer.Option("--control/--no-control", help="The same worlds without memory, afterwards.")
    ] = True,
    plot: Annotated[
        list[Path] | None, typer.Option(help="Write the curves to this .png, .svg or .pdf; may be repeated.")
    ] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Episodes of the learning curve's mean.  [default: a tenth, at least 5]")
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How often in a row an action may get the same response before the trial is stuck; 0: no limit."
            "  [default: the world's, as a rule 3]",
        ),
    ] = None,
    graph: Annotated[str, typer.Option(help="A graph of the library, or FILE.py:FUNCTION.")] = "episodic",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Episodes at a time; those at the same time don't learn from each other. [default: 1]"
        ),
    ] = None,
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
    db: Db = None,
    namespace: Annotated[
        str | None, typer.Option(help="Whose memory: runs of one namespace learn from each other.")
    ] = None,
    reuse: Reuse = None,
    resume: Annotated[
        str | None, typer.Option(metavar="RUN", help="Go on with this run, as it was asked for; ENV is left out.")
    ] = None,
    json: JsonLines = False,
) -> None:
    """Play many worlds of one kind, with memory and without; see if it learns. Processes that share --db share what
    they learn."""
    given = dict(locals())
    raise typer.Exit(_resumed(given) if resume else _started(given))


OF_A_RESUMED_RUN = ("total_usd", "total_tokens", "total_calls", "total_seconds", "db", "namespace")
OF_SETTINGS = (
    *OF_A_RESUMED_RUN, "model", "seed", "max_seconds", "max_tokens", "max_calls", "max_usd", "usd_per_token",
    "model_seconds", "reuse",
)  # fmt: skip


def _resumed(given: dict[str, Any]) -> int:
    from groundwire.core._errors import ConfigError

    if given["env"]:
        raise ConfigError("A run that is gone on with keeps its world.", do="Leave ENV out beside --resume.")
    flags = {name: given[name] for name in OF_A_RESUMED_RUN}
    settled(flags)
    with loading():
        from groundwire.cli._resuming import resume_run
    return resume_run(given["resume"], flags, as_json=given["json"], plots=given["plot"] or ())


def _started(given: dict[str, Any]) -> int:
    from groundwire.cli._suite import Source, Suite
    from groundwire.core._errors import ConfigError

    if not given["env"]:
        raise ConfigError("No world is named.", do="Name one:  groundwire learn FrozenLake-v1")
    check_graph(given["graph"])
    check_into(*(given["plot"] or ()))
    settings = settled({**{name: given[name] for name in OF_SETTINGS}, "max_trials": given["trials"]})
    suite = Suite(
        graph=given["graph"],
        source=Source("world", (), given["env"], seeds=given["episodes"], first_seed=given["seed"]),
        settings=settings,
        workers=given["workers"],
        control=given["control"],
    )
    suite.source.check()
    with loading():
        from groundwire.cli._learn import Learn, run_learning
    learn = Learn(given["repeats"], given["window"], tuple(given["plot"] or ()))
    return run_learning(suite, learn, as_json=given["json"])
