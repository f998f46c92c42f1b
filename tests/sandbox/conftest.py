"""Real sandboxes, opened once a module, and short ways to run Python in them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from groundwire.errors import SandboxUnavailable
from groundwire.limits import ExecResult, Limits
from groundwire.sandbox import open_sandbox
from groundwire.sandboxes import Sandbox
from groundwire.trees import Tree

IMAGE = os.environ.get("GROUNDWIRE_TEST_IMAGE", "sandbox-py:latest")
ISOLATING = ["bubblewrap", "landlock", pytest.param("docker", marks=pytest.mark.docker)]
KINDS = [*ISOLATING, "subprocess"]

Run = Callable[..., Awaitable[ExecResult]]


async def opened(kind: str) -> Sandbox:
    """An open sandbox of this kind; skips where Docker has no engine or image."""
    try:
        return await open_sandbox(kind, image=IMAGE)
    except SandboxUnavailable as error:
        if kind != "docker":
            raise
        pytest.skip(f"docker: {error.what}")


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
