"""The filters of `groundwire export`: made from its flags, and what they came to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from groundwire.errors import ConfigError
from groundwire.evaluation.drift import avalanche
from groundwire.training.exporting import Report
from groundwire.training.filters import Filter
from groundwire.training.filters.agreement import Agreement, SameAnswer, read_same_answers
from groundwire.training.filters.near_duplicates import NearDuplicates
from groundwire.training.filters.perplexity import Perplexity
from groundwire.training.filters.rounds import Rounds
from groundwire.training.losses import Losses
from groundwire.training.trajectories import Trajectory

__all__ = ["AskedFilters", "alarms", "filters_of", "round_lines", "rounds_data"]


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
            raise ConfigError("Rounds are at least two runs.", do="Name the run of each round, the first one first.")
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


def alarms(filters: Sequence[Filter], report: Report) -> Iterator[str]:
    """What whoever exports must be warned of."""
    yield from report.notes
    rounds = _rounds(filters)
    if rounds is not None and (number := _alarm(rounds)) is not None:
        yield (
            f"error avalanche: by round {number} fewer answers are right and more are kept, twice in a row; don't train"
            " on this round, and look at what the filter lets through (arXiv 2309.08589)"
        )
