"""Environments of their own for packages that don't go into ours: made once, kept, and found again.

`GROUNDWIRE_TEST_ENVIRONMENTS` names the folder that they are kept in; else it is one of the user's cache. Where one
can't be made, the test that asks for it skips and says why.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEPT = Path(os.environ.get("GROUNDWIRE_TEST_ENVIRONMENTS") or "~/.cache/groundwire-test-environments").expanduser()
MADE_S = 900
Version = tuple[int, int]


@cache
def python_with(*packages: str, at_least: Version = (3, 11), extras: str = "") -> Path:
    """The interpreter of an environment that holds these packages beside this groundwire, which is editable in it.

    Args:
        packages: requirements, each as pip takes it.
        at_least: the oldest Python that they run on.
        extras: of groundwire, apart by commas.
    """
    base = _interpreter(at_least)
    if base is None:
        pytest.skip(f"{packages[0]} needs Python {at_least[0]}.{at_least[1]}, and there is none here")
    told = "\n".join([str(ROOT), str(base), extras, *packages])
    folder = KEPT / f"{packages[0].partition('=')[0].strip('<>~!')}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    python, stamp = folder / "bin" / "python", folder / ".whole"
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers of one run want the same one
        if not stamp.exists():
            shutil.rmtree(folder, ignore_errors=True)
            groundwire = f"{ROOT}[{extras}]" if extras else str(ROOT)
            own = ["--editable", str(ROOT / "packages" / "groundwire-audit"), "--editable", groundwire]
            for command in _commands(base, folder, python, [*packages, *own]):
                done = subprocess.run(command, capture_output=True, text=True, timeout=MADE_S)
                if done.returncode:
                    last = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
                    pytest.skip(f"an environment with {packages[0]} can't be made here: {last}")
            stamp.touch()
    return python


def _commands(base: Path, folder: Path, python: Path, wanted: Sequence[str]) -> list[list[str]]:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv:
        install = [uv, "pip", "install", "--quiet", "--python", str(python), *wanted]
        return [[uv, "venv", "--quiet", "--python", str(base), str(folder)], install]
    return [[str(base), "-m", "venv", str(folder)], [str(python), "-m", "pip", "install", "--quiet", *wanted]]


def _interpreter(at_least: Version) -> Path | None:
    """This one where it is new enough; else one on the path, or beside this one's own installation."""
    if sys.version_info[:2] >= at_least:
        return Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    names = [f"python3.{minor}" for minor in range(at_least[1], at_least[1] + 3)]
    beside = [path for name in names for path in sorted(Path(sys.base_prefix).parent.glob(f"*/bin/{name}"))]
    on_path = [Path(found) for name in names if (found := shutil.which(name))]
    for path in (*on_path, *beside):
        if subprocess.run([path, "-c", "import venv"], capture_output=True).returncode == 0:
            return path
    return None
