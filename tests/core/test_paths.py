"""Paths as people write them: homes, and names that only look like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._paths import expand_user


def test_a_tilde_is_a_home_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert expand_user("~/a") == expand_user(Path("~/a")) == Path("/home/someone/a")
    assert expand_user("~root/a").is_absolute()
    for plain in ("a/~", "~no-such-user/a", "~data", "/~x"):
        assert expand_user(plain) == Path(plain)
