"""What each change did, case by case, against the tree as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundwire.agents.evidence import may_be_shown
from groundwire.contexts import Judged
from groundwire.signals import CaseResult
from groundwire.trees import Candidate

__all__ = ["Effect", "effects_of"]

RAN = frozenset({CaseResult.PASSED, CaseResult.FAILED, CaseResult.ERROR})
"""A case that was skipped, or whose failure was expected, says nothing about a change."""
NOTHING: Mapping[str, bool] = {}


@dataclass(frozen=True)
class Effect:
    """What one candidate did to single cases.

    Args:
        candidate: the change.
        fixed: cases that failed before it and pass with it, in the runner's order.
        broke: cases that passed before it and fail with it.
    """

    candidate: Candidate
    fixed: tuple[str, ...]
    broke: tuple[str, ...]


def effects_of(judged: Sequence[Judged]) -> dict[str, Effect]:
    """The effects of all candidates that had one, by digest, in their order.

    Only what was seen counts: a case that did not run with the change, since the runner stopped early, is neither fixed
    nor broken. Empty where the base itself was not judged.

    Args:
        judged: of one episode, the base among them; candidates that were judged twice count as seen last.
    """
    seen = [j for j in judged if may_be_shown(j.signal)]
    before: Mapping[str, bool] = next((_results(j) for j in seen if j.candidate.is_base), NOTHING)
    effects: dict[str, Effect] = {}
    for one in seen:
        if one.candidate.is_base:
            continue
        after = _results(one)
        changed = [case for case, passed in after.items() if case in before and before[case] != passed]
        effect = Effect(
            one.candidate,
            fixed=tuple(case for case in changed if after[case]),
            broke=tuple(case for case in changed if not after[case]),
        )
        effects.pop(one.candidate.digest, None)
        if changed:
            effects[one.candidate.digest] = effect
    return effects


def _results(judged: Judged) -> Mapping[str, bool]:
    cases = judged.signal.evidence.cases
    return {case.id: case.result is CaseResult.PASSED for case in cases if case.result in RAN}
