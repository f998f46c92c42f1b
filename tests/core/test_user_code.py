"""Code that the user names: it runs as any program of theirs does, and what is wrong with it is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._user_code import user_module

FORM = "FILE.py:NAME"
FINE = """
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Door:
    key: str = "under the mat"
"""


def test_a_file_is_run_anew_each_time_and_takes_no_modules_place(tmp_path: Path) -> None:
    import json

    for name in ("json.py", "a_door.py"):
        (tmp_path / name).write_text(FINE)
        first, again = (user_module(str(tmp_path / name), form=FORM) for _ in range(2))
        assert first.Door().key == "under the mat" and first.Door is not again.Door
    assert sys.modules["json"] is json
    del sys.modules["a_door"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def make(:", "can't be imported: SyntaxError"),
        ("raise SystemExit('no licence')", "can't be imported: SystemExit: no licence"),
        ("from groundwire.core._errors import TaskError\nraise TaskError('as it says')", "as it says"),
    ],
)
def test_what_a_file_breaks_on_is_told_and_nothing_of_it_is_left(code: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "crooked_door.py").write_text(code)
    with pytest.raises((ConfigError, TaskError), match=said):
        user_module(str(tmp_path / "crooked_door.py"), form=FORM)
    assert "crooked_door" not in sys.modules
    with pytest.raises(ConfigError, match=r"There is no file .*elsewhere\.py"):
        user_module(str(tmp_path / "elsewhere.py"), form=FORM)
