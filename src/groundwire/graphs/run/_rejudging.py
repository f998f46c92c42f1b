"""What is looked at again, and what follows a PASS that is in doubt.

Two things are told apart. A *retry* repeats a judging that gave no verdict because something around the candidate
broke. A *rejudging* repeats one that gave a verdict, to find out whether it holds: a case that ends differently on the
same candidate is flaky, and is never a reason for anything.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from groundwire.core._contexts import Judged, SkepticalTool, Tool, ToolContext
from groundwire.core._records import Intent
from groundwire.core._signals import NoVerdict, Observation, Origin, Signal, Verdict
from groundwire.core._tasks import Task
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._history import History

# Looking again: which judgings are repeated, and what several looks at one candidate come to together.

INFRASTRUCTURE = frozenset({NoVerdict.SANDBOX})
"""Never the candidate's doing: repeated whatever came of the others."""
DOUBTFUL = INFRASTRUCTURE | {NoVerdict.RUNNER_CRASHED, NoVerdict.REPORT_MISSING, NoVerdict.LIMIT_HIT}
"""May be the candidate's own doing: repeated only while no other candidate of the trial got a verdict."""
NEVER_AGAIN = frozenset({Origin.HIDDEN_TESTS, Origin.TOOL_ERROR})
"""Hidden tests judge once; a candidate that reaches for what judges it is refused without a run."""
SHORT_S = 10.0
"""Wall seconds of a run that is repeated lightly."""
NAMES_SHOWN = 3


def broke_off(looks: Sequence[Signal]) -> int:
    """How many of the last looks in a row gave no verdict because something broke."""
    count = 0
    for look in reversed(looks):
        if look.reason not in DOUBTFUL:
            break
        count += 1
    return count


def wants_another_look(looks: Sequence[Signal], history: History, rules: Rules) -> bool:
    """True where nothing may rest yet on what was seen of a candidate.

    Args:
        looks: all signals of one tool node about it in one trial, in order.
        history: the episode so far.
        rules: how often to look.
    """
    last = looks[-1]
    if last.reason in DOUBTFUL:
        return broke_off(looks) <= rules.retries
    said = [look for look in looks if look.verdict is not Verdict.NONE]
    if last.verdict is Verdict.NONE or last.origin in NEVER_AGAIN:
        return False
    if last.verdict is Verdict.PASS:
        # the last judging is the one with controls, so that the first of several can't be it
        is_first = len(said) < 2 and looks_at_a_pass(rules, last.duration_s) > 1
        return is_first or looks_left(looks, rules) > 0
    # what only a limit of time ended is ended by it again
    news = {case.id for case in last.evidence.failed()} - history.failed_before(last) - set(last.evidence.late)
    return bool(news) and len(said) <= rules.rejudge_fails


def looks_left(looks: Sequence[Signal], rules: Rules) -> int:
    """How often what passes is still to be looked at; one judging may hold several looks (`Evidence.again`)."""
    seen = sum(1 + look.evidence.again for look in looks if look.verdict is not Verdict.NONE)
    return looks_at_a_pass(rules, looks[-1].duration_s) - seen


def looks_at_a_pass(rules: Rules, duration_s: float) -> int:
    """How often what passes is looked at before anything rests on it, where one look takes that long."""
    asked = 1 + rules.rejudge_passes
    is_said = "rejudge_passes" in rules.model_fields_set
    return asked if is_said or duration_s > SHORT_S else max(asked, rules.steady)


def reconcile(
    seen: Observation,
    earlier: Iterable[Signal],
    known: frozenset[str] = frozenset(),
    mended: frozenset[str] = frozenset(),
) -> Observation:
    """What was seen now, in the light of what was seen of the same candidate before.

    Args:
        seen: the new look.
        earlier: earlier looks at the same candidate by the same tool.
        known: cases that were flaky on other candidates.
        mended: cases that failed on the base tree; none where it is not known to fail.

    Returns:
        The observation with its flaky cases marked; without a verdict where only flaky cases speak against the
        candidate, or for it, or where it passed once and failed once.
    """
    if seen.verdict is Verdict.NONE:
        return seen
    before = [look for look in earlier if look.verdict is not Verdict.NONE or look.reason is NoVerdict.FLAKY]
    flaky = set(known) & {case.id for case in seen.evidence.cases}
    ended = {case.id: case.result.ok for case in seen.evidence.cases}
    bad = {name for name, ok in ended.items() if not ok}
    for look in before:
        flaky |= set(look.evidence.flaky)
        flaky |= {case.id for case in look.evidence.cases if ended.get(case.id, case.result.ok) is not case.result.ok}
        if Verdict.PASS in (look.verdict, seen.verdict) and look.verdict is not seen.verdict:
            flaky |= bad | {case.id for case in look.evidence.failed()}
    contradicted = any(look.verdict is not seen.verdict for look in before)
    if not flaky and not contradicted:
        return seen
    marked = _marked(seen, flaky)
    is_luck = bool(mended) and mended <= flaky
    if bad - flaky or (seen.verdict is Verdict.PASS and not contradicted and not is_luck):
        return marked
    return marked.model_copy(update={"verdict": Verdict.NONE, "reason": NoVerdict.FLAKY})


def _marked(seen: Observation, flaky: set[str]) -> Observation:
    names = sorted(flaky)
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    said = f"{', '.join(names[:NAMES_SHOWN])}{more}" if names else "it passed once and failed once"
    note = f"flaky, so counted neither for nor against the candidate: {said}"
    detail = f"{seen.evidence.detail.rstrip('. ')}; {note}" if seen.evidence.detail else note
    evidence = seen.evidence.model_copy(update={"flaky": tuple(names), "detail": detail})
    return seen.model_copy(update={"evidence": evidence})


# What follows a PASS that is in doubt: the batch goes on for a while, and a PASS without doubt comes before it.
#
# Doubt orders candidates that pass. It is no signal: it gives no verdict, opens no gate, and where nothing better
# turns up, the candidate that passed first is handed on all the same.

DOUBT = "doubt"
MOST_CANDIDATES = 100
MOST_S = 15.0


class BatchCutoff:
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
        if not isinstance(self._tool, SkepticalTool):
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
