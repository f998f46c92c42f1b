"""What judges, moderators, reviewers, critics and world models say is read however it is dressed, by all alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from groundwire.agents.steps._step_reader import _read as read_ruling  # pyright: ignore[reportPrivateUsage]
from groundwire.agents.steps._step_reader import read_step, reasoning_before
from groundwire.agents.width._refined_best_of_n import _read as read_bad_step  # pyright: ignore[reportPrivateUsage]
from groundwire.agents.width._round_table import stated_confidence
from groundwire.agents.width.controls._drafts import _is_wrong as is_wrong  # pyright: ignore[reportPrivateUsage]
from groundwire.agents.width.controls._mad_debate import _preference as preference  # pyright: ignore[reportPrivateUsage]
from groundwire.agents.width.controls._ssr import read_steps
from groundwire.agents.worlds._acting import read_action
from groundwire.agents.worlds._foresight import stated_value
from groundwire.core._errors import CandidateError
from groundwire.core._models import Completion, ToolCall
from groundwire.core._scene import Scene
from groundwire.core._toolcalls import Answer, Call

DRESSES: Mapping[str, Callable[[str, str], str]] = {
    "as asked": lambda name, value: f"{name.upper()}: {value}",
    "bold": lambda name, value: f"I looked at it.\n\n**{name.title()}:** {value}",
    "all bold": lambda name, value: f"**{name.title()}: {value}**.",
    "a list item": lambda name, value: f"- {name}: `{value}`",
    "a heading": lambda name, value: f"### {name.title()}\n\nAs follows.\n### {name}: {value}",
    "the next line": lambda name, value: f"{name.title()}:\n{value}",
    "tags": lambda name, value: f"<{name}>{value}</{name}>",
    "JSON": lambda name, value: f'```json\n{{"{name}": "{value}"}}\n```',
    "Python": lambda name, value: f"{{'{name}': '{value}',}}",
    "thinking": lambda name, value: f"<think>{name.upper()}: nothing</think>{name.upper()}: {value}",
    "CRLF": lambda name, value: f"It is so.\r\n{name.upper()}: {value}\r\n",
}


@pytest.mark.parametrize("dress", DRESSES)
def test_every_label_is_read_in_every_dress(dress: str) -> None:
    write = DRESSES[dress]
    assert is_wrong(write("verdict", "wrong")) and is_wrong(write("verdict", "Incorrect"))
    assert not is_wrong(write("verdict", "correct")) and not is_wrong(write("verdict", "not wrong"))
    assert preference(write("preference", "Negative side")) == 1 and preference(write("preference", "none")) is None
    assert (
        read_ruling(write("ruling", "veto")).verdict is False and read_ruling(write("ruling", "allow")).verdict is True
    )
    assert read_ruling(write("ruling", "perhaps")).verdict is None
    assert read_action(write("action", "go east"), Scene("a hall")) == "go east"
    assert stated_confidence(write("confidence", "0.9")) == 0.9
    assert stated_value(write("value", "8/10")) == 0.8
    bad = read_bad_step(f"{write('step', '2')}\nCORRECTED: six sevens are 42", steps=3)
    assert bad is not None and (bad.index, bad.corrected) == (1, "six sevens are 42")


def test_two_rulings_are_doubt_and_never_consent() -> None:
    assert read_ruling('{"ruling": "allow"} {"ruling": "veto"}').verdict is None
    assert read_ruling("I would not veto it, and allow it.").verdict is None


def test_an_action_is_a_hint_with_or_without_its_reason() -> None:
    scene = Scene("a hall", actions=("go east", "open door"))
    for text in (
        "Action: Go east.",
        "Action: go east, because the door is there",
        "> open door - to see",
        "1. open door",
    ):
        assert read_action(text, scene) in ("go east", "open door"), text


def test_steps_of_questions_and_answers_are_read_in_the_forms_models_number_them_in() -> None:
    for text in (
        "Q: a?\nA: 1",
        "**Q1:** a?\n**A1:** 1",
        "1. Question: a?\n   Answer: 1",
        "### Q1. a?\n\n- A: 1",
        "- **Q**: a?\n- **A**: 1",
    ):
        assert [(s.question, s.answer) for s in read_steps(text)] == [("a?", "1")], text


CALLS = (
    '{"tool": "find", "arguments": {"q": "x"}}',
    "{'tool': 'find', 'arguments': {'q': 'x'},}",
    'I need it.\n<tool_call>\n{"name": "find", "arguments": {"q": "x"}}\n</tool_call>',
    '```json\n{"name": "find", "parameters": {"q": "x"}}\n```',
    '{"function": {"name": "find", "arguments": "{\\"q\\": \\"x\\"}"}, "type": "function"}',
    'Thought: look.\n{"action": "find", "action_input": {"q": "x"}}',
    '{tool: "find", arguments: {q: "x"}}',
    '{"tool_name": "find", "args": {"q": "x",}}',
)


@pytest.mark.parametrize("text", CALLS)
def test_a_call_within_a_text_is_made_whatever_its_parts_are_named(text: str) -> None:
    assert read_step(Completion(texts=(text,))) == Call("find", {"q": "x"})
    assert reasoning_before(Completion(texts=(text,))) in ("", "I need it.\n<tool_call>", "Thought: look.")


def test_arguments_of_a_native_call_may_be_loose_json_or_json_within_json() -> None:
    for arguments in ('{"q": "x"}', "{'q': 'x',}", '"{\\"q\\": \\"x\\"}"', '```json\n{"q": "x"}\n```'):
        completion = Completion(texts=("",), tool_calls=((ToolCall(id="1", name="find", arguments=arguments),),))
        assert read_step(completion) == Call("find", {"q": "x"})
    for arguments in ("[1]", "find x", '{"q": "cut'):
        completion = Completion(texts=("",), tool_calls=((ToolCall(id="1", name="find", arguments=arguments),),))
        with pytest.raises(CandidateError):
            read_step(completion)


def test_an_object_that_only_has_a_name_is_no_call() -> None:
    with pytest.raises(CandidateError):
        read_step(Completion(texts=('{"name": "Ada", "age": 36}',)))
    for text in ('{"input": "six sevens", "answer": "42"}', '{"name": "sum", "input": "6*7", "answer": "42"}'):
        assert read_step(Completion(texts=(text,))) == Answer("42")
