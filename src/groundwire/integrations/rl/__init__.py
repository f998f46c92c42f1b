"""RL environments, both ways: our tasks with rewards from sealed signals, theirs as worlds to act in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.integrations.rl._openenv import OpenEnvWorld, openenv_app, openenv_world
    from groundwire.integrations.rl._verifiers import VerifiersWorld, verifiers_taskset, verifiers_world

__all__ = [
    "OpenEnvWorld",
    "VerifiersWorld",
    "openenv_app",
    "openenv_world",
    "verifiers_taskset",
    "verifiers_world",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "OpenEnvWorld": "_openenv",
        "VerifiersWorld": "_verifiers",
        "openenv_app": "_openenv",
        "openenv_world": "_openenv",
        "verifiers_taskset": "_verifiers",
        "verifiers_world": "_verifiers",
    },
)
