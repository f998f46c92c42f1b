"""The pytest plugin: a fixture `assert_grounded`. Importing it imports nothing else of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from groundwire.auditing.report import Report

__all__ = ["assert_grounded"]


@pytest.fixture(name="assert_grounded")
def assert_grounded() -> Callable[..., Report]:
    """`assert_grounded(graph)` fails if a loop of the graph is ungrounded: see `groundwire.auditing`."""
    from groundwire.auditing.grounded import assert_grounded as check

    return check
