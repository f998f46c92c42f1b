"""Paths as people write them: homes, and names that only look like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._paths import at_home


def test_a_tilde_is_a_home_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert at_home("~/a") == at_home(Path("~/a")) == Path("/home/someone/a")
    assert at_home("~root/a").is_absolute()
    for plain in ("a/~", "~no-such-user/a", "~data", "/~x"):
        assert at_home(plain) == Path(plain)
