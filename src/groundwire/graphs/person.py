"""A person's word, by LangGraph's interrupt: the episode pauses, and goes on with the answer."""

from __future__ import annotations

from typing import Any

from langgraph._internal._constants import CONFIG_KEY_CHECKPOINTER
from langgraph.config import get_config
from langgraph.types import interrupt

from groundwire.contexts import ToolContext
from groundwire.signals import Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.tasks import Task
from groundwire.toolcalls import Ruling, Steps, ruled
from groundwire.trees import Candidate

__all__ = ["AskPerson"]


class AskPerson:
    """Asks whether the last call may be made. The answer is given to `arun(…, episode_id=…, resume=…)`.

    `True` or `"yes"`: it is made. Anything else is a veto, and a text is handed to the actor as it was said. The graph
    must be compiled with a checkpointer; without one there is nobody to ask, no verdict, and no call.
    """

    never_passes = True

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.contexts.Tool`."""
        if get_config().get("configurable", {}).get(CONFIG_KEY_CHECKPOINTER) is None:
            said = "a person should decide; compile the graph with a checkpointer to be asked"
            reason = NoVerdict.UNDECIDED
            return Observation(verdict=Verdict.NONE, reason=reason, origin=Origin.HUMAN, evidence=Evidence(detail=said))
        steps = Steps.of(candidate)
        call = steps.calls[-1]
        doubts = [j.signal.evidence.detail for j in context.past() if j.signal.candidate_digest == candidate.digest]
        question = {"tool": call.tool, "arguments": dict(call.arguments), "doubt": doubts[-1] if doubts else ""}
        return ruled(_read(interrupt(question)), steps, Origin.HUMAN)


def _read(said: Any) -> Ruling:
    if said is True or said == "yes":
        return Ruling(True, "a person allowed it")
    return Ruling(False, "a person refused it", "" if said is False or said == "no" else str(said))
