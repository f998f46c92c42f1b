"""Price bounds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._models import Message, Request
from groundwire.models._prices import Rates, is_loopback, prompt_tokens_bound, rates_from_cost_map


@given(st.lists(st.text(), max_size=5))
def test_no_prompt_has_more_tokens_than_the_bound(texts: list[str]) -> None:
    request = Request(messages=tuple(Message(role="user", content=text) for text in texts))
    assert prompt_tokens_bound(request) >= sum(len(text.encode()) for text in texts) + len(texts)


def test_a_schema_counts_too() -> None:
    bare = Request(messages=())
    assert (
        prompt_tokens_bound(bare.model_copy(update={"json_schema": {"a": "b" * 100}})) > prompt_tokens_bound(bare) + 99
    )


@pytest.mark.parametrize(
    ("entry", "rates"),
    [
        ({"input_cost_per_token": 1.0, "output_cost_per_token": 2.0}, Rates(1.0, 2.0)),
        (
            {
                "input_cost_per_token": 1.0,
                "input_cost_per_token_above_200k_tokens": 1.5,
                "input_cost_per_token_above_200k_tokens_priority": 9.0,
                "input_cost_per_token_batches": 9.0,
                "output_cost_per_token": 2.0,
                "output_cost_per_token_above_128k_tokens": 3.0,
                "output_cost_per_reasoning_token": 4.0,
                "input_cost_per_request": 0.5,
            },
            Rates(1.5, 4.0, 0.5),
        ),
        ({"input_cost_per_token": 1.0}, None),
        ({"input_cost_per_token": None, "output_cost_per_token": 2.0}, None),
        ({"input_cost_per_token": "1", "output_cost_per_token": 2.0}, None),
        ({"input_cost_per_token": float("nan"), "output_cost_per_token": 2.0}, None),
        ({"input_cost_per_token": -1.0, "output_cost_per_token": 2.0}, None),
        ({}, None),
    ],
)
def test_the_highest_tier_counts_and_a_gap_is_unknown(entry: dict[str, Any], rates: Rates | None) -> None:
    assert rates_from_cost_map(entry) == rates


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:80/v1", True),
        ("http://localhost.example.com/v1", False),
        ("http://127.0.0.1.example.com", False),
        ("http://user@10.0.0.1", False),
        ("http://127.0.0.1@example.com/", False),
        ("localhost", False),
        ("http://[", False),
        ("", False),
        (None, False),
    ],
)
def test_loopback(url: str | None, local: bool) -> None:
    assert is_loopback(url) is local
