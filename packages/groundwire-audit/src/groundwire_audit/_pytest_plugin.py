"""The pytest plugin: a fixture `assert_grounded`. Importing it imports nothing else of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from groundwire_audit import AuditReport


@pytest.fixture(name="assert_grounded")
def assert_grounded() -> Callable[..., AuditReport]:
    """`assert_grounded(graph)` fails if a loop of the graph is ungrounded: see `groundwire_audit.assert_grounded`."""
    from groundwire_audit import assert_grounded as check

    return check
