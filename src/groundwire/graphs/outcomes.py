"""What a trial came to: the outcome that its lessons and its edits are measured by."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.graphs.history import History
from groundwire.records import TrialEnd
from groundwire.signals import EXTERNAL_ORIGINS, Origin, Verdict

__all__ = ["trial_end"]

MEASURES = EXTERNAL_ORIGINS - {Origin.MODEL_TESTS} | {Origin.HUMAN}
"""Hidden tests are not among them, since what is measured steers later trials; nor is anything that a model said."""


def trial_end(episode_id: str, history: History, trial: int) -> Sequence[TrialEnd]:
    """What a trial came to, once; nothing for the baseline or for what has ended already.

    It passed if a candidate passed every tool that judged it, and failed if any was judged and none did.
    """
    if trial < 1 or trial in history.ended or trial not in history.lessons:
        return ()
    judged = [j.signal for j in history.judged_of(trial) if j.signal.origin in MEASURES]
    judged = [signal for signal in judged if signal.verdict is not Verdict.NONE]
    failed = {signal.candidate_digest for signal in judged if signal.verdict is Verdict.FAIL}
    passed = (signal for signal in judged if signal.candidate_digest not in failed)
    best = next(passed, judged[-1] if judged else None)
    if best is None:
        return (TrialEnd(episode_id=episode_id, trial=trial, verdict=Verdict.NONE),)
    return (TrialEnd(episode_id=episode_id, trial=trial, verdict=best.verdict, signal_id=best.id),)
