"""Tool-using actors: the nodes that their graphs share, and what an episode came to, read from the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph.runtime import Runtime

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, Judged, Tool
from groundwire.core._records import CandidateRecord, ModelCall, StopReason, Store
from groundwire.core._signals import NoVerdict, Origin, Signal, Verdict
from groundwire.core._toolcalls import RELEVANT, Answer, Call, Offers, Steps, anything, seen_calls
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._state import EpisodeState
from groundwire.tools._tool_calls import ToolCalls

REPEAT = "repeat"
"""The purpose of a model call that asks again since the answer had been judged before."""


@dataclass(frozen=True)
class Cut:
    """A sequence that was cut back since its answer was rejected.

    Args:
        trial: the trial whose answer it was.
        calls: calls that it had.
        kept: calls that stayed.
        gain: True if the next answer passed.
    """

    trial: int
    calls: int
    kept: int
    gain: bool


@dataclass(frozen=True)
class ToolAccount:
    """Counts of one episode.

    Args:
        made: calls that went well.
        failed: calls that failed, with those that were refused before anything was called.
        recovered: failures after which that very step was made anew and went well.
        degenerate_repeats: times that the actor named what had been judged before, and was asked again (Fission-GRPO,
            arXiv 2601.15625, counts identical calls after an error so).
        vetoed: calls that a reviewer or a person forbade; none of them was made.
        labelled: searches that were judged.
        accepted: searches that were found relevant.
        cuts: sequences that were cut back.
    """

    made: int = 0
    failed: int = 0
    recovered: int = 0
    degenerate_repeats: int = 0
    vetoed: int = 0
    labelled: int = 0
    accepted: int = 0
    cuts: tuple[Cut, ...] = ()

    @property
    def recovery_rate(self) -> float | None:
        """Failures that were recovered from, from 0 to 1; None where nothing failed."""
        return self.recovered / self.failed if self.failed else None

    @property
    def accept_rate(self) -> float | None:
        """Searches that were accepted, from 0 to 1; None where none was judged."""
        return self.accepted / self.labelled if self.labelled else None


async def tool_account(store: Store, episode_id: str) -> ToolAccount:
    """Reads an episode from the ledger and counts.

    Args:
        store: the ledger.
        episode_id: an episode of a graph that `add_steps` made.
    """
    records = await store.records(episode_id)
    steps = {
        record.digest: Steps.of(Candidate.from_bytes(await store.artifact(record.artifact)))
        for record in records
        if isinstance(record, CandidateRecord)
    }
    signals = [r for r in records if isinstance(r, Signal) and r.origin is not Origin.RULE]
    good = [s for s in signals if s.reason is NoVerdict.GO_ON and s.origin in (Origin.EXECUTION, Origin.ENVIRONMENT)]
    failed = [s for s in signals if s.origin is Origin.TOOL_ERROR]
    labels = [c.result.ok for s in signals for c in s.evidence.cases if c.id == RELEVANT]
    return ToolAccount(
        made=len(good),
        failed=len(failed),
        recovered=sum(_is_recovered(signal, good, steps) for signal in failed),
        degenerate_repeats=sum(isinstance(r, ModelCall) and r.purpose == REPEAT for r in records),
        vetoed=sum(_is_veto(signal, steps) for signal in signals),
        labelled=len(labels),
        accepted=sum(labels),
        cuts=_cuts(signals, steps),
    )


def _is_recovered(failure: Signal, good: Sequence[Signal], steps: Mapping[str, Steps]) -> bool:
    place = len(steps[failure.candidate_digest].steps)
    before = steps[failure.candidate_digest].first(place - 1)
    later = (steps[s.candidate_digest] for s in good if s.trial > failure.trial)
    return any(len(done.steps) == place and done.first(place - 1) == before for done in later)


def _is_veto(signal: Signal, steps: Mapping[str, Steps]) -> bool:
    last = steps[signal.candidate_digest].last
    return signal.verdict is Verdict.FAIL and signal.origin is not Origin.TOOL_ERROR and not isinstance(last, Answer)


def _cuts(signals: Sequence[Signal], steps: Mapping[str, Steps]) -> tuple[Cut, ...]:
    answers = [
        s
        for s in signals
        if s.verdict is not Verdict.NONE
        and s.origin is not Origin.TOOL_ERROR
        and isinstance(steps[s.candidate_digest].last, Answer)
    ]
    found: list[Cut] = []
    for place, signal in enumerate(answers):
        done = steps[signal.candidate_digest]
        if signal.verdict is Verdict.FAIL:
            after = answers[place + 1] if place + 1 < len(answers) else None
            gain = after is not None and after.verdict is Verdict.PASS
            found.append(Cut(signal.trial, len(done.calls), len(done.cut_at(signal).calls), gain))
    return tuple(found)


# What the graphs of tool-using actors share: the actor, the node that sorts its steps, the calls, and the judge.
#
#     act ──► sort ──call──► call ──error (refine)──► act
#                  ──answer─► check ──fail (refine)──► act
#
# Where a call that went well leads is each graph's own: straight back (`advance`), or past another tool first.

FAILURES = 3
"""Failures of one step, one after the other, before the episode ends (THOR, arXiv 2509.13761)."""


class ToolState(EpisodeState):
    """The state of an actor that uses tools."""

    kind: str = ""
    """The last step: `call`, `irreversible` or `answer`."""
    calls: int = 0
    """Calls in the sequence, the last one included."""


@dataclass(frozen=True)
class StepSorter:
    """Says what the actor's last step is; a plain node. An answer that is not on offer is sorted with the calls, which
    refuse it: nothing but an offer leads to the judge.

    Args:
        calls: the tool that makes the calls, which knows its toolbox.
        offers: what may be done next.
    """

    calls: ToolCalls
    offers: Offers = anything

    def __call__(self, state: ToolState, runtime: Runtime[Episode]) -> Mapping[str, object]:
        """One superstep."""
        history = runtime.context.history
        steps = Steps.of(history.candidates[state.candidate])
        return {"kind": self._kind(steps, history.judged_until(state.trial)), "calls": len(steps.calls)}

    def _kind(self, steps: Steps, past: Sequence[Judged]) -> str:
        last = steps.last
        if isinstance(last, Answer):
            return "answer" if self.offers(seen_calls(steps, past)).answer else "call"
        undoable = isinstance(last, Call) and self.calls.toolbox.is_irreversible(last.tool)
        return "irreversible" if undoable else "call"


def add_steps(
    graph: FeedbackGraph,
    actor: Actor,
    calls: ToolCalls,
    check: Tool,
    *,
    offers: Offers = anything,
    failures: int = FAILURES,
    rejections: int = FAILURES,
    irreversible: str = "call",
) -> FeedbackGraph:
    """Adds the nodes `act`, `sort`, `call` and `check` with the edges between them, but for what follows a good call.

    Args:
        graph: its state is a `ToolState`.
        actor: names the next step.
        calls: makes the calls.
        check: judges the answer.
        offers: what may be done next; the actor's own.
        failures: calls of one step that may fail one after the other; at the last the episode ends `tool_exhausted`.
        rejections: answers that may be rejected; at the last the episode ends `rejected`.
        irreversible: the node to which calls go that can't be undone.
    """
    graph.add_actor("act", actor)
    graph.add_node("sort", StepSorter(calls, offers), role="pure")
    graph.add_tool("call", calls)
    graph.add_tool("check", check)
    graph.add_edge("act", "sort")
    ways = {"call": "call", "irreversible": irreversible, "answer": "check"}
    graph.add_conditional_edges("sort", by_kind, ways, role="pure")
    graph.refine("call", to="act", failures=failures, stop=StopReason.TOOL_EXHAUSTED)
    graph.refine("check", to="act", failures=rejections, stop=StopReason.REJECTED)
    return graph


def by_kind(state: ToolState) -> str:
    """Where a step leads, by its kind."""
    return state.kind
