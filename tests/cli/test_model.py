"""`groundwire model`: where the model is, and what is said where it is not."""

from __future__ import annotations

import pytest
from cli import groundwire
from real_embedder import link_embeddings
from real_model import install_link, real_model

from groundwire.models.local_model import MODELS, SMOLLM2, package_folder


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


def test_without_the_embedding_model() -> None:
    path = groundwire("model", "path", "embeddings")
    assert path.code == 2
    assert "all-MiniLM-L6-v2-int8 is not installed" in path.err and "groundwire model install embeddings" in path.err
    removed = groundwire("model", "remove", "embeddings", "--json")
    assert (removed.code, [file["removed"] for file in removed.data["files"]]) == (0, [None, None])


def test_a_model_that_nobody_knows() -> None:
    for command in ("install", "path", "remove"):
        ran = groundwire("model", command, "enormous")
        assert ran.code == 2
        assert "no model 'enormous'" in ran.err and "local, embeddings" in ran.err


@pytest.mark.model
def test_with_the_embedding_model() -> None:
    """Both of its files are verified, printed and removed together."""
    link_embeddings()
    installed = groundwire("model", "install", "embeddings", "--json")
    assert (installed.code, [file["fresh"] for file in installed.data["files"]]) == (0, [False, False])
    assert [file["sha256"] for file in installed.data["files"]] == [model.file_sha256 for model in MODELS["embeddings"]]
    printed = groundwire("model", "path", "embeddings").out.splitlines()
    assert printed == [file["path"] for file in installed.data["files"]]
    for model in MODELS["embeddings"]:
        package_folder(model).unlink()
    assert groundwire("model", "path", "embeddings").code == 2
