"""Sets a report into its page. Everything in it may be hostile, so everything is escaped, and no script may run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from groundwire.core._signals import Isolation
from groundwire.core._text import plain
from groundwire.evaluation._rows import NONE, PASS
from groundwire.evaluation._table import SETS, episode_sets, groups_of
from groundwire.evaluation._trials import Trials
from groundwire.evaluation._verdicts import ArmReport, Report
from groundwire.evaluation.page._plots import plots_of

EPISODES_SHOWN = 1_000
"""Episodes of an arm that are told one by one; `--json` has them all."""
TEXT_SHOWN = 300
LINKS_SHOWN = 200
"""Episodes of a set that are linked."""
MARKS = {PASS: "✓", 0: "✗", NONE: "–"}
CLASSES = {PASS: "pass", 0: "fail", NONE: "none"}


@dataclass(frozen=True)
class Listed:
    """A set of an arm's episodes, as links.

    Args:
        anchor: its place in the page.
        means: what they have in common.
        size: how many there are.
        links: (anchor, task) of those that are shown.
    """

    anchor: str
    means: str
    size: int
    links: Sequence[tuple[str, str]]


def render_page(report: Report, *, title: str = "groundwire report", episodes_at: str = "", back_to: str = "") -> str:
    """One HTML document: no script, nothing from elsewhere, everything escaped.

    Args:
        report: what is shown.
        title: of the document.
        episodes_at: where an episode's own page is, up to its id (`/episode/`); empty: it has none.
        back_to: address of the page that leads to all others; empty: there is none.
    """
    environment = Environment(
        loader=PackageLoader("groundwire.evaluation.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = _plain
    sets = {arm.label: list(_sets(arm)) for arm in report.arms}
    return environment.get_template("report.html").render(
        title=title,
        episodes_at=episodes_at,
        back_to=back_to,
        report=report,
        groups=groups_of(report),
        anchors={label: {one.anchor for one in listed} for label, listed in sets.items()},
        # drawn by matplotlib from numbers and our own labels: the only markup that is taken as it is
        plots=[(plot, Markup(plot.svg)) for plot in plots_of(report)],
        sets=sets,
        episodes={arm.label: list(_episodes(arm)) for arm in report.arms},
        shown=EPISODES_SHOWN,
        links_shown=LINKS_SHOWN,
    )


def _plain(text: str, limit: int = TEXT_SHOWN) -> str:
    return plain(text, limit=limit)


def _sets(arm: ArmReport) -> Iterator[Listed]:
    trials = arm.arm.trials
    for name, numbers in episode_sets(trials).items():
        if len(numbers):
            links = [(f"{arm.label}-{at}", _task(trials, at)) for at in numbers[:LINKS_SHOWN] if at < EPISODES_SHOWN]
            yield Listed(f"{arm.label}-{name}", SETS[name], len(numbers), links)


def _task(trials: Trials, at: int) -> str:
    return trials.task[int(trials.starts[at])]


def _episodes(arm: ArmReport) -> Iterator[Mapping[str, Any]]:
    trials = arm.arm.trials
    for at in range(min(len(trials.starts), EPISODES_SHOWN)):
        first, last = int(trials.starts[at]), int(trials.ends[at])
        yield {
            "anchor": f"{arm.label}-{at}",
            "id": trials.episode[first],
            "task": trials.task[first],
            "seed": int(trials.seed[first]),
            "stop": trials.stop[last],
            "mark": MARKS[int(trials.truth[last])],
            "class": CLASSES[int(trials.truth[last])],
            "trials": [_trial(trials, row) for row in range(first, last + 1)],
        }


def _trial(trials: Trials, row: int) -> Mapping[str, Any]:
    told = trials.row(row)
    return {
        "told": told,
        "judged_in": Isolation(told.isolation).in_words if told.isolation else "",
        "visible": MARKS[int(trials.visible[row])],
        "visible_class": CLASSES[int(trials.visible[row])],
        "hidden": MARKS[int(trials.hidden[row])] if told.hidden != "none" else "",
        "hidden_class": CLASSES[int(trials.hidden[row])],
    }
