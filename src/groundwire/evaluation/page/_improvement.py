"""What a loop of self-training came to: Markdown, one HTML page, and its plots. All text in them is hostile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from groundwire.core._text import plain, plural
from groundwire.evaluation._improvement import PairedGain, RoundFigures
from groundwire.evaluation.page._plots import COLOURS, Plot, as_share, plot_of

# pyright: reportUnknownMemberType=false
# matplotlib types its arguments, but not the **kwargs beside them

NAMES_SHOWN = 12
TRAIN = "training tasks"
"""The set that is learned from; all others are held out."""
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{padding:.2rem .7rem;border-bottom:1px solid #ddd}"
    "th,td{text-align:right}"
    "th:first-child,td:first-child{text-align:left}figure{display:inline-block;margin:0 1rem 1rem 0}"
    "code{font-size:.85em}.sentence{font-weight:600}"
)


@dataclass(frozen=True, kw_only=True)
class ImprovedModel:
    """One model of the loop; the first is what it began with.

    Args:
        number: 0 for that one.
        folder: where its weights are.
        revision: sha256 of these.
        figures: by set of tasks.
        gains: by held-out set, against the first model.
        rows: that it was trained on.
        rows_digest: sha256 of their file.
        left_out: by reason, answers that it was not trained on.
        trained: what the training came to: steps, loss, seconds, versions.
        seconds: by stage, how long it took in the process that did it.
        runs: by set of tasks, the run's id.
    """

    number: int
    folder: str
    revision: str
    figures: Mapping[str, RoundFigures]
    gains: Mapping[str, PairedGain]
    rows: int = 0
    rows_digest: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    trained: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    runs: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, kw_only=True)
class ImprovementReport:
    """All of it.

    Args:
        title: what was improved.
        about: what was asked for, in words.
        models: in the order of the rounds.
        best: number of the model that is handed on.
        stopped: why it ended before its last round; empty where it did not.
        held_out: what is known of the eval tasks' distance from the training rows.
    """

    title: str
    about: Mapping[str, str]
    models: Sequence[ImprovedModel]
    best: int
    stopped: str
    held_out: str

    @property
    def sets(self) -> Sequence[str]:
        """Sets of tasks that were answered, the held-out ones first."""
        names = list(dict.fromkeys(name for model in self.models for name in model.figures))
        return sorted(names, key=lambda name: name == TRAIN)


def plots_of_improvement(report: ImprovementReport) -> Sequence[Plot]:
    """The curve by round, and how much the answers differ."""
    return [
        plot_of(
            "Right samples by round",
            "Share of right samples, mean over tasks, with its 95 % interval (bootstrap over tasks). Round 0 is the"
            " model as it was.",
            lambda axes: _curve(axes, report),
        ),
        plot_of(
            "Different programs by round",
            "Of a task's samples, the share that are different programs. Where it falls to nothing, all answers have"
            " become the same.",
            lambda axes: _diversity(axes, report),
        ),
    ]


def _curve(axes: Axes, report: ImprovementReport) -> None:
    for name, colour in zip(report.sets, COLOURS * 4, strict=False):
        known = [(model.number, model.figures[name]) for model in report.models if name in model.figures]
        rounds = [number for number, _ in known]
        axes.plot(rounds, [f.right for _, f in known], marker="o", markersize=4, color=colour, label=plain(name))
        low = [f.right if f.low is None else f.low for _, f in known]
        high = [f.right if f.high is None else f.high for _, f in known]
        axes.fill_between(rounds, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    as_share(axes)
    top = max((f.high or f.right for m in report.models for f in m.figures.values()), default=1.0)
    axes.set_ylim(0, min(1.0, 1.15 * top) or 1.0)
    axes.legend()


def _diversity(axes: Axes, report: ImprovementReport) -> None:
    for name, colour in zip(report.sets, COLOURS * 4, strict=False):
        known = [
            (model.number, model.figures[name].diversity)
            for model in report.models
            if name in model.figures and model.figures[name].diversity is not None
        ]
        axes.plot(
            [n for n, _ in known],
            [d or 0.0 for _, d in known],
            marker="o",
            markersize=4,
            color=colour,
            label=plain(name),
        )
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    as_share(axes)
    axes.legend()


def as_markdown(report: ImprovementReport, plots: Sequence[str] = ()) -> str:
    """The report as Markdown.

    Args:
        report: what is told.
        plots: files of the plots, beside it.
    """
    lines = [f"# {_cell(report.title)}", ""]
    lines += [*map(_cell, _sentences(report)), ""]
    lines += [f"![]({name})" for name in plots]
    for title, head, rows in _tables(report):
        lines += ["", f"## {title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    for title, names in _learned(report):
        lines += ["", f"**{_cell(title)}**: {_cell(names)}"]
    return "\n".join(lines) + "\n"


def as_page(report: ImprovementReport) -> str:
    """The report as one HTML page that needs nothing from elsewhere; no script may run in it."""
    said = "".join(f'<p class="sentence">{escape(line)}</p>' for line in _sentences(report))
    # drawn by matplotlib from numbers and our own labels: the only markup that is taken as it is
    figures = "".join(
        f"<figure>{plot.svg}<figcaption>{escape(plot.note)}</figcaption></figure>"
        for plot in plots_of_improvement(report)
    )
    tables = "".join(_table(title, head, rows) for title, head, rows in _tables(report))
    learned = "".join(f"<p><b>{escape(title)}</b>: {escape(names)}</p>" for title, names in _learned(report))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(plain(report.title))}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(plain(report.title))}</h1>{said}{figures}{tables}{learned}</body></html>\n"
    )


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(plain(c, limit=300))}</td>" for c in row) + "</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><table><tr>{top}</tr>{body}</table>"


def _cell(text: str) -> str:
    return plain(text, limit=600).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


def _sentences(report: ImprovementReport) -> Iterator[str]:
    last = report.models[-1]
    for name, gain in last.gains.items():
        yield f"{plain(name)}, round {last.number}: {gain.sentence()}"
    if len(report.models) == 1:
        yield "Nothing was trained."
    if report.stopped:
        yield f"Ended before its last round: {plain(report.stopped, limit=600)}"
    yield f"The model that is handed on: round {report.best}."
    yield plain(report.held_out, limit=900)


def _tables(report: ImprovementReport) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    head = ["round", "set", "tasks", "samples", "right", "95 %", "any right", "different", "against round 0"]
    rows = [
        [
            str(model.number),
            name,
            str(one.tasks),
            str(one.samples),
            f"{100 * one.right:.2f} %",
            "–" if one.low is None or one.high is None else f"{100 * one.low:.2f} to {100 * one.high:.2f}",
            str(one.any_right),
            "–" if one.diversity is None else f"{one.diversity:.2f}",
            _against(model.gains.get(name)),
        ]
        for name in report.sets
        for model in report.models
        if (one := model.figures.get(name)) is not None
    ]
    yield "Right samples", head, rows
    trained = [model for model in report.models if model.trained]
    yield (
        "What was trained on",
        ["round", "rows", "sha256 of the rows", "left out", "steps", "loss", "device", "seconds", "weights"],
        [
            [
                str(m.number),
                str(m.rows),
                m.rows_digest[:16],
                ", ".join(f"{reason} {count}" for reason, count in m.left_out.items()) or "–",
                str(m.trained.get("steps", "")),
                str(m.trained.get("loss", "")),
                str(m.trained.get("device", "")),
                str(m.trained.get("train_s", "")),
                m.revision[:16],
            ]
            for m in trained
        ],
    )
    stages = list(dict.fromkeys(stage for m in report.models for stage in m.seconds))
    timed = [[str(m.number), *(f"{m.seconds.get(s, 0):.0f}" for s in stages)] for m in report.models]
    yield "Seconds", ["round", *stages], timed
    versions: Mapping[str, str] = trained[-1].trained.get("versions", {}) if trained else {}
    told = {**report.about, **({"versions": ", ".join(f"{k} {v}" for k, v in versions.items())} if versions else {})}
    yield "How", ["", ""], [[name, value] for name, value in told.items()]


def _against(gain: PairedGain | None) -> str:
    if gain is None or gain.low is None or gain.high is None:
        return "–"
    times = f"×{gain.ratio:.2f}, " if gain.ratio is not None else ""
    return f"{times}{100 * gain.difference:+.2f} ({100 * gain.low:+.2f} to {100 * gain.high:+.2f})"


def _learned(report: ImprovementReport) -> Iterator[tuple[str, str]]:
    for name, gain in report.models[-1].gains.items():
        for what, tasks in (("learned", gain.learned), ("unlearned", gain.unlearned)):
            shown = ", ".join(tasks[:NAMES_SHOWN]) + (" …" if len(tasks) > NAMES_SHOWN else "")
            yield f"{plain(name)}, {what} ({plural(len(tasks), 'task')})", shown or "–"
