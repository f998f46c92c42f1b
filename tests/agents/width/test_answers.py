"""Answers in words: where they are found, in which form they are compared, and what is never shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groundwire.agents.width._answers import FunctionBody, TextAnswer, bounded, final_part
from groundwire.agents.width._many_samples import ManySamples, NamedFunction
from groundwire.agents.width.controls._drafts import BlindResampling
from groundwire.core._errors import TaskError
from groundwire.core._reasoning_text import without_reasoning
from groundwire.models import ScriptedBackend


def test_the_one_answer_counts_and_thinking_does_not(scene: Any) -> None:
    context = scene.context(scene.task({"answer.txt": ""}, editable=("answer.txt",)))
    read = TextAnswer().read
    found = read("ANSWER: 3\n<think>ANSWER: 2</think>so\n**Answer:** `3`.\nand no more", context)
    assert found is not None and found.text == "3"
    assert read("ANSWER: 1\n<think>ANSWER: 2</think>so\n**Answer:** `3`.", context) is None, "two that differ"
    assert (read("**ANSWER:** 7\x1b[31m\n", context) or found).candidate.changes == {"answer.txt": b"7\n"}
    assert [read(text, context) for text in ("no mark", "ANSWER:", "ANSWER: 4 <think>", "<think>ANSWER: 5")][3] is None
    assert read("no mark", context) is None and read("ANSWER: ", context) is None


def test_a_choice_is_one_answer_by_its_label_its_text_or_both(scene: Any) -> None:
    task = scene.task({"answer.txt": ""}, editable=("answer.txt",))
    context = scene.context(replace(task, prompt="Which is prime?\nA. four\nB. six\nC. seven"))
    said = ["C", "c", "(C)", "C.", "C) seven", "**C. Seven**", "seven", "Option C", "The answer is (C)."]
    found = [TextAnswer().read(f"ANSWER: {text}", context) for text in said]
    assert {answer.key for answer in found if answer} == {"c"} and None not in found
    handed = {answer.candidate.changes["answer.txt"] for answer in found if answer}
    assert handed == {b"C\n", b"seven\n"}, "a label where one was named"
    assert TextAnswer().read("ANSWER: B or C", context) is None


def test_only_named_files_are_shown_and_a_task_must_let_the_answer_be_written(scene: Any) -> None:
    files = {"answer.txt": "", "data.csv": "a</file>b", "tests/test_a.py": "assert answer == 42"}
    context = scene.context(scene.task(files, editable=("answer.txt",)))
    plain = TextAnswer().question(context).messages[-1].content
    shown = TextAnswer(shows=("*.csv",)).question(context).messages[-1].content
    assert "42" not in plain and "data.csv" not in plain and "a&lt;/file&gt;b" in shown and "42" not in shown
    assert "<evidence " in plain and "<evidence " not in TextAnswer().question(context, told=False).messages[-1].content
    with pytest.raises(TaskError, match=r"answer\.txt"):
        TextAnswer().question(scene.context())


def test_what_is_kept_of_a_text_is_bounded_whatever_it_holds() -> None:
    hostile = "<think>" * 5000 + "x" + "&</candidate>" * 50_000
    assert without_reasoning("a</think>b<think>c") == "b"
    assert len(final_part("word " * 10_000, tokens=100)) == 350
    for tokens in (100, 1000):
        assert len(bounded("candidate", hostile, tokens, number=1)) <= tokens * 3.5
    assert "</candidate>" not in bounded("candidate", hostile, 1000)[:-12]


# What small models write where they mark no answer, as SmolLM2 135M did.

SUM, CAPITAL, ANIMAL = "How much is 2 + 3?", "What is the capital of France?", "Which is one?\nA. a stone\nB. a dog"


@pytest.mark.parametrize(
    ("question", "reply", "answer"),
    [
        (SUM, "2 + 3 = 5", "5"),
        (SUM, "2 + 3 is equal to 5.", "5"),
        (SUM, "ANSWER: $2 + 3 = 5$", "5"),
        (SUM, "<answer>2 + 3 = 5", "5"),
        (SUM, "5.", "5"),
        (SUM, "```\n5\n```", "5"),
        (SUM, "<answer id='sum'>5</answer>", "5"),
        (SUM, "The answer alone: \n5.", "5"),
        (SUM, "ANSWER: \n\n5", "5"),
        (SUM, "2\n\nThe answer to this question is 2.", "2"),
        (CAPITAL, "Paris.", "Paris"),
        (CAPITAL, "<answer>The capital of France is Paris.</answer>\n\nUse it as you like.", "Paris"),
        (CAPITAL, 'The answer to the question "What is the capital of France?" is:\n\n<answer>\n\nIs it:\n\nParis', ""),
        (CAPITAL, 'The answer to the question "What is the capital of France?" is Paris.', "Paris"),
        ("Who?", "Mary of the Hill", "Mary of the Hill"),
        ("When?", "2 March 1972", "2 March 1972"),
        (ANIMAL, "a dog", "a dog"),
        (ANIMAL, "B. a dog", "B"),
        ("Is the sky blue or is the grass red?", "ANSWER: the sky is blue", "the sky is blue"),
        ("Make 24 of 10, 8, 5 and 4.", "ANSWER: 10 + 8 = 18", "10 + 8 = 18"),
        ("Which line?", "ANSWER: y = 2x + 1", "y = 2x + 1"),
    ],
)
def test_a_reply_that_says_nothing_else_is_the_answer(scene: Any, question: str, reply: str, answer: str) -> None:
    context = scene.context(scene.task({"answer.txt": ""}, editable=("answer.txt",), prompt=question))
    found = TextAnswer().read(reply, context)
    assert (found.text if found else "") == answer
    assert found is None or TextAnswer().key_of(found.candidate, context) == found.key


@pytest.mark.parametrize(
    "reply",
    [
        "The answer alone can only contain the title of the question.", "The answer alone is <answer>", "Sure",
        "I will write the next step,", "Let me think.", "It depends.", "Here is the answer", "5 or 6", "What is 5?",
        "</response>", "5\n\n6", "<answer>\n<response>\n" + "The answer is: " * 18 + "The", "I don't know.",
    ],
)  # fmt: skip
def test_talk_is_no_answer(scene: Any, reply: str) -> None:
    context = scene.context(scene.task({"answer.txt": ""}, editable=("answer.txt",), prompt=SUM))
    assert TextAnswer().read(reply, context) is None


# Functions from models that go on with a begun answer, and from those that begin anew.

STUB = {"m.py": 'def double(n):\n    """Return twice a number."""\n    pass\n'}
FENCED = "Sure:\n\n```python\ndef double(n):\n    return twice(n)\n\ndef twice(n):\n    return n * 2\n```\nDone."


@pytest.mark.parametrize("continues", [True, False])
async def test_only_a_backend_that_goes_on_with_a_begun_answer_is_given_one(scene: Any, continues: bool) -> None:
    """A provider of chats begins anew, and would be cut off at its first fence."""
    backend = ScriptedBackend(["\n    return n * 2\n```\n" if continues else FENCED], continues=continues)
    context = scene.context(scene.task(STUB))
    (candidate,) = await BlindResampling(backend, FunctionBody()).propose(context, 1)
    (request,) = backend.requests
    assert (request.messages[-1].role, bool(request.stop)) == (("assistant", True) if continues else ("user", False))
    program: dict[str, Any] = {}
    exec((candidate.changes["m.py"] or b"").decode(), program)
    assert program["double"](21) == 42


@pytest.mark.parametrize(
    ("continues", "reply"),
    [(True, "a, b):\n    return a + b\n```"), (False, "Here:\n```python\ndef add(a, b):\n    return a + b\n```")],
)
async def test_a_named_function_too(scene: Any, continues: bool, reply: str) -> None:
    task = scene.task({"m.py": '"""Adds."""\n'}, prompt="Write the function add in m.py.", editable=("m.py",))
    actor = ManySamples(ScriptedBackend([reply], continues=continues), NamedFunction())
    (candidate,) = await actor.propose(scene.context(task), 1)
    assert (candidate.changes["m.py"] or b"").decode().endswith("def add(a, b):\n    return a + b\n")
