"""The one owner of retries."""

from __future__ import annotations

import time

import pytest

from groundwire.agents.backends.retries import Retries
from groundwire.errors import ConfigError, ModelRejected, ModelReplyInvalid, ModelRetryable


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
    assert await Retries(3, backoff_s=0.001).run(flaky) == ("answer", 3)
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


async def test_the_wait_is_bounded() -> None:
    began = time.monotonic()
    with pytest.raises(ModelRetryable):
        await Retries(4, backoff_s=1000.0, max_wait_s=0.01).run(Flaky(*[ModelRetryable("x")] * 9))
    assert time.monotonic() - began < 500


@pytest.mark.parametrize("numbers", [(0, 1.0, 1.0), (1, -1.0, 1.0), (1, 1.0, -1.0)])
def test_numbers_out_of_range(numbers: tuple[int, float, float]) -> None:
    with pytest.raises(ConfigError):
        Retries(*numbers)
