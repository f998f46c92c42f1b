"""`groundwire repair`: the command and its flags; what it does is in `groundwire.cli._repair`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import check_folders, loading, settled
from groundwire.cli.commands._options import (
    EpisodeLimits,
    Json,
    Ledger,
    ModelCalls,
    OfSettings,
    TaskSandbox,
    View,
    flags_in,
    spelt_out,
)


@dataclass(frozen=True, kw_only=True)
class JudgingOptions(OfSettings):
    """What judges a candidate."""

    test: Annotated[
        str | None,
        typer.Option(
            help='Command that judges a candidate.  [default: "pytest -q"; after "python -m" where tests need the root]'
        ),
    ] = None
    hidden: Annotated[str | None, typer.Option(help="Command that judges once, after the tests pass.")] = None
    hidden_dir: Annotated[
        str | None, typer.Option(help="Folder that only this last judging may see, relative to PATH.")
    ] = None
    report: Annotated[
        str | None, typer.Option(help="JUnit XML file that the test command writes, relative to PATH.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Proposing(OfSettings):
    """Who proposes: the search actor, a model or a program."""

    model: Annotated[
        str | None,
        typer.Option(
            help="Model id (LiteLLM; further ones after commas are fallbacks), openai-compatible:URL#MODEL, local, or"
            " local:PATH.gguf.  [default: the search actor, which needs no model]"
        ),
    ] = None
    actor_command: Annotated[
        str | None,
        typer.Option(
            help="Program that edits the files: a coding agent, a script. {prompt_file}, {prompt}, {task_file} and"
            " {workdir} in it are filled in; without the first two it reads the prompt from its standard input."
        ),
    ] = None
    actor_env: Annotated[
        list[str] | None, typer.Option(help="Variable that this program sees too (an API key, HOME); may be repeated.")
    ] = None
    actor_seconds: Annotated[
        float | None, typer.Option(min=0, help="Wall seconds of one run of it.  [default: 600]")
    ] = None
    actor_sandbox: Annotated[
        bool | None,
        typer.Option(
            "--actor-sandbox/--no-actor-sandbox",
            help="Run it in the sandbox, which holds the system's programs and the project's Python, and no network; or"
            " as you, where it can read what you can.  [default: in the sandbox, unless it names a file elsewhere]",
        ),
    ] = None
    actor_network: Annotated[
        bool | None, typer.Option("--actor-network", help="Let it reach the network from the sandbox.")
    ] = None
    actor_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Let it reach this host from the sandbox, and only hosts named so; may be repeated.",
        ),
    ] = None
    actor_git: Annotated[bool | None, typer.Option("--actor-git", help="Give it a git repository of one commit.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class TrialOptions(OfSettings):
    """What a trial is judged by beside the tests, and how many there may be."""

    model_tests: Annotated[
        bool | None,
        typer.Option("--model-tests", help="Let the model write the tests. What passes these is not verified."),
    ] = None
    own_tests: Annotated[
        bool | None,
        typer.Option("--own-tests", help="Let the model write tests beside yours: they may ask for another try."),
    ] = None
    may_contradict: Annotated[
        bool | None,
        typer.Option(
            "--may-contradict",
            help="Tell the model or program that it may say, in the place of a change, that a test contradicts the"
            " task: exit code 8.",
        ),
    ] = None
    rejudge: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Times a verdict is repeated before anything rests on it.  [default: 1; of a quick pass: 2]",
        ),
    ] = None
    test_strength: Annotated[
        str | None,
        typer.Option(
            metavar="N|off",
            help="Measure the tests by at most this many mutants of a verified patch's own lines.  [default: 8]",
        ),
    ] = None
    max_trials: Annotated[int | None, typer.Option(min=1, help="Trials after the baseline.")] = None


@dataclass(frozen=True, kw_only=True)
class RepairLimits(EpisodeLimits):
    """What the repair may use; it is one episode."""

    max_seconds: Annotated[float | None, typer.Option(min=0, help="Wall seconds.")] = None
    case_seconds: Annotated[
        float | None, typer.Option(min=0.1, help="Processor seconds that one test may take.  [default: 10]")
    ] = None
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Prompt and completion tokens.")] = None
    max_calls: Annotated[int | None, typer.Option(min=0, help="Model calls.")] = None
    max_usd: Annotated[float | None, typer.Option(min=0, help="US dollars; an unknown price is refused.")] = None


@dataclass(frozen=True, kw_only=True)
class ProjectSandbox(TaskSandbox):
    """Where the project's code runs."""

    python: Annotated[
        Path | None, typer.Option(help="Interpreter that runs the project.  [default: its .venv, else this one]")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Memory(Ledger):
    """Where ledger and memory are, and what of them is used."""

    embeddings: Annotated[
        bool | None,
        typer.Option("--embeddings", help="Compare lessons by their meaning too, with a small model on this CPU."),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Seed of every choice.")] = None
    reuse: Annotated[
        str | None,
        typer.Option(
            help="What of the ledger may stand for new work: never, calls (answers of models to the very same requests)"
            " or all (verdicts on the very same candidates too).  [default: never]"
        ),
    ] = None


@spelt_out
def repair(
    path: Annotated[Path, typer.Argument(help="The project's root.")] = Path(),
    *,
    judging: JudgingOptions,
    proposing: Proposing,
    trials: TrialOptions,
    limits: RepairLimits,
    calls: ModelCalls,
    width: Annotated[
        int | None,
        typer.Option(
            "--width", "--n", "-n", min=1, help="Candidates of one trial: samples of a model, runs of a program."
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write the verified change into the project.")] = False,
    patch: Annotated[Path | None, typer.Option(help="Write the verified patch to this file.")] = None,
    sandbox: ProjectSandbox,
    memory: Memory,
    view: View = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print what it came to, and nothing before.")] = False,
    json: Json = False,
) -> None:
    """Repair a project whose tests fail; the outcome is a verified patch, or the reason why there is none."""
    check_folders([path], do="Give the path of the project's root.")
    flags = flags_in(judging, proposing, trials, limits, calls, sandbox, memory)
    settings = settled({**flags, "width": width}, project=path)
    with loading():
        from groundwire.cli._repair import run_repair
        from groundwire.cli._view import shown_in_a_browser
    with shown_in_a_browser(settings, wanted=view):
        code = run_repair(path, settings, apply=apply, patch_file=patch, as_json=json, quiet=quiet)
    raise typer.Exit(code)
