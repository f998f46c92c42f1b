"""The one owner of retries of a model call: bounded attempts, full jitter, and the provider's own word honoured."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import tenacity

from groundwire.core._errors import ConfigError, ModelError, ModelRetryable, Usage

T = TypeVar("T")

LONE_WAIT_S = 1.0
"""The top of each wait for a server that can't be reached: it is not overloaded, so longer waits spare it nothing."""


@dataclass(frozen=True)
class Retried(Generic[T]):
    """What was answered in the end.

    Args:
        answer: it.
        attempts: requests that were sent.
        wasted: what the attempts before the last are known to have used; None where none of them said.
    """

    answer: T
    attempts: int
    wasted: Usage | None


@dataclass(frozen=True)
class Retries:
    """How often, and after what wait, a failed request is sent again.

    Only `ModelRetryable` is tried again. The wait before attempt k is random between 0 and `backoff_s`·2^(k-2) ("full
    jitter", from the AWS architecture blog's "Exponential Backoff And Jitter"), never above `max_wait_s`. Where the
    provider said how long to wait, that long and a little more; longer than `max_wait_s` is not waited for at all. A
    server that can't be reached is tried again within seconds or not at all, and one that was silent for all the time
    of an attempt (`ModelRetryable.silent`) is not waited for once more.

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

    async def run(self, send: Callable[[], Awaitable[T]]) -> Retried[T]:
        """Sends until there is an answer.

        Raises:
            ModelRetryable: the last attempt failed too, or the provider asked for too long a wait.
            ModelError: it can't be tried again. What all attempts together are known to have used is in its `used`.
        """
        retrying = tenacity.AsyncRetrying(
            stop=self._give_up,
            wait=self._wait_s,
            retry=tenacity.retry_if_exception_type(ModelRetryable),
            reraise=True,
        )
        attempts = 0
        used: Usage | None = None
        try:
            async for attempt in retrying:
                with attempt:
                    attempts = attempt.retry_state.attempt_number
                    try:
                        return Retried(await send(), attempts, used)
                    except ModelError as error:
                        used = _together(used, error.used)
                        raise
        except ModelRetryable as error:
            what = f"{error.what} (attempts: {attempts})"
            last = ModelRetryable(what, do=error.do, retry_after_s=error.retry_after_s)
            last.used, last.silent, last.unreached = used, error.silent, error.unreached
            raise last from None
        except ModelError as error:
            error.used = used
            raise
        raise AssertionError("tenacity ended without an answer or an error")

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        error = _failure(state)
        if error is not None and error.retry_after_s is not None:
            return error.retry_after_s + random.uniform(0, self.backoff_s)
        if error is not None and error.unreached:
            return random.uniform(0, min(self.backoff_s, self.max_wait_s, LONE_WAIT_S))
        return tenacity.wait_random_exponential(multiplier=self.backoff_s, max=self.max_wait_s)(state)

    def _give_up(self, state: tenacity.RetryCallState) -> bool:
        error = _failure(state)
        if error is None or state.attempt_number >= self.max_attempts:
            return True
        asked = error.retry_after_s
        return asked > self.max_wait_s if asked is not None else error.silent


def _failure(state: tenacity.RetryCallState) -> ModelRetryable | None:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, ModelRetryable) else None


def _together(one: Usage | None, other: Usage | None) -> Usage | None:
    return other if one is None else one if other is None else one + other
