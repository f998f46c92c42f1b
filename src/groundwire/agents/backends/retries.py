"""The one owner of retries of a model call: bounded attempts, full jitter, and the provider's own word honoured."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from groundwire.errors import ConfigError, ModelRetryable

__all__ = ["Retries"]

T = TypeVar("T")


@dataclass(frozen=True)
class Retries:
    """How often, and after what wait, a failed request is sent again.

    Only `ModelRetryable` is tried again. The wait before attempt k is random between 0 and `backoff_s`·2^(k-2) ("full
    jitter", from the AWS architecture blog's "Exponential Backoff And Jitter"), never above `max_wait_s`. Where the
    provider said how long to wait, that long and a little more; longer than `max_wait_s` is not waited for at all.

    Args:
        max_attempts: requests sent at most, the first included.
        backoff_s: seconds; the top of the first wait.
        max_wait_s: seconds; the top of any wait.

    Raises:
        ConfigError: a number is out of range.
    """

    max_attempts: int = 4
    backoff_s: float = 1.0
    max_wait_s: float = 60.0

    def __post_init__(self) -> None:
        if self.max_attempts < 1 or self.backoff_s < 0 or self.max_wait_s < 0:
            raise ConfigError(
                f"Retries can't be {self.max_attempts} attempts, {self.backoff_s} s and {self.max_wait_s} s.",
                do="Use at least one attempt, and waits of 0 seconds or more.",
            )

    async def run(self, send: Callable[[], Awaitable[T]]) -> tuple[T, int]:
        """Sends until there is an answer.

        Returns:
            The answer, and how many requests it took.

        Raises:
            ModelRetryable: the last attempt failed too, or the provider asked for too long a wait.
        """
        retrying = tenacity.AsyncRetrying(
            stop=self._give_up,
            wait=self._wait_s,
            retry=tenacity.retry_if_exception_type(ModelRetryable),
            reraise=True,
        )
        attempts = 0
        try:
            async for attempt in retrying:
                with attempt:
                    attempts = attempt.retry_state.attempt_number
                    return await send(), attempts
        except ModelRetryable as error:
            what = f"{error.what} (attempts: {attempts})"
            raise ModelRetryable(what, do=error.do, retry_after_s=error.retry_after_s) from None
        raise AssertionError("tenacity ended without an answer or an error")

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        jitter = tenacity.wait_random_exponential(multiplier=self.backoff_s, max=self.max_wait_s)
        asked = _retry_after_s(state)
        if asked is None:
            return jitter(state)
        return asked + random.uniform(0, self.backoff_s)

    def _give_up(self, state: tenacity.RetryCallState) -> bool:
        asked = _retry_after_s(state)
        return state.attempt_number >= self.max_attempts or (asked is not None and asked > self.max_wait_s)


def _retry_after_s(state: tenacity.RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after_s if isinstance(error, ModelRetryable) else None
