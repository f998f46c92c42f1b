"""The figures of HumanEvalFix runs, for people."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["KINDS", "Outcome", "effect", "report"]

KINDS = ("solved", "false_pass", "unsolved", "blind", "no_tests")
SEEN = 80
"""Tasks that operators and their priors were designed on: the first so many."""
RESAMPLES = 10_000


@dataclass(frozen=True)
class Outcome:
    """How one task ended.

    Args:
        task: its id.
        bug_type: what the benchmark calls the bug.
        kind: `solved`, `false_pass` (visible tests pass, hidden ones do not), `unsolved`, `blind` (the buggy function
            passes its visible tests) or `no_tests` (there are no visible tests).
        reason: the episode's stop reason.
        visible: visible tests.
        failing: those of them that the buggy function fails.
        candidates: how many were judged.
        seconds: of the whole episode.
        doubts: candidates that passed and were in doubt.
        edits: what the best candidate was made of.
        note: what it changes.
        detail: the end in words.
    """

    task: str
    bug_type: str
    kind: str
    reason: str
    visible: int
    failing: int
    candidates: int
    seconds: float
    doubts: int = 0
    edits: Sequence[str] = ()
    note: str = ""
    detail: str = ""

    @property
    def number(self) -> int:
        """Its place in the benchmark."""
        return int(self.task.rpartition("/")[2])


def report(known: Sequence[Outcome]) -> str:
    """Rates by kind of bug and by half, speed, and what stopped the rest."""
    lines = [f"{'':18}{'all':>6}" + "".join(f"{kind:>12}" for kind in KINDS)]
    groups = [(kind, [o for o in known if o.bug_type == kind]) for kind in sorted({o.bug_type for o in known})]
    groups.append((f"tasks 0-{SEEN - 1}", [o for o in known if o.number < SEEN]))
    groups.append((f"tasks {SEEN}-", [o for o in known if o.number >= SEEN]))
    lines += [_row(name, some) for name, some in (*groups, ("total", known))]
    solved = [o for o in known if o.kind == "solved"]
    if solved:
        lines.append(f"candidates to the repair: median {statistics.median(o.candidates for o in solved):.0f}")
    judged, seconds = sum(o.candidates for o in known), sum(o.seconds for o in known)
    lines.append(
        f"{judged} candidates in {seconds:.0f} s of episodes: {judged / max(seconds, 0.01):.1f} a second and worker"
    )
    lines.append(_doubts(known))
    rest = [o for o in known if o.kind == "unsolved"]
    for reason, count in Counter(o.reason for o in rest).most_common():
        tried = statistics.median(o.candidates for o in rest if o.reason == reason)
        lines.append(f"unsolved because of {reason}: {count}, after {tried:.0f} candidates in the median")
    return "\n".join(lines)


def _row(name: str, some: Sequence[Outcome]) -> str:
    counts = Counter(o.kind for o in some)
    rate = 100 * counts["solved"] / max(1, len(some))
    return f"{name:18}{len(some):>6}" + "".join(f"{counts[kind]:>12}" for kind in KINDS) + f"   {rate:5.1f} %"


def _doubts(known: Sequence[Outcome]) -> str:
    some = [o for o in known if o.doubts]
    solved = sum(o.kind == "solved" for o in some)
    return f"passes in doubt: {sum(o.doubts for o in some)} in {len(some)} tasks, of which {solved} were solved"


def effect(plain: Sequence[Outcome], taught: Sequence[Outcome]) -> str:
    """What memory changed, task by task: candidates up to the one that passed its visible and hidden tests."""
    before = {o.task: o for o in plain}
    pairs = [(before[o.task], o) for o in taught if o.task in before]
    fixed = [sum(o.kind == "solved" for o in side) for side in zip(*pairs, strict=True)] if pairs else [0, 0]
    both = [(a, b) for a, b in pairs if a.kind == b.kind == "solved"]
    lines = [f"memory: {len(pairs)} tasks in pairs, solved without {fixed[0]}, with {fixed[1]}"]
    if not both:
        return lines[0]
    counts = [[o.candidates for o in side] for side in zip(*both, strict=True)]
    fewer, more = (sum(sign * (b.candidates - a.candidates) > 0 for a, b in both) for sign in (-1, 1))
    medians, means = ([f"{middle(c):.1f}" for c in counts] for middle in (statistics.median, statistics.mean))
    lines.append(
        f"solved both times: {len(both)}; candidates to the repair without and with memory: "
        f"median {' and '.join(medians)}, mean {' and '.join(means)}"
    )
    ratios = np.log([b.candidates / a.candidates for a, b in both])
    drawn = np.random.default_rng(0).choice(ratios, (RESAMPLES, len(ratios)))
    low, high = np.percentile(np.exp(drawn.mean(axis=1)), [2.5, 97.5])
    middle_ratio = math.exp(float(ratios.mean()))
    lines.append(f"geometric mean of the ratio with/without: {middle_ratio:.3f}, 95 % {low:.3f} to {high:.3f}")
    lines.append(
        f"fewer candidates with memory in {fewer} tasks, more in {more}, as many in {len(both) - fewer - more}; "
        f"sign test p = {_sign_test(fewer, more):.3f}"
    )
    return "\n".join(lines)


def _sign_test(wins: int, losses: int) -> float:
    """Two-sided p of at least so uneven a split of a fair coin."""
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(max(wins, losses), n + 1)) / 2**n
    return min(1.0, 2 * tail)
