"""Flag > environment > project > default; and what a stranger's project may not choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError
from groundwire.core._settings import Settings


def project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_layers_win_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path, '[tool.groundwire]\ntest = "from project"\nmodel = "p"\nmax-trials = 7\n')
    monkeypatch.setenv("GROUNDWIRE_MODEL", "from environment")
    monkeypatch.setenv("GROUNDWIRE_MAX_USD", "0.5")
    settings = Settings.resolve({"max_usd": 2.0, "test": None, "seed": None}, project=root)
    assert (settings.test, settings.model, settings.max_usd, settings.max_trials, settings.seed) == (
        "from project", "from environment", 2.0, 7, 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["sandbox", "python", "db", "image", "usd-per-token", "embeddings", "actor-network", "actor-host"]
)
def test_a_project_can_not_weaken_isolation_or_move_records(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="which a project may not"):
        Settings.resolve({}, project=project(tmp_path, f'[tool.groundwire]\n{name} = "subprocess"\n'))


@pytest.mark.parametrize("text", ["not toml [", "tool = 3\n", '[tool]\ngroundwire = "x"\n', ""])
def test_a_broken_pyproject_is_no_obstacle(tmp_path: Path, text: str) -> None:
    assert Settings.resolve({}, project=project(tmp_path, text)) == Settings()


def test_a_wrong_value_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_MAX_TRIALS", "many")
    with pytest.raises(ConfigError, match="max_trials is wrong") as caught:
        Settings.resolve({})
    assert "GROUNDWIRE_MAX_TRIALS" in str(caught.value)


def test_hosts_in_a_variable_are_apart_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_ACTOR_HOST", "a.example:443, b.example:80")
    assert Settings.resolve({}).actor_host == ("a.example:443", "b.example:80")


@pytest.mark.parametrize(("name", "meant"), [("MAX_USDD", "MAX_USD"), ("TOTAL_TOKEN", "TOTAL_TOKENS")])
def test_a_limit_under_a_wrong_name_is_refused_and_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(f"GROUNDWIRE_{name}", "1")
    with pytest.raises(ConfigError, match=f"GROUNDWIRE_{name} is no setting") as caught:
        Settings.resolve({})
    assert f"Did you mean GROUNDWIRE_{meant}" in caught.value.do
