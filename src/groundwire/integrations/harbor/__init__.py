"""Harbor: its tasks judged here, ours in its form, its trajectory format, and groundwire as an agent of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.integrations.harbor._task import HarborTask
    from groundwire.integrations.harbor._verifier import HarborVerifier, oracle_candidate

__all__ = ["HarborTask", "HarborVerifier", "oracle_candidate"]

__getattr__, __dir__ = at_first_use(__name__, {"HarborTask": "_task", "HarborVerifier": "_verifier", "oracle_candidate": "_verifier"})
