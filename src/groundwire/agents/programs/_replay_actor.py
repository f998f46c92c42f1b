"""An actor that proposes recorded whole programs: every one is judged anew, whatever the log says about it."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.patching._edit_apply import MAX_FILE_BYTES, candidate_of
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import CandidateError
from groundwire.core._models import Message, Request
from groundwire.core._recordings import Recording
from groundwire.core._tasks import Task
from groundwire.core._traits import ActorTraits, Needs
from groundwire.models._replay import ReplayBackend


class ReplayActor:
    """Proposes the programs that a recording holds for the task, in their order.

    Each is a call of its own in the ledger, made through a `ReplayBackend`, so that what a model wrote is known to be a
    model's. A program that was judged before in the episode is passed over; where it is the last one of the recording
    it is proposed again, since it is what the recorded actor answered in the end. It keeps nothing between calls, so
    one actor serves any number of episodes at once, and one that is resumed.

    Args:
        recording: the programs, by task and order (`Recording.of_task`).
        path: the file that each of them is the whole of; default: the one file that the task lets be edited.
    """

    traits = ActorTraits(needs=Needs(lessons=0), patient=True)

    def __init__(self, recording: Recording, *, path: str | None = None) -> None:
        self._recording = recording
        self._path = path

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Empty: the recording has no further program for this task.

        Raises:
            CandidateError: a program is larger than 2 MiB; or which file it is can't be told.
            BudgetExceeded: from `context.call`.
        """
        path = self._path or _only_file(context.task)
        samples = self._recording.of_task(context.task.id)
        places = [at for at, sample in enumerate(samples) if sample.recorded.texts]
        programs = [samples[at].recorded.texts[samples[at].index] for at in places]
        candidates = [self._candidate(context.task, path, text, at) for at, text in enumerate(programs)]
        firsts = {c.digest: at for at, c in reversed(list(enumerate(candidates))) if c.digest not in context.tried}
        chosen = sorted(firsts.values())[:n]
        if not chosen and candidates and self._ends_with_a_repeat(context, candidates[-1]):
            chosen = [len(candidates) - 1]
        for at in chosen:
            await self._play(context, f"program {at + 1} of {len(candidates)}", places[at])
        return [candidates[at] for at in chosen]

    def _ends_with_a_repeat(self, context: ActorContext, last: Candidate) -> bool:
        """True once, where the last program was judged, but before others."""
        newest = context.failing.candidate.digest if context.failing else ""
        return context.escalation == 0 and last.digest != newest

    async def _play(self, context: ActorContext, what: str, at: int) -> None:
        asked = f"Recorded {what} for {context.task.id} ({self._recording.source or 'in memory'})."
        request = Request(messages=(Message(role="user", content=asked),), seed=at, purpose="propose")
        await context.call(ReplayBackend(self._recording, task=context.task.id, start=at), request)

    def _candidate(self, task: Task, path: str, program: str, at: int) -> Candidate:
        body = program.encode()
        if len(body) > MAX_FILE_BYTES:
            raise CandidateError(f"Recorded program {at + 1} has {len(body)} bytes; at most {MAX_FILE_BYTES} are read.")
        return candidate_of(task, task.tree, {path: body}, edits=("replay.program",), note=f"recorded program {at + 1}")


def _only_file(task: Task) -> str:
    paths = [path for path in task.tree.files if task.may_edit(path)]
    if len(paths) != 1:
        raise CandidateError(
            f"Task {task.id} has {len(paths)} files that may be edited, and a recorded program is one.",
            do="Name the file:  ReplayActor(recording, path=…)",
        )
    return paths[0]
