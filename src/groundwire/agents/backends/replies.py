"""What every backend does with the texts it got: stop sequences and schemas are held on our side too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from groundwire.completions import Completion
from groundwire.errors import ConfigError, ModelReplyInvalid

__all__ = ["all_of", "cut_at_stop", "valid_samples"]


async def all_of(calls: Sequence[Coroutine[Any, Any, Completion]]) -> list[Completion]:
    """Runs calls at once and returns their answers in order; if one fails, cancels the others and raises its error."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def cut_at_stop(text: str, stop: Sequence[str]) -> str:
    """`text` up to the first stop sequence, for providers that ignore them."""
    found = [at for at in (text.find(mark) for mark in stop if mark) if at >= 0]
    return text[: min(found)] if found else text


def valid_samples(texts: Sequence[str], schema: Mapping[str, Any] | None, *, model: str) -> list[int]:
    """Indices of the texts that hold to the schema; all of them where there is none.

    Raises:
        ModelReplyInvalid: none of them does.
        ConfigError: the schema is not one, or the validator is not installed.
    """
    if schema is None:
        return list(range(len(texts)))
    problems = [_problem(text, schema) for text in texts]
    kept = [i for i, problem in enumerate(problems) if not problem]
    if not kept:
        raise ModelReplyInvalid(
            f"{model} did not answer in the form that was asked for: {problems[0]}.",
            do="Use a model that supports structured output, or a simpler schema.",
        )
    return kept


def _problem(text: str, schema: Mapping[str, Any]) -> str:
    try:
        import jsonschema
    except ImportError as error:
        raise ConfigError(
            "A reply can't be checked against its schema: jsonschema is not installed.",
            do='pip install "groundwire[llm]"',
        ) from error
    try:
        value: object = json.loads(text)
    except ValueError as error:
        return f"it is not JSON ({error})"
    except RecursionError:
        return "it is nested too deeply"
    try:
        jsonschema.validate(value, schema)
    except jsonschema.SchemaError as error:
        raise ConfigError(f"The reply's schema is not a JSON schema: {error.message}.") from error
    except jsonschema.ValidationError as error:
        return f"at {error.json_path}: {error.message[:200]}"
    except RecursionError:
        return "it is nested too deeply"
    return ""
