"""`groundwire model`: where the model is, and what is said where it is not."""

from __future__ import annotations

import pytest
from cli import groundwire
from real_model import install_link, real_model

from groundwire.agents.backends.local_model import SMOLLM2, package_folder


def test_without_a_model() -> None:
    path = groundwire("model", "path")
    assert path.code == 2
    assert "is not installed" in path.err and "groundwire model install" in path.err
    removed = groundwire("model", "remove", "--json")
    assert (removed.code, removed.data["removed"]) == (0, None)


@pytest.mark.model
def test_with_a_model() -> None:
    """One that is there is verified, not fetched again, and its own copy only is removed."""
    found = install_link()
    installed = groundwire("model", "install", "--json")
    assert installed.code == 0
    assert (installed.data["fresh"], installed.data["sha256"]) == (False, SMOLLM2.file_sha256)
    assert groundwire("model", "path").out.strip() == str(found)
    package_folder().unlink()
    assert groundwire("model", "path").code == 2
    assert real_model().is_file()
