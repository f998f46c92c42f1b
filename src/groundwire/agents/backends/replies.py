"""What every backend does with the texts it got: stop sequences and schemas are held on our side too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from groundwire.completions import Completion, Request
from groundwire.errors import ConfigError, ModelReplyInvalid

__all__ = ["all_of", "cut_at_stop", "merged", "split", "valid_samples"]


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


def split(request: Request, most: int) -> list[Request]:
    """Requests for at most `most` samples each that together ask for what `request` asks for.

    Sample i has the request's seed plus i, as llama.cpp does it too for the samples of one request.
    """
    parts: list[Request] = []
    for start in range(0, request.n, most):
        seed = None if request.seed is None else request.seed + start
        parts.append(request.model_copy(update={"n": min(most, request.n - start), "seed": seed}))
    return parts


def merged(parts: Sequence[Completion]) -> Completion:
    """The answers to the parts of a request, as one."""
    prices = [part.usd for part in parts]
    logprobs = [part.logprobs for part in parts]
    known = [values for values in logprobs if values is not None]
    return Completion(
        texts=tuple(text for part in parts for text in part.texts),
        model=parts[0].model,
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        usd=None if None in prices else sum(usd for usd in prices if usd is not None),
        finish_reasons=tuple(reason for part in parts for reason in part.finish_reasons),
        logprobs=tuple(v for values in known for v in values) if len(known) == len(parts) else None,
        attempts=sum(part.attempts for part in parts),
    )


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
