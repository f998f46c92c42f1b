"""The LLM actor with a small real model on this machine's CPU."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import pytest
from real_model import local_backend

from groundwire.agents import LLMActor
from groundwire.core._errors import ModelReplyInvalid
from groundwire.core._models import Backend
from groundwire.models.local_model import ServerOptions

if TYPE_CHECKING:
    from conftest import Scene

pytestmark = [pytest.mark.model, pytest.mark.slow]
LEAP = "def is_leap(year):\n    return year % 4 = 0\n"


@pytest.fixture
async def local() -> AsyncGenerator[Backend]:
    async with local_backend(options=ServerOptions(slots=2, context_tokens=1024, threads=1)) as backend:
        yield backend


async def test_a_real_model_s_answer_is_a_candidate_or_a_complaint(scene: Scene, local: Backend) -> None:
    """At 135 million parameters most answers are unusable; what counts is that each is read, bounded and paid for."""
    task = scene.task({"leap.py": LEAP, "test_leap.py": "from leap import is_leap\n"}, prompt="Fix the syntax error.")
    actor = LLMActor(local, answer="whole", max_tokens=48, context_tokens=400, samples=2, repairs=1, resamples=1)
    try:
        candidates = await actor.propose(scene.context(task), 2)
    except ModelReplyInvalid as error:
        assert "no usable edit" in error.what
    else:
        for candidate in candidates:
            assert set(candidate.changes) and all(task.may_edit(path) for path in candidate.changes)
    assert 1 <= len(scene.call.requests) <= 3
