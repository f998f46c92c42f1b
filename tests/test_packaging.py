"""Everything that is in the source tree is in the wheel and in the sdist."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "groundwire"


def shipped() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return {name.removeprefix("src/") for name in listed if (ROOT / name).is_file()}


@pytest.mark.slow
def test_wheel_and_sdist_are_complete(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    (sdist,) = tmp_path.glob("*.tar.gz")
    expected = shipped()
    assert len(expected) > 50
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    assert expected - inside == set()
    assert {name.split("/")[0] for name in inside if "dist-info" not in name} == {"groundwire"}
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {f"src/{name}" for name in expected} - names == set()


def test_the_rooms_at_the_top_are_links_into_the_package() -> None:
    for room in ("agents", "graphs", "tools", "memory", "sandbox"):
        link = ROOT / room
        assert link.is_symlink()
        assert link.resolve() == SOURCE / room
