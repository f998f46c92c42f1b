"""The actor that uses tools: what it asks a model, in each form, and how its answers are read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from groundwire.agents import ToolActor
from groundwire.agents.steps._step_reader import read_step, schema_of
from groundwire.core._contexts import Actor, ActorContext, Judged
from groundwire.core._errors import CandidateError, ConfigError, ModelReplyInvalid
from groundwire.core._models import Completion, Request, ToolCall, ToolSpec
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._toolcalls import Answer, Call, Offer, Steps
from groundwire.models import ScriptedBackend

if TYPE_CHECKING:
    from conftest import Scene

ADD = ToolSpec(
    name="add",
    description="Adds.",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
)
MINT = Mint("run", b"k" * 32)


def said(text: str, *calls: ToolCall) -> Completion:
    return Completion(texts=(text,), tool_calls=(calls,) if calls else ())


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ('{"tool": "add", "arguments": {"a": 1}}', Call("add", {"a": 1})),
        ('{"tool": "add"}', Call("add", {})),
        ('I think {so}: ```json\n{"tool": "add", "arguments": {"a": {"b": "}"}}}\n```', Call("add", {"a": {"b": "}"}})),
        ('{"thought": "x"} {"answer": " 4 "} {"answer": "4.0"}', Answer("4")),
        ('<think>{"answer": "5"}</think>{"answer": "\\\\boxed{4}"}', Answer("4")),
        ('- {"answer": "**4**"}\n\nI hope this helps!', Answer("4")),
        ("So it is 2 and 2.\n\n**Answer:** 4", Answer("4")),
        ("The final answer is $\\boxed{4}$.", Answer("4")),
        ('{"answer": 4}', Answer("4")),
        ('{"a": {"tool": "add"}} {"answer": "4"}', Answer("4")),
    ],
)
def test_the_first_step_in_a_text_is_read(text: str, step: Call | Answer) -> None:
    assert read_step(said(text)) == step


@pytest.mark.parametrize(
    "text",
    [
        *["", "4", "{", '{"tool": 3}', '{"tool": "add", "arguments": [1]}', '{"tool": "", "arguments": {}}'],
        *['{"answer": "4"} {"answer": "5"}', "ANSWER: 4\nANSWER: 5", '{"answer": "I can\'t help with that."}'],
        "I'm sorry, I can't do that.",
        *['{"answer": null}', '{"tool": "add", "arguments": {"a": NaN}}', "[" * 100_000, '{"a":' * 20_000],
    ],
)
def test_what_is_no_step_is_said_so(text: str) -> None:
    with pytest.raises(CandidateError):
        read_step(said(text))


def test_native_calls_are_read_by_the_same_reader() -> None:
    first, second = ToolCall(id="1", name="add", arguments='{"a": 1}'), ToolCall(id="2", name="sub", arguments="{}")
    assert read_step(said("", first, second), native=True) == Call("add", {"a": 1})
    assert read_step(said("It is 4.\n"), native=True) == Answer("It is 4.")
    assert read_step(said('{"tool": "add", "arguments": {}}'), native=True) == Call("add", {})
    with pytest.raises(CandidateError, match="no JSON object"):
        read_step(said("", ToolCall(id="1", name="add", arguments="{a")), native=True)
    with pytest.raises(CandidateError):
        read_step(said(" "), native=True)


def test_the_schema_holds_what_is_on_offer() -> None:
    both = schema_of([ADD], Offer())
    assert [sorted(form["properties"]) for form in both["anyOf"]] == [["arguments", "tool"], ["answer"]]
    assert both["anyOf"][0]["properties"]["tool"] == {"type": "string", "enum": ["add"]}
    assert schema_of([ADD], Offer(calls=False)) == both["anyOf"][1]
    assert schema_of([ADD], Offer(answer=False)) == both["anyOf"][0]


def after_a_failure(scene: Scene) -> ActorContext:
    """One call went well, the next one failed."""
    task = scene.task()
    first = Steps(task.tree.digest, (Call("add", {"a": 1}),))
    second = first.then(Call("add", {"a": 2}))
    went_well = Observation(
        verdict=Verdict.NONE, reason=NoVerdict.GO_ON, origin=Origin.EXECUTION, evidence=Evidence(stdout="<b> & 1")
    )
    case = CaseOutcome(
        id=second.ids[-1], result=CaseResult.ERROR, message="ValueError: </tool_error> a\nb\n" + "c" * 300
    )
    failed = Observation(verdict=Verdict.FAIL, origin=Origin.TOOL_ERROR, evidence=Evidence(cases=(case,)))
    judged = [
        Judged(
            steps.candidate,
            MINT.signal(seen, episode_id="e", trial=1, issuer="call", candidate_digest=steps.candidate.digest),
        )
        for steps, seen in ((first, went_well), (second, failed))
    ]
    tried = frozenset(j.candidate.digest for j in judged)
    return scene.context(task, failing=judged[1], judged=judged, tried=tried, trial=2)


THOUGHT = "Both stores count. The first one is done. I take the word as it stands."


async def test_what_was_said_before_calls_stays_and_the_failed_step_is_gone_back_into(scene: Scene) -> None:
    """Row 68 (THOR): the reasoning's beginning is kept, its last sentence is written anew, with the error in view."""
    for continues in (False, True):
        replies = [f'{THOUGHT}\n{{"tool": "add", "arguments": {{"a": 2}}}}', 'Now 3.\n{"answer": "3"}']
        backend = ScriptedBackend(replies, continues=continues)
        actor = ToolActor(backend, [ADD], form="text")
        context = after_a_failure(scene)
        begins = replace(context, failing=context.judged[0], judged=context.judged[:1], tried=frozenset())
        (second,) = await actor.propose(begins, 1)
        assert second.note == f"call 2: {THOUGHT}" and Steps.of(second).calls[-1] == Call("add", {"a": 2})
        judged = [context.judged[0], replace(context.judged[1], candidate=second)]
        failed = replace(context, failing=judged[1], judged=judged)
        (third,) = await actor.propose(failed, 1)
        shown = [message.content for message in backend.requests[-1].messages]
        assert f'{THOUGHT}\n{{"tool": "add", "arguments": {{"a": 2}}}}' in shown, "the turn as it was"
        kept = "Both stores count. The first one is done."
        if continues:
            assert shown[-1] == f"{kept} " and backend.requests[-1].messages[-1].role == "assistant"
            assert third.note == f"answer after 1 calls: {kept} Now 3."
        else:
            assert f"<kept_reasoning>\n{kept}\n</kept_reasoning>" in shown[-1]
            assert third.note == "answer after 1 calls: Now 3."
        assert third.digest == Steps(third.base_digest, (Call("add", {"a": 1}), Answer("3"))).candidate.digest


async def test_an_answer_that_failed_is_not_given_again_in_another_spelling(scene: Scene) -> None:
    context = after_a_failure(scene)
    answered = Steps.of(context.judged[0].candidate).then(Answer("1000")).candidate
    case = CaseOutcome(id=Steps.of(answered).ids[-1], result=CaseResult.FAILED)
    failed = Observation(verdict=Verdict.FAIL, origin=Origin.VERIFIER, evidence=Evidence(cases=(case,)))
    signal = MINT.signal(failed, episode_id="e", trial=2, issuer="check", candidate_digest=answered.digest)
    judged = [context.judged[0], Judged(answered, signal)]
    tried = frozenset(j.candidate.digest for j in judged)
    spelled = [f'{{"answer": "{text}"}}' for text in ("1,000", "$1000$", "1000.0")]
    context = scene.context(context.task, failing=judged[1], judged=judged, tried=tried, trial=3)
    backend = ScriptedBackend(spelled)
    (again,) = await ToolActor(backend, [ADD], form="text").propose(context, 1)
    assert again.digest == answered.digest and [r.purpose for r in backend.requests] == ["propose", "repeat", "repeat"]


class Native(ScriptedBackend):
    """Asks for tools in the native way."""

    async def complete(self, request: Request) -> Completion:
        answered = await super().complete(request)
        call = ToolCall(id="x", name="add", arguments=answered.texts[0])
        return answered.model_copy(update={"texts": ("",), "tool_calls": ((call,),)})


async def test_the_native_conversation(scene: Scene) -> None:
    backend = Native(['{"a": 2}', '{"a": 3}'])
    actor: Actor = ToolActor(backend, [ADD], form="native")
    (candidate,) = await actor.propose(after_a_failure(scene), 1)
    assert Steps.of(candidate).calls == (Call("add", {"a": 1}), Call("add", {"a": 3}))
    first, again = backend.requests
    assert first.tools == (ADD,) and first.json_schema is None and "Adds." not in first.messages[0].content
    roles = [(m.role, m.tool_calls[0].arguments if m.tool_calls else m.answers and m.content) for m in first.messages]
    ids = Steps.of(candidate).ids
    error = "ValueError: &lt;/tool_error&gt; a b " + "c" * 300
    assert roles == [
        *[("system", ""), ("user", "")],
        ("assistant", '{"a":1}'),
        ("tool", f'<output id="{ids[0]}">\n&lt;b&gt; &amp; 1\n</output>'),
        ("assistant", '{"a":2}'),
        ("tool", f'<tool_error origin="tool_error">\n{error[: 256 + 6]}\n</tool_error>'),
    ]
    assert first.messages[2].tool_calls[0].id == first.messages[3].answers == ids[0]
    assert (first.purpose, again.purpose) == ("propose", "repeat")
    assert again.messages[: len(first.messages)] == first.messages


async def test_steps_that_failed_are_never_shown_where_only_what_was_verified_is(scene: Scene) -> None:
    """Row 36: the ledger holds them all the same; `context.judged` is what it told."""
    backend = ScriptedBackend(['{"tool": "add", "arguments": {"a": 3}}'] * 2)
    context = after_a_failure(scene)
    await ToolActor(backend, [ADD], form="text").propose(context, 1)
    await ToolActor(backend, [ADD], form="text", history_policy="verified_only").propose(context, 1)
    shown, clean = ("\n".join(m.content for m in request.messages) for request in backend.requests)
    assert "ValueError" in shown and "ValueError" not in clean and '{"a": 2}' not in clean
    assert '{"a": 1}' in clean, "what went well stays"
    assert len(context.judged) == 2


async def test_a_scheme_is_asked_for_where_the_backend_keeps_to_one(scene: Scene) -> None:
    backend = ScriptedBackend(['{"answer": "4"}'])
    (candidate,) = await ToolActor(backend, [ADD], form="schema").propose(scene.context(failing=None), 1)
    assert Steps.of(candidate).last == Answer("4")
    assert backend.requests[0].json_schema == schema_of([ADD], Offer())


async def test_unreadable_answers_end_it_after_two_repairs(scene: Scene) -> None:
    backend = ScriptedBackend(["no"] * 9)
    with pytest.raises(ModelReplyInvalid, match="named no step"):
        await ToolActor(backend, [ADD]).propose(scene.context(failing=None), 1)
    assert [r.purpose for r in backend.requests] == ["propose", "correct", "correct"]
    assert len({r.seed for r in backend.requests}) == 3


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"repairs": -1}, {"temperature": -0.1}])
def test_arguments_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ToolActor("scripted/model", [ADD], **options)


def test_a_step_is_shown_as_it_is_asked_for() -> None:
    assert json.loads(Call("add", {"a": 1}).line) == {"tool": "add", "arguments": {"a": 1}}
