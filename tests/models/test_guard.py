"""The guard against model calls nobody meant."""

from __future__ import annotations

import asyncio

import pytest

from groundwire.core._errors import ConfigError, ModelRejected
from groundwire.models._guard import ENVIRONMENT_VARIABLE, allow_model_calls, check_model_calls


def test_refuses_and_opts_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "refuse")
    with pytest.raises(ModelRejected, match="openai/m"):
        check_model_calls("openai/m")
    with allow_model_calls():
        check_model_calls("openai/m")
        with allow_model_calls():
            pass
        check_model_calls("openai/m")
    with pytest.raises(ModelRejected):
        check_model_calls("openai/m")


@pytest.mark.parametrize("value", ["allow", " ALLOW ", None])
def test_allows_by_default(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, value)
    check_model_calls("openai/m")


def test_another_value_is_an_error_and_not_a_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "0")
    with pytest.raises(ConfigError, match=ENVIRONMENT_VARIABLE):
        check_model_calls("openai/m")


async def test_opting_in_does_not_leak_into_other_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "refuse")
    inside, done = asyncio.Event(), asyncio.Event()

    async def opted_in() -> None:
        with allow_model_calls():
            inside.set()
            await done.wait()

    task = asyncio.create_task(opted_in())
    await inside.wait()
    with pytest.raises(ModelRejected):
        check_model_calls("openai/m")
    done.set()
    await task
