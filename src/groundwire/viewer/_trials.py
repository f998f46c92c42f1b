"""A trial as it is looked at: candidates, what was seen of each, calls, lessons and reflections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from groundwire.core._candidates import Candidate
from groundwire.core._environments import actions_in, scene_of
from groundwire.core._errors import GroundwireError
from groundwire.core._records import Admission, Intent, ProgramRun
from groundwire.core._signals import Origin, Signal, Verdict
from groundwire.viewer._model_calls import CallView, object_in


@dataclass(frozen=True)
class SignalView:
    """What a tool saw of a candidate.

    Args:
        id: of the signal.
        issuer: the tool node.
        origin: where it comes from.
        verdict: pass, fail or none.
        reason: why there is no verdict.
        hidden: True for hidden tests.
        candidate: digest of the candidate.
        passed: cases that count for it.
        failed: cases that count against it.
        collected: cases that were found.
        detail: one line for people.
        note: how it was judged, where that was out of the ordinary.
        isolation: where the assertions ran, in words; empty where nothing was run.
        sandbox: the kind of sandbox; empty where nothing was run.
        command: what was run.
        duration_s: wall seconds.
        at: when.
        failing: the first failing cases, each (id, message).
        controls: what controls showed; empty where there were none.
        taken_from: where it was taken from, if nothing was run.
        gate: the gate's answer; empty where it was not asked.
        opened: True where the gate let it through.
    """

    id: str
    issuer: str
    origin: str
    verdict: str
    reason: str
    hidden: bool
    candidate: str
    passed: int
    failed: int
    collected: int
    detail: str
    note: str
    isolation: str
    sandbox: str
    command: str
    duration_s: float
    at: str
    failing: Sequence[tuple[str, str]]
    controls: str
    taken_from: str
    gate: str = ""
    opened: bool = False


@dataclass(frozen=True)
class CandidateView:
    """A candidate and what was seen of it.

    Args:
        digest: its digest.
        trial: the trial that proposed it.
        actor: who proposed it.
        note: one line for people.
        edits: names of the edits that made it.
        is_best: True for the one that was handed out.
        signals: what tools saw of it, in order.
    """

    digest: str
    trial: int
    actor: str
    note: str
    edits: Sequence[str]
    is_best: bool
    signals: Sequence[SignalView] = ()

    @property
    def verdict(self) -> str:
        """The last one that visible tools gave; empty where nothing judged it."""
        return next((s.verdict for s in reversed(self.signals) if not s.hidden), "")


@dataclass(frozen=True)
class Given:
    """A lesson that a trial was given.

    Args:
        id: of the lesson.
        rank: 1: the first one in the prompt.
        why: what brought it back.
        text: the lesson; empty where it was forgotten.
    """

    id: str
    rank: int
    why: str
    text: str = ""


@dataclass(frozen=True)
class ReflectionView:
    """A critic's text.

    Args:
        id: of the reflection, which is the lesson's too.
        signal: id of the failing signal behind it.
        by: who wrote it.
        text: verbatim.
        raw: what a person said, where the text was distilled from that.
    """

    id: str
    signal: str
    by: str
    text: str
    raw: str


@dataclass(frozen=True)
class SceneView:
    """A step in a world.

    Args:
        action: what was done.
        scene: what could be seen then.
        verdict: how it stood: pass (won), fail (lost) or none (goes on).
    """

    action: str
    scene: str
    verdict: str


@dataclass
class TrialView:
    """A trial; number 0 is the baseline.

    Args:
        number: counted from 1.
        escalation: how many times the loop had been found not to move.
        began_at: when.
        verdict: what it came to; empty while that is open.
        lessons: what it was given.
        calls: model calls, in order.
        programs: programs that an actor ran, in words.
        candidates: what was proposed, in order.
        scenes: of a world, the steps of the last candidate.
        reflections: what was learned.
        rules: what rules about the loop said.
        notes: what else was written down: hidden tests laid out, doubts, contradictions.
    """

    number: int
    escalation: int = 0
    began_at: str = ""
    verdict: str = ""
    lessons: list[Given] = field(default_factory=list[Given])
    calls: list[CallView] = field(default_factory=list[CallView])
    programs: list[str] = field(default_factory=list[str])
    candidates: list[CandidateView] = field(default_factory=list[CandidateView])
    scenes: list[SceneView] = field(default_factory=list[SceneView])
    reflections: list[ReflectionView] = field(default_factory=list[ReflectionView])
    rules: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    @property
    def tokens(self) -> int:
        """Of its model calls."""
        return sum(call.prompt_tokens + call.completion_tokens for call in self.calls)

    @property
    def best(self) -> CandidateView | None:
        """The candidate that stands for the trial: the one handed out, else the one that most visible cases hold for,
        the last of these."""
        judged = [c for c in self.candidates if any(not s.hidden for s in c.signals)]
        return max(
            judged,
            key=lambda c: (c.is_best, c.verdict == Verdict.PASS, max(s.passed for s in c.signals), judged.index(c)),
            default=None,
        )


def signal_of(signal: Signal, gate: Admission | None) -> SignalView:
    """Puts a signal and the gate's answer to it, if it was asked, together."""
    evidence = signal.evidence
    failed = evidence.failed()
    return SignalView(
        id=signal.id,
        issuer=signal.issuer,
        origin=str(signal.origin),
        verdict=str(signal.verdict),
        reason=str(signal.reason or ""),
        hidden=signal.origin is Origin.HIDDEN_TESTS,
        candidate=signal.candidate_digest,
        passed=len(evidence.passed()),
        failed=len(failed),
        collected=evidence.collected,
        detail=evidence.detail,
        note=evidence.note,
        isolation=signal.isolation.in_words if signal.sandbox else "",
        sandbox=signal.sandbox.kind if signal.sandbox else "",
        command=" ".join(signal.command),
        duration_s=signal.duration_s,
        at=signal.created_at,
        failing=[(case.id, case.message) for case in failed[:3]],
        controls=_controls(signal),
        taken_from=signal.taken_from,
        gate=_answer(gate) if gate else "",
        opened=bool(gate and gate.admitted),
    )


def _controls(signal: Signal) -> str:
    controls = signal.evidence.controls
    if controls is None:
        return ""
    turned = controls.changed_value + controls.negation
    said = f"{turned} of {turned + controls.uncontrolled + controls.passed} cases were seen to be able to fail"
    return f"{said}; {controls.passed} passed though they had to fail" if controls.passed else said


def _answer(gate: Admission) -> str:
    return f"{gate.edge}: let through" if gate.admitted else f"{gate.edge}: refused, {gate.reason}"


def remark_of(intent: Intent) -> str:
    """What an intent that is no model call says, in words; empty where that is nothing to be shown."""
    said = object_in(intent.body)
    match intent.kind:
        case "hidden_access":
            return f"the hidden tests were laid out: {said.get('reason', '')}"
        case "contradiction":
            return f"{said.get('issuer')} says that {said.get('case')} contradicts the task: {said.get('reason')}"
        case "doubt":
            return f"passed, and may be wrong all the same: {intent.body}"
        case "stands":
            return f"stands, whatever tests of a model say: {intent.body}"
        case "reuse":
            return f"a recorded verdict was taken: {intent.body}"
        case "model_tests":
            return "a model wrote tests"
        case _:
            return ""


def program_of(run: ProgramRun) -> str:
    """A program that an actor ran, in words."""
    ended = run.error or (f"ended by {run.ended_by}" if run.ended_by else f"exit status {run.exit_code}")
    refused = f"; refused {', '.join(run.refused)}" if run.refused else ""
    return f"{' '.join(run.command)}: {ended}, {run.duration_s:.1f} s{refused}"


def scenes_of(trial: TrialView, worlds: Mapping[str, Signal], bodies: Mapping[str, Candidate]) -> Iterator[SceneView]:
    """Each step of a trial in a world: its candidates grow by an action, and each was judged."""
    last = next((bodies[c.digest] for c in reversed(trial.candidates) if c.digest in bodies), None)
    try:
        actions = actions_in(last) if last else ()
    except GroundwireError:
        return
    seen = [worlds[s.id] for c in trial.candidates for s in c.signals if s.id in worlds]
    # one signal an action; a recording that kept only the last scene shows it behind the last action
    starts = len(actions) - len(seen)
    for number, action in enumerate(actions):
        signal = seen[number - starts] if 0 <= number - starts < len(seen) else None
        scene = scene_of(signal).shown if signal else ""
        yield SceneView(action, scene, str(signal.verdict) if signal else "")
