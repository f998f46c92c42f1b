"""The real small model, for tests marked `model`: found where the user has it, before the tests' own homes hide it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groundwire.models import allow_model_calls
from groundwire.models._local import LocalBackend
from groundwire.models.local_model import (
    ServerOptions,
    close_servers,
    engine_is_installed,
    find_model,
    package_folder,
)

__all__ = ["SMALL", "install_link", "local_backend", "real_model"]

SMALL = ServerOptions(slots=2, context_tokens=512, threads=1)
"""Little memory, and the same answers on every machine of a kind."""

_FOUND = find_model()


def real_model() -> Path:
    """The model's file; skips the test where the model or its engine is not installed."""
    if not engine_is_installed():
        pytest.skip('no engine: pip install "groundwire[local]"')
    if _FOUND is None:
        pytest.skip("no model: groundwire model install")
    return _FOUND


def install_link() -> Path:
    """Has the model found in this test's own data folder."""
    model = real_model()
    folder = package_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(model.parents[1], target_is_directory=True)
    found = find_model()
    assert found is not None
    return found


@asynccontextmanager
async def local_backend(path: Path | None = None, options: ServerOptions = SMALL) -> AsyncGenerator[LocalBackend]:
    """A backend that really answers; closed, with its server, at the end."""
    backend = LocalBackend(path or real_model(), options)
    try:
        with allow_model_calls():
            yield backend
    finally:
        await backend.aclose()
        close_servers()
