"""Hostile programs, by class."""

from __future__ import annotations

from collections.abc import Mapping

from attacks import files, kernel, network, processes, resources, secrets
from attacks.model import BARE, NO_FILTER, Attack, Prey

__all__ = ["ATTACKS", "BARE", "NO_FILTER", "Attack", "Prey"]

ATTACKS: Mapping[str, Attack] = {
    f"{module.__name__.rpartition('.')[2]}: {attack.name}": attack
    for module in (network, files, secrets, processes, resources, kernel)
    for attack in module.ATTACKS
}
"""By class and name."""
