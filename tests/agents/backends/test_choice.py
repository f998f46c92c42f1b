"""From a text to a backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.agents import backends
from groundwire.agents.backends import LiteLLMBackend, ScriptedBackend, backend_for
from groundwire.completions import Request
from groundwire.errors import ConfigError


def test_the_public_names() -> None:
    assert backends.__all__ == [
        "LiteLLMBackend",
        "ReplayBackend",
        "ScriptedBackend",
        "VllmBackend",
        "VllmServerBackend",
        "allow_model_calls",
        "backend_for",
    ]


@pytest.mark.parametrize(
    "spec",
    ["openai/gpt-5-mini", "gpt-4o", "ollama/llama3:8b", "ft:gpt-4o:org::id", "bedrock/anthropic.claude-v2:1", "a/b/c"],
)
def test_litellm_ids(spec: str) -> None:
    backend = backend_for(spec, usd_per_token=(1.0, 2.0))
    assert isinstance(backend, LiteLLMBackend)
    assert backend.model == spec
    assert backend.price(Request(messages=(), max_tokens=3)) == 16 * 1.0 + 3 * 2.0


def test_a_script(tmp_path: Path) -> None:
    file = tmp_path / "with space.jsonl"
    file.write_text('"x"\n')
    assert isinstance(backend_for(f"scripted:{file}"), ScriptedBackend)
    with pytest.raises(ConfigError, match="can't be read"):
        backend_for("scripted:")


def test_a_backend_is_returned_as_it_is() -> None:
    backend = ScriptedBackend([])
    assert backend_for(backend) is backend


@pytest.mark.parametrize(
    "spec",
    ["", " ", "openai/gpt 5", "openai/x\n", "\x1b[31m",
     "openai-compatible:http://localhost:1", "script:x", "foo:bar"],
)  # fmt: skip
def test_unknown_forms_say_which_there_are(spec: str) -> None:
    with pytest.raises(ConfigError) as caught:
        backend_for(spec)
    assert "provider/model" in caught.value.do and "scripted:FILE" in caught.value.do
