"""Checkpointers of every kind for tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import crashing
from langgraph.checkpoint.base import BaseCheckpointSaver

from groundwire import FeedbackApp


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[BaseCheckpointSaver[Any]]:
    """The checkpointer whose database `url` names; `memory` has none."""
    async with crashing.saver_of(url) as saver:
        assert saver is not None
        yield saver


async def checkpoints(app: FeedbackApp, thread: str) -> list[Any]:
    """A thread's checkpoints, oldest first."""
    config = {"configurable": {"thread_id": thread}}
    return [snapshot async for snapshot in app.langgraph.aget_state_history(config)][::-1]
