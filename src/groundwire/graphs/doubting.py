"""What follows a PASS that is in doubt: the batch goes on for a while, and a PASS without doubt comes before it.

Doubt orders candidates that pass. It is no signal: it gives no verdict, opens no gate, and where nothing better turns
up, the candidate that passed first is handed on all the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from groundwire.contexts import DoubtingTool, Judged, Tool, ToolContext
from groundwire.graphs.episode import Episode
from groundwire.graphs.history import History
from groundwire.records import Intent
from groundwire.signals import Signal, Verdict
from groundwire.tasks import Task

__all__ = ["Patience", "without_doubtful"]

DOUBT = "doubt"
MOST_CANDIDATES = 100
MOST_S = 15.0


class Patience:
    """Says when a batch has seen enough.

    Args:
        tool: what judges the batch.
        task: the task as the tool sees it.
        context: the tool's.
        episode: the doubts are written to its ledger.
    """

    def __init__(self, tool: Tool, task: Task, context: ToolContext, episode: Episode) -> None:
        self._tool = tool
        self._task = task
        self._context = context
        self._episode = episode
        self._since: float | None = None
        self._more = 0

    async def is_over(self, signal: Signal, left: int) -> bool:
        """Called after each signal; one that passes must be in the ledger by then.

        Args:
            signal: the newest.
            left: candidates of the batch that are not judged yet.
        """
        if signal.verdict is Verdict.PASS:
            doubt = await self._doubt(signal) if left or self._since is not None else ""
            if not doubt:
                return True
            if self._since is None:
                self._since = time.monotonic()
        if self._since is None:
            return False
        self._more += 1
        return self._more > MOST_CANDIDATES or time.monotonic() - self._since > MOST_S

    async def _doubt(self, signal: Signal) -> str:
        if not isinstance(self._tool, DoubtingTool):
            return ""
        candidate = self._episode.history.candidates[signal.candidate_digest]
        doubt = await self._tool.doubt(candidate, self._task, self._context)
        if doubt:
            self._context.report(f"passes, but: {doubt}")
            await self._episode.record(
                Intent(
                    episode_id=signal.episode_id,
                    trial=signal.trial,
                    kind=DOUBT,
                    digest=signal.candidate_digest,
                    body=doubt,
                )
            )
        return doubt


def without_doubtful(judged: Sequence[Judged], history: History) -> Sequence[Judged]:
    """Leaves out the candidates that passed and are in doubt, where another one passed and is not.

    Where all of them are in doubt the first is kept: the actor thought it the most likely.
    """
    passed = [j for j in judged if j.signal.verdict is Verdict.PASS]
    if len(passed) < 2:
        return judged
    return [j for j in passed if j.candidate.digest not in history.doubted] or passed[:1]
