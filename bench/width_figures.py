"""What the arms came to: a table, paired differences at equal tokens, and a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from width_arms import ARMS, CHECKED, FIRST
from width_running import Outcome

from groundwire.evaluation import Comparison, Rate, Trials, compare, width

__all__ = ["Matched", "draw", "report"]

Outcomes = Mapping[str, Sequence[Outcome]]
"""By arm, in the order of the tasks, which all arms share."""


@dataclass(frozen=True)
class Matched:
    """Width with the check, held to what another arm spent on each task.

    Args:
        arm: the other arm.
        outcomes: of width with the check: as many samples as the other's tokens paid for, one at least, and no more
            than were recorded.
    """

    arm: str
    outcomes: Sequence[Outcome]


def trials(outcomes: Iterable[Outcome]) -> Trials:
    """As evaluation reads them."""
    return Trials.of(outcome.row for outcome in outcomes)


def report(outcomes: Outcomes, matched: Sequence[Matched], about: str) -> str:
    """All tables."""
    parts = (about, *_oracle(outcomes[CHECKED])) if CHECKED in outcomes else (about,)
    tables = [("What each arm came to", _solved(outcomes))]
    if FIRST in outcomes:
        tables.append(("Against the first try", _against(outcomes, FIRST)))
    if matched:
        known = any(outcome.tokens for mine in outcomes.values() for outcome in mine)
        at = "at the tokens of each other arm" if known else "with all samples (tokens are not known)"
        tables.append((f"Width with the check, {at}", _matched(outcomes, matched)))
    blocks = ["\n".join(parts), *("\n".join((f"**{title}**", "", *table)) for title, table in tables)]
    return "\n\n".join(blocks)


def _solved(outcomes: Outcomes) -> list[str]:
    rows: list[Sequence[object]] = []
    for name, mine in outcomes.items():
        n = len(mine)
        wrong = sum(o.answered and not o.solved for o in mine)
        tokens, written, waited, calls = (
            round(sum(getattr(o, kind) for o in mine) / n) for kind in ("tokens", "written", "waited", "calls")
        )
        rows.append((name, share(sum(o.solved for o in mine), n), wrong, n - sum(o.answered for o in mine),
                     calls, tokens, written, waited))  # fmt: skip
    head = ("arm", "solved (95 %)", "wrong answers", "no answer", "calls", "tokens", "written", "waited for")
    return _table(head, rows)


def _against(outcomes: Outcomes, control: str) -> list[str]:
    base = trials(outcomes[control])
    compared = {name: compare(trials(mine), base) for name, mine in outcomes.items() if name != control}
    return _table(
        ("arm", "points (95 %)", "better", "worse", "p", "tokens"),
        [(name, points(c), c.better, c.worse, f"{c.p:.2g}", _times(c)) for name, c in compared.items()],
    )


def _matched(outcomes: Outcomes, matched: Sequence[Matched]) -> list[str]:
    rows: list[Sequence[object]] = []
    for one in matched:
        theirs, n = outcomes[one.arm], len(one.outcomes)
        c = compare(trials(one.outcomes), trials(theirs))
        solved = [f"{sum(o.solved for o in side)}/{n}" for side in (one.outcomes, theirs)]
        rows.append((one.arm, *solved, points(c), c.better, c.worse, f"{c.p:.2g}", c.answer, _times(c)))
    head = ("against", "width + check", "the other", "points (95 %)", "better", "worse", "p", "width + check", "tokens")
    return _table(head, rows)


def _oracle(checked: Sequence[Outcome]) -> list[str]:
    """What choosing among the samples could come to at most; of tasks with one answer only, that one."""
    right = sum(any(str(s.verdict) == "pass" for s in o.row.samples) for o in checked)
    said = width(trials(checked))
    mean = "" if said.k is None else f"; {said.k:.1f} different answers a task where there are several"
    return [f"any of the samples is right: {share(right, len(checked))}{mean}"]


def share(right: int, of: int) -> str:
    """`12/20, 60 % (36 to 81)`, the exact interval."""
    rate = Rate(right, of)
    low, high = rate.interval
    return f"{right}/{of}, {100 * right / of:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def points(c: Comparison) -> str:
    """`+15 (−5 to +35)`; of a single task there is no interval."""
    said = [f"{100 * value:+.0f}".replace("-", "−") for value in (c.difference, c.low, c.high) if value is not None]
    return f"{said[0]} ({said[1]} to {said[2]})" if len(said) == 3 else "".join(said) or "–"


def _times(c: Comparison) -> str:
    return f"×{c.spent.arm / c.spent.control:.2f}" if c.spent.what == "tokens" and c.spent.control else "–"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def draw(outcomes: Outcomes, path: Path, title: str) -> None:
    """Solved shares with 95 % intervals, a line an arm with its tokens; arms that a check chooses in are dots."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    drawn: Any = plt.subplots(figsize=(8, 1 + 0.4 * len(outcomes)))
    figure, axes = drawn
    checked = {arm.name for arm in ARMS if arm.checked}
    labels: list[str] = []
    for place, (name, mine) in enumerate(outcomes.items()):
        rate = Rate(sum(o.solved for o in mine), len(mine))
        middle, (low, high) = 100 * rate.part / rate.whole, (100 * end for end in rate.interval)
        fmt, color = ("o", "C0") if name in checked else ("x", "C7")
        axes.errorbar(middle, place, xerr=[[middle - low], [high - middle]], fmt=fmt, color=color, capsize=3)
        labels.append(f"{name} ({sum(o.tokens for o in mine) / len(mine):,.0f})")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set(xlabel="solved, % with 95 % interval (tokens a task)", xlim=(0, 100))
    axes.set_title(title, fontsize=9)
    figure.tight_layout()
    figure.savefig(path)
