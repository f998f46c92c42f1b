"""`groundwire improve`: the command and its flags; what it does is in `groundwire.cli._improve`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire.cli._checks import check_graph, loading, settled
from groundwire.cli.commands._options import EpisodeLimits, JsonLines, Ledger, TaskSandbox, flags_in, spelt_out


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """How a model is sampled."""

    samples: Annotated[int, typer.Option(min=1, help="Samples of each training task and round.")] = 24
    eval_samples: Annotated[int, typer.Option(min=1, help="Samples of each eval task and round.")] = 24
    temperature: Annotated[float, typer.Option(min=0, help="Of all samples.")] = 0.8
    answer_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a sample.")] = 512
    graph: Annotated[
        str, typer.Option(help="What answers: samples (each of them judged), a graph of the library, FILE.py:FUNCTION.")
    ] = "samples"
    trials: Annotated[int | None, typer.Option(min=1, help="Trials of an episode, for graphs that repair.")] = None
    case_seconds: Annotated[
        float, typer.Option(min=0.01, help="Processor seconds that one test case of a sample may take.")
    ] = 2.0
    at_once: Annotated[int | None, typer.Option(min=1, help="Tasks at a time.  [default: as for run]")] = None


@dataclass(frozen=True, kw_only=True)
class KeepingOptions:
    """What of the samples is trained on."""

    arm: Annotated[
        str,
        typer.Option(
            help="verified: what the checks passed. Controls of as many rows: unverified, model-judged, failed."
        ),
    ] = "verified"
    per_task: Annotated[
        int, typer.Option(min=1, help="Different solutions of a task at most; half as many more each later round.")
    ] = 4
    easy: Annotated[float, typer.Option(min=0, help="Share of right samples from which a task is easy.")] = 0.9
    per_easy_task: Annotated[int, typer.Option(min=0, help="Solutions of an easy task at most.")] = 1
    drop_overlaps: Annotated[
        bool,
        typer.Option("--drop-overlaps", help="Leave training tasks out that an eval set has, in place of refusing."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class TrainerOptions:
    """How it is trained."""

    method: Annotated[str, typer.Option(help="sft, dpo, kto or grpo, by TRL.")] = "sft"
    lora: Annotated[int, typer.Option(min=0, help="Rank of a LoRA adapter; 0: all weights are trained.")] = 0
    adapter: Annotated[
        bool, typer.Option("--adapter", help="Leave the adapter as it is, in place of merging it into the weights.")
    ] = False
    epochs: Annotated[int, typer.Option(min=1, help="Times that each row is seen.")] = 3
    learning_rate: Annotated[float, typer.Option(help="At its highest.")] = 5e-5
    batch_size: Annotated[int, typer.Option(min=1, help="Rows of one step.")] = 32
    max_length: Annotated[int, typer.Option(min=16, help="Tokens of a row; longer ones are cut off.")] = 1024
    beta: Annotated[float, typer.Option(min=0, help="Of dpo, kto and grpo: how near it stays to what it was.")] = 0.1
    from_last: Annotated[
        bool, typer.Option("--from-last", help="Train each round's model further, in place of the first one anew.")
    ] = False
    trainer_python: Annotated[
        Path | None, typer.Option(help="Interpreter that has the trainers (trl, peft).  [default: this one]")
    ] = None
    trainer_path: Annotated[
        str, typer.Option(help="PYTHONPATH of the trainer's process, where its packages lie in folders of their own.")
    ] = ""
    train_memory: Annotated[
        float, typer.Option(min=0, help="GiB of memory that the training may take beside its libraries; 0: no limit.")
    ] = 0.0


@spelt_out
def improve(
    model: Annotated[
        str, typer.Argument(help="Folder of weights (Hugging Face layout), or vllm:FOLDER or transformers:FOLDER.")
    ],
    tasks: Annotated[
        str, typer.Option(help="Tasks to learn from: a folder of them, or NAME:DATA@SPLIT of a benchmark.")
    ] = "",
    eval_: Annotated[
        list[str] | None,
        typer.Option("--eval", help="Tasks to be evaluated on, which nothing is learned from; may be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of models, rows and report.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Trainings.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N training tasks.")] = None,
    eval_limit: Annotated[int | None, typer.Option(min=1, help="Only the first N tasks of each eval set.")] = None,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
    go_on: Annotated[bool, typer.Option("--go-on", help="Don't stop at an alarm; say it, and go on.")] = False,
    *,
    sampling: SamplingOptions,
    keeping: KeepingOptions,
    trainer: TrainerOptions,
    limits: EpisodeLimits,
    sandbox: TaskSandbox,
    ledger: Ledger,
    json: JsonLines = False,
) -> None:
    """Train a model on its own verified work: sample, judge, keep what passed, train, evaluate on tasks that it never
    saw; round by round. The same command goes on where it was ended."""
    from groundwire.core._errors import ConfigError

    if not tasks or not eval_ or out is None:
        raise ConfigError(
            "An improvement needs tasks to learn from, other tasks to be evaluated on, and a folder.",
            do="groundwire improve MODEL --tasks mbpp:DATA@train --eval mbpp:DATA@test --out FOLDER",
        )
    if sampling.graph != "samples":
        check_graph(sampling.graph)
    settings = settled(flags_in(limits, sandbox, ledger) | {"max_trials": sampling.trials})
    with loading():
        from groundwire.cli._improve import improve as run
        from groundwire.cli._improve_parts import Improve
        from groundwire.training.improving._keeping import ARMS, KeepingRules
        from groundwire.training.improving._training import METHODS, TrainingOptions
    arm, method = _one_of("--arm", keeping.arm, ARMS), _one_of("--method", trainer.method, METHODS)
    if arm != "verified" and method != "sft":
        raise ConfigError(f"--arm {arm} has no right and wrong for {method}.", do="Controls are trained with sft.")
    if method != "sft" and sampling.temperature == 0:
        raise ConfigError(f"{method} compares samples, which are all the same at temperature 0.", do="Raise it.")
    environment = (("PYTHONPATH", trainer.trainer_path),) if trainer.trainer_path else ()
    asked = Improve(
        model=model,
        tasks=tasks,
        evals=tuple(eval_),
        out=out,
        rounds=rounds,
        samples=sampling.samples,
        eval_samples=sampling.eval_samples,
        temperature=sampling.temperature,
        answer_tokens=sampling.answer_tokens,
        graph=sampling.graph,
        keeping=KeepingRules(
            arm=arm, per_task=keeping.per_task, easy=keeping.easy, per_easy_task=keeping.per_easy_task
        ),
        training=TrainingOptions(
            method=method,
            lora=trainer.lora,
            merge=not trainer.adapter,
            epochs=trainer.epochs,
            learning_rate=trainer.learning_rate,
            batch_size=trainer.batch_size,
            max_length=trainer.max_length,
            beta=trainer.beta,
            memory_bytes=int(trainer.train_memory * 2**30),
            python=trainer.trainer_python,
            environment=environment,
        ),
        # what is learned from samples of its own is learned further
        from_last=trainer.from_last or method == "grpo",
        go_on=go_on,
        drop_overlaps=keeping.drop_overlaps,
        limit=limit,
        eval_limit=eval_limit,
        case_s=sampling.case_seconds,
        at_once=sampling.at_once,
        seed=seed,
        settings=settings,
    )
    raise typer.Exit(run(asked, as_json=json))


def _one_of(flag: str, given: str, known: tuple[Any, ...]) -> Any:
    from groundwire.core._errors import ConfigError

    if given not in known:
        raise ConfigError(f"{flag} {given} is none of {', '.join(known)}.", do="See  groundwire improve --help")
    return given
