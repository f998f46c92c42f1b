"""Text for a terminal; what comes from outside goes through `plain` or `visible` first."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any


def print_line(value: Mapping[str, Any]) -> None:
    """One JSON object a line to standard output, for scripts that read while we work."""
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


def plural(count: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def tokens(count: int) -> str:
    """`950 tok`, `1.2k tok`."""
    return f"{count} tok" if count < 1000 else f"{count / 1000:.1f}k tok"
