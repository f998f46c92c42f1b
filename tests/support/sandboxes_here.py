"""The kinds of sandbox that tests run on, each a real one."""

from __future__ import annotations

import os

import pytest

from groundwire.errors import SandboxUnavailable
from groundwire.sandbox import open_sandbox
from groundwire.sandboxes import Sandbox

IMAGE = os.environ.get("GROUNDWIRE_TEST_IMAGE", "sandbox-py:latest")
ISOLATING = ["bubblewrap", "landlock", pytest.param("docker", marks=pytest.mark.docker)]
KINDS = [*ISOLATING, "subprocess"]


async def opened(kind: str) -> Sandbox:
    """An open sandbox of this kind; skips where Docker has no engine or image."""
    try:
        return await open_sandbox(kind, image=IMAGE)
    except SandboxUnavailable as error:
        if kind != "docker":
            raise
        pytest.skip(f"docker: {error.what}")
