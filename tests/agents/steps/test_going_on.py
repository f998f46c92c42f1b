"""Text that goes on with what is kept: announcements, fences, thinking and repetition are no part of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.steps._going_on import asks_to_go_on, gone_on
from groundwire.core._models import Message
from groundwire.models import ScriptedBackend

KEPT = "carry the one\nadd two and two\n"
NEXT = "so it is four\n"


@pytest.mark.parametrize(
    "text",
    [
        NEXT, KEPT + NEXT, f"add two and two\n{NEXT}", f"Continuing:\n{NEXT}", f"Continuing: {NEXT}",
        f"```\n{NEXT}```\n", f"\n{NEXT}",
        f"```text\n{KEPT}{NEXT}```\nThat is all!", f"<think>four?</think>{NEXT}", f"so four?</think>\n{NEXT}",
        f"Sure! Here is the rest:\n\n{NEXT}", f"Here are the remaining steps:\n\n```\n{NEXT}```",
        f"Continuing...\n\n**carry the one**\n  add two and two\n{NEXT}", f"Okay.\n{KEPT}{NEXT}",
    ],
)  # fmt: skip
def test_only_what_is_new_is_taken(text: str) -> None:
    assert gone_on(KEPT, text) == NEXT


def test_steps_that_only_look_like_it_stay() -> None:
    assert gone_on("a\nb\n", "b\nc\n") == "b\nc\n", "a short step may be done twice"
    for text in ("continue\n", "ok\n", "here we stop\n", "Sure enough, it holds\n"):
        assert gone_on(KEPT, text) == text == gone_on("", text)


@given(st.lists(st.sampled_from(["one", "two", "```", "Continuing:", "", "three and four and more"]), max_size=8))
def test_what_is_heard_while_it_is_written_is_a_beginning_of_what_is_taken_or_nothing_is_said(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    for kept in ("", KEPT, "one\ntwo\n"):
        whole = gone_on(kept, text)
        for at in range(len(text)):
            heard = gone_on(kept, text[:at], is_whole=False)
            assert not heard or heard in text
        assert gone_on(kept, whole) in whole


def test_a_backend_that_continues_ends_with_what_is_begun() -> None:
    asked = (Message(role="user", content="Count."), Message(role="assistant", content="zero\n"))
    on = asks_to_go_on(asked, "one\n", ScriptedBackend([], continues=True), broken="")
    assert [m.content for m in on] == ["Count.", "zero\none\n"]
    told = asks_to_go_on(asked, "one\n", ScriptedBackend([]), broken="")
    assert [m.role for m in told] == ["user", "assistant", "user"] and told[1].content == "zero\none\n"
