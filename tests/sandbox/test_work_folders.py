"""WorkFolders on the host's file system: each is gone with its command, and with its groundwire at the latest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundwire.core._errors import CandidateError
from groundwire.sandbox._folders import WorkFolders

HOLDER = """\
import sys, time
from pathlib import Path
from groundwire.sandbox._folders import WorkFolders
boxes = WorkFolders(folder=Path(sys.argv[1]))
with boxes.box({"plugin.py": b"ours"}) as box:
    print(box, flush=True)
    time.sleep(300)
"""


def holder(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another groundwire, in the middle of a command."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout
    process.stdout.close()


def test_what_a_killed_groundwire_left_is_removed_at_the_next_start(tmp_path: Path):
    process, box = holder(tmp_path)
    survivor = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(300)"], env={"GROUNDWIRE_OUT": f"{box}/out"}
    )
    end(process)
    (box / "locked").mkdir(0o000)
    assert (box / "support" / "plugin.py").exists()
    WorkFolders(folder=tmp_path).close()
    assert list(tmp_path.iterdir()) == []
    assert survivor.wait(60) == -signal.SIGKILL


def test_what_a_living_groundwire_has_is_left_alone(tmp_path: Path):
    process, box = holder(tmp_path)
    WorkFolders(folder=tmp_path).close()
    assert (box / "support" / "plugin.py").read_bytes() == b"ours"
    end(process)


def test_what_only_looks_like_ours_is_left_alone(tmp_path: Path):
    target = tmp_path / "elsewhere"
    target.mkdir()
    (tmp_path / "groundwire-boxes-link").symlink_to(target)
    (tmp_path / "groundwire-boxes-file").touch()
    (tmp_path / "groundwire-notes").mkdir()
    (tmp_path / "groundwire-boxes-somebody").mkdir()
    os.chown(tmp_path / "groundwire-boxes-somebody", 1234, 1234) if os.getuid() == 0 else None
    WorkFolders(folder=tmp_path).close()
    left = {path.name for path in tmp_path.iterdir()}
    assert {"elsewhere", "groundwire-boxes-link", "groundwire-boxes-file", "groundwire-notes"} <= left
    assert ("groundwire-boxes-somebody" in left) == (os.getuid() == 0)


def test_many_may_start_at_once_without_taking_each_others_boxes(tmp_path: Path):
    started = [holder(tmp_path) for _ in range(4)]
    time.sleep(0)
    assert all((box / "support" / "plugin.py").exists() for _, box in started)
    for process, _ in started:
        end(process)


def test_a_box_that_can_not_be_filled_is_removed(tmp_path: Path):
    boxes = WorkFolders(folder=tmp_path)
    with pytest.raises(CandidateError, match="outside the tree"), boxes.box({"../x": b""}):
        pass
    assert [path.name for path in boxes.home.iterdir()] == ["lock"]
    boxes.close()
    boxes.close()
