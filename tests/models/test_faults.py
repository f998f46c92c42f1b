"""Hiding keys, and reading how long to wait."""

from __future__ import annotations

from email.utils import formatdate
from time import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.models._faults import HIDDEN, parse_retry_after, redact


@given(st.text(), st.text(), st.text(alphabet="abcdefXYZ0123456789+/=.-_", min_size=8, max_size=60))
def test_a_known_key_is_never_shown(before: str, after: str, key: str) -> None:
    shown = redact(f"{before}{key}{after}", key)
    assert key not in shown.replace(HIDDEN, "\0")


def test_keys_in_the_environment_and_those_that_look_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", "plain-looking-value")
    monkeypatch.setenv("TINY_KEY", "a")
    text = (
        "bad plain-looking-value; sk-abcdef123456, Bearer eyJhbGciOi.x, AIzaSyA1234567890123456789012, "
        "https://h/x?key=whatever&z=1 and a sk-ab****yz"
    )
    shown = redact(text, None)
    for secret in ("plain-looking", "abcdef", "eyJ", "AIza", "whatever", "sk-ab"):
        assert secret not in shown
    assert shown.startswith("bad ") and "&z=1" in shown


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        (None, None),
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"retry-after": "1.5", "retry-after-ms": "20"}, 0.02),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e99"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
    ],
)
def test_retry_after(headers: Any, seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


def test_retry_after_as_a_date() -> None:
    seconds = parse_retry_after({"retry-after": formatdate(time() + 30, usegmt=True)})
    assert seconds is not None and 25 < seconds <= 30


@given(st.text())
def test_any_retry_after_is_read_or_ignored(text: str) -> None:
    seconds = parse_retry_after({"retry-after": text})
    assert seconds is None or seconds >= 0
