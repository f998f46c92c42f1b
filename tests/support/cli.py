"""Runs the installed `groundwire` program as a person would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).with_name("groundwire")

BUGGY = {
    "shop/__init__.py": "",
    "shop/price.py": (
        "def total(prices):\n    result = 0\n    for price in prices:\n        result -= price\n    return result\n"
    ),
    "tests/test_price.py": (
        "from shop.price import total\n\n\ndef test_none():\n    assert total([]) == 0\n\n\n"
        "def test_some():\n    assert total([1, 2]) == 3\n"
    ),
}


@dataclass(frozen=True)
class Ran:
    """What the program did."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.out)


def lay_out(folder: Path, files: dict[str, str]) -> Path:
    """Writes a project."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def groundwire(*arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Runs the program; homes come from the test's own environment."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "160", **(env or {})},
        stdin=subprocess.DEVNULL,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
