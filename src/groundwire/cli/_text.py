"""Text for a terminal; what comes from outside goes through `plain` or `visible` first."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import IO, Any

from rich.console import Console

NOT_ISOLATED = "sandbox: subprocess isolates nothing: what is judged can reach your files and the network"


def discard(stream: IO[str]) -> None:
    """Lets all that is still written to `stream` go nowhere, what it holds back among it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Screen(Console):
    """A console whose reader may go away: then nothing is shown any more, and the work goes on."""

    def on_broken_pipe(self) -> None:
        """See `rich.console.Console`, which ends the program here."""
        self.quiet = True
        discard(self.file)


def print_line(value: Mapping[str, Any]) -> None:
    """One JSON object a line to standard output, for scripts that read while we work."""
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


def tokens(count: int) -> str:
    """`950 tok`, `1.2k tok`."""
    return f"{count} tok" if count < 1000 else f"{count / 1000:.1f}k tok"
