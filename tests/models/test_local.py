"""`local`: what is said where there is no model, or no engine for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError
from groundwire.models import _local as local
from groundwire.models import backend_for
from groundwire.models.local_model import ServerOptions


def test_what_is_not_installed_is_named_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "engine_is_installed", lambda: True)
    monkeypatch.setattr(local, "find_model", lambda: None)
    with pytest.raises(ConfigError) as caught:
        backend_for("local")
    assert caught.value.do == "groundwire model install"
    monkeypatch.setattr(local, "engine_is_installed", lambda: False)
    with pytest.raises(ConfigError) as caught:
        backend_for("local")
    assert caught.value.do == 'pip install "groundwire[local]"'


def test_what_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "engine_is_installed", lambda: True)
    text = tmp_path / "a b.gguf"
    text.write_text("hello")
    for path, why in [
        (text, "is no GGUF model"),
        (tmp_path / "none.gguf", "can't be read"),
        (tmp_path, "can't be read"),
    ]:
        with pytest.raises(ConfigError, match=why) as caught:
            backend_for(f"local:{path}")
        assert "local:PATH.gguf" in caught.value.do


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"context_tokens": 0}, {"threads": -1}])
def test_options_out_of_range(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        ServerOptions(**wrong)
    assert ServerOptions().computing_threads() >= 1
