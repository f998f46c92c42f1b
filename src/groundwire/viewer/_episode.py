"""An episode as it is looked at: its records in the order of the loop, trial by trial, with what belongs together put
together. Everything here is data; pages and the programs' interface are made of the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from groundwire.core._candidates import Candidate
from groundwire.core._environments import ACTIONS, actions_in, scene_of
from groundwire.core._errors import GroundwireError
from groundwire.core._prompt_text import estimate_tokens
from groundwire.core._records import (
    Admission,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    ProgramRun,
    Recall,
    Record,
    ReflectionRecord,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._signals import CaseResult, Origin, Signal, Verdict
from groundwire.graphs.run._account import VerdictAccount, account_of
from groundwire.viewer._flame import FlameBlock, TimeSpan, flame_of_time, flame_of_tokens, seconds_at, spans_of


@dataclass(frozen=True)
class PromptPart:
    """A part of a message that stands between tags of one name, or what stands outside of any.

    Args:
        name: of the tag; empty outside.
        text: what it holds; hostile.
        tokens: about how many.
    """

    name: str
    text: str
    tokens: int


@dataclass(frozen=True)
class ShownMessage:
    """A message of a prompt.

    Args:
        role: `system`, `user`, `assistant` or `tool`.
        parts: what it is made of.
        tokens: about how many in all.
        tool_calls: what an assistant's message asked for, each as `name(arguments)`.
        results: for each of these, the number of the message that holds its result, counted from 1; 0: none does.
        asked_in: of a tool's message, the number of the one that asked for it; 0: none did.
    """

    role: str
    parts: Sequence[PromptPart]
    tokens: int
    tool_calls: Sequence[str] = ()
    results: Sequence[int] = ()
    asked_in: int = 0


@dataclass(frozen=True)
class CallView:
    """A model call.

    Args:
        id: of its intent.
        trial: its trial.
        purpose: `propose`, `reflect`, …
        model: the id that was asked.
        messages: what the model was shown.
        answers: what it answered, a text a sample.
        thinking: what it thought before, a text a sample, as far as that is known.
        tool_calls: what it asked for, each as `name(arguments)`.
        error: why there is no answer.
        prompt_tokens: as billed.
        completion_tokens: as billed.
        usd: US dollars; None where the price is unknown.
        duration_s: wall seconds.
        ended_at: when.
        reused: the intent whose recorded answer was taken; empty where the model was asked.
        cut_off: True where no answer is recorded: it may have been paid for.
    """

    id: str
    trial: int
    purpose: str
    model: str = ""
    messages: Sequence[ShownMessage] = ()
    answers: Sequence[str] = ()
    thinking: Sequence[str] = ()
    tool_calls: Sequence[str] = ()
    error: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    duration_s: float = 0.0
    ended_at: str = ""
    reused: str = ""
    cut_off: bool = False


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


@dataclass(frozen=True)
class CaseRow:
    """A case and how it ended in each trial.

    Args:
        id: of the case.
        results: a result for each of the matrix's columns; empty where it was not run there.
    """

    id: str
    results: Sequence[str]

    @property
    def changed(self) -> bool:
        """True where it did not end alike in all columns that ran it."""
        return len({_counts(result) for result in self.results if result}) > 1


@dataclass(frozen=True)
class Column:
    """A column of the matrix: what stands for a trial.

    Args:
        trial: its trial.
        candidate: digest of the candidate.
        signal: id of the signal that is shown.
        verdict: of that signal.
    """

    trial: int
    candidate: str
    signal: str
    verdict: str


@dataclass(frozen=True)
class Matrix:
    """Cases by trials.

    Args:
        columns: the baseline and the trials.
        rows: the cases: those that changed first, then those that failed, then the rest, each in the runner's order.
    """

    columns: Sequence[Column]
    rows: Sequence[CaseRow]


@dataclass(frozen=True)
class EpisodeView:
    """An episode.

    Args:
        id: its id.
        run_id: its run.
        task_id: its task.
        family: of the task.
        seed: its seed.
        created_at: when it began.
        task: what `Task.describe` says.
        base_digest: digest of the base tree.
        verdict: what it came to; `open` where it has not ended.
        stop_reason: why it ended.
        detail: the same for people.
        ended_at: when.
        best_candidate: digest of what was handed out; empty where nothing was.
        trials: the baseline, if there was one, and the trials.
        matrix: cases by trials.
        spans: what took time, in order.
        account: what its verdicts rest on.
        tokens: of all model calls.
        usd: what these cost, as far as the price is known; None where none is known and something was used.
        is_world: True where the actor acted in a world.
    """

    id: str
    run_id: str
    task_id: str
    family: str
    seed: int
    created_at: str
    task: Mapping[str, Any]
    base_digest: str
    verdict: str
    stop_reason: str
    detail: str
    ended_at: str
    best_candidate: str
    trials: Sequence[TrialView]
    matrix: Matrix
    spans: Sequence[TimeSpan]
    account: VerdictAccount
    tokens: int
    usd: float | None
    is_world: bool

    @property
    def calls(self) -> int:
        """Model calls."""
        return sum(len(trial.calls) for trial in self.trials)

    @property
    def isolation(self) -> str:
        """How assertions were kept from what they judge, where it was the same each time; else empty."""
        kinds = {s.isolation for t in self.trials for c in t.candidates for s in c.signals if s.isolation}
        return kinds.pop() if len(kinds) == 1 else ""

    @property
    def flames(self) -> Mapping[str, Sequence[FlameBlock]]:
        """Flame views of `time` and `tokens`; without what is not known."""
        both = {"time": flame_of_time(self.spans), "tokens": flame_of_tokens(self.spans)}
        return {name: blocks for name, blocks in both.items() if blocks}

    @property
    def seconds(self) -> float:
        """Wall seconds from its beginning to its end, or to what was written last."""
        last = max((self.ended_at, *(trial.began_at for trial in self.trials)))
        return max(0.0, seconds_at(last) - seconds_at(self.created_at)) if last else 0.0


def view_of(
    records: Sequence[Record], *, lessons: Mapping[str, str], bodies: Mapping[str, Candidate] | None = None
) -> EpisodeView:
    """Puts an episode's records together.

    Args:
        records: the episode's, in the order in which they were written.
        lessons: texts of the lessons that it was given, by id, as far as they are there.
        bodies: candidates by digest; needed for the steps of a world alone.

    Raises:
        ValueError: they hold no beginning of an episode.
    """
    episode = next((r for r in records if isinstance(r, EpisodeRecord)), None)
    if episode is None:
        raise ValueError("these records hold no beginning of an episode")
    end = next((r for r in reversed(records) if isinstance(r, EpisodeEnd)), None)
    trials: dict[int, TrialView] = {}
    calls = {r.intent_id: r for r in records if isinstance(r, ModelCall)}
    gates = {r.signal_id: r for r in records if isinstance(r, Admission)}
    whys = {(r.trial, r.lesson_id): r for r in records if isinstance(r, Recall)}
    signals: dict[str, list[SignalView]] = {}
    for record in records:
        if isinstance(record, Signal) and record.origin is not Origin.RULE:
            signals.setdefault(record.candidate_digest, []).append(_signal(record, gates.get(record.id)))
    for record in records:
        number = getattr(record, "trial", None)
        if not isinstance(number, int):
            continue
        trial = trials.setdefault(number, TrialView(number))
        match record:
            case TrialRecord():
                trial.began_at, trial.escalation = record.created_at, record.escalation
                for rank, lesson in enumerate(record.lessons, 1):
                    recall = whys.get((number, lesson)) or Recall(
                        episode_id=episode.id, trial=number, lesson_id=lesson, rank=rank
                    )
                    trial.lessons.append(Given(lesson, recall.rank, recall.why, lessons.get(lesson, "")))
            case TrialEnd():
                trial.verdict = str(record.verdict)
            case CandidateRecord():
                is_best = bool(end and end.best_candidate == record.digest)
                trial.candidates.append(
                    CandidateView(
                        record.digest, number, record.actor, record.note, record.edits, is_best,
                        signals.get(record.digest, ()),
                    )
                )  # fmt: skip
            case Signal(origin=Origin.RULE):
                trial.rules.append(record.evidence.detail)
            case Intent(kind="model_call"):
                trial.calls.append(_call(record, calls.get(record.id)))
            case Intent() if said := _remark(record):
                trial.notes.append(said)
            case ProgramRun():
                trial.programs.append(_program(record))
            case ReflectionRecord():
                trial.reflections.append(
                    ReflectionView(record.id, record.signal_id, record.by, record.text, record.raw)
                )
            case _:
                pass
    known = {c.digest for trial in trials.values() for c in trial.candidates}
    for digest, seen in signals.items():  # the base tree is judged, and nobody proposed it
        if digest not in known:
            first = next(r for r in records if isinstance(r, Signal) and r.candidate_digest == digest)
            trial = trials.setdefault(first.trial, TrialView(first.trial))
            trial.candidates.insert(0, CandidateView(digest, first.trial, "", "the task as it stands", (), False, seen))
    ordered = [trials[number] for number in sorted(trials)]
    worlds = {r.id: r for r in records if isinstance(r, Signal) and r.origin is Origin.ENVIRONMENT}
    is_world = bool(worlds) and ACTIONS in json.loads(episode.task or "{}").get("editable", ())
    if is_world:
        for trial in ordered:
            trial.scenes = list(_scenes(trial, worlds, bodies or {}))
    made = [r for r in records if isinstance(r, ModelCall)]
    used = sum(call.prompt_tokens + call.completion_tokens for call in made)
    is_priced = not used or any(call.usd is not None for call in made)
    return EpisodeView(
        id=episode.id,
        run_id=episode.run_id,
        task_id=episode.task_id,
        family=episode.family,
        seed=episode.seed,
        created_at=episode.created_at,
        task=json.loads(episode.task or "{}"),
        base_digest=episode.base_digest,
        verdict=str(end.verdict) if end else "open",
        stop_reason=str(end.stop_reason) if end else "",
        detail=end.detail if end else "",
        ended_at=end.created_at if end else "",
        best_candidate=end.best_candidate if end else "",
        trials=ordered,
        matrix=_matrix(ordered, {r.id: r for r in records if isinstance(r, Signal)}),
        spans=list(spans_of(records, episode.created_at)),
        account=account_of(records),
        tokens=used,
        usd=sum(call.usd or 0.0 for call in made) if is_priced else None,
        is_world=is_world,
    )


def candidates_to_read(records: Sequence[Record]) -> Mapping[str, str]:
    """Digest → artifact of the candidates that a world's steps are read from: the last one of each trial."""
    if not any(isinstance(r, Signal) and r.origin is Origin.ENVIRONMENT for r in records):
        return {}
    last = {r.trial: r for r in records if isinstance(r, CandidateRecord) and r.artifact}
    return {r.digest: r.artifact for r in last.values()}


# parts of a trial


def _signal(signal: Signal, gate: Admission | None) -> SignalView:
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


def _call(intent: Intent, call: ModelCall | None) -> CallView:
    request = _object(intent.body)
    messages = _messages(request.get("messages") or ())
    purpose = str(request.get("purpose") or "")
    if call is None:
        return CallView(intent.id, intent.trial, purpose, messages=messages, usd=intent.usd, cut_off=True)
    completion = _object(call.completion)
    return CallView(
        id=intent.id,
        trial=intent.trial,
        purpose=call.purpose or purpose,
        model=call.model,
        messages=messages,
        answers=[str(text) for text in completion.get("texts") or ()],
        thinking=[str(text) for text in completion.get("thinking") or ()],
        tool_calls=[_tool_call(one) for sample in completion.get("tool_calls") or () for one in sample],
        error=call.error,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        usd=call.usd,
        duration_s=call.duration_s,
        ended_at=call.created_at,
        reused=call.reused,
    )


def _object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text) if text else {}
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _messages(given: Sequence[Any]) -> Sequence[ShownMessage]:
    """A prompt's messages, each call of a tool with its result."""
    bodies = [cast("dict[str, Any]", one) if isinstance(one, dict) else {} for one in given]
    asked: dict[str, int] = {}
    results: dict[tuple[int, str], int] = {}
    asked_in: dict[int, int] = {}
    for number, body in enumerate(bodies, 1):
        for name in map(_id, body.get("tool_calls") or ()):
            asked[name] = number
        answers = str(body.get("answers") or "")
        if answers in asked:
            asked_in[number] = asked[answers]
            results[asked[answers], answers] = number
    shown: list[ShownMessage] = []
    for number, body in enumerate(bodies, 1):
        text, calls = str(body.get("content") or ""), body.get("tool_calls") or ()
        shown.append(
            ShownMessage(
                role=str(body.get("role") or ""),
                parts=parts_of(text),
                tokens=estimate_tokens(text),
                tool_calls=[_tool_call(one) for one in calls],
                results=[results.get((number, _id(one)), 0) for one in calls],
                asked_in=asked_in.get(number, 0),
            )
        )
    return shown


def _id(given: Any) -> str:
    return str(cast("dict[str, Any]", given).get("id") or "") if isinstance(given, dict) else ""


def _tool_call(given: Any) -> str:
    call = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return f"{call.get('name')}({call.get('arguments')})"


_TAG = re.compile(r"^<(?P<name>[a-z_]{1,40})(?: [^<>\n]{0,400})?>", re.MULTILINE)


def parts_of(text: str) -> Sequence[PromptPart]:
    """What a message is made of: prompts set each kind of content between tags of its name, `<` inside escaped."""
    found: list[PromptPart] = []
    at = 0
    for tag in _TAG.finditer(text):
        close = f"</{tag['name']}>"
        end = text.find(close, tag.end())
        if tag.start() < at or end < 0:
            continue
        if outside := text[at : tag.start()].strip():
            found.append(PromptPart("", outside, estimate_tokens(outside)))
        at = end + len(close)
        whole = text[tag.start() : at]
        found.append(PromptPart(tag["name"], whole, estimate_tokens(whole)))
    if rest := text[at:].strip():
        found.append(PromptPart("", rest, estimate_tokens(rest)))
    return found


def _remark(intent: Intent) -> str:
    said = _object(intent.body)
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


def _program(run: ProgramRun) -> str:
    ended = run.error or (f"ended by {run.ended_by}" if run.ended_by else f"exit status {run.exit_code}")
    refused = f"; refused {', '.join(run.refused)}" if run.refused else ""
    return f"{' '.join(run.command)}: {ended}, {run.duration_s:.1f} s{refused}"


def _scenes(trial: TrialView, worlds: Mapping[str, Signal], bodies: Mapping[str, Candidate]) -> Iterator[SceneView]:
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


# cases by trials

_BAD = frozenset({CaseResult.FAILED.value, CaseResult.ERROR.value})


def _counts(result: str) -> str:
    return "bad" if result in _BAD else "good"


def _matrix(trials: Sequence[TrialView], signals: Mapping[str, Signal]) -> Matrix:
    columns: list[Column] = []
    results: list[Mapping[str, str]] = []
    for trial in trials:
        best = trial.best
        seen = [s for s in best.signals if not s.hidden and signals[s.id].evidence.cases] if best else []
        shown = seen[-1] if seen else None
        if best is not None and shown is not None:
            columns.append(Column(trial.number, best.digest, shown.id, shown.verdict))
            results.append({case.id: case.result.value for case in signals[shown.id].evidence.cases})
    ids = list(dict.fromkeys(name for result in results for name in result))
    rows = [CaseRow(name, [result.get(name, "") for result in results]) for name in ids]
    rows.sort(key=lambda row: (not row.changed, not _BAD & set(row.results)))
    return Matrix(columns, rows)
