"""A guard against model calls nobody meant to make: tests refuse them unless a test opts in.

`GROUNDWIRE_MODEL_CALLS=refuse` turns every backend that leaves the process off; `allow_model_calls()` turns it on again
for the code inside it. The idea is pydantic-ai's `ALLOW_MODEL_REQUESTS`.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from groundwire.core._errors import ConfigError, ModelRejected

ENVIRONMENT_VARIABLE = "GROUNDWIRE_MODEL_CALLS"

_allowed: ContextVar[bool] = ContextVar("groundwire_model_calls_allowed", default=False)


@contextmanager
def allow_model_calls() -> Generator[None]:
    """Allows model calls inside the block (and in tasks started in it), whatever the environment says."""
    token = _allowed.set(True)
    try:
        yield
    finally:
        _allowed.reset(token)


def check_model_calls(model: str) -> None:
    """Returns if a call to `model` may be made.

    Raises:
        ModelRejected: calls are refused here.
        ConfigError: the environment variable holds something else than `allow` or `refuse`.
    """
    wanted = os.environ.get(ENVIRONMENT_VARIABLE, "allow").strip().lower()
    if wanted not in ("allow", "refuse"):
        raise ConfigError(f"{ENVIRONMENT_VARIABLE} is {wanted!r}.", do="Set it to allow or refuse.")
    if wanted == "refuse" and not _allowed.get():
        raise ModelRejected(
            f"A call to {model} was refused: {ENVIRONMENT_VARIABLE}=refuse.",
            do="Use a scripted backend, or opt in with groundwire.models._guard.allow_model_calls().",
        )
