"""`groundwire reward …`: the commands and their flags; what they do is in `groundwire.cli._reward`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundwire.cli._checks import loading, settled
from groundwire.cli.commands._options import Json, Ledger, SandboxKind, flags_in, spelt_out
from groundwire.core._errors import ConfigError

if TYPE_CHECKING:
    from groundwire.cli._suite import TaskSource

rewards = typer.Typer(
    name="reward",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Reward what a policy writes by the tests of its tasks.",
)


@rewards.callback()
def group() -> None:
    """Rewards for trainers."""


@dataclass(frozen=True, kw_only=True)
class JudgedTasks:
    """The tasks whose tests judge."""

    tasks: Annotated[
        list[Path] | None, typer.Option(help="A task's folder, or a folder of such; may be given several times.")
    ] = None
    bench: Annotated[str | None, typer.Option(help="A public benchmark in their place; needs --data.")] = None
    data: Annotated[Path | None, typer.Option(help="The benchmark's file, or a folder that holds it.")] = None
    split: Annotated[str, typer.Option(help="Only tasks of this split.  [default: all]")] = ""


def _source(given: JudgedTasks) -> TaskSource:
    from groundwire.cli._suite import TaskSource

    if bool(given.tasks) == bool(given.bench) or (given.bench and given.data is None):
        raise ConfigError("There are no tasks to judge by.", do="Give  --tasks FOLDER  or  --bench NAME --data PATH.")
    if given.bench and given.data is not None:
        source = TaskSource("bench", (given.data,), name=given.bench, split=given.split)
    else:
        source = TaskSource("folders", tuple(given.tasks or ()), split=given.split)
    source.check()
    return source


@rewards.command(epilog="Exit codes: 0, 2 usage, 130. What is asked and answered: docs/training.md.")
@spelt_out
def serve(
    *,
    judged: JudgedTasks,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: any that is free.")] = 0,
    visible_only: Annotated[bool, typer.Option("--visible-only", help="Do not ask the hidden tests.")] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="A FAIL earns the share of the cases that passed, and not 0.")
    ] = False,
    require_two_boxes: Annotated[
        bool, typer.Option("--require-two-boxes", help="A PASS that can't be given in two boxes is no verdict.")
    ] = False,
    case_seconds: Annotated[float, typer.Option(min=0.01, help="Processor seconds that one test case may take.")] = 2.0,
    width: Annotated[
        int | None, typer.Option(min=1, help="Programs that run at once.  [default: one a processor]")
    ] = None,
    sandbox: SandboxKind = None,
    record: Annotated[bool, typer.Option("--record", help="Write all that is judged to the ledger, sealed.")] = False,
    policy: Annotated[str, typer.Option(help="What the policy is called in the ledger.")] = "policy",
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Serve rewards over HTTP to trainers on this machine. The token is GROUNDWIRE_REWARD_TOKEN, or made anew."""
    with loading():
        from groundwire.cli._reward import ServedReward, serve_rewards
        from groundwire.training.rewards._judging import RewardRules

        source = _source(judged)
    settings = settled({**flags_in(ledger), "sandbox": sandbox})
    rules = RewardRules(
        hidden=not visible_only, partial=partial, require_two_boxes=require_two_boxes, case_s=case_seconds
    )
    asked = ServedReward(source, rules, port, width, record, policy, json)
    raise typer.Exit(serve_rewards(asked, settings))


@rewards.command(epilog="Exit codes: 0 measured, 2 usage, 5 model, 6 storage, 130. What it says: docs/training.md.")
@spelt_out
def repair(
    runs: Annotated[list[str], typer.Argument(help="Runs with wrong attempts: their ids, or beginnings of these.")],
    *,
    judged: JudgedTasks,
    model: Annotated[str | None, typer.Option(help="Model id (LiteLLM), vllm:FOLDER, local or scripted:FILE.")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Answers to each question.")] = 1,
    temperature: Annotated[float, typer.Option(min=0, help="Of these answers.")] = 0.0,
    max_answer_tokens: Annotated[int, typer.Option(min=1, help="Tokens of each answer.")] = 1024,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N attempts.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the sampling.")] = None,
    sandbox: SandboxKind = None,
    ledger: Ledger,
    json: Json = False,
) -> None:
    """Measure how many recorded wrong attempts a model mends when it is shown what failed, and how many without, by
    kind of error. All answers go into the ledger."""
    with loading():
        from groundwire.cli._reward_repair import AskedRepair, run_repair

        source = _source(judged)
    settings = settled({**flags_in(ledger), "sandbox": sandbox, "model": model, "seed": seed})
    asked = AskedRepair(runs, source, samples, temperature, max_answer_tokens, limit, json)
    raise typer.Exit(run_repair(asked, settings))
