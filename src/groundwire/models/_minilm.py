"""A small embedding model on this machine's CPU, through ONNX Runtime. No key, no network, free."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from groundwire.core._errors import ConfigError, ModelRejected
from groundwire.models._guard import check_model_calls
from groundwire.models.local_model import MINILM, MINILM_TOKENIZER, PinnedModel, find_model
from groundwire.models.local_model._files import read_model

PACKAGES = ("onnxruntime", "tokenizers", "numpy")
EXTRA = 'pip install "groundwire[embeddings]"'
MOST_CHARS = 4000
MOST_TOKENS = 256
"""As many as the model was made to read; its own card says so."""
DIGEST_SHOWN = 12
FAIL_ONLY = 3


def missing_package() -> str | None:
    """The first package that it needs and that is not installed."""
    return next((name for name in PACKAGES if find_spec(name) is None), None)


class MiniLM:
    """all-MiniLM-L6-v2, its weights as eight-bit integers; `groundwire model install embeddings` fetches it.

    The model is loaded when the first text is embedded. A text's vector is the same on every machine of a kind; on
    another processor it may differ in its last digits.

    Raises:
        ConfigError: the model, or a package that it needs, is not installed.
    """

    name = MINILM.name
    dimensions = 384

    def __init__(self) -> None:
        package = missing_package()
        if package:
            raise ConfigError(f"Texts can't be compared by meaning: {package} is not installed.", do=EXTRA)
        self._model, self._tokenizer = _installed(MINILM), _installed(MINILM_TOKENIZER)
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None

    def __repr__(self) -> str:
        return f"MiniLM({str(self._model)!r})"

    @property
    def revision(self) -> str:
        """Beginning of a digest over the model's and the tokenizer's."""
        both = f"{MINILM.file_sha256} {MINILM_TOKENIZER.file_sha256} {MOST_TOKENS}"
        return hashlib.sha256(both.encode()).hexdigest()[:DIGEST_SHOWN]

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedder`.

        Raises:
            ModelRejected: a file is damaged or was changed, ONNX Runtime can't load it, or calls are refused here.
            ConfigError: a package can't be loaded.
        """
        check_model_calls(self.name)
        # one by one: padding beside longer texts can change a vector, and between two the caller can be cancelled
        return [await asyncio.to_thread(self._embed, text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        with self._loading:
            if self._loaded is None:
                self._loaded = _Loaded(read_model(self._model, MINILM), read_model(self._tokenizer, MINILM_TOKENIZER))
        return self._loaded.vector(text)


class _Loaded:
    """The model in memory: from bytes that were verified, so that no file can be changed between the two."""

    def __init__(self, model: bytes, tokenizer: bytes) -> None:
        try:
            self._numpy, tokenizers, runtime = (_module(name) for name in ("numpy", "tokenizers", "onnxruntime"))
            self._tokenizer = tokenizers.Tokenizer.from_buffer(tokenizer)
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(MOST_TOKENS)
            options = runtime.SessionOptions()
            # many episodes may ask at once; and without threads of its own it goes on working after a fork
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = FAIL_ONLY
            self._session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except ConfigError:
            raise
        except Exception as error:
            raise ModelRejected(
                f"{MINILM.name} can't be loaded: {str(error)[:200]}.", do=f"Install another version:  {EXTRA} -U"
            ) from error

    def vector(self, text: str) -> list[float]:
        """The mean over its tokens, of length one."""
        numpy: Any = self._numpy
        # what is no text in UTF-8 is no text for the tokenizer either
        sound = text[:MOST_CHARS].encode("utf-8", "replace").decode()
        ids = numpy.array([self._tokenizer.encode(sound).ids], dtype=numpy.int64)
        given = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        (states,) = self._session.run(["last_hidden_state"], given)
        mean = states[0].mean(axis=0)
        return (mean / numpy.linalg.norm(mean)).tolist()


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(f"Texts can't be compared by meaning: {name} can't be loaded ({error}).", do=EXTRA) from error


def _installed(model: PinnedModel) -> Path:
    path = find_model(model)
    if path is None:
        raise ConfigError(f"The embedding model is not installed: there is no {model.name}.", do=model.install)
    return path
