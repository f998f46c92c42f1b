"""`.ci/release.py`: one way to state the version, and no release of what is not ready."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import groundwire

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "release.py"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RELEASE = loaded()


def test_one_version_is_stated_everywhere_and_the_changelog_tells_of_it() -> None:
    assert set(RELEASE.stated(ROOT).values()) == {groundwire.__version__}
    assert f"\n## {groundwire.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_version_is_set_everywhere_at_once(tmp_path: Path) -> None:
    for place in RELEASE.PLACES:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / place, tmp_path / place)
    RELEASE.set_version(tmp_path, "7.8.9")
    assert set(RELEASE.stated(tmp_path).values()) == {"7.8.9"}
    changed = (tmp_path / "pyproject.toml").read_text()
    assert changed.replace("7.8.9", groundwire.__version__) == (ROOT / "pyproject.toml").read_text()
    with pytest.raises(RELEASE.NotReady, match=r"MAJOR\.MINOR\.PATCH"):
        RELEASE.set_version(tmp_path, "next")


@pytest.mark.parametrize(
    ("changelog", "why"),
    [
        ("# Changelog\n\n## Unreleased\n\n- new\n\n## 1.0.0\n\n- old\n", "lines under Unreleased"),
        ("# Changelog\n\n## 0.9.0\n\n- old\n", "no section for 1.0.0"),
        ("# Changelog\n\n## 1.0.0\n\n## 0.9.0\n\n- old\n", "no section for 1.0.0"),
    ],
)
def test_what_the_changelog_does_not_tell_is_not_released(changelog: str, why: str) -> None:
    with pytest.raises(RELEASE.NotReady, match=why):
        RELEASE.notes(changelog, "1.0.0")


def test_its_notes_are_those_of_the_version() -> None:
    text = "# Changelog\n\n## Unreleased\n\n## 1.0.0 (today)\n\n- mine\n\n## 0.9.0\n\n- old\n"
    assert RELEASE.notes(text, "1.0.0") == "- mine"


def test_the_index_shows_how_to_install_from_the_index() -> None:
    said = RELEASE.for_the_index((ROOT / "README.md").read_text())
    assert "uvx groundwire demo" in said and "pip install groundwire " in said
    assert "git+REPOSITORY" not in said
    with pytest.raises(RELEASE.NotReady, match="no line"):
        RELEASE.for_the_index("# another\n")


def test_no_release_over_one_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "old.whl").touch()
    with pytest.raises(RELEASE.NotReady, match=r"Unreleased|is not empty"):
        RELEASE.release(ROOT, tmp_path)


def test_a_wrong_word_is_a_usage_error() -> None:
    ran = subprocess.run([sys.executable, str(SCRIPT), "publish"], capture_output=True, text=True)
    assert ran.returncode == 2 and "uploads nothing" in ran.stderr
