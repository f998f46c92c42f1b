"""The commands and their flags. What they do is imported when one is called, so that `--help` stays fast."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire.cli.export_commands import EXPORT_CODES, export
from groundwire.cli.learn_command import CODES as LEARN_CODES
from groundwire.cli.learn_command import learn
from groundwire.cli.memory import memory
from groundwire.cli.models import models
from groundwire.cli.run_commands import CODES, TotalCalls, TotalSeconds, TotalTokens, TotalUsd, bench, run
from groundwire.errors import GroundwireError

__all__ = ["app", "main"]

app = typer.Typer(
    name="groundwire",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Agents in which nothing is corrected unless something outside the model said it was wrong.",
    epilog="Exit codes: 0 verified, 1 unsolved, 2 usage, 3 no verdict, 4 budget, 5 model, 6 storage, 130 interrupted.",
)

app.add_typer(memory)
app.add_typer(models)
app.command(epilog=CODES)(run)
app.command(epilog=CODES)(bench)
app.command(epilog=LEARN_CODES)(learn)
app.command(epilog=EXPORT_CODES)(export)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Db = Annotated[
    str | None, typer.Option(help="Database URL of ledger and memory.  [default: SQLite in the user's data folder]")
]
SandboxKind = Annotated[
    str | None,
    typer.Option(
        help="bubblewrap, landlock, docker or subprocess (no isolation).  [default: the strongest without a daemon]"
    ),
]


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


@app.command()
def demo(json: Json = False, db: Db = None, sandbox: SandboxKind = None) -> None:
    """Repair small buggy packages with no model, key, GPU or daemon; then let a small local model write."""
    from groundwire.cli.demo import run_demo

    raise typer.Exit(run_demo({"db": db, "sandbox": sandbox}, as_json=json))


@app.command()
def repair(
    path: Annotated[Path, typer.Argument(help="The project's root.")] = Path(),
    test: Annotated[str | None, typer.Option(help='Command that judges a candidate.  [default: "pytest -q"]')] = None,
    hidden: Annotated[str | None, typer.Option(help="Command that judges once, after the tests pass.")] = None,
    hidden_dir: Annotated[
        str | None, typer.Option(help="Folder that only this last judging may see, relative to PATH.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="JUnit XML file that the test command writes, relative to PATH.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model id (LiteLLM; further ones after commas are fallbacks), openai-compatible:URL#MODEL, local, or"
            " local:PATH.gguf.  [default: the search actor, which needs no model]"
        ),
    ] = None,
    actor_command: Annotated[
        str | None,
        typer.Option(
            help="Program that edits the files: a coding agent, a script. {prompt_file}, {prompt}, {task_file} and"
            " {workdir} in it are filled in; without the first two it reads the prompt from its standard input."
        ),
    ] = None,
    actor_env: Annotated[
        list[str] | None, typer.Option(help="Variable that this program sees too (an API key, HOME); may be repeated.")
    ] = None,
    actor_seconds: Annotated[
        float | None, typer.Option(min=0, help="Wall seconds of one run of it.  [default: 600]")
    ] = None,
    actor_sandbox: Annotated[
        bool | None,
        typer.Option("--actor-sandbox", help="Run it in the sandbox.  [default: as you, in a folder of its own]"),
    ] = None,
    actor_network: Annotated[
        bool | None, typer.Option("--actor-network", help="Let it reach the network from the sandbox.")
    ] = None,
    actor_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Let it reach this from the sandbox, and nothing that is not named; may be repeated.",
        ),
    ] = None,
    actor_git: Annotated[
        bool | None, typer.Option("--actor-git", help="Give it a git repository of one commit.")
    ] = None,
    model_tests: Annotated[
        bool | None,
        typer.Option("--model-tests", help="Let the model write the tests. What passes these is not verified."),
    ] = None,
    own_tests: Annotated[
        bool | None,
        typer.Option("--own-tests", help="Let the model write tests beside yours: they may ask for another try."),
    ] = None,
    rejudge: Annotated[
        int | None,
        typer.Option(min=0, help="Times a verdict is looked at again before anything rests on it.  [default: 1]"),
    ] = None,
    max_trials: Annotated[int | None, typer.Option(min=1, help="Trials after the baseline.")] = None,
    max_seconds: Annotated[float | None, typer.Option(min=0, help="Wall seconds.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Prompt and completion tokens.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Model calls.")] = None,
    max_usd: Annotated[float | None, typer.Option(min=0, help="US dollars; an unknown price is refused.")] = None,
    usd_per_token: Annotated[
        float | None, typer.Option(min=0, help="Price of a model whose price is not known.")
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            "--width", "--n", "-n", min=1, help="Candidates of one trial: samples of a model, runs of a program."
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write the verified change into the project.")] = False,
    patch: Annotated[Path | None, typer.Option(help="Write the verified patch to this file.")] = None,
    python: Annotated[
        Path | None, typer.Option(help="Interpreter that runs the project.  [default: its .venv, else this one]")
    ] = None,
    sandbox: SandboxKind = None,
    image: Annotated[str | None, typer.Option(help="Docker image.  [default: python:3.12-slim]")] = None,
    db: Db = None,
    embeddings: Annotated[
        bool | None,
        typer.Option("--embeddings", help="Compare lessons by their meaning too, with a small model on this CPU."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every choice.")] = None,
    reuse: Annotated[
        str | None,
        typer.Option(
            help="What of the ledger may stand for new work: never, calls (answers of models to the very same requests)"
            " or all (verdicts on the very same candidates too).  [default: never]"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Repair a project whose tests fail; the outcome is a verified patch, or the reason why there is none."""
    from groundwire.cli.repair import run_repair

    flags = dict(locals())
    for name in ("path", "apply", "patch", "json", "run_repair"):
        flags.pop(name)
    raise typer.Exit(run_repair(path, flags, apply=apply, patch_file=patch, as_json=json))


@app.command(
    epilog="Exit codes: 0 nothing ungrounded, 1 a loop is ungrounded, 2 usage, 3 something can't be seen."
    " Verdicts, roles and what is not said: docs/audit.md."
)
def audit(
    target: Annotated[
        str, typer.Argument(help="A file, notebook or folder, FILE:NAME, or package.module:graph.", metavar="TARGET")
    ],
    call: Annotated[bool, typer.Option("--call", help="The name is a function that makes the graph: call it.")] = False,
    source: Annotated[
        bool, typer.Option("--source", help="Read the source only, also of a module.  [default for files and folders]")
    ] = False,
    import_: Annotated[
        bool, typer.Option("--import", help="Import the file in a guarded process.  [default for module:graph]")
    ] = False,
    role: Annotated[
        list[str] | None, typer.Option(help="NODE=actor|critic|model|tool|world|human|pure; shown as declared.")
    ] = None,
    roles: Annotated[Path | None, typer.Option(help="TOML or JSON file with such roles.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0 to this file.")] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid chart instead of text.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Write a picture to this file.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Unknown and partly grounded loops, fixed rounds and warnings give 1 too.")
    ] = False,
    trace: Annotated[
        str | None,
        typer.Option(help="module:function that gives the input: run the graph on it, and follow what it does."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for an import or a traced run.")] = 60,
    python: Annotated[
        Path | None, typer.Option(help="Interpreter that imports the target.  [default: this one]")
    ] = None,
    sandbox: SandboxKind = None,
    env: Annotated[list[str] | None, typer.Option(help="Pass this environment variable to the import.")] = None,
    json: Json = False,
) -> None:
    """Say of each loop of a LangGraph graph if anything outside the model decides it. Only --trace runs it."""
    from groundwire.cli.audit import Asked, run_audit

    asked = Asked(
        target=target,
        call=call,
        source=source,
        import_=import_,
        role=role or (),
        roles=roles,
        as_json=json,
        sarif=sarif,
        mermaid=mermaid,
        svg=svg,
        strict=strict,
        trace=trace,
        timeout_s=timeout,
        python=python,
        sandbox=sandbox,
        env=env or (),
    )
    raise typer.Exit(run_audit(asked))


@app.command()
def graphs(
    name: Annotated[str | None, typer.Argument(help="One graph.  [default: list all]")] = None, json: Json = False
) -> None:
    """List the ready-made graphs: what each is for, what steers it, and what it costs."""
    from groundwire.cli.graphs import list_graphs, show_graph

    raise typer.Exit(show_graph(name, as_json=json) if name else list_graphs(as_json=json))


@app.command()
def resume(
    run: Annotated[str, typer.Argument(help="The run's id, or any unique beginning of it.")],
    total_usd: TotalUsd = None,
    total_tokens: TotalTokens = None,
    total_calls: TotalCalls = None,
    total_seconds: TotalSeconds = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Go on with a run that was interrupted, or that had used up its totals; an answer that was had is not paid for
    again."""
    from groundwire.cli.resuming import resume_run

    flags = {name: value for name, value in locals().items() if name.startswith("total_") or name == "db"}
    raise typer.Exit(resume_run(run, flags, as_json=json))


@app.command()
def show(
    run: Annotated[
        str | None, typer.Argument(help="The run's id, or any unique beginning of it.  [default: list the last runs]")
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show what the ledger holds of a run, and whether its signals are still as they were sealed."""
    from groundwire.cli.show import list_runs, show_run

    raise typer.Exit(show_run(run, {"db": db}, as_json=json) if run else list_runs({"db": db}, as_json=json))


@app.command(epilog="What each number means: docs/evaluation.md.")
def report(
    runs: Annotated[list[str], typer.Argument(help="The runs' ids, or any unique beginnings.", metavar="RUN...")],
    control: Annotated[
        str | None,
        typer.Option(help="Run that all others are compared with.  [default: the one made as a run's control]"),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write one self-contained HTML page to this file.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Say whether reflection helped, what it cost, and how sure that is; several runs side by side."""
    from groundwire.cli.report import run_report

    raise typer.Exit(run_report(runs, {"db": db}, control=control, html=html, as_json=json))


@app.command()
def replay(
    run: Annotated[str, typer.Argument(help="The run's id, or any unique beginning of it.")],
    verify: Annotated[bool, typer.Option("--verify", help="Exit with 1 where a record differs.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Run a recorded run again from the ledger alone, with no model and no sandbox, and say the first difference."""
    from groundwire.cli.replay import replay_run

    raise typer.Exit(replay_run(run, {"db": db}, verify=verify, as_json=json))


@app.command("import", epilog="Which logs are known, and what they hold: docs/logs.md.")
def import_(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders of published logs, or files of them.", metavar="PATH...")
    ],
    only: Annotated[list[str] | None, typer.Option(help="Only the logged run of this name; may be repeated.")] = None,
    trials: Annotated[int, typer.Option(min=0, help="Only the first N trials of each episode; 0: all.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Also what was imported before.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Read published logs (Reflexion's, LDB's, InterCode's) into the ledger, marked as taken from there."""
    from groundwire.cli.import_logs import import_logs

    raise typer.Exit(import_logs(paths, {"db": db}, only=only or (), trials=trials, again=again, as_json=json))


@app.command()
def doctor(json: Json = False, db: Db = None) -> None:
    """Try what groundwire needs on this machine, and say what to do about what does not work."""
    from groundwire.cli.doctor import run_doctor

    raise typer.Exit(run_doctor({"db": db}, as_json=json))


def main() -> None:
    """The program: every error of ours is a message and an exit code, never a traceback."""
    try:
        app()
    except GroundwireError as error:
        _fail(error)
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)


def _fail(error: GroundwireError) -> Any:
    from groundwire.cli.text import plain

    typer.echo(f"error: {plain(error.what, limit=2000)}", err=True)
    if error.do:
        typer.echo(f"  {plain(error.do, limit=2000)}", err=True)
    sys.exit(error.exit_code)
