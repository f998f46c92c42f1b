"""Plots as SVG to be set into a page: no script, no link, no font or id of their own."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from groundwire.evaluation._learning import Learning
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._verdicts import ArmReport, Report

# pyright: reportUnknownMemberType=false
# matplotlib types its arguments, but not the **kwargs beside them


# colours that people who see few colours can tell apart (Okabe and Ito)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
GOOD, BAD, DOUBT = "#009e73", "#d55e00", "#9a9a9a"
THICK = 0.5
"""Of bars, as a share of their room."""
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    # a name is a name, also one with dollar signs in it
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
}
_GROUP_ID = re.compile(r'<g id="[^"]*"')


@dataclass(frozen=True)
class Plot:
    """One picture.

    Args:
        title: what it shows.
        svg: the drawing.
        note: how to read it.
    """

    title: str
    svg: str
    note: str


def plots_of(report: Report) -> Sequence[Plot]:
    """The page's plots; those with nothing to show are left out."""
    arms = report.arms
    found = [
        plot_of(
            "Success by round",
            "Share of tasks whose answer after each round is right, with its 95 % interval (exact). Round 0: what was"
            " given.",
            lambda axes: _rounds(axes, arms),
        ),
        plot_of(
            "Fixes against breaks", "Episodes whose answer differs from their first try.", lambda a: _flips(a, arms)
        ),
        plot_of(
            "What a pass is worth",
            "Answers that passed what steers, by what the hidden tests say of them.",
            lambda axes: _passes(axes, arms),
        ),
    ]
    unit, costs = _costs(arms)
    if any(costs):
        found.append(
            plot_of(f"{unit} per success", "Failed tries cost too.", lambda axes: _bars(axes, arms, costs, unit))
        )
    if any(arm.measured.memory.hits.part for arm in arms):
        found.append(
            plot_of(
                "First tries with and without lessons",
                "Not a random split: a task that comes back has lessons and is known to be hard.",
                lambda axes: _memory(axes, arms),
            )
        )
    return found


def plot_of(title: str, note: str, draw: Callable[[Axes], None]) -> Plot:
    with mpl.rc_context({**STYLE, "svg.hashsalt": title}):
        figure = Figure(figsize=(5.2, 3.0), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        draw(axes)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return Plot(title, _bare(out.getvalue(), title), note)


def _bare(document: str, title: str) -> str:
    """The drawing without what belongs to a file of its own, and without ids that two drawings would share."""
    drawing = document[document.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    drawing = _GROUP_ID.sub("<g", drawing)
    return drawing.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)


def _rounds(axes: Axes, arms: Sequence[ArmReport]) -> None:
    longest = max((len(arm.measured.outcome.by_round) for arm in arms), default=0)
    for arm, colour in zip(arms, _colours(arms), strict=True):
        rates = list(arm.measured.outcome.by_round)
        # an episode that has ended keeps its answer
        rates += rates[-1:] * (longest - len(rates))
        rounds = list(range(len(rates)))
        axes.plot(rounds, [r.value or 0.0 for r in rates], marker="o", markersize=4, color=colour, label=arm.label)
        lows, highs = [r.interval[0] for r in rates], [r.interval[1] for r in rates]
        axes.fill_between(rounds, lows, highs, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    as_share(axes)
    _legend(axes, arms)


def _flips(axes: Axes, arms: Sequence[ArmReport]) -> None:
    names = [arm.label for arm in arms]
    fixes = [arm.measured.correction.fixes for arm in arms]
    breaks = [arm.measured.correction.breaks for arm in arms]
    axes.barh(names, fixes, THICK, color=GOOD, label="fixed")
    axes.barh(names, [-n for n in breaks], THICK, color=BAD, label="broken")
    axes.axvline(0, color="#333333", linewidth=0.8)
    for at, (fixed, broken) in enumerate(zip(fixes, breaks, strict=True)):
        axes.annotate(f" {fixed}", (fixed, at), va="center")
        axes.annotate(f"{broken} ", (-broken, at), va="center", ha="right")
    room = 0.12 * max(max(fixes) + max(breaks), 1)
    axes.set_xlim(-max(breaks) - room, max(fixes) + room)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(lambda value, _at: f"{abs(value):.0f}")
    axes.invert_yaxis()
    axes.set_xlabel("episodes")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=2)


def _passes(axes: Axes, arms: Sequence[ArmReport]) -> None:
    names = [arm.label for arm in arms]
    wrong = [arm.measured.correction.false_passes for arm in arms]
    right = [arm.measured.correction.claimed - n for arm, n in zip(arms, wrong, strict=True)]
    unjudged = [_unjudged(arm) for arm in arms]
    left = [0] * len(arms)
    for label, values, colour in (("right", right, GOOD), ("wrong", wrong, BAD), ("not judged", unjudged, DOUBT)):
        axes.barh(names, values, THICK, left=left, color=colour, label=label)
        left = [a + b for a, b in zip(left, values, strict=True)]
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.invert_yaxis()
    axes.set_xlabel("answers that passed")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=3)


def _unjudged(arm: ArmReport) -> int:
    """Answers that passed what steers, and that no hidden test judged."""
    measured = arm.measured
    right_by_hidden = measured.correction.claimed - measured.correction.false_passes
    return max(0, measured.outcome.final.part - right_by_hidden) + measured.outcome.unverified.part


def _costs(arms: Sequence[ArmReport]) -> tuple[str, Sequence[float | None]]:
    if any(arm.measured.cost.tokens for arm in arms):
        return "Tokens", [arm.measured.cost.tokens_per_success for arm in arms]
    return "Judgings", [arm.measured.cost.judgings_per_success for arm in arms]


def _bars(axes: Axes, arms: Sequence[ArmReport], values: Sequence[float | None], unit: str) -> None:
    known = [value or 0.0 for value in values]
    bars = axes.barh([arm.label for arm in arms], known, THICK, color=list(_colours(arms)))
    axes.bar_label(bars, ["no success" if value is None else f"{value:,.0f}" for value in values], padding=3)
    axes.margins(x=0.2)
    axes.invert_yaxis()
    axes.set_xlabel(f"{unit.lower()} per success")


def _memory(axes: Axes, arms: Sequence[ArmReport]) -> None:
    for at, (arm, colour) in enumerate(zip(arms, _colours(arms), strict=True)):
        told = arm.measured.memory
        for x, one in ((0, told.without_lessons), (1, told.with_lessons)):
            if one.value is not None:
                place = x + (at - (len(arms) - 1) / 2) * 0.12
                axes.errorbar([place], [one.value], yerr=_reach(one), fmt="o", color=colour, capsize=3, markersize=5)
        axes.plot([], [], color=colour, marker="o", label=arm.label)
    axes.set_xticks([0, 1], ["without", "with lessons"])
    axes.set_xlim(-0.5, 1.5)
    as_share(axes)
    _legend(axes, arms)


def _reach(one: Rate) -> list[list[float]]:
    low, high = one.interval
    value = one.value or 0.0
    return [[max(0.0, value - low)], [max(0.0, high - value)]]


def as_share(axes: Axes) -> None:
    """The y axis from 0 to 100 %."""
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)


def _legend(axes: Axes, arms: Sequence[ArmReport]) -> None:
    if len(arms) > 1:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.15), ncols=min(len(arms), 6))


def _colours(arms: Sequence[ArmReport]) -> Sequence[str]:
    return [COLOURS[at % len(COLOURS)] for at in range(len(arms))]


# The picture of an arm that learns beside one that can't: success by trial, and first tries by episode.

# pyright: reportUnknownMemberType=false
# matplotlib types its arguments, but not the **kwargs beside them


SIZE_IN = (9.0, 3.4)
DPI = 100
"""So a PNG has 900 × 340 points."""


def save_learning_plot(path: Path, title: str, arms: Mapping[str, Learning]) -> None:
    """Writes the picture.

    Args:
        path: its ending says the format: `.png`, `.svg` or `.pdf`.
        title: above it; it may hold any characters.
        arms: by name; the one that is asked about first.

    Raises:
        OSError: it can't be written.
        ValueError: the format is not known.
    """
    with mpl.rc_context({**STYLE, "svg.hashsalt": title}):
        figure = Figure(figsize=SIZE_IN, dpi=DPI, layout="constrained")
        figure.suptitle(title, fontsize=11)
        left, right = figure.subplots(1, 2)
        for (name, arm), colour in zip(arms.items(), COLOURS, strict=False):
            _band(left, range(1, arm.trials + 1), arm.by_trial, colour, name, marker="o")
            # a mean of fewer episodes than the window says next to nothing, and its band would hide the rest
            begin = arm.window if arm.episodes >= 2 * arm.window else 1
            _band(right, range(begin, arm.episodes + 1), arm.first_tries[begin - 1 :], colour, name, marker="")
        window = max((arm.window for arm in arms.values()), default=0)
        _finish(left, "Won by trial", "trial")
        _finish(right, f"First trials won, mean of {window} episodes", "episode")
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata)


def _band(axes: Axes, xs: Sequence[int], rates: Sequence[Rate], colour: str, name: str, *, marker: str) -> None:
    axes.plot(xs, [rate.value or 0.0 for rate in rates], color=colour, label=name, marker=marker, markersize=4)
    low, high = [rate.interval[0] for rate in rates], [rate.interval[1] for rate in rates]
    axes.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)


def _finish(axes: Axes, title: str, x: str) -> None:
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    as_share(axes)
    axes.legend(loc="best")
