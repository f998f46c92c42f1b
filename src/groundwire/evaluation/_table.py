"""The numbers of a report as lines of text, arm beside arm: what the terminal and the page both show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation._drift import repeated
from groundwire.evaluation._measuring import Measured
from groundwire.evaluation._rates import DASH, Rate, count, decimal, dollars, percent, points, rate, seconds
from groundwire.evaluation._rows import FAIL, NONE, PASS, Bools, Ints
from groundwire.evaluation._trials import Episodes, Trials
from groundwire.evaluation._verdicts import Report

# Which episodes stand behind a number.

SETS: Mapping[str, str] = {
    "solved": "the answer is right",
    "first": "the first try is right",
    "unsolved": "the answer is not known to be right",
    "fixes": "wrong at first, right at the end",
    "breaks": "right at first, wrong at the end",
    "false": "the answer passed what steers and failed the hidden tests",
    "unjudged": "the answer passed, and the task's hidden tests never judged it",
    "unverified": "the answer passed only tests that a model wrote",
    "none": "no verdict on the answer",
    "given": "passed before anything was tried",
    "repeats": "an answer came again after a FAIL",
    "lessons": "a trial was given lessons",
    "oracle": "a signal used the answer key",
}
"""By name: what the episodes of a set have in common."""


def episode_sets(trials: Trials) -> Mapping[str, Ints]:
    """By set, the numbers of its episodes."""
    episodes = Episodes.of(trials)
    first, final = episodes.truth(episodes.first), episodes.truth(episodes.last)
    last = np.maximum(episodes.last, 0)
    visible = np.where(episodes.tried, trials.visible[last], NONE) if len(trials) else final
    hidden = np.where(episodes.tried, trials.hidden[last], NONE) if len(trials) else final
    counted = episodes.counted
    unknown = counted & (final == NONE) & (visible == PASS)
    has_hidden = trials.has_hidden[trials.starts]
    found = {
        "solved": counted & (final == PASS),
        "first": counted & (first == PASS),
        "unsolved": counted & (final != PASS),
        "fixes": counted & (first == FAIL) & (final == PASS),
        "breaks": counted & (first == PASS) & (final == FAIL),
        "false": (visible == PASS) & (hidden == FAIL),
        "unjudged": unknown & has_hidden,
        "unverified": unknown & ~has_hidden,
        "none": counted & (final == NONE) & (visible == NONE),
        "given": episodes.given,
        "repeats": _any(episodes, repeated(trials)),
        "lessons": _any(episodes, trials.lessons > 0),
        "oracle": _any(episodes, trials.oracle),
    }
    return {name: np.flatnonzero(which) for name, which in found.items()}


def _any(episodes: Episodes, rows: Bools) -> Bools:
    """By episode, True where any of its rows is."""
    return episodes.total(rows.astype(np.int64)) > 0


MEANS: Mapping[str, str] = {
    "Acc1 → Acc2": "share right at the first try, and at the end; mean over tasks",
    "CL, right ones kept": "confidence level: of answers right at first, the share still right at the end",
    "CS, wrong ones fixed": "critique score: of answers wrong at first, the share right at the end",
    "RSS": "(Acc2 − Acc1²) / (2·Acc1·(1 − Acc1)); 0.5 is a correction that changes nothing in sum",
    "first step failed (Trap@1)": "of trials with steps, the share that went wrong with the very first one",
    "H.5, steps until half have failed": "⌈ln .5 / ln p⌉: how long a walk may be before half of all have failed a step",
    "P(error | error) − P(error | ok)": "above 0: a step after a failed one fails more often than another",
    "pass^k over episodes of a task": "probability that all of k episodes of one task are solved",
    "consensus β": "share of candidates that say what most of them say",
    "oracle@k": "any of the candidates is right: what a perfect choice would reach",
    "maj@k": "the answer that most candidates give is right",
    "refinement gap": "accuracy of the answers less that of the plurality, on the same groups",
}
"""By the name of a number whose name does not tell it: what it says. Formulas and sources are in docs/evaluation.md."""


@dataclass(frozen=True)
class Cell:
    """One arm's number.

    Args:
        text: as it is shown.
        episodes: the set of episodes behind it (`groundwire.evaluation._table`); empty where there is none.
    """

    text: str
    episodes: str = ""


@dataclass(frozen=True)
class Line:
    """One number of each arm."""

    name: str
    cells: Sequence[Cell]

    @property
    def means(self) -> str:
        """What the number says, in a line; empty where its name tells."""
        return MEANS.get(self.name, "")

    @property
    def is_empty(self) -> bool:
        """True where no arm has it."""
        return all(cell.text == DASH for cell in self.cells)


@dataclass(frozen=True)
class Group:
    """Lines that belong together."""

    title: str
    lines: Sequence[Line]


Read = Callable[[Measured], str]

_GROUPS: Sequence[tuple[str, Sequence[tuple[str, str, Read]]]] = (
    (
        "Outcome",
        (
            ("first try right", "first", lambda m: rate(m.outcome.first_try)),
            ("answer right", "solved", lambda m: rate(m.outcome.final)),
            ("answer right, 95 % interval", "", lambda m: _interval(m)),
            ("passed before anything was tried", "given", lambda m: count(m.outcome.already_passing)),
            ("passed, never judged by its hidden tests", "unjudged", lambda m: _some(m.outcome.unjudged)),
            ("passed only a model's tests", "unverified", lambda m: rate(m.outcome.unverified)),
            ("without a verdict", "none", lambda m: rate(m.outcome.no_verdict)),
            ("pass@k over episodes of a task", "", lambda m: _attempts(m, every=False)),
            ("pass^k over episodes of a task", "", lambda m: _attempts(m, every=True)),
            ("right where code would do better", "", lambda m: _hints(m)),
            ("stopped because", "", lambda m: ", ".join(f"{k} {v}" for k, v in m.outcome.stops.items())),
        ),
    ),
    (
        "Correction",
        (
            ("fixed", "fixes", lambda m: count(m.correction.fixes)),
            ("broken", "breaks", lambda m: count(m.correction.breaks)),
            ("false passes, of those judged", "false", lambda m: _false_passes(m)),
            ("Acc1 → Acc2", "", lambda m: _from_to(m)),
            ("CL, right ones kept", "", lambda m: decimal(m.correction.scores.cl)),
            ("CS, wrong ones fixed", "", lambda m: decimal(m.correction.scores.cs)),
            ("RSS", "", lambda m: decimal(m.correction.scores.rss)),
            ("flips by origin, fixed/broken", "", lambda m: _flips(m)),
            ("flips by round, fixed/broken", "", lambda m: _flips_by_round(m)),
        ),
    ),
    (
        "Signal",
        (
            ("TP / FN / FP / TN against hidden tests", "", lambda m: _confusion(m)),
            ("precision of a pass", "", lambda m: percent(m.signal.precision)),
            ("recall of a pass", "", lambda m: percent(m.signal.recall)),
            ("refinements opened by", "", lambda m: _triggers(m)),
            ("tries that no signal opened", "", lambda m: rate(m.provenance.ungrounded)),
            ("oracle: the answer key was used", "oracle", lambda m: rate(m.provenance.oracle)),
        ),
    ),
    (
        "Feedback",
        (
            ("answers repeated after a FAIL", "repeats", lambda m: rate(m.uptake.repeats)),
            ("loop found stuck", "", lambda m: rate(m.uptake.stuck)),
            ("identical re-calls after an error", "", lambda m: rate(m.uptake.recalls)),
            ("recovered at the next step", "", lambda m: rate(m.uptake.recoveries)),
            ("why errors last", "unsolved", lambda m: _friction(m)),
        ),
    ),
    (
        "Steps",
        (
            ("steps that failed", "", lambda m: rate(m.process.errors)),
            ("first failed step, mean", "", lambda m: decimal(m.process.first_error)),
            ("first step failed (Trap@1)", "", lambda m: rate(m.process.trapped)),
            ("passed in spite of a failed step", "", lambda m: rate(m.process.recovered)),
            ("steps kept by the next try", "", lambda m: percent(m.process.kept_prefix)),
            ("violations that a verifier found", "", lambda m: count(m.process.violations)),
            ("corrections that they opened", "", lambda m: count(m.process.corrections)),
            ("H.5, steps until half have failed", "", lambda m: count(m.horizon.length)),
            ("P(error | error) − P(error | ok)", "", lambda m: points(m.horizon.self_conditioning)),
        ),
    ),
    (
        "Width",
        (
            ("candidates at the first try, mean", "", lambda m: decimal(m.width.k)),
            ("consensus β", "", lambda m: percent(m.width.consensus)),
            ("oracle@k", "", lambda m: rate(m.width.oracle)),
            ("maj@k", "", lambda m: rate(m.width.majority)),
            ("answer right (synth@k)", "", lambda m: rate(m.width.refined)),
            ("refinement gap", "", lambda m: points(m.width.gap)),
            ("right by number of right candidates", "", lambda m: _by_right(m)),
            ("answers' entropy by round, nats", "", lambda m: _entropy(m)),
        ),
    ),
    (
        "Memory and history",
        (
            ("reflections written", "", lambda m: count(m.memory.written)),
            ("tries with lessons", "lessons", lambda m: _some(m.memory.hits)),
            ("first try right with lessons", "", lambda m: rate(m.memory.with_lessons)),
            ("first try right without", "", lambda m: rate(m.memory.without_lessons)),
            ("a person's interventions by visit", "", lambda m: _interventions(m)),
            ("predictor from history: AUROC", "", lambda m: decimal(m.history.auroc if m.history else None)),
            ("predictor from history: ECE", "", lambda m: decimal(m.history.ece if m.history else None)),
            (
                "what models say of themselves: AUROC",
                "",
                lambda m: decimal(m.self_report.auroc if m.self_report else None),
            ),
            ("what models say of themselves: ECE", "", lambda m: decimal(m.self_report.ece if m.self_report else None)),
            ("right among its surest 25/50/75/100 %", "", lambda m: _coverage(m)),
        ),
    ),
    (
        "Cost",
        (
            ("tokens", "", lambda m: _tokens(m, m.cost.tokens)),
            ("tokens that were waited for", "", lambda m: _tokens(m, m.cost.critical_tokens)),
            ("model calls", "", lambda m: count(m.cost.calls)),
            ("judgings", "", lambda m: count(m.cost.judgings)),
            ("money", "", lambda m: _money(m)),
            ("time, summed over tries", "", lambda m: seconds(m.cost.seconds)),
            ("tokens per success", "solved", lambda m: _tokens(m, m.cost.tokens_per_success)),
            ("judgings per success", "solved", lambda m: count(m.cost.judgings_per_success)),
            ("money per success", "solved", lambda m: dollars(m.cost.usd_per_success) if m.cost.calls else DASH),
            ("time per success", "solved", lambda m: seconds(m.cost.seconds_per_success)),
        ),
    ),
)

LINES = tuple(name for _, told in _GROUPS for name, _, _ in told)
"""The names of all numbers of a report."""


def groups_of(report: Report) -> Sequence[Group]:
    """All groups; lines that no arm has a number for are left out, and groups without a line."""
    found: list[Group] = []
    for title, told in _GROUPS:
        lines = [Line(name, [Cell(read(arm.measured), of) for arm in report.arms]) for name, of, read in told]
        shown = [line for line in lines if not line.is_empty]
        if shown:
            found.append(Group(title, shown))
    return found


def _tokens(m: Measured, tokens: float | None) -> str:
    """A number of tokens; a dash where models were called and nobody counted, as in published logs."""
    return DASH if m.cost.calls and not m.cost.tokens else count(tokens)


def _interval(m: Measured) -> str:
    if m.outcome.final.value is None:
        return DASH
    low, high = m.outcome.final.interval
    return f"{percent(low)} to {percent(high)}"


def _some(value: Rate) -> str:
    return rate(value) if value.part else DASH


def _attempts(m: Measured, *, every: bool) -> str:
    told = [(a.k, a.all_of_them if every else a.at_least_one) for a in m.attempts]
    return ", ".join(f"{k}: {percent(value)}" for k, value in told) if len(told) > 1 else DASH


def _hints(m: Measured) -> str:
    return ", ".join(f"{hint} {r.part}/{r.whole}" for hint, r in m.hints.items()) or DASH


def _false_passes(m: Measured) -> str:
    return f"{m.correction.false_passes:,} of {m.correction.claimed:,}" if m.correction.claimed else DASH


def _from_to(m: Measured) -> str:
    scores = m.correction.scores
    return DASH if scores.acc1 is None else f"{decimal(scores.acc1)} → {decimal(scores.acc2)}"


def _flips(m: Measured) -> str:
    return ", ".join(f"{origin} {f.fixed}/{f.broken}" for origin, f in m.correction.by_origin.items()) or DASH


def _flips_by_round(m: Measured) -> str:
    told = list(m.correction.by_round.items())
    more = f", {len(told) - 8} more rounds" if len(told) > 8 else ""
    return ", ".join(f"{number}: {f.fixed}/{f.broken}" for number, f in told[:8]) + more or DASH


def _confusion(m: Measured) -> str:
    told = m.signal
    whole = told.tp + told.fn + told.fp + told.tn
    return f"{told.tp:,} / {told.fn:,} / {told.fp:,} / {told.tn:,}" if whole else DASH


def _triggers(m: Measured) -> str:
    return ", ".join(f"{origin} {percent(r.value)}" for origin, r in m.provenance.triggers.items()) or DASH


def _friction(m: Measured) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in m.uptake.friction.items()) or DASH


def _by_right(m: Measured) -> str:
    return ", ".join(f"{number}: {r.part}/{r.whole}" for number, r in m.width.by_right.items()) or DASH


def _entropy(m: Measured) -> str:
    told = list(m.diversity.items())[:8]
    return ", ".join(f"{number}: {d.entropy:.2f}" for number, d in told) if m.width.groups else DASH


def _interventions(m: Measured) -> str:
    told = m.memory.interventions
    return ", ".join(f"{n:.2f}" for n in told) if any(told) else DASH


def _coverage(m: Measured) -> str:
    return " / ".join(percent(share) for share in m.history.coverage) if m.history else DASH


def _money(m: Measured) -> str:
    unknown = f" and {m.cost.unpriced:,} tries at an unknown price" if m.cost.unpriced else ""
    return f"{dollars(m.cost.usd)}{unknown}" if m.cost.calls else DASH
