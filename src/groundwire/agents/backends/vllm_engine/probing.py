"""What a vLLM engine would find on this machine: a GPU, and free memory. Neither torch nor vLLM is imported."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

__all__ = ["Card", "CardsUnknown", "cards"]

ASK_TIMEOUT_S = 10.0
QUERY = "name,memory.free,memory.total,driver_version"


@dataclass(frozen=True)
class Card:
    """One NVIDIA GPU.

    Args:
        name: as the driver calls it.
        free_mib: memory that is free now, in MiB.
        total_mib: all of it, in MiB.
        driver: the driver's version.
    """

    name: str
    free_mib: int
    total_mib: int
    driver: str


class CardsUnknown(Exception):
    """The driver could not be asked; the text says why."""


def cards() -> list[Card]:
    """The NVIDIA GPUs here, as `nvidia-smi` lists them.

    Raises:
        CardsUnknown: there is no `nvidia-smi`, or it failed.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        raise CardsUnknown("there is no nvidia-smi, so no NVIDIA driver")
    command = [program, f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CardsUnknown(f"nvidia-smi did not answer: {error}") from error
    if said.returncode != 0:
        raise CardsUnknown(f"nvidia-smi failed: {(said.stdout + said.stderr).strip()[:200]}")
    return [card for line in said.stdout.splitlines() if (card := _card(line)) is not None]


def _card(line: str) -> Card | None:
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != 4 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None  # a card that is lost says so in words
    return Card(parts[0], int(parts[1]), int(parts[2]), parts[3])
