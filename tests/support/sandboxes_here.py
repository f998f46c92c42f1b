"""The kinds of sandbox that tests run on, each a real one."""

from __future__ import annotations

from typing import Any

import pytest
from services import IMAGE

from groundwire.core._sandboxes import Sandbox
from groundwire.sandbox import open_sandbox
from groundwire.sandbox._docker_engine import owner

ISOLATING = ["bubblewrap", "landlock", pytest.param("docker", marks=pytest.mark.docker)]
KINDS = [*ISOLATING, "subprocess"]


async def opened(kind: str) -> Sandbox:
    """An open sandbox of this kind."""
    return await open_sandbox(kind, image=IMAGE)


def own_containers(client: Any) -> list[Any]:
    """Containers of this process, running or not: other workers of the suite have theirs."""
    labelled = client.containers.list(all=True, filters={"label": "groundwire.owner"}, ignore_removed=True)
    return [c for c in labelled if c.labels["groundwire.owner"] == owner()]
