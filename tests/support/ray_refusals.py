"""What `groundwire.cli._ray_fleet.join` says of clusters that can't be joined, to be run where Ray is installed.

    python ray_refusals.py [ray://HOST:PORT]

Prints, as JSON, what is said where nothing answers, where what answers is no cluster, where Ray's client is not
installed, and where the cluster at the address has another version of Ray.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from unittest.mock import patch

from groundwire.cli import _ray_fleet
from groundwire.core._errors import ConfigError


def said(on: str) -> list[str]:
    try:
        asyncio.run(_ray_fleet.join(on))
    except ConfigError as error:
        return [error.what, error.do]
    return []


def nothing(_: str) -> None:
    """What is found of a module that is not installed."""


def main() -> None:
    found: dict[str, list[str]] = {}
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        on = f"ray://127.0.0.1:{silent.getsockname()[1]}"
        found["nothing"] = said(on)  # bound, and nobody listens
        silent.listen()
        with patch.object(_ray_fleet, "JOIN_S", 0.5):
            found["no cluster"] = said(on)
        with patch.object(_ray_fleet, "find_spec", nothing):
            found["no client"] = said(on)
    if len(sys.argv) > 1:
        with patch("ray.__version__", "2.0.0"):
            found["version"] = said(sys.argv[1])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
