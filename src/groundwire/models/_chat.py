"""Chat: a request as OpenAI's API has it, and what every backend does with the texts it got (stops, schemas)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, cast

from groundwire.core._errors import ConfigError, ModelReplyInvalid, Usage
from groundwire.core._models import Completion, Message, Request, ToolCall, ToolSpec
from groundwire.core._reasoning_text import reasoning_spans, split_reasoning
from groundwire.core._reply_parts import json_in
from groundwire.models._retries import Retried
from groundwire.models._switches import logit_bias

# A request as OpenAI's chat API has it: what LiteLLM takes as arguments, and what a server of one's own takes as
# JSON.
#
# What stays the same comes first (the system's message, the task, its tests), so that a provider's prefix cache hits.


def chat_body(request: Request, *, has_windows: bool = False) -> dict[str, Any]:
    """The fields of the body, without the model's name; what was not asked for is left out.

    Args:
        request: what is asked.
        has_windows: True where a penalty on thought switching is told of in another way (`vllm_server`).

    Raises:
        ConfigError: such a penalty has no form in this API.
    """
    body: dict[str, Any] = {
        "messages": [_message(m) for m in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    if request.n > 1:
        body["n"] = request.n
    if request.stop:
        body["stop"] = list(request.stop)
    if request.seed is not None:
        body["seed"] = request.seed
    if not has_windows and (bias := logit_bias(request)):
        body["logit_bias"] = bias
    if request.logprobs:
        body["logprobs"] = True
        if request.top_logprobs:
            body["top_logprobs"] = request.top_logprobs
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = request.tool_choice
    if request.json_schema is not None:
        named: dict[str, Any] = {"name": "reply", "schema": dict(request.json_schema)}
        if _is_strict(request.json_schema):
            named["strict"] = True
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def is_begun(request: Request) -> bool:
    """True where the last message is the beginning of the answer."""
    return bool(request.messages) and request.messages[-1].role == "assistant"


def _message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.answers:
        body["tool_call_id"] = message.answers
    return body


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _is_strict(schema: object) -> bool:
    """True where every object names all its fields and allows no others: OpenAI's condition for enforcing a schema."""
    if isinstance(schema, list):
        return all(_is_strict(item) for item in cast("list[object]", schema))
    if not isinstance(schema, Mapping):
        return True
    known = cast("Mapping[str, Any]", schema)
    if known.get("type") == "object" or "properties" in known:
        fields = set(known.get("properties") or ())
        if known.get("additionalProperties") is not False or fields != set(known.get("required") or ()):
            return False
    return all(_is_strict(value) for value in known.values())


T = TypeVar("T")


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


def reasoning_and_answer(text: str, request: Request) -> tuple[str, str]:
    """What was thought and what was answered, by `split_reasoning`; an answer that was begun for the model goes on, and
    holds no thinking unless it was thinking that was begun."""
    if is_begun(request) and not reasoning_spans(request.messages[-1].content):
        return "", text
    return split_reasoning(text)


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
    calls = tuple(of_sample for part in parts for of_sample in part.tool_calls or ((),) * len(part.texts))
    thinking = tuple(of_sample for part in parts for of_sample in part.thinking or ("",) * len(part.texts))
    return Completion(
        texts=tuple(text for part in parts for text in part.texts),
        model=parts[0].model,
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        usd=None if None in prices else sum(usd for usd in prices if usd is not None),
        finish_reasons=tuple(reason for part in parts for reason in part.finish_reasons),
        logprobs=_all_of(parts, lambda part: part.logprobs),
        attempts=sum(part.attempts for part in parts),
        top_logprobs=_all_of(parts, lambda part: part.top_logprobs),
        tool_calls=calls if any(calls) else (),
        cached_prompt_tokens=sum(part.cached_prompt_tokens for part in parts),
        thinking=thinking if any(thinking) else (),
        first_token_s=min((p.first_token_s for p in parts if p.first_token_s is not None), default=None),
        response_id=parts[0].response_id if len(parts) == 1 else "",
    )


def _all_of(parts: Sequence[Completion], read: Callable[[Completion], tuple[T, ...] | None]) -> tuple[T, ...] | None:
    """What `read` finds in the parts, one after the other; None where one of them has none."""
    found = [read(part) for part in parts]
    known = [values for values in found if values is not None]
    return tuple(value for values in known for value in values) if len(known) == len(found) else None


def with_attempts(retried: Retried[Completion]) -> Completion:
    """An answer with what it took: requests, and what those that failed are known to have used."""
    completion, wasted = retried.answer, retried.wasted
    if wasted is None:
        return completion.model_copy(update={"attempts": retried.attempts})
    whole = Usage(completion.prompt_tokens, completion.completion_tokens, completion.usd) + wasted
    return completion.model_copy(update={"attempts": retried.attempts, **asdict(whole)})


def valid_samples(
    texts: Sequence[str],
    schema: Mapping[str, Any] | None,
    *,
    model: str,
    calls: Sequence[Sequence[ToolCall]] = (),
    tools: Request | None = None,
) -> Mapping[int, str]:
    """The samples that hold to what was asked, by their indices; all of them where nothing was.

    Of one that is to be JSON only that is kept: a model that no grammar holds to it fences it, or talks around it.

    Args:
        texts: of the samples.
        schema: that of their texts.
        model: the id as the user named it.
        calls: the tool calls of each sample; its text need not hold to the schema where there are some.
        tools: the request, where it offers tools.

    Raises:
        ModelReplyInvalid: none of them does.
        ConfigError: a schema is not one, or the validator is not installed.
    """
    offered = tools is not None and bool(tools.tools)
    if schema is None and not offered:
        return dict(enumerate(texts))
    problems: list[str] = []
    said = list(texts)
    for i, text in enumerate(texts):
        if tools is not None and offered and (calls[i] or tools.tool_choice == "required"):
            problems.append(_problem_of_calls(calls[i], tools))
        elif schema is not None:
            said[i] = json_in(text, lambda written: not _problem(written, schema))
            problems.append(_problem(said[i], schema))
        else:
            problems.append("")
    kept = {i: said[i] for i, problem in enumerate(problems) if not problem}
    if not kept:
        raise ModelReplyInvalid(
            f"{model} did not answer in the form that was asked for: {problems[0]}.",
            do="Use a model that supports structured output, or a simpler schema.",
        )
    return kept


def _problem_of_calls(calls: Sequence[ToolCall], request: Request) -> str:
    if not calls:
        return "it uses no tool"
    known = {tool.name: tool for tool in request.tools}
    for call in calls:
        if call.name not in known:
            return f"it asks for a tool {call.name[:80]!r}, which was not offered"
        problem = _problem(call.arguments, known[call.name].parameters)
        if problem:
            return f"in the arguments of {call.name}, {problem}"
    return ""


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
