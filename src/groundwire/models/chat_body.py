"""A request as OpenAI's chat API has it: what LiteLLM takes as arguments, and what a server of one's own takes as JSON.

What stays the same comes first (the system's message, the task, its tests), so that a provider's prefix cache hits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from groundwire.core.models import Message, Request, ToolCall, ToolSpec
from groundwire.models.switches import logit_bias

__all__ = ["chat_body", "is_begun"]


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
