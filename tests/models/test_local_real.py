"""`local`: a real model on this CPU."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from real_model import SMALL, install_link, local_backend, real_model

from groundwire.core._errors import ModelRejected, ModelRetryable
from groundwire.core._models import Message, Request
from groundwire.models import _local as local
from groundwire.models import allow_model_calls, backend_for
from groundwire.models._local import LocalBackend
from groundwire.models._openai_compatible import OpenAICompatibleBackend
from groundwire.models.local_model import SMOLLM2, close_servers, server_for

pytestmark = [pytest.mark.model, pytest.mark.slow]
HELLO = (Message(role="user", content="Name three animals."),)


def sampled(seed: int, n: int = 1, **fields: object) -> Request:
    given: dict[str, object] = {"messages": HELLO, "n": n, "temperature": 0.9, "max_tokens": 12, "seed": seed}
    return Request.model_validate(given | fields)


class TestARealModel:
    async def test_it_answers_for_nothing_and_says_which_file_did(self) -> None:
        async with local_backend() as backend:
            answer = await backend.complete(sampled(1, max_tokens=5))
        assert len(answer.texts) == 1 and answer.texts[0].strip()
        assert answer.completion_tokens == 5 and answer.prompt_tokens > 5
        assert (answer.usd, backend.price(sampled(1))) == (0.0, 0.0)
        assert answer.model == f"SmolLM2-135M-Instruct.Q4_1@{SMOLLM2.file_sha256[:12]}"

    async def test_a_seed_repeats_whatever_else_is_asked_and_however_it_is_split(self) -> None:
        async with local_backend() as backend:
            alone = [(await backend.complete(sampled(seed))).texts[0] for seed in (7, 8, 9)]
            at_once = await backend.complete_many([sampled(50, n=3), sampled(7, n=3), sampled(60)])
            again = await backend.complete(sampled(7, n=3))
        assert SMALL.slots < 3
        assert list(at_once[1].texts) == alone == list(again.texts)
        assert len(set(alone)) == 3

    async def test_an_answer_that_is_begun_is_gone_on_with(self) -> None:
        begun = (*HELLO, Message(role="assistant", content="1. Cat\n2."))
        async with local_backend() as backend:
            answer = await backend.complete(sampled(1, messages=begun, temperature=0.0, stop=("\n",)))
        assert answer.texts[0].strip() and "Cat" not in answer.texts[0]

    async def test_an_answer_in_a_schema(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        async with local_backend() as backend:
            answer = await backend.complete(sampled(1, json_schema=schema, max_tokens=60))
        assert isinstance(json.loads(answer.texts[0])["n"], int)

    async def test_streamed_directly_or_at_once_it_says_the_same(self) -> None:
        """llama.cpp's server, by this backend and the one below it: text, probabilities, n, schema, errors."""
        request = sampled(3, logprobs=True, top_logprobs=2)
        said: list[str] = []
        async with local_backend() as backend:
            whole = await backend.complete(request)
            streamed = await backend.stream(request, lambda _index, text: said.append(text))
            server = backend.server
            assert server is not None
            direct = OpenAICompatibleBackend(f"{server.url}/v1", api_key=server.key, usd_per_token=(0.0, 0.0))
            at_once, pieces = await direct.complete(request), list[str]()
            in_pieces = await direct.stream(request, lambda _index, text: pieces.append(text))
            schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
            formed = await direct.complete(sampled(1, n=2, json_schema=schema, max_tokens=60))
            with pytest.raises(ModelRejected, match="context is too long"):
                await direct.complete(sampled(1, messages=(Message(role="user", content="word " * 600),)))
            wrong_key = OpenAICompatibleBackend(f"{server.url}/v1", "m", api_key="guessed-key")
            with pytest.raises(ModelRejected, match=r"refused the key \(401\)"):
                await wrong_key.complete(request)
            await wrong_key.aclose()
            await direct.aclose()
        assert whole.texts == streamed.texts == at_once.texts == in_pieces.texts == ("".join(said),)
        assert "".join(pieces) == whole.texts[0] and len(pieces) > 3
        assert whole.model == streamed.model == at_once.model == in_pieces.model
        counts = {(a.prompt_tokens, a.completion_tokens) for a in (whole, streamed, at_once, in_pieces)}
        assert counts == {(whole.prompt_tokens, 12)}
        for answer in (whole, streamed, at_once, in_pieces):
            assert answer.logprobs is not None and answer.top_logprobs is not None
            assert len(answer.logprobs[0]) == len(answer.top_logprobs[0]) == 12
            assert all(len(tops) == 2 for tops in answer.top_logprobs[0])
        assert streamed.first_token_s is not None and in_pieces.first_token_s is not None
        assert all(isinstance(json.loads(text)["n"], int) for text in formed.texts)

    async def test_a_prompt_that_is_too_long_is_never_tried_again(self) -> None:
        too_long = (Message(role="user", content="word " * 600),)
        async with local_backend() as backend:
            with pytest.raises(ModelRejected, match=r"^local:.*context is too long") as caught:
                await backend.complete(sampled(1, messages=too_long))
        assert "context_tokens" in caught.value.do

    async def test_it_listens_on_loopback_and_asks_for_its_key(self) -> None:
        async with local_backend() as backend:
            await backend.complete(sampled(1, max_tokens=1))
            server = server_for(backend.path, f"SmolLM2-135M-Instruct.Q4_1@{SMOLLM2.file_sha256[:12]}", SMALL)
            address = urlsplit(server.url)
            connection = http.client.HTTPConnection(address.netloc, timeout=60)
            connection.request("GET", "/slots", headers={"authorization": "Bearer guessed"})
            status = connection.getresponse().status
            connection.close()
        assert (address.hostname, status) == ("127.0.0.1", 401)

    async def test_backends_of_one_file_share_a_server(self) -> None:
        async with local_backend() as one, local_backend() as two:
            for backend in (one, two):
                await backend.complete(sampled(1, max_tokens=1))
            assert one.server is two.server and one.server is not None

    async def test_a_server_that_has_died_is_started_again(self) -> None:
        async with local_backend() as backend:
            before = await backend.complete(sampled(3))
            first = backend.server
            close_servers()
            assert first is not None and not first.is_alive()
            assert (await backend.complete(sampled(3))).texts == before.texts
            assert backend.server is not first

    async def test_a_server_that_dies_again_and_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with local_backend() as backend:
            await backend.complete(sampled(1, max_tokens=1))
            close_servers()
            start = server_for

            def start_and_end(*given: object, **named: object) -> object:
                server = start(*given, **named)  # pyright: ignore[reportArgumentType]  # handed on as they came
                server.close()
                return server

            monkeypatch.setattr(local, "server_for", start_and_end)
            with pytest.raises(ModelRetryable, match="ended, and after a new start it failed too") as caught:
                await backend.complete(sampled(1))
        assert "memory" in caught.value.do

    async def test_a_file_that_is_gone_or_broken(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.gguf"
        path.symlink_to(real_model())
        async with local_backend(path) as backend:
            await backend.complete(sampled(1, max_tokens=1))
            close_servers()
            path.unlink()
            path.write_bytes(b"GGUF" + b"\0" * 5000)
            with pytest.raises(ModelRejected, match=r"llama.cpp can't load .*mine.gguf"):
                await backend.complete(sampled(1))

    async def test_the_pinned_model_is_checked_before_it_is_loaded(self) -> None:
        link = install_link()
        damaged = link.parents[1].resolve()
        link.parents[1].unlink()
        _copy_with_other_model(damaged, link.parents[1])
        backend = LocalBackend(options=SMALL)
        with allow_model_calls(), pytest.raises(ModelRejected, match="is not SmolLM2") as caught:
            await backend.complete(sampled(1))
        assert "groundwire model install" in caught.value.do

    async def test_a_call_that_nobody_meant_is_refused(self) -> None:
        backend = LocalBackend(real_model())
        with pytest.raises(ModelRejected, match="GROUNDWIRE_MODEL_CALLS=refuse"):
            await backend.complete(sampled(1))
        assert backend.server is None

    def test_the_forms_a_user_may_give(self) -> None:
        path = install_link()
        pinned, own = backend_for("local"), backend_for(f"local:{path}")
        assert isinstance(pinned, LocalBackend) and isinstance(own, LocalBackend)
        assert (pinned.model, own.model) == ("local", f"local:{path}")
        assert pinned.path == own.path == path


ASK = """
import asyncio, os, sys, threading, time
from groundwire.models._local import LocalBackend
from groundwire.models.local_model import ServerOptions
from groundwire.core._models import Message, Request

backend = LocalBackend(sys.argv[1], ServerOptions(slots=2, context_tokens=512, threads=1))

async def ask(tokens):
    request = Request(messages=(Message(role="user", content="Tell a story."),), max_tokens=tokens)
    return (await backend.complete(request)).completion_tokens

"""
IN_FLIGHT = """
from contextlib import suppress
import urllib.request
from groundwire.core._errors import ModelRejected

def work():
    with suppress(ModelRejected):
        asyncio.run(ask(400))

def slots():
    asked = urllib.request.Request(
        f"{backend.server.url}/slots", headers={"authorization": f"Bearer {backend.server.key}"}
    )
    directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return directly.open(asked, timeout=60).read()

threading.Thread(target=work, daemon=True).start()
while backend.server is None or b'"is_processing":true' not in slots():
    time.sleep(0.05)
print("leaving")
"""
FORKED = """
import multiprocessing
from groundwire.models.local_model import close_servers

def work():
    asyncio.run(ask(2))
    close_servers()

print(asyncio.run(ask(3)), flush=True)
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
print(child.exitcode, backend.server.is_alive())
"""


@pytest.mark.parametrize(("work", "said"), [(IN_FLIGHT, "leaving"), (FORKED, "3\n0 True")])
def test_a_process_ends_whatever_is_in_flight_and_says_nothing_of_its_own(work: str, said: str) -> None:
    proxy = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK + work, str(real_model())],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **proxy, "GROUNDWIRE_MODEL_CALLS": "allow"},
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{said}\n", "")


def _copy_with_other_model(package: Path, to: Path) -> None:
    for file in package.rglob("*"):
        if file.is_file():
            copy = to / file.relative_to(package)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(b"GGUF, but another" if file.suffix == ".gguf" else file.read_bytes())
