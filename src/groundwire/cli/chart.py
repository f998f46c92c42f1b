"""A small chart of shares in a terminal: a line a series, as wide as the terminal allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["chart_lines"]

ROWS = 9
LEFT = 6
"""Columns of the y axis, with its labels."""
WIDEST = 78
NARROWEST = 20
MARKS, PLAIN_MARKS = "━┄", "#-"
"""Of the first series and the second; where they meet, the first is seen."""


def chart_lines(series: Mapping[str, Sequence[float]], *, x: str, width: int, plain: bool = False) -> list[str]:
    """The chart's lines; nothing of series without values.

    Args:
        series: by name, shares from 0 to 1, of one or two series of any length.
        x: what runs along the x axis.
        width: columns of the terminal.
        plain: True: ASCII only.
    """
    longest = max((len(values) for values in series.values()), default=0)
    if not longest:
        return []
    wide = max(NARROWEST, min(width, WIDEST) - LEFT)
    marks = PLAIN_MARKS if plain else MARKS
    grid = [[" "] * wide for _ in range(ROWS)]
    for mark, values in reversed(list(zip(marks, series.values(), strict=False))):
        for column in range(min(wide, wide * len(values) // longest)):
            share = min(1.0, max(0.0, values[min(len(values) - 1, column * longest // wide)]))
            grid[ROWS - 1 - round(share * (ROWS - 1))][column] = mark
    bar, corner, line = ("|", "+", "-") if plain else ("│", "└", "─")
    shown = [f"{_label(row):>{LEFT - 2}} {bar}{''.join(cells).rstrip()}" for row, cells in enumerate(grid)]
    last = f"{longest}"
    axis = f"{'':{LEFT - 1}}{corner}{line * wide}"
    scale = f"{'':{LEFT}}1{x:^{max(len(x), wide - 1 - len(last))}}{last}"
    legend = "   ".join(f"{mark * 2} {name}" for mark, name in zip(marks, series, strict=False))
    return [*shown, axis, scale, f"{'':{LEFT}}{legend}"]


def _label(row: int) -> str:
    """Every fourth row has one: 100 %, 50 %, 0 %."""
    return f"{100 * (ROWS - 1 - row) // (ROWS - 1)}%" if row % 4 == 0 else ""
