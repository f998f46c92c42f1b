"""`transformers:FOLDER`: a real model, small and untrained, in this process."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from tiny_language_model import tiny_model, tokenizer_of

from groundwire.core._errors import ConfigError, ModelRejected
from groundwire.core._models import Message, Request
from groundwire.models import TransformersBackend, allow_model_calls, backend_for

pytestmark = pytest.mark.model
ASKED = (Message(role="user", content="Write f."), Message(role="assistant", content="def f(x):"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("weights") / "tiny"
    tokenizer = tokenizer_of(["Write f.", "def f(x):\n    return x\n"])
    tiny_model(tokenizer).save_pretrained(made)
    tokenizer.save_pretrained(made)
    return made


def request(**told: object) -> Request:
    return Request.model_validate({"messages": ASKED, "max_tokens": 8, "temperature": 1.0, "seed": 3, **told})


async def test_samples_of_one_seed_are_the_same_ones_whatever_was_asked_before(folder: Path) -> None:
    backend = backend_for(f"transformers:{folder}")
    assert isinstance(backend, TransformersBackend)
    with allow_model_calls():
        first = await backend.complete(request(n=3))
        other, again = await backend.complete_many([request(n=3, seed=4), request(n=3)])
    assert first.texts == again.texts != other.texts and len(set(first.texts)) > 1
    assert first.usd == 0.0 and first.model == "tiny" and first.prompt_tokens > 0
    assert 0 < first.completion_tokens <= 24 and set(first.finish_reasons) <= {"stop", "length"}
    await backend.aclose()


async def test_greedy_samples_are_one_text_and_an_answer_ends_before_its_stop(folder: Path) -> None:
    backend = TransformersBackend(str(folder))
    with allow_model_calls():
        greedy = await backend.complete(request(n=3, temperature=0.0, max_tokens=12))
        assert len(set(greedy.texts)) == 1 and len(greedy.texts) == 3
        mark = greedy.texts[0][2:4]
        cut = await backend.complete(request(temperature=0.0, max_tokens=12, stop=(mark,)))
    assert cut.texts[0] == greedy.texts[0][: greedy.texts[0].index(mark)] and cut.finish_reasons == ("stop",)


async def test_token_types_that_a_tokenizer_gives_are_not_told_to_the_model(folder: Path, tmp_path: Path) -> None:
    """As tokenizers of transformers 4 do."""
    made = shutil.copytree(folder, tmp_path / "typed")
    told: dict[str, object] = json.loads((made / "tokenizer_config.json").read_text())
    told["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    (made / "tokenizer_config.json").write_text(json.dumps(told))
    with allow_model_calls():
        answer = await TransformersBackend(str(made)).complete(request(temperature=0.0))
    assert answer.completion_tokens > 0


async def test_a_call_that_is_cancelled_leaves_the_model_to_the_next_one(folder: Path) -> None:
    backend = TransformersBackend(str(folder))
    with allow_model_calls():
        long = asyncio.create_task(backend.complete(request(n=2, max_tokens=4000)))
        await asyncio.sleep(0.05)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        assert (await backend.complete(request())).texts


async def test_what_it_cant_do_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no config"):
        backend_for(f"transformers:{tmp_path}")
    with pytest.raises(ConfigError, match="'trust_remote_code' can't be set"):
        TransformersBackend(f"{folder}?trust_remote_code=true")
    with pytest.raises(ConfigError, match="adapter_config"):
        TransformersBackend(f"{folder}?lora={tmp_path}")
    with allow_model_calls():
        with pytest.raises(ConfigError, match="texts alone"):
            await TransformersBackend(str(folder)).complete(request(logprobs=True))
        with pytest.raises(ModelRejected, match="no room for an answer"):
            await TransformersBackend(str(folder)).complete(
                request(messages=(Message(role="user", content="x" * 9000),))
            )
        bare = tmp_path / "bare"
        shutil.copytree(folder, bare)
        (bare / "chat_template.jinja").unlink()
        with pytest.raises(ModelRejected, match="no chat template"):
            await TransformersBackend(str(bare)).complete(request())
        (bare / "model.safetensors").write_bytes(b"damaged")
        with pytest.raises(ModelRejected, match="can't be loaded"):
            await TransformersBackend(str(bare)).complete(request())
    with pytest.raises(ModelRejected, match="refused"):
        await TransformersBackend(str(folder)).complete(request())
