"""Requests and completions: what was written down before a field existed reads, and is written, as it was."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._models import Completion, Message, Request, ToolCall, ToolSpec

OLD_REQUEST = (
    '{"json_schema":null,"logprobs":false,"max_tokens":50,"messages":[{"content":"be brief","role":"system"},'
    '{"content":"guess","role":"user"}],"n":2,"prompt_digest":"","purpose":"propose","seed":7,"stop":["END"],'
    '"temperature":0.5}'
)
OLD_COMPLETION = (
    '{"texts":["a"],"model":"m","asked":"x/m","prompt_tokens":3,"completion_tokens":1,"usd":0.1,'
    '"finish_reasons":["stop"],"logprobs":[[-0.5]],"attempts":2}'
)


def test_the_digest_of_an_old_request_is_what_it_was() -> None:
    """Recordings are looked up by it."""
    request = Request(
        messages=(Message(role="system", content="be brief"), Message(role="user", content="guess")),
        n=2, temperature=0.5, max_tokens=50, stop=("END",), seed=7, purpose="propose",
    )  # fmt: skip
    assert request.canonical() == OLD_REQUEST
    digest = hashlib.sha256(request.canonical().encode()).hexdigest()
    assert digest == "1be67f49354fc055aab11cff8404912a3795ca059672fd33f5a00f0481a31dc4"
    assert Request.model_validate_json(OLD_REQUEST) == request


def test_an_old_completion_is_written_down_as_it_was() -> None:
    assert Completion.model_validate_json(OLD_COMPLETION).model_dump_json() == OLD_COMPLETION


@pytest.mark.parametrize(
    "more",
    [{"top_logprobs": 3}, {"tools": (ToolSpec(name="look"),)}, {"tool_choice": "required"}],
)
def test_what_is_asked_beyond_that_is_another_request(more: dict[str, object]) -> None:
    plain = Request(messages=(Message(role="user", content="x"),))
    asked = plain.model_copy(update=more)
    assert asked.canonical() != plain.canonical()
    assert Request.model_validate_json(asked.canonical()) == asked


@given(
    st.lists(st.lists(st.builds(ToolCall, id=st.text(), name=st.text(), arguments=st.text()), max_size=2).map(tuple)),
    st.integers(0, 9),
    st.none() | st.floats(0, 9),
    st.none() | st.lists(st.lists(st.lists(st.floats(-9, 0)).map(tuple)).map(tuple)).map(tuple),
)
def test_a_completion_is_read_as_it_was_written(
    calls: list[tuple[ToolCall, ...]],
    cached: int,
    first_token_s: float | None,
    top: tuple[tuple[tuple[float, ...], ...], ...] | None,
) -> None:
    completion = Completion(
        texts=("x",),
        tool_calls=tuple(calls),
        cached_prompt_tokens=cached,
        first_token_s=first_token_s,
        top_logprobs=top,
    )
    assert Completion.model_validate_json(completion.model_dump_json()) == completion


def test_half_an_emoji_keeps_no_answer_out_of_the_ledger() -> None:
    call = ToolCall(id="1", name="say", arguments='{"text": "\ud83d"}')
    answer = Completion(
        texts=("\ufeffcut \ud83d", "\ude00\U0001f600", "\ud83d\ude00"), thinking=("\udfff",), tool_calls=((call,),)
    )
    assert answer.texts == ("\ufeffcut \ufffd", "\ufffd\U0001f600", "\U0001f600") and answer.thinking == ("\ufffd",)
    assert Completion.model_validate_json(answer.model_dump_json()) == answer
