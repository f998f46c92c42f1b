"""The gate: what a signal must be, by its seal and its origin, before anything may be corrected because of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum

from groundwire.core._errors import SealError
from groundwire.core._records import Admission
from groundwire.core._seal import Mint
from groundwire.core._signals import EXTERNAL_ORIGINS, NoVerdict, Origin, Signal, Verdict

# What a signal's origin is worth: what may verify, what may only ask for another try, and what must be named.

NAMED_ONLY = frozenset({Origin.OTHER_MODEL, Origin.HUMAN})
"""Opinions: they count only where the graph names them (`FeedbackGraph(trust=…)`), and every report marks them."""
WEAK = frozenset({Origin.MODEL_TESTS}) | NAMED_ONLY
"""They order candidates only where nothing stronger tells these apart. On MBPP 16 % of what passed tests that a model
wrote was wrong (Reflexion, arXiv 2303.11366)."""


def may_verify(origin: Origin, trusted: Collection[Origin] = ()) -> bool:
    """True if a PASS of this origin may declare success.

    Args:
        origin: the signal's.
        trusted: opinions that the graph names.
    """
    if origin in NAMED_ONLY:
        return origin in trusted
    return origin not in (Origin.MODEL_TESTS, Origin.RULE)


# The gate: what a signal must be before anything may be corrected because of it.


class GateKind(StrEnum):
    """The two edges that only a signal opens."""

    REFINE = "refine"
    """A sealed FAIL of the current candidate; the only edge that may rewrite."""
    ADVANCE = "advance"
    """A fresh sealed observation that says "go on"; may only append."""


class Refusal(StrEnum):
    """Why a signal opened nothing."""

    SEAL = "seal"
    """Not what was minted, or minted for another run."""
    EPISODE = "episode"
    STALE = "stale"
    """About an earlier trial or step."""
    ISSUER = "issuer"
    """Not from the tool that this edge leaves."""
    CANDIDATE = "candidate"
    """About another candidate than the current one."""
    REUSED = "reused"
    """It has opened a gate before."""
    ORIGIN = "origin"
    """Not an outside origin, or one the graph does not trust."""
    VERDICT = "verdict"
    """Not a FAIL (refine), or not a "go on" (advance)."""
    BUDGET = "budget"


@dataclass(frozen=True)
class Question:
    """What the gate is asked.

    Args:
        kind: which edge.
        signal: the signal that should open it.
        episode_id: the running episode.
        trial: the trial that was just judged.
        issuer: the tool node that the edge leaves.
        candidate_digest: the current candidate.
        used: True if the signal has opened a gate before.
        used_up: "" or the kind of budget that is used up.
        trusted: origins that the graph names besides the external ones.
    """

    kind: GateKind
    signal: Signal
    episode_id: str
    trial: int
    issuer: str
    candidate_digest: str
    used: bool
    used_up: str = ""
    trusted: frozenset[Origin] = frozenset()


def admit(question: Question, mint: Mint) -> Admission:
    """Answers a question. Never raises: a refusal is an answer, with its reason."""
    refusal = next((r for r, refused in CHECKS if refused(question, mint)), None)
    return Admission(
        episode_id=question.episode_id,
        trial=question.trial,
        signal_id=question.signal.id,
        candidate_digest=question.candidate_digest,
        edge=question.kind,
        admitted=refusal is None,
        reason=refusal or "",
    )


def _bad_seal(question: Question, mint: Mint) -> bool:
    try:
        mint.verify(question.signal)
    except SealError:
        return True
    return False


def _of_another_episode(question: Question, _mint: Mint) -> bool:
    return question.signal.episode_id != question.episode_id


def _stale(question: Question, _mint: Mint) -> bool:
    return question.signal.trial != question.trial


def _of_another_tool(question: Question, _mint: Mint) -> bool:
    return question.signal.issuer != question.issuer


def _about_another_candidate(question: Question, _mint: Mint) -> bool:
    return question.signal.candidate_digest != question.candidate_digest


def _reused(question: Question, _mint: Mint) -> bool:
    return question.used


def _untrusted(question: Question, _mint: Mint) -> bool:
    return question.signal.origin not in EXTERNAL_ORIGINS | (question.trusted & NAMED_ONLY)


def _wrong_verdict(question: Question, _mint: Mint) -> bool:
    signal = question.signal
    if question.kind is GateKind.REFINE:
        return signal.verdict is not Verdict.FAIL
    return signal.verdict is not Verdict.NONE or signal.reason is not NoVerdict.GO_ON


def _used_up(question: Question, _mint: Mint) -> bool:
    return bool(question.used_up)


CHECKS: tuple[tuple[Refusal, Callable[[Question, Mint], bool]], ...] = (
    (Refusal.SEAL, _bad_seal),
    (Refusal.EPISODE, _of_another_episode),
    (Refusal.STALE, _stale),
    (Refusal.ISSUER, _of_another_tool),
    (Refusal.CANDIDATE, _about_another_candidate),
    (Refusal.REUSED, _reused),
    (Refusal.ORIGIN, _untrusted),
    (Refusal.VERDICT, _wrong_verdict),
    (Refusal.BUDGET, _used_up),
)
"""The rules, in the order in which the first refusal is named. Taking one out admits what only it refuses."""
