"""`groundwire reward …`: the commands and their flags; what they do is in `groundwire.cli._reward`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli._checks import loading, settled
from groundwire.cli.commands._options import Json, Ledger, SandboxKind, flags_in, spelt_out

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


@rewards.command(epilog="Exit codes: 0, 2 usage, 130. What is asked and answered: docs/training.md.")
@spelt_out
def serve(
    *,
    tasks: Annotated[
        list[Path] | None, typer.Option(help="A task's folder, or a folder of such; may be given several times.")
    ] = None,
    bench: Annotated[str | None, typer.Option(help="A public benchmark in their place; needs --data.")] = None,
    data: Annotated[Path | None, typer.Option(help="The benchmark's file, or a folder that holds it.")] = None,
    split: Annotated[str, typer.Option(help="Only tasks of this split.  [default: all]")] = "",
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
        from groundwire.cli._suite import TaskSource
        from groundwire.core._errors import ConfigError
        from groundwire.training.rewards._judging import RewardRules
    if bool(tasks) == bool(bench) or (bench and data is None):
        raise ConfigError("There are no tasks to serve.", do="Give  --tasks FOLDER  or  --bench NAME --data PATH.")
    if bench and data is not None:
        source = TaskSource("bench", (data,), name=bench, split=split)
    else:
        source = TaskSource("folders", tuple(tasks or ()), split=split)
    source.check()
    settings = settled({**flags_in(ledger), "sandbox": sandbox})
    rules = RewardRules(
        hidden=not visible_only, partial=partial, require_two_boxes=require_two_boxes, case_s=case_seconds
    )
    asked = ServedReward(source, rules, port, width, record, policy, json)
    raise typer.Exit(serve_rewards(asked, settings))
