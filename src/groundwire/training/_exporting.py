"""From trajectories to written rows: what is refused, what is dropped, and an account of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwire.core._errors import ConfigError
from groundwire.training._digests import ShortDigests, short_digest
from groundwire.training._grouping import Key, by_group, group_of
from groundwire.training._leaks import Leaks
from groundwire.training._schema import Form, Options, Rejected, Row
from groundwire.training._trajectories import Author, Flaw, ModelRevision, Trajectory
from groundwire.training._writing import Sink
from groundwire.training.filters import Filter

PROGRESS_EVERY = 200
"""Rows, between two reports."""
EXAMPLES = 3
"""Places that are named of each reason."""


@dataclass(frozen=True, kw_only=True)
class ExportRules:
    """What is exported all the same.

    Args:
        allowed: flaws that are only noted in the rows; a broken seal and an episode without verdicts never are.
        keep_model_only: rows that nothing but a model stands behind.
        leaks: what may be in no row.
        filters: what else a row must pass, in this order.
    """

    allowed: frozenset[Flaw] = frozenset()
    keep_model_only: bool = False
    leaks: Leaks = field(default_factory=Leaks)
    filters: Sequence[Filter] = ()

    def __post_init__(self) -> None:
        never = self.allowed & {Flaw.BROKEN_SEAL, Flaw.NO_VERDICT}
        if never:
            raise ConfigError(f"{', '.join(sorted(never))} can't be allowed.", do="Judge the candidates again.")


@dataclass
class ExportReport:
    """What an export came to.

    Args:
        rows: written.
        episodes: looked at.
        refused: of these, how many were refused, by flaw; one may have several.
        rejected: what gave no row, by reason.
        examples: of each reason, the first places.
        duplicates: rows that were there already, but for their provenance.
        origins: rows by what vouches for them.
        off_policy: rows that another model wrote than the one to be trained.
        sources: rows by the revision of the model that wrote what is learned.
        totals: of each column that the form tells of, its sum, over the rows where it is known.
        known: of each of these columns, in how many rows it is known.
        notes: what the form and the filters say of the rows.
    """

    rows: int = 0
    episodes: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    rejected: Counter[str] = field(default_factory=Counter[str])
    examples: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    duplicates: int = 0
    origins: Counter[str] = field(default_factory=Counter[str])
    off_policy: int = 0
    sources: Counter[str] = field(default_factory=Counter[str])
    totals: dict[str, float] = field(default_factory=dict[str, float])
    known: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])

    def reject(self, reason: str, where: str) -> None:
        """Counts something that gives no row."""
        self.rejected[reason] += 1
        known = self.examples.setdefault(reason, [])
        if len(known) < EXAMPLES:
            known.append(where)

    def data(self) -> dict[str, Any]:
        """All of it as plain data."""
        kept = ("rows", "episodes", "duplicates", "off_policy", "examples", "notes")
        told = {name: getattr(self, name) for name in kept}
        counted = {name: dict(getattr(self, name)) for name in ("refused", "rejected", "origins", "sources")}
        return {**told, **counted, "means": self.means}

    @property
    def means(self) -> dict[str, float]:
        """Of each column that the form tells of, its mean over the written rows where it is known."""
        return {name: total / self.known[name] for name, total in self.totals.items()}


class Admitted:
    """The trajectories that may be exported. It can be gone through as often as what it is made of.

    Args:
        trajectories: all of them.
        rules: what is allowed.
        report: counts what is refused, each episode once.
    """

    def __init__(self, trajectories: Iterable[Trajectory], rules: ExportRules, report: ExportReport) -> None:
        self._trajectories = trajectories
        self._allowed = rules.allowed
        self._report = report
        self._told = ShortDigests()
        self._wrote: dict[str, set[ModelRevision]] = {}

    def __iter__(self) -> Iterator[Trajectory]:
        return (trajectory for trajectory in self._trajectories if self._may_pass(trajectory))

    def in_groups(self, key: Key = group_of) -> Iterator[Sequence[Trajectory]]:
        """See `groundwire.training._grouping.Grouped`."""
        for group in by_group(self._trajectories, key):
            kept = [trajectory for trajectory in group if self._may_pass(trajectory)]
            if kept:
                yield kept

    def _may_pass(self, trajectory: Trajectory) -> bool:
        self._check_revisions(trajectory)
        refused = trajectory.flaws - self._allowed
        if self._told.add(short_digest(trajectory.episode)):
            self._report.episodes += 1
            self._report.refused.update(str(flaw) for flaw in refused)
            for problem in trajectory.problems:
                if problem.flaw in refused:
                    places = self._report.examples.setdefault(str(problem.flaw), [])
                    if len(places) < EXAMPLES:
                        places.append(f"{trajectory.episode}: {problem.detail}")
        return not refused

    def _check_revisions(self, trajectory: Trajectory) -> None:
        wrote = self._wrote.setdefault(trajectory.run, set())
        wrote.update(trajectory.models)
        if len(wrote) > 1 and Flaw.MIXED_REVISIONS not in self._allowed:
            named = ", ".join(sorted(f"{model.name} ({model.revision})" for model in wrote))
            raise ConfigError(
                f"Run {trajectory.run} holds answers by more than one model or revision: {named}. Nothing was written.",
                do="Export runs of one model, or say  --allow-mixed-revisions ; each row names its own.",
            )


def export(
    form: Form,
    trajectories: Iterable[Trajectory],
    sink: Sink,
    *,
    options: Options | None = None,
    rules: ExportRules | None = None,
    progress: Callable[[int], None] = lambda _rows: None,
) -> ExportReport:
    """Writes the rows of a form, one in memory at a time.

    Args:
        form: which rows.
        trajectories: where they come from; it is gone through as often as the form wants.
        sink: takes the rows.
        options: what the form may be told.
        rules: what is exported all the same.
        progress: called with the count of rows now and then.

    Raises:
        ConfigError: a run holds answers of several models, and that was not allowed.
        StorageError: the ledger can't be read.
    """
    report, rules = ExportReport(), rules or ExportRules()
    report.notes.extend(dict.fromkeys(note for note in (form.note, *(one.note for one in rules.filters)) if note))
    written = ShortDigests()
    for made in form.make(Admitted(trajectories, rules, report), options or Options()):
        if isinstance(made, Rejected):
            report.reject(made.reason, made.where)
        elif (line := _checked(made, form, rules, report, written)) is not None:
            sink.write(made, line)
            _count(made, report)
            if report.rows % PROGRESS_EVERY == 0:
                progress(report.rows)
    return report


def _checked(row: Row, form: Form, rules: ExportRules, report: ExportReport, written: ShortDigests) -> str | None:
    """The row as JSON, where it may be written."""
    where = " ".join(row.provenance.episodes)
    if row.provenance.origin is Author.MODEL and not rules.keep_model_only:
        report.reject("model_only", where)
        return None
    line = row.model_dump_json()
    if leak := rules.leaks.found(row, line):
        report.reject(leak, where)
        return None
    digest = None if form.repeats else short_digest(row.model_dump_json(exclude={"provenance"}))
    if digest is not None and digest in written:
        report.duplicates += 1
        return None
    for one in rules.filters:
        if reason := one.refuses(row):
            report.reject(reason, where)
            return None
    if digest is not None:
        written.add(digest)
    return line


def _count(row: Row, report: ExportReport) -> None:
    provenance = row.provenance
    report.rows += 1
    report.origins[provenance.origin] += 1
    report.off_policy += provenance.off_policy is True
    if provenance.model_revision:
        report.sources[provenance.model_revision] += 1
    for column in row.told:
        if (value := getattr(row, column)) is not None:
            report.totals[column] = report.totals.get(column, 0.0) + float(value)
            report.known[column] += 1
