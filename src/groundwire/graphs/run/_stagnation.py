"""Standstill: found by rule from what was judged, never by a model's opinion of itself.

Reflexion (arXiv 2303.11366) calls an episode stuck when the same action got the same response more than three times, or
when it took more than thirty actions. Feedback Friction (arXiv 2506.11930) answers a repeated answer with more
temperature, more draws, and tried answers refused. Both are here: what is found escalates the next proposal, and ends
the episode when escalating has not helped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundwire.core._candidates import Candidate
from groundwire.core._environments import Step
from groundwire.core._signals import Signal
from groundwire.core._signatures import failure_signature
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.run._history import History

DRAWS = 25
"""Answers drawn at the last escalation (Feedback Friction)."""
DRAWS_FACTOR = 5
SHOWN = 3


def draws(width: int, escalation: int) -> int:
    """Answers to ask for: the width at first, five times as many with each escalation, up to 25."""
    return max(width, min(DRAWS, width * DRAWS_FACTOR**escalation))


@dataclass(frozen=True)
class Failure:
    """In which way a candidate failed: two failures are the same if these are equal."""

    cases: frozenset[str]
    signature: str

    def __str__(self) -> str:
        names = sorted(self.cases)
        more = " …" if len(names) > SHOWN else ""
        return f"{', '.join(names[:SHOWN])}{more} ({self.signature or 'no message'})"


def failure_of(signal: Signal) -> Failure:
    """In which way the signal's candidate failed."""
    return Failure(frozenset(case.id for case in signal.evidence.failed()), failure_signature(signal.evidence))


def standstill(failures: Sequence[Failure], rules: Rules) -> str:
    """Why a loop does not move, in one line; empty where it does.

    Args:
        failures: of the trials' current candidates, the baseline left out, in order; the last one is new.
        rules: how often a failure may repeat.
    """
    if rules.repeats is None or not failures:
        return ""
    last = failures[-1]
    if len(failures) > rules.repeats and set(failures[-rules.repeats - 1 :]) == {last}:
        return f"same_failure: more than {rules.repeats} trials in a row failed in the same way: {last}"
    if len(failures) > 2 and failures[-3] == last != failures[-2]:
        return f"oscillation: the failure of two trials ago is back: {last}"
    return ""


def step_of(before: Candidate, after: Candidate, signal: Signal) -> Step:
    """The step that made one candidate of the other."""
    grown = {
        path: (content or b"")[len(before.changes.get(path) or b"") :]
        for path, content in after.changes.items()
        if content != before.changes.get(path)
    }
    return Step(repr(sorted(grown.items())), f"{signal.evidence.detail}\n{signal.evidence.stdout}".strip())


def failures_until(history: History, issuer: str, signal: Signal, rules: Rules) -> Sequence[Failure]:
    """The last failures that opened `refine` at one tool node, the baseline's left out, and the new one."""
    window = max(rules.repeats or 0, 2)
    earlier = [s for s in history.refined.get(issuer, [])[-window - 1 :] if 0 < s.trial < signal.trial]
    return [failure_of(s) for s in (*earlier[-window:], signal)]


def last_steps(history: History, issuer: str, trial: int, rules: Rules) -> Sequence[Step]:
    """The last steps of a trial, as many as a rule may ask for."""
    window = (rules.repeats or 0) + 1
    last = history.proposed.get(trial, [])[-window - 1 :]
    chain = last if len(last) > window else [history.base.digest, *last]
    known = history.candidates
    return [
        step_of(known[before], known[after], looks[-1])
        for before, after in pairwise(chain)
        if (looks := history.looks(trial, issuer, after))
    ]
