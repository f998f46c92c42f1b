"""The command line."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The program, see `groundwire.cli.commands`; what it takes to read any flag is imported here."""
    try:
        from groundwire.cli._checks import loading

        with loading():
            from groundwire.cli.commands import main as run
        run()
    except KeyboardInterrupt:  # while the program is still being loaded
        print("interrupted", file=sys.stderr)
        sys.exit(130)
