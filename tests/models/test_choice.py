"""From a text to a backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError
from groundwire.core._models import Request
from groundwire.models import LiteLLMBackend, OpenAICompatibleBackend, ScriptedBackend, backend_for


@pytest.mark.parametrize(
    "spec",
    ["openai/gpt-5-mini", "gpt-4o", "ollama/llama3:8b", "ft:gpt-4o:org::id", "bedrock/anthropic.claude-v2:1", "a/b/c"],
)
def test_litellm_ids(spec: str) -> None:
    backend = backend_for(spec, usd_per_token=(1.0, 2.0))
    assert isinstance(backend, LiteLLMBackend)
    assert backend.model == spec
    assert backend.price(Request(messages=(), max_tokens=3)) == 16 * 1.0 + 3 * 2.0


def test_fallbacks_after_commas() -> None:
    backend = backend_for("openai/gpt-4o,openai/gpt-4o-mini", usd_per_token=(1.0, 2.0))
    assert isinstance(backend, LiteLLMBackend)
    assert backend.model == "openai/gpt-4o,openai/gpt-4o-mini"


def test_a_server_of_ones_own() -> None:
    backend = backend_for("openai-compatible:http://gpu:8000/v1#Qwen/Qwen3-8B", usd_per_token=(0.0, 0.0))
    assert isinstance(backend, OpenAICompatibleBackend)
    assert backend.model == "openai-compatible:http://gpu:8000/v1#Qwen/Qwen3-8B"
    assert backend.price(Request(messages=())) == 0.0
    assert backend_for("openai-compatible:http://localhost:1").price(Request(messages=())) is None


@pytest.mark.parametrize(
    "address",
    ["", "localhost:8000", "ftp://h/v1", "http://", "http://h:99999/v1", "http://h/v1?x=1", "http://me:key@h/v1",
     "http://h/ v1", "file:///etc/passwd", "http://[::1/v1"],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_showing_a_key(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        backend_for(f"openai-compatible:{address}")
    assert "me:key" not in str(caught.value)


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
     "openai/a,", ",", "script:x", "foo:bar"],
)  # fmt: skip
def test_unknown_forms_say_which_there_are(spec: str) -> None:
    with pytest.raises(ConfigError) as caught:
        backend_for(spec)
    assert "provider/model" in caught.value.do and "scripted:FILE" in caught.value.do
