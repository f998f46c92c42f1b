# pyright: reportUnknownMemberType=false
# matplotlib types its arguments, but not the **kwargs beside them
"""The picture of an arm that learns beside one that can't: success by trial, and first tries by episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from groundwire.evaluation.learning import Learning
from groundwire.evaluation.page.plots import COLOURS, STYLE, as_share
from groundwire.evaluation.rates import Rate

__all__ = ["save_learning_plot"]

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
