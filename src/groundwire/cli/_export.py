"""`groundwire export`: runs as training data, through filters, and what became of every episode."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Console
from rich.text import Text

from groundwire.cli._repair import open_store, unique_run
from groundwire.cli._verify import refuse, tell
from groundwire.core._errors import ConfigError
from groundwire.core._records import RunRecord
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings
from groundwire.core._text import lines_of, plain, plural
from groundwire.evaluation._drift import avalanche
from groundwire.memory import SqlStore
from groundwire.memory._checking import RunCheck, check_run
from groundwire.training._catalogue import form, form_names
from groundwire.training._exporting import Admitted, ExportReport, ExportRules, export
from groundwire.training._leaks import Leaks
from groundwire.training._losses import Losses, read_losses
from groundwire.training._runs import Trajectories, hidden_texts_of
from groundwire.training._schema import Options, Thresholds, json_schema
from groundwire.training._trajectories import Flaw, Trajectory
from groundwire.training._writing import opened
from groundwire.training.filters import Filter
from groundwire.training.filters._agreement import Agreement, SameAnswer, read_same_answers
from groundwire.training.filters._rounds import Rounds
from groundwire.training.filters._texts import NearDuplicates, Perplexity

EPISODES_BETWEEN = 50
"""Between two words about how far it is."""

# The filters of `groundwire export`: made from its flags, and what they came to.


@dataclass(frozen=True, kw_only=True)
class AskedFilters:
    """What was asked for; see the command's flags."""

    min_agreement: float | None = None
    min_answers: int = 5
    same_answer: Path | None = None
    near_duplicates: float | None = None
    losses: Path | None = None
    max_ppl: float | None = None
    rounds: bool = False


def filters_of(
    asked: AskedFilters, trajectories: Iterable[Trajectory], losses: Mapping[str, Losses], runs: Sequence[str]
) -> Sequence[Filter]:
    """The filters, in the order in which rows go through them.

    Args:
        asked: the flags.
        trajectories: all that is exported; what needs to know all of them goes through them first.
        losses: as given.
        runs: their ids, in the order in which they were named.

    Raises:
        ConfigError: a flag's value is out of range, or something is missing.
        RecordingError: a file can't be read.
        StorageError: the ledger can't be read.
    """
    found: list[Filter] = []
    if asked.min_agreement is not None:
        found.append(Agreement.of(trajectories, asked.min_agreement, asked.min_answers))
    if asked.same_answer is not None:
        found.append(SameAnswer.of(trajectories, read_same_answers(asked.same_answer)))
    if asked.max_ppl is not None:
        found.append(Perplexity(asked.max_ppl, losses))
    if asked.near_duplicates is not None:
        # behind the others: a row that one of them left out is nobody's duplicate
        found.append(NearDuplicates(asked.near_duplicates))
    if asked.rounds:
        if len(runs) < 2:
            raise ConfigError(
                "Comparing rounds takes at least two runs.", do="Name the run of each round, the first one first."
            )
        found.append(Rounds(trajectories, runs))
    return found


def _rounds(filters: Iterable[Filter]) -> Rounds | None:
    return next((one for one in filters if isinstance(one, Rounds)), None)


def rounds_data(filters: Iterable[Filter]) -> dict[str, Any]:
    """The rounds as plain data, where they were asked for."""
    rounds = _rounds(filters)
    return {} if rounds is None else {"rounds": [asdict(one) for one in rounds.told()], "alarm": _alarm(rounds)}


def _alarm(rounds: Rounds) -> int | None:
    told = rounds.told()
    return avalanche([one.accuracy for one in told], [one.acceptance for one in told])


def round_lines(filters: Iterable[Filter]) -> Iterator[str]:
    """A line a round."""
    rounds = _rounds(filters)
    for number, one in enumerate(rounds.told() if rounds else (), 1):
        tokens = "" if one.token_entropy is None else f"  token entropy {one.token_entropy:.2f}"
        yield (
            f"round {number}  {one.answers} answers  right {one.accuracy:.2f}  kept {one.acceptance:.2f}"
            f"  disagree {one.disagreement:.2f}  distinct {one.distinct}  entropy {one.entropy:.2f}{tokens}"
        )


def alarms(filters: Sequence[Filter], report: ExportReport) -> Iterator[str]:
    """What whoever exports must be warned of."""
    yield from report.notes
    rounds = _rounds(filters)
    if rounds is not None and (number := _alarm(rounds)) is not None:
        yield (
            f"error avalanche: by round {number} fewer answers are right and no fewer are kept, twice in a row; don't"
            " train on this round, and look at what the filter lets through (arXiv 2309.08589)"
        )


# `groundwire export`: runs as training data, and what became of every episode.


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """What was asked for; see the command's flags."""

    runs: Sequence[str]
    form: str
    out: Path | None
    target_model: str = ""
    keep_failed: bool | None = None
    keep_model_only: bool = False
    mixed_revisions: bool = False
    truncated: bool = False
    unverified: bool = False
    as_it_is: bool = False
    gold: Path | None = None
    filters: AskedFilters = field(default_factory=AskedFilters)
    least_group: int = 2
    least_continuations: int = 2
    thresholds: Sequence[str] = ()
    as_json: bool = False


def list_forms(*, as_json: bool) -> int:
    """Lists all formats."""
    forms = [form(name) for name in form_names()]
    if as_json:
        json.dump([{"name": one.name, "about": one.about} for one in forms], sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0
    widest = max(len(one.name) for one in forms)
    for one in forms:
        Console(highlight=False).print(Text(f"{one.name:<{widest}}  {one.about}"), soft_wrap=True)
    return 0


def print_schema(name: str) -> int:
    """Prints the JSON Schema of a format's rows."""
    json.dump(json_schema(form(name)), sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0


def run_export(asked: ExportRequest, flags: Mapping[str, Any]) -> int:
    """Exports runs.

    Returns:
        0; 1 where there was nothing that could be exported, and then no file is written.

    Raises:
        ConfigError: something is missing, or a run holds answers of several models.
        StorageError: the ledger can't be read, or the file not be written.
    """
    if not asked.runs or not asked.form or asked.out is None:
        raise ConfigError(
            "An export needs runs, a format and a file.",
            do="groundwire export RUN --format sft --out rows.jsonl   (formats:  groundwire export --list)",
        )
    chosen = form(asked.form)
    console = Console(stderr=True, highlight=False)
    options = _options(asked)
    rules = ExportRules(allowed=_allowed(asked), keep_model_only=asked.keep_model_only)
    store = open_store(Settings.resolve(flags))
    checks: Sequence[RunCheck] = ()
    try:
        with _Progress(console) as progress:
            runs, secrets = asyncio.run(_read(store, asked.runs))
            checks = asyncio.run(_checked(store, runs, progress))
            if not asked.as_it_is:
                refuse(checks)
            trajectories = Trajectories(store, runs, progress=progress.read)
            # what is refused has no say in what the rest is held against
            admitted = Admitted(trajectories, rules, ExportReport())
            rules = replace(
                rules,
                leaks=Leaks(gold=_gold(asked.gold), secrets=secrets),
                filters=filters_of(asked.filters, admitted, options.losses, [run.id for run in runs]),
            )
            with opened(asked.out, chosen) as sink:
                report = export(chosen, trajectories, sink, options=options, rules=rules, progress=progress.wrote)
                if not report.rows:
                    raise _Nothing(report)
    except _Nothing as nothing:
        report = nothing.report
    finally:
        asyncio.run(store.aclose())
    _tell(console, asked, report, rules.filters)
    tell(console, checks)
    return 0 if report.rows and all(check.holds for check in checks) else 1


def _options(asked: ExportRequest) -> Options:
    filters = asked.filters
    chosen = Options(
        target_model=asked.target_model,
        keep_failed=asked.keep_failed,
        least_answers=filters.min_answers,
        least_group=asked.least_group,
        least_continuations=asked.least_continuations,
        thresholds=Thresholds.of(asked.thresholds),
    )
    if filters.losses is not None:
        chosen = replace(chosen, losses=read_losses(filters.losses))
    return chosen if filters.min_agreement is None else replace(chosen, agreement=filters.min_agreement)


class _Nothing(Exception):
    """There is nothing to write, so nothing is written."""

    def __init__(self, report: ExportReport) -> None:
        super().__init__()
        self.report = report


async def _read(store: SqlStore, prefixes: Sequence[str]) -> tuple[list[RunRecord], Sequence[str]]:
    runs = {run.id: run for run in [await unique_run(store, prefix) for prefix in prefixes]}
    return list(runs.values()), await hidden_texts_of(store, list(runs.values()))


async def _checked(store: SqlStore, runs: Sequence[RunRecord], progress: _Progress) -> Sequence[RunCheck]:
    keys = FileKeys()
    return [
        await check_run(store, run.id, keys=keys, thorough=False, keeps_episodes=False, progress=progress.checked)
        for run in runs
    ]


def _allowed(asked: ExportRequest) -> frozenset[Flaw]:
    told = {
        Flaw.MIXED_REVISIONS: asked.mixed_revisions,
        Flaw.TRUNCATED: asked.truncated,
        Flaw.UNVERIFIED: asked.unverified,
    }
    return frozenset(flaw for flaw, allowed in told.items() if allowed)


class _Gold(BaseModel):
    model_config = ConfigDict(extra="forbid")
    task: str
    answers: list[str]


def _gold(path: Path | None) -> Mapping[str, Sequence[str]]:
    if path is None:
        return {}
    found: dict[str, list[str]] = {}
    for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            told = _Gold.model_validate_json(line)
        except ValidationError as error:
            raise ConfigError(
                f"{path}:{number} names no task with answers: {error.errors()[0]['msg']}.",
                do='Write JSON lines like {"task": "sum", "answers": ["42"]}.',
            ) from error
        found.setdefault(told.task, []).extend(told.answers)
    return found


class _Progress:
    """Tells a person at a terminal how far it is, now and then; nobody else."""

    def __init__(self, console: Console) -> None:
        self._status = console.status("reading the ledger") if console.is_terminal else None
        self._episodes = 0
        self._rows = 0

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def checked(self, episodes: int) -> None:
        """So many episodes of a run have been held against their seals."""
        if episodes % EPISODES_BETWEEN == 0:
            self._tell(f"checking seals: {plural(episodes, 'episode')}")

    def read(self, episodes: int) -> None:
        """So many episodes have been read, some of them twice where the format compares."""
        self._episodes = episodes
        if episodes % EPISODES_BETWEEN == 0:
            self._tell_both()

    def wrote(self, rows: int) -> None:
        """So many rows have been written."""
        self._rows = rows
        self._tell_both()

    def _tell_both(self) -> None:
        self._tell(f"{plural(self._episodes, 'episode')} read, {plural(self._rows, 'row')} written")

    def _tell(self, what: str) -> None:
        if self._status is not None:
            self._status.update(what)


def _tell(console: Console, asked: ExportRequest, report: ExportReport, filters: Sequence[Filter]) -> None:
    warnings = [*_warnings(asked, report), *alarms(filters, report)]
    if asked.as_json:
        told = {
            "format": asked.form,
            "file": str(asked.out) if report.rows else None,
            **report.data(),
            **rounds_data(filters),
            "warnings": warnings,
        }
        json.dump(told, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    console.print(Text(f"{plural(report.rows, 'row')} from {plural(report.episodes, 'episode')}"), soft_wrap=True)
    for title, counts in (
        ("episodes refused", report.refused),
        ("no row", report.rejected),
        ("vouched for by", report.origins),
        ("written by", report.sources),
    ):
        for name, count in counts.most_common():
            console.print(Text(f"  {title:<18}{count:>8}  {plain(name, limit=80)}"), soft_wrap=True)
            for place in report.examples.get(name, ())[:1]:
                console.print(Text(f"  {'':<28}{plain(place, limit=200)}", style="dim"), soft_wrap=True)
    if report.duplicates:
        console.print(Text(f"  {'duplicates':<18}{report.duplicates:>8}  left out"), soft_wrap=True)
    for name, mean in report.means.items():
        console.print(Text(f"  mean {name}: {mean:.3f}"), soft_wrap=True)
    for line in round_lines(filters):
        console.print(Text(f"  {line}"), soft_wrap=True)
    for warning in warnings:
        console.print(Text(f"warning: {plain(warning, limit=600)}", style="yellow"), soft_wrap=True)
    if report.rows:
        console.print(Text(f"written: {plain(str(asked.out), limit=400)}", style="dim"), soft_wrap=True)
    else:
        console.print(Text("nothing could be exported; no file was written", style="bold red"), soft_wrap=True)
        if report.rejected["no_model_text"] == report.rejected.total() > 0:
            why = "No model wrote any of it: the search actor and programs leave no text to train on."
            console.print(Text(f"  {why} Export a run that was made with --model."), soft_wrap=True)


def _warnings(asked: ExportRequest, report: ExportReport) -> Iterator[str]:
    if report.off_policy:
        sources = ", ".join(name for name in report.sources if name != asked.target_model)
        yield (
            f"off-policy: {report.off_policy} of {plural(report.rows, 'row')} come from {sources}, not from"
            f" {asked.target_model}. Fine-tuning on another model's corrections does not teach a model to correct its"
            " own mistakes (arXiv 2409.12917): run the tasks with the model that is to be trained."
        )
    elif report.rows and report.sources and not asked.target_model:
        yield "no --target-model was named, so it is not known whether these rows are on-policy"
    if report.origins["model"]:
        alone = plural(report.origins["model"], "row")
        yield f"{alone} rest on nothing but a model; training on such rows loses what is rare (arXiv 2305.17493)"
