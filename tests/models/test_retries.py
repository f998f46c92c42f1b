"""The one owner of retries."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from groundwire.core._errors import ConfigError, ModelError, ModelRejected, ModelReplyInvalid, ModelRetryable, Usage
from groundwire.models._faults import late, unreachable
from groundwire.models._retries import Retried, Retries


class Flaky:
    """Raises `errors` in order, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


async def test_tries_again_only_what_may_be_tried_again() -> None:
    flaky = Flaky(ModelRetryable("busy"), ModelRetryable("busy"))
    assert await Retries(3, backoff_s=0.001).run(flaky) == Retried("answer", 3, None)
    for error in (ModelRejected("no"), ModelReplyInvalid("odd"), ValueError("bug")):
        flaky = Flaky(error)
        with pytest.raises(type(error)):
            await Retries(3, backoff_s=0.001).run(flaky)
        assert flaky.calls == 1


async def test_gives_up_with_the_last_error_and_the_count() -> None:
    flaky = Flaky(ModelRetryable("one"), ModelRetryable("two", do="wait", retry_after_s=0.001))
    with pytest.raises(ModelRetryable) as caught:
        await Retries(2, backoff_s=0.001).run(flaky)
    assert (caught.value.what, caught.value.do) == ("two (attempts: 2)", "wait")
    assert caught.value.retry_after_s == 0.001
    assert flaky.calls == 2


async def test_waits_as_asked_but_not_for_ever() -> None:
    began = time.monotonic()
    await Retries(2, backoff_s=0.0).run(Flaky(ModelRetryable("x", retry_after_s=0.1)))
    assert time.monotonic() - began >= 0.1
    flaky = Flaky(ModelRetryable("x", retry_after_s=61.0))
    with pytest.raises(ModelRetryable):
        await Retries(5).run(flaky)
    assert flaky.calls == 1


async def test_what_failed_attempts_used_is_told() -> None:
    def failing(error: ModelError, used: Usage | None) -> ModelError:
        error.used = used
        return error

    known, more = Usage(100, 20, 0.5), Usage(7, 0, 0.25)
    flaky = Flaky(failing(ModelRetryable("x"), known), ModelRetryable("y"), failing(ModelRetryable("z"), more))
    assert await Retries(4, backoff_s=0.001).run(flaky) == Retried("answer", 4, Usage(107, 20, 0.75))
    for last in (ModelRetryable("z"), ModelReplyInvalid("z"), ModelRejected("z")):
        flaky = Flaky(failing(ModelRetryable("x"), known), failing(last, Usage(1, 1)))
        with pytest.raises(type(last)) as caught:
            await Retries(2, backoff_s=0.001).run(flaky)
        assert caught.value.used == Usage(101, 21, None), "a price that is not known makes the sum unknown"


async def test_silence_is_waited_for_once_and_a_dead_port_for_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    flaky = Flaky(late("m", 3.0))
    with pytest.raises(ModelRetryable, match=r"3 s\. \(attempts: 1\)") as caught:
        await Retries(4).run(flaky)
    assert caught.value.silent
    passed_on = late("m", 3.0)
    passed_on.retry_after_s = 0.0  # there is another model
    assert (await Retries(4, backoff_s=0.001).run(Flaky(passed_on))).attempts == 2
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)

    def highest(_low: float, high: float) -> float:
        return high

    monkeypatch.setattr(random, "uniform", highest)
    with pytest.raises(ModelRetryable, match=r"attempts: 4"):
        await Retries(4).run(Flaky(*[unreachable("m", "refused", unreached=True)] * 4))
    assert waits == [1.0, 1.0, 1.0], "at most; nothing is overloaded there"


async def test_the_wait_is_bounded() -> None:
    began = time.monotonic()
    with pytest.raises(ModelRetryable):
        await Retries(4, backoff_s=1000.0, max_wait_s=0.01).run(Flaky(*[ModelRetryable("x")] * 9))
    assert time.monotonic() - began < 500


@pytest.mark.parametrize("numbers", [(0, 1.0, 1.0), (1, -1.0, 1.0), (1, 1.0, -1.0)])
def test_numbers_out_of_range(numbers: tuple[int, float, float]) -> None:
    with pytest.raises(ConfigError):
        Retries(*numbers)
