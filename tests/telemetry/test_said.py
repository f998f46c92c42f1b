"""The words in which model calls are told of: which model it was, and what was said with tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groundwire.core._masking import Masker
from groundwire.core._models import Completion, Message, Request, ToolCall, ToolSpec
from groundwire.telemetry import _said as said


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai/gpt-5-mini", "openai", "gpt-5-mini"),
        ("openrouter/meta/llama-4", "openrouter", "meta/llama-4"),
        ("mistral/small,openai/gpt-5-mini", "mistral_ai", "small"),
        ("gpt-5-mini", "unknown", "gpt-5-mini"),
        ("local", "local", "local"),
        ("vllm:Qwen/Qwen3-8B?lora=a", "vllm", "Qwen/Qwen3-8B"),
        ("openai-compatible:http://a:8000,http://b:8000#qwen", "openai-compatible", "qwen"),
        ("openai-compatible:http://a:8000", "openai-compatible", "openai-compatible:http://a:8000"),
        ("replay:file.json", "replay", "file.json"),
    ],
)
def test_a_model_by_its_own_name_and_its_provider(model: str, provider: str, name: str) -> None:
    assert (said.provider_of(model), said.name_of(model)) == (provider, name)


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("openai-compatible:http://a:8000,http://b:8001#qwen", ("a", 8000)),
        ("openai-compatible:https://models.example/v1", ("models.example", 443)),
        ("openai-compatible:http://a:notaport", ("a", 80)),
        ("openai/gpt-5-mini", (None, None)),
    ],
)
def test_where_a_server_is(model: str, where: tuple[str | None, int | None]) -> None:
    told = said.identity(model)
    assert (told.get("server.address"), told.get("server.port")) == where


def test_tools_that_were_offered_asked_for_and_answered() -> None:
    call = ToolCall(id="c1", name="look", arguments='{"at": "a.py"}')
    request = Request(
        messages=(
            Message(role="user", content="look"),
            Message(role="assistant", content="", tool_calls=(call,)),
            Message(role="tool", content="x = 1", answers="c1"),
        ),
        tools=(ToolSpec(name="look", description="Shows a file."),),
    )
    shown = said.read(request, Masker())
    asked = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": "a.py"}}
    assert [one["parts"] for one in json.loads(str(shown["gen_ai.input.messages"]))] == [
        [{"type": "text", "content": "look"}],
        [asked],
        [{"type": "tool_call_response", "id": "c1", "response": "x = 1"}],
    ]
    (tool,) = json.loads(str(shown["gen_ai.tool.definitions"]))
    assert (tool["type"], tool["name"]) == ("function", "look")
    assert "gen_ai.system_instructions" not in shown
    wrote = said.wrote(Completion(texts=("",), thinking=("hm",), tool_calls=((call,),)), Masker())
    assert json.loads(str(wrote["gen_ai.output.messages"])) == [
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, asked], "finish_reason": "stop"}
    ]


@pytest.mark.parametrize("arguments", ["not JSON", "[" * 5000, "\ud800", ""])
def test_a_tool_call_that_can_not_be_read_stays_text(arguments: str) -> None:
    call = ToolCall(id="c1", name="look", arguments=arguments)
    wrote = said.wrote(Completion(texts=("",), tool_calls=((call,),)), Masker())
    parts: list[dict[str, Any]] = json.loads(str(wrote["gen_ai.output.messages"]))[0]["parts"]
    assert parts[0]["arguments"] == call.arguments


def test_what_no_file_and_no_terminal_can_take_goes_nowhere() -> None:
    """Half of a character would cost the exporter the whole batch."""
    hostile = "gpt\ud800\x1b[2J\x00"
    told = said.answered(Completion(texts=("x",), model=hostile, response_id=hostile), Masker())
    for name in ("gen_ai.response.model", "gen_ai.response.id"):
        text = str(told[name])
        assert text.encode().startswith(b"gpt")
        assert not set(text) & {"\x1b", "\x00"}
