"""Real sandboxes, opened once a module, and short ways to run Python in them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from sandboxes_here import ISOLATING, KINDS, opened

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox

Run = Callable[..., Awaitable[ExecResult]]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    """Each kind of sandbox in turn."""
    box = await opened(request.param)
    yield box
    await box.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=ISOLATING)
async def isolating(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    """Each kind of sandbox that isolates."""
    box = await opened(request.param)
    yield box
    await box.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bubblewrap() -> AsyncIterator[Sandbox]:
    """The default sandbox."""
    box = await opened("bubblewrap")
    yield box
    await box.aclose()


def runner(box: Sandbox) -> Run:
    """Runs Python code in `box`; keywords that are limits become limits."""

    async def run(code: str, files: dict[str, bytes] | None = None, **more: Any) -> ExecResult:
        limits = {name: more.pop(name) for name in tuple(more) if name in Limits.model_fields}
        return await box.run(["python", "-c", code], Tree(files or {}), Limits(**limits), **more)

    return run


@pytest.fixture
def run(sandbox: Sandbox) -> Run:
    """Runs Python code in each kind of sandbox."""
    return runner(sandbox)


@pytest.fixture
def run_isolated(isolating: Sandbox) -> Run:
    """Runs Python code in each kind of sandbox that isolates."""
    return runner(isolating)
