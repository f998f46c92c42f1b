"""`vllm-server:`: a server program of our own behind it; the real one is in `test_vllm_real.py`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import stub_model_server

from groundwire.agents.width._confident_vote import KillBelow, StreamsProbabilities
from groundwire.core._errors import ConfigError, ModelRejected
from groundwire.core._models import Load, Message, Request
from groundwire.models import VllmServerBackend, allow_model_calls, backend_for
from groundwire.models import _vllm_server as vllm_server
from groundwire.models._openai_compatible import KILLED
from groundwire.models.model_server import Restarts
from groundwire.models.vllm_engine import parse_spec

HELLO = Request(messages=(Message(role="user", content="hello"),))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


@pytest.fixture
async def backend(model: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[VllmServerBackend]:
    def stub(_spec: object, port: int) -> list[str]:
        return [sys.executable, stub_model_server.__file__, str(port), "serves"]

    monkeypatch.setattr(vllm_server, "server_arguments", stub)
    monkeypatch.setattr(vllm_server, "installed_version", lambda: "vllm 0")
    backend = VllmServerBackend(str(model), restarts=Restarts(most=1, backoff_s=0.0))
    with allow_model_calls():
        yield backend
    await backend.aclose()


async def test_a_server_killed_in_mid_run_is_started_again_and_asked_again(backend: VllmServerBackend) -> None:
    assert backend.load() == Load(0, 0, 256)
    first = await backend.complete(HELLO)
    assert first.texts[0].endswith("heard hello") and first.usd == 0.0
    first_pid = int(first.texts[0].split()[0])
    os.kill(first_pid, signal.SIGKILL)
    again = await backend.complete_many([HELLO] * 4)
    pids = {int(one.texts[0].split()[0]) for one in again}
    assert len(pids) == 1 and first_pid not in pids, "one new server for all"
    os.kill(pids.pop(), signal.SIGKILL)
    with pytest.raises(ModelRejected, match="died 2 times") as caught:
        await backend.complete(HELLO)
    assert "logs" in caught.value.do
    assert backend.load() == Load(0, 0, 256)


async def test_a_trace_that_loses_confidence_is_ended_at_the_server(backend: VllmServerBackend) -> None:
    asked = HELLO.model_copy(update={"logprobs": True, "top_logprobs": 20})
    assert isinstance(backend, StreamsProbabilities)
    killed = await KillBelow(backend, threshold=0.3, window=2).complete(asked)
    assert killed.finish_reasons == (KILLED,) and killed.completion_tokens == 4, "1/4 and 1/8 are below"
    assert backend.load() == Load(0, 0, 256)


def test_the_command_line_names_everything_but_the_key(model: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "mine"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"r": 4}')
    spec = parse_spec(f"{model}?max_model_len=512&enforce_eager=false", lora=str(adapter))
    command = vllm_server.server_arguments(spec, 1234)
    assert command[1:5] == ["-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    for wanted in (
        "--served-model-name", "127.0.0.1", "1234", "--max-model-len=512", "--no-enforce-eager", "--enable-lora",
        "--max-lora-rank=8", "--enable-prefix-caching", "--scheduling-policy=priority", f"small+mine={adapter}",
    ):  # fmt: skip
        assert wanted in command
    assert not any("key" in part for part in command)


def test_without_vllm_it_says_what_to_install(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_server, "installed_version", lambda: None)
    with pytest.raises(ConfigError, match="vllm is not installed") as caught:
        backend_for(f"vllm-server:{model}")
    assert "pip install" in caught.value.do
