"""An actor that uses tools: a model names the next call, others make it, and what came back is shown to it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from groundwire.agents.patching._evidence import lessons_as_data, lessons_to_show, may_be_shown, reflection_as_data
from groundwire.agents.prompting._templates import instructed, load_prompt, risen
from groundwire.agents.steps._step_reader import read_step, reasoning_before, schema_of
from groundwire.core._answers import plain_answer
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import CandidateError, ConfigError, ModelReplyInvalid
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Completion, Message, Request, ToolCall, ToolSpec
from groundwire.core._prompt_text import data, head_tail, inert, plain
from groundwire.core._signals import Signal, Verdict, canonical
from groundwire.core._toolcalls import (
    RELEVANT,
    Answer,
    Call,
    Offer,
    Offers,
    SeenCall,
    Step,
    Steps,
    anything,
    failed_here,
    seen_calls,
)
from groundwire.core._traits import ActorTraits, BackendTraits, Needs
from groundwire.models._choice import backend_for

# What an actor that uses tools is shown: its steps as a conversation, in plain text or as native tool calls.

SHOWN_CHARS = 4000
ERROR_CHARS = 256
DESCRIPTION_CHARS = 1000
REASONING_CHARS = 1000
"""Characters of what was said before a step that are kept, its last ones: in the candidate's note, which is no part of
what it is."""
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+")


@dataclass(frozen=True)
class Talk:
    """Writes the turns of a conversation.

    Args:
        native: True for a model with tool calls of its own; else a call is a JSON object in its text.
    """

    native: bool = False

    def call_made(self, seen: SeenCall, said: str = "", *, reasoning: str = "") -> tuple[Message, ...]:
        """A call that went well, what was said before it, and what came back; `said` is what is on offer next."""
        judged = seen.labels.get(RELEVANT)
        labels = {} if judged is None else {RELEVANT: "yes" if judged else "no"}
        output = data("output", head_tail(seen.output, SHOWN_CHARS), id=seen.id, **labels)
        return self._turn(seen.call, seen.id, _filled("tool_output_v1", output=output, offer=said), reasoning)

    def step_failed(
        self, step: Step, step_id: str, signal: Signal, *, reasoning: str, kept: str, reflection: str, said: str
    ) -> tuple[Message, ...]:
        """A step that failed, and the error in one line; of what was said before it `kept` stands."""
        values = {"reasoning": data("kept_reasoning", kept) if kept else "", "reflection": reflection, "offer": said}
        return self._turn(step, step_id, _filled("tool_error_v2", tool_error=_error(signal), **values), reasoning)

    def sent_back(self, answer: str, error: CandidateError) -> tuple[Message, ...]:
        """An answer that can't be read, and why."""
        # some providers refuse a message without text
        shown = head_tail(inert(answer), SHOWN_CHARS) if answer.strip() else "(nothing)"
        asked = _filled("correct_step_v1", tool_error=data("tool_error", str(error)))
        return Message(role="assistant", content=shown), Message(role="user", content=asked)

    def asked_again(self, step: Step, step_id: str) -> tuple[Message, ...]:
        """A step that was judged before."""
        return self._turn(step, step_id, _filled("repeated_step_v1", what=_kind(step)))

    def _turn(self, step: Step, step_id: str, shown: str, reasoning: str = "") -> tuple[Message, ...]:
        before = inert(reasoning)
        if self.native and isinstance(step, Call):
            call = ToolCall(id=step_id, name=step.tool, arguments=canonical(step.arguments))
            asked = Message(role="assistant", content=before, tool_calls=(call,))
            return asked, Message(role="tool", content=shown, answers=step_id)
        said = step.text if self.native and isinstance(step, Answer) else _written(step)
        content = "\n".join(filter(None, (before, inert(said))))
        return Message(role="assistant", content=content), Message(role="user", content=shown)


def described(tools: Sequence[ToolSpec]) -> str:
    """The tools for a model that is told of them in text. What a server says of its own tools is not trusted."""
    return "\n".join(
        data(
            "tool",
            f"{head_tail(tool.description, DESCRIPTION_CHARS)}\narguments: {canonical(tool.parameters)}",
            name=tool.name,
        )
        for tool in tools
    )


def offered(offer: Offer) -> str:
    """What may be done next, where not everything may."""
    if offer.calls and offer.answer:
        return ""
    may = "Call a tool; an answer is not taken yet" if offer.calls else "Give the answer; no further call is made"
    return f"{may}: {offer.why}." if offer.why else f"{may}."


def _written(step: Step) -> str:
    """A step as a model is asked to write it: the tool's name first."""
    if isinstance(step, Answer):
        return json.dumps({"answer": step.text}, ensure_ascii=False)
    return json.dumps({"tool": step.tool, "arguments": step.arguments}, ensure_ascii=False)


def with_reasoning(steps: Steps, reasoning: str) -> Candidate:
    """The steps as a candidate, with what was said before the last one in its note."""
    made, said = steps.candidate, plain(reasoning[-REASONING_CHARS:], REASONING_CHARS)
    return replace(made, note=f"{made.note}: {said}") if said else made


def reasoning_of(candidate: Candidate) -> str:
    """What was said before a candidate's last step."""
    return candidate.note.partition(": ")[2]


def stepped_back(reasoning: str) -> str:
    """What stands of the reasoning before a step that failed: all but its last sentence, which led to that step (THOR,
    arXiv 2509.13761, keeps a beginning of it and has the rest written anew)."""
    return " ".join(_SENTENCE_END.split(reasoning)[:-1])


def _kind(step: Step) -> str:
    return "answer" if isinstance(step, Answer) else "call"


def _error(signal: Signal) -> str:
    """One line: what a failing call said last, or why an answer was rejected; nothing made with the answer key."""
    if not may_be_shown(signal):
        return data("tool_error", "this was rejected", origin=signal.origin.value)
    messages = [case.message for case in signal.evidence.failed() if case.message]
    said = "; ".join(messages) or signal.evidence.detail or "it failed"
    return data("tool_error", plain(said, ERROR_CHARS), origin=signal.origin.value)


def _filled(prompt: str, **values: str) -> str:
    return load_prompt(prompt).messages(**values)[0].content


# An actor that uses tools: a model names the next call, others make it, and what came back is shown to it.

StepForm = Literal["auto", "text", "schema", "native"]
HistoryPolicy = Literal["errors", "verified_only"]


class ToolActor:
    """Proposes the steps so far and one more: a call, or the answer. It never makes a call.

    Its candidate is the whole sequence (`groundwire.core._toolcalls`). Let in by `advance`, it appends; let in by
    `refine`,
    it goes back to the step that failed, keeps those before it as they are, and makes that step anew with the error in
    view (THOR, arXiv 2509.13761). Later steps are made without it: past errors leave the context. What the model said
    before each call stays in view; of what it said before the one that failed, all but the last sentence stands, and it
    reasons on from there.

    A step that can't be read is sent back with the complaint (purpose `correct`); one that makes what was judged before
    is asked for again, warmer (purpose `repeat`). Both are bounded, and neither rewrites what was judged.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        tools: what may be called (`Toolbox.specs`).
        instructions: what the model is told first, before what it is told of its work here; empty: nothing more.
        form: `text`: one JSON object in the model's text; `schema`: the same, held to a schema; `native`: the model's
            own tool calls; `auto`: `schema` where the backend declares `structured`, else `text`.
        temperature: of the first call, raised by 0.15 for each escalation and each renewed try, up to 1.5.
        max_tokens: tokens of each step.
        repairs: calls a step that may send an unreadable answer back.
        resamples: calls a step that may ask again for something new.
        offers: what may be done next; what is not on offer is said, and not in the schema.
        history_policy: `errors`: a step that failed is shown with its error until it is put right. `verified_only`:
            steps that failed are never shown; the ledger holds them all the same. A history of errors makes further
            errors likelier (arXiv 2509.09677).

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    traits = ActorTraits(needs=Needs(episode=True), revision=3)

    def __init__(
        self,
        model: str | Backend,
        tools: Sequence[ToolSpec],
        *,
        instructions: str = "",
        form: StepForm = "auto",
        temperature: float = 0.2,
        max_tokens: int = 512,
        repairs: int = 2,
        resamples: int = 2,
        offers: Offers = anything,
        history_policy: HistoryPolicy = "errors",
    ) -> None:
        if max_tokens < 1 or min(repairs, resamples, temperature) < 0:
            raise ConfigError(
                "ToolActor got an argument out of range.", do="max_tokens is at least 1; the others are at least 0."
            )
        self._backend = backend_for(model)
        self._instructions = instructions.strip()
        if form == "auto":
            form = "schema" if BackendTraits.of(self._backend).structured else "text"
        self._form = form
        self._talk = Talk(native=form == "native")
        self._continues = form == "text" and BackendTraits.of(self._backend).continues
        self._tools = tuple(tools)
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._repairs = repairs
        self._resamples = resamples
        self._offers = offers
        self._shows_errors = history_policy == "errors"

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Where every step had been judged before, one of those, so that the loop knows it is stuck.

        Raises:
            ModelReplyInvalid: no step could be read.
            ModelError, BudgetExceeded: from `context.call`.
        """
        steps = _go_on_from(context)
        question = self._opening(context, steps)
        repairs, warmer, why = self._repairs, 0, ""
        for call in range(1 + self._repairs + self._resamples):
            completion: Completion | None = None
            try:
                completion = await context.call(self._backend, self._request(context, steps, question, call, warmer))
                step = read_step(completion, native=self._talk.native)
            except (CandidateError, ModelReplyInvalid) as problem:
                why = f" {problem.what}"
                if not repairs:
                    break
                repairs -= 1
                said = completion.texts[0] if completion and completion.texts else ""
                question = question.then(self._talk.sent_back(said, CandidateError(problem.what)), "correct")
                continue
            made = _as_judged(steps.then(step), steps, context)
            if made.candidate.digest not in context.tried or warmer >= self._resamples:
                said = question.begun + reasoning_before(completion) if completion else ""
                return (with_reasoning(made, said),)
            warmer += 1
            question = question.then(self._talk.asked_again(step, made.ids[-1]), "repeat")
        raise ModelReplyInvalid(
            f"{self._backend.model} named no step that could be read.{why}",
            do="Use a stronger model, or raise max_tokens if its answers are cut off.",
        )

    def _opening(self, context: ActorContext, steps: Steps) -> _Question:
        seen = seen_calls(steps, context.judged)
        failed = failed_here(steps, context.judged) if self._shows_errors else ()
        offer = self._offers(seen)
        prompt = load_prompt("use_tools_native_v1" if self._talk.native else "use_tools_v1")
        values = {} if self._talk.native else {"tools": described(self._tools)}
        messages = prompt.messages(
            task=data("task", context.task.prompt, id=context.task.id),
            lessons=lessons_as_data(lessons_to_show(context)),
            **values,
        )
        messages, digest = instructed(messages, prompt.digest, self._instructions)
        said = {judged.candidate.digest: reasoning_of(judged.candidate) for judged in context.judged}
        at = {name: steps.first(count).candidate.digest for count, name in enumerate(steps.ids, 1)}
        for place, call in enumerate(seen, 1):
            offer_now = offered(offer) if place == len(seen) and not failed else ""
            messages += self._talk.call_made(call, offer_now, reasoning=said.get(at[call.id], ""))
        begun = ""
        for place, (step, signal) in enumerate(failed, 1):
            is_last = place == len(failed)
            reasoning = said.get(steps.then(step).candidate.digest, "")
            begun = stepped_back(reasoning) if is_last else ""
            messages += self._talk.step_failed(
                step,
                steps.then(step).ids[-1],
                signal,
                reasoning=reasoning,
                kept="" if self._continues else begun,
                reflection=reflection_as_data(context) if is_last else "",
                said=offered(offer) if is_last else "",
            )
        if begun and self._continues:
            begun = f"{begun} "
            messages += (Message(role="assistant", content=inert(begun)),)
            return _Question(messages, digest, offer, begun=begun)
        return _Question(messages, digest, offer)

    def _request(self, context: ActorContext, steps: Steps, question: _Question, call: int, warmer: int) -> Request:
        return Request(
            messages=question.messages,
            temperature=risen(self._temperature, context.escalation + warmer),
            max_tokens=self._max_tokens,
            seed=seed_in(context, "propose", call=len(steps.steps), sample=call),
            json_schema=schema_of(self._tools, question.offer) if self._form == "schema" else None,
            tools=self._tools if self._talk.native else (),
            tool_choice="required" if self._talk.native and not question.offer.answer else "auto",
            purpose=question.purpose,
            prompt_digest=question.prompt_digest,
        )


@dataclass(frozen=True)
class _Question:
    """What one call asks.

    Args:
        messages: the whole conversation.
        prompt_digest: sha256 of the prompt file that opens it.
        offer: what may be done next.
        purpose: as the ledger keeps it.
        begun: the beginning of the answer, with which the conversation ends.
    """

    messages: tuple[Message, ...]
    prompt_digest: str
    offer: Offer
    purpose: str = "propose"
    begun: str = ""

    def then(self, turn: tuple[Message, ...], purpose: str) -> _Question:
        """With one turn more; an answer that is begun is not begun again."""
        before = self.messages[:-1] if self.begun else self.messages
        return replace(self, messages=(*before, *turn), purpose=purpose, begun="")


def _as_judged(made: Steps, steps: Steps, context: ActorContext) -> Steps:
    """The same; an answer that says what failed here before, in another spelling, is the one that failed."""
    if not isinstance(made.last, Answer):
        return made
    key = plain_answer(made.last.text)
    same = (
        step
        for step, _ in failed_here(steps, context.judged)
        if isinstance(step, Answer) and plain_answer(step.text) == key
    )
    return steps.then(next(same, made.last))


def _go_on_from(context: ActorContext) -> Steps:
    failing = context.failing
    if failing is None:
        return Steps(context.task.tree.digest)
    done = Steps.of(failing.candidate)
    return done.cut_at(failing.signal) if failing.signal.verdict is Verdict.FAIL else done
