"""The real embedding model, for tests marked `model`: found where the user has it, before the tests' homes hide it."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.models._minilm import MiniLM, missing_package
from groundwire.models.local_model import MODELS, find_model, package_folder

__all__ = ["link_embeddings", "real_embedder"]

_FOUND = {model: find_model(model) for model in MODELS["embeddings"]}


def link_embeddings() -> None:
    """Has the model in this test's own data folder; skips the test where it, or what runs it, is not installed."""
    package = missing_package()
    if package:
        pytest.skip(f'no {package}: pip install "groundwire[embeddings]"')
    for model, found in _FOUND.items():
        if found is None:
            pytest.skip(f"no embedding model: {model.install}")
        folder = package_folder(model)
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.symlink_to(found.parents[len(Path(model.file).parts) - 1], target_is_directory=True)


def real_embedder() -> MiniLM:
    """An embedder that really embeds; calls must be allowed where it is used."""
    link_embeddings()
    return MiniLM()
