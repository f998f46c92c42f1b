"""What `groundwire improve` writes when it ends: the report in three forms, its plots, and which model is handed on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from groundwire.cli._improve_parts import Improve, ImprovedRound, ModelPlace
from groundwire.core._errors import ConfigError
from groundwire.core._text import plural
from groundwire.evaluation._improvement import SelfTraining, Shares, figures_of, gain_of
from groundwire.evaluation._measuring import as_data
from groundwire.evaluation.page._improvement import (
    TRAIN,
    ImprovedModel,
    ImprovementReport,
    as_markdown,
    as_page,
    plots_of_improvement,
)
from groundwire.training.improving._overlap import EvalTexts
from groundwire.training.improving._samples import diversity

PLOTS = ("curve.svg", "diversity.svg")


def together(one: ImprovedRound) -> Shares:
    """The shares of all eval sets."""
    return {f"{name} {task}": share for name, each in one.evaluated.items() for task, share in each.shares.items()}


def best_of(rounds: Sequence[ImprovedRound], stopped: str) -> int:
    """The model that is handed on: the last one, or, where it has fallen, the best on the eval set."""
    if not stopped.startswith("the verified accuracy"):
        return rounds[-1].number
    return SelfTraining(trained_on=(), kept=(), diversity=(), evaluated=[together(one) for one in rounds]).best


def held_out(rounds: Sequence[ImprovedRound], texts: EvalTexts) -> str:
    """What is known of the distance between what was trained on and the eval tasks."""
    dropped = sum(one.report.rejected["holds_eval_text"] for one in rounds if one.report)
    gone = len({one.task for one in texts.overlaps})
    return (
        f"Held out: {plural(len(texts.train) - gone, 'training task')} and"
        f" {plural(len(texts.evaluation), 'eval task')}, none equal by digest or sharing half of its words"
        f" ({plural(gone, 'training task')} left out for that). No"
        f" training row shares a run of 13 words with an eval task ({plural(dropped, 'row')} left out for that)."
    )


def report_of(
    asked: Improve, rounds: Sequence[ImprovedRound], *, improvement: str, stopped: str, best: int, held_out: str
) -> ImprovementReport:
    """The report.

    Args:
        asked: what was asked for.
        rounds: all models.
        improvement: its id.
        stopped: why it ended before its last round.
        best: number of the model that is handed on.
        held_out: see the function.
    """
    arm = {"arm": asked.keeping.arm} if asked.keeping.arm != "verified" else {}
    how, kept = asked.training, asked.keeping
    weights = f"LoRA of rank {how.lora}" if how.lora else "all weights"
    return ImprovementReport(
        title=f"groundwire improve: {ModelPlace.of(asked.model).folder.name}",
        about={
            **arm,
            "improvement": improvement,
            "graph": asked.graph,
            "samples of a task": f"{asked.samples} to train on, {asked.eval_samples} to evaluate,"
            f" temperature {asked.temperature:g}, {asked.answer_tokens} tokens",
            "kept": f"{kept.per_task} different solutions of a task, {kept.per_easy_task} of one of which"
            f" {100 * kept.easy:.0f} % are right",
            "training": f"{how.method}, {weights}, {how.epochs} epochs, {how.learning_rate:g}, batches of"
            f" {how.batch_size}, from the {'last' if asked.from_last else 'first'} model",
            "seed": str(asked.seed),
        },
        models=[_model(one, rounds[0]) for one in rounds],
        best=best,
        stopped=stopped,
        held_out=held_out,
    )


def _model(one: ImprovedRound, first: ImprovedRound) -> ImprovedModel:
    sets = {**one.evaluated, **({TRAIN: one.sampled} if one.sampled else {})}
    return ImprovedModel(
        number=one.number,
        folder=str(one.place),
        revision=one.revision,
        figures={name: figures_of(s.shares, diversity(s.tasks.values())) for name, s in sets.items()},
        gains={
            name: gain_of(first.evaluated[name].shares, each.shares)
            for name, each in one.evaluated.items()
            if one.number
        },
        rows=one.report.rows if one.report else 0,
        rows_digest=one.rows_digest,
        left_out=dict(sorted(one.report.rejected.items())) if one.report else {},
        trained=one.trained,
        seconds=one.seconds,
        runs={name: each.run for name, each in sets.items()},
    )


def write_report(out: Path, report: ImprovementReport, handed: Path) -> None:
    """Writes all of it, and names the model that is handed on `model`.

    Raises:
        ConfigError: a file can't be written.
    """
    write_whole(out / "report.json", json.dumps(as_data(report), indent=2))
    for name, plot in zip(PLOTS, plots_of_improvement(report), strict=True):
        write_whole(out / name, plot.svg)
    write_whole(out / "report.md", as_markdown(report, PLOTS))
    write_whole(out / "report.html", as_page(report))
    part = out / ".model.part"
    part.unlink(missing_ok=True)
    part.symlink_to(os.path.relpath(handed, out))
    part.replace(out / "model")


def write_whole(path: Path, text: str) -> None:
    """The file is there whole, or as it was.

    Raises:
        ConfigError: it can't be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}.", do="Name another folder.") from error
