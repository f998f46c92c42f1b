"""The real LiteLLM client against a real HTTP server on loopback: what goes over the wire and what comes back."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from groundwire.core._errors import ConfigError, ModelRejected, ModelReplyInvalid
from groundwire.core._models import Message, Request
from groundwire.models._guard import ENVIRONMENT_VARIABLE, allow_model_calls
from groundwire.models._litellm import LiteLLMBackend

if TYPE_CHECKING:
    from conftest import OpenAIStub, Reply, Seen

    Connect = Callable[..., LiteLLMBackend]


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}


def ask(text: str = "say hi", **fields: Any) -> Request:
    return Request(messages=(Message(role="system", content="be brief"), Message(role="user", content=text)), **fields)


async def test_one_answer_with_usage(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion("hello"))
    answer = await connect().complete(ask(max_tokens=33, temperature=0.25))
    assert answer.texts == ("hello",)
    assert (answer.prompt_tokens, answer.completion_tokens, answer.attempts) == (7, 5, 1)
    assert (answer.model, answer.finish_reasons, answer.logprobs) == ("served-model", ("stop",), None)
    assert answer.usd is None, "an unknown model has no price"
    (seen,) = stub.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {stub.key}"
    assert seen.body == {
        "model": "some-model",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "say hi"}],
        "max_tokens": 33,
        "temperature": 0.25,
    }


async def test_samples_seed_stop_and_logprobs_reach_the_wire(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion("aENDx", "b", "c", logprobs=[-0.5, -1.25]))
    answer = await connect().complete(ask(n=3, seed=11, stop=("END",), logprobs=True))
    assert answer.texts == ("a", "b", "c"), "a stop sequence is held on our side too"
    assert answer.logprobs == ((-0.5, -1.25),) * 3
    body = stub.seen[0].body
    assert (body["n"], body["seed"], body["stop"], body["logprobs"]) == (3, 11, ["END"], True)


async def test_samples_are_single_requests_where_the_provider_has_no_n(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(lambda seen: stub.completion(f"seed {seen.body.get('seed', seen.body.get('random_seed'))}"))
    backend = connect("mistral/some-model", usd_per_token=(1.0, 10.0))
    answer = await backend.complete(ask(n=3, seed=5))
    assert len(stub.seen) == 3
    assert all("n" not in seen.body for seen in stub.seen)
    assert answer.texts == ("seed 5", "seed 6", "seed 7")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.attempts) == (21, 15, 3)
    assert answer.usd == 3 * (7 * 1.0 + 5 * 10.0)


async def test_schema_on_the_wire_and_checked_here(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion('{"answer": 1}', "no json", '{"answer": "one"}', '{"answer": 4}'))
    answer = await connect().complete(ask(n=4, json_schema=SCHEMA))
    assert [json.loads(text)["answer"] for text in answer.texts] == [1, 4]
    assert len(answer.finish_reasons) == 2
    assert stub.seen[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA},
    }


@pytest.mark.parametrize("text", ["sure, here it is", '{"answer": "one"}', "[" * 50_000, "{}"])
async def test_reply_of_the_wrong_schema_is_one_request(stub: OpenAIStub, connect: Connect, text: str) -> None:
    stub.play(stub.completion(text))
    with pytest.raises(ModelReplyInvalid, match="openai/some-model did not answer in the form"):
        await connect().complete(ask(json_schema=SCHEMA))
    assert len(stub.seen) == 1


async def test_known_price_from_the_list_and_given_price_wins(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion("x"))
    listed = await connect("openai/gpt-4o").complete(ask())
    assert listed.usd is not None and 0 < listed.usd < 0.001
    given = await connect("openai/gpt-4o", usd_per_token=(2.0, 3.0)).complete(ask())
    assert given.usd == 7 * 2.0 + 5 * 3.0


async def test_local_server_is_free_and_a_gateway_on_loopback_is_not(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion("x"))
    own = connect("hosted_vllm/some-model")
    assert (await own.complete(ask())).usd == 0.0
    assert own.price(ask()) == 0.0
    assert connect("openai/some-model").price(ask()) is None, "a gateway may forward to a paid model"
    assert LiteLLMBackend("hosted_vllm/m", api_base="https://gpu.example.com/v1").price(ask()) is None


async def test_price_bounds_what_is_paid(stub: OpenAIStub, connect: Connect) -> None:
    request = ask("ü" * 300, n=4, max_tokens=50)
    for backend, samples in ((connect("openai/gpt-4o"), 4), (connect("mistral/m", usd_per_token=(1.0, 2.0)), 1)):
        stub.play(stub.completion(*"abcd"[:samples], usage=(610, 50 * samples)))
        bound = backend.price(request)
        paid = (await backend.complete(request)).usd
        assert bound is not None and paid is not None
        assert paid <= bound


async def test_missing_usage_is_estimated(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion("four", usage=None))
    answer = await connect(usd_per_token=(1.0, 1.0)).complete(ask("x" * 35))
    assert (answer.prompt_tokens, answer.completion_tokens) == (3 + 10, 2)
    assert answer.usd == 15.0


async def test_a_model_without_temperature_still_answers(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion("x"))
    answer = await connect("openai/gpt-5-mini").complete(ask(temperature=0.7, stop=("q",), max_tokens=9))
    assert answer.texts == ("x",)
    assert "temperature" not in stub.seen[0].body
    assert stub.seen[0].body["max_completion_tokens"] == 9


async def test_requests_in_flight_are_bounded(stub: OpenAIStub, connect: Connect) -> None:
    together = threading.Barrier(3)

    def slow(_seen: Seen) -> Reply:
        together.wait(60)
        stub.wait(0.05)  # for one too many
        return stub.completion("x")

    stub.play(slow)
    answers = await connect(max_in_flight=3).complete_many([ask(str(i)) for i in range(12)])
    assert len(answers) == 12
    assert stub.most_at_once == 3


async def test_many_are_answered_in_order(stub: OpenAIStub, connect: Connect) -> None:
    def echo(seen: Seen) -> Reply:
        text = seen.body["messages"][-1]["content"]
        stub.wait(0.05 if text == "0" else 0)
        return stub.completion(text)

    stub.play(echo)
    answers = await connect().complete_many([ask(str(i)) for i in range(5)])
    assert [answer.texts[0] for answer in answers] == list("01234")


def test_one_backend_serves_several_event_loops(stub: OpenAIStub) -> None:
    stub.play(stub.completion("x"))
    backend = LiteLLMBackend("openai/m", api_base=stub.url, api_key=stub.key, max_in_flight=1)

    async def burst() -> int:
        answers = await backend.complete_many([ask(str(i)) for i in range(3)])
        await backend.aclose()
        return len(answers)

    with allow_model_calls():
        assert [asyncio.run(burst()) for _ in range(2)] == [3, 3]


async def test_a_closed_backend_opens_again(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion("x"))
    backend = connect()
    await backend.complete(ask())
    await backend.aclose()
    assert (await backend.complete(ask())).texts == ("x",)


@pytest.mark.usefixtures("forgets_what_was_cut_off")
async def test_cancelling_frees_the_slot(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.Reply(hang=True), stub.completion("x"))
    backend = connect(max_in_flight=1)
    call = asyncio.create_task(backend.complete(ask()))
    assert await asyncio.to_thread(stub.arrived.wait, 120)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await backend.complete(ask())).texts == ("x",)


async def test_calls_are_refused_unless_allowed(stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "refuse")
    stub.play(stub.completion("x"))
    with pytest.raises(ModelRejected, match="openai/m was refused"):
        await LiteLLMBackend("openai/m", api_base=stub.url, api_key="k").complete(ask())
    assert stub.seen == []


@pytest.mark.parametrize(
    "options",
    [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"max_in_flight": 0}, {"max_attempts": 0}, {"backoff_s": -1}]
    + [{"usd_per_token": pair} for pair in [(-1.0, 0.0), (float("nan"), 0.0), (0.0, float("inf"))]],
)
def test_arguments_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        LiteLLMBackend("openai/m", **options)


def test_neither_the_module_nor_a_backend_imports_litellm_and_its_repr_hides_the_key() -> None:
    code = (
        "import sys; from groundwire.models import backend_for, LiteLLMBackend\n"
        "b = LiteLLMBackend('openai/m', api_key='sk-secret-1', usd_per_token=(0.0, 1.0)); backend_for('openai/m')\n"
        "from groundwire.core._models import Request\n"
        "assert b.price(Request(messages=())) == 2048.0\n"
        "assert 'sk-secret' not in repr(b)\n"
        "print(sorted({'litellm', 'openai', 'jsonschema', 'libcst', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_project_env_file_cannot_redirect_the_client(tmp_path: Any) -> None:
    """LiteLLM's development mode reads a .env from the working folder's or its own parents; ours must not."""
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://attacker.example/v1\n")
    code = (
        "import dotenv, os; dotenv.find_dotenv = lambda *a, **k: '.env'\n"
        "import dotenv.main; dotenv.main.find_dotenv = dotenv.find_dotenv\n"
        "from groundwire.models._library import load_litellm; load_litellm()\n"
        "print(os.environ.get('OPENAI_BASE_URL'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "None"


KEYS_OF = {
    "openai/m": "OPENAI_API_KEY",
    "gemini/m": "GEMINI_API_KEY",
    "openrouter/some/m": "OPENROUTER_API_KEY",
    "mistral/m": "MISTRAL_API_KEY",
}


@pytest.mark.parametrize("model", KEYS_OF)
def test_the_missing_key_of_a_well_known_provider_is_told_without_loading_litellm(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL", "_API_BASE"))]:
        monkeypatch.delenv(name)
    with pytest.raises(ConfigError, match=f"{model} needs a key, and {KEYS_OF[model]} is not set"):
        LiteLLMBackend(model).check_ready()
    with pytest.raises(ConfigError, match=f"{model} needs a key"):  # a fallback's own
        LiteLLMBackend("openai/first", api_key="given", fallbacks=[model]).check_ready()
    assert "litellm" not in sys.modules


@pytest.mark.parametrize("variable", ["GOOGLE_API_KEY", "GEMINI_API_BASE"])
def test_litellm_itself_is_asked_where_another_way_in_may_be_meant(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv(variable, "something")
    LiteLLMBackend("gemini/gemini-2.5-flash").check_ready()
