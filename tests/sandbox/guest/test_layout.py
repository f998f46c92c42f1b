"""Files are laid inside the folder and nowhere else, and read back without following anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._candidates import check_path
from groundwire.core._errors import CandidateError
from groundwire.sandbox.guest import layout
from groundwire.sandbox.guest.wire import MAX_FILE_BYTES


def test_files_are_written_with_their_modes_and_folders(tmp_path: Path):
    layout.lay(str(tmp_path), {"a/b/c.py": b"1", "tool": b"2"}, (), {"tool"})
    assert (tmp_path / "a/b/c.py").read_bytes() == b"1"
    assert (tmp_path / "a/b/c.py").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "tool").stat().st_mode & 0o777 == 0o755


def test_deleting_takes_the_folders_that_became_empty(tmp_path: Path):
    layout.lay(str(tmp_path), {"a/b/c": b"", "a/d": b"", "e": b""}, (), ())
    layout.lay(str(tmp_path), {}, ["a/b/c", "e", "missing", "e/x"], ())
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")) == ["a", "a/d"]
    layout.lay(str(tmp_path), {"a": b"now a file"}, ["a/d"], ())
    assert (tmp_path / "a").read_bytes() == b"now a file"


def test_a_replaced_file_is_a_new_one(tmp_path: Path):
    (tmp_path / "base").write_bytes(b"base")
    os.link(tmp_path / "base", tmp_path / "work")
    layout.lay(str(tmp_path), {"work": b"changed"}, (), ())
    assert (tmp_path / "base").read_bytes() == b"base"


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path: Path):
    (tmp_path / "target").write_bytes(b"keep")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    layout.lay(str(tmp_path), {"link": b"new"}, (), ())
    assert (tmp_path / "target").read_bytes() == b"keep"


@given(st.text(max_size=30))
def test_what_is_laid_is_what_the_root_contract_allows(path: str):
    """Whatever `check_path` lets through, the guest lays inside; the guest never lays more than that outside."""
    try:
        check_path(path)
    except CandidateError:
        return
    assert layout._inside("/root", path).startswith("/root/")  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("path", ["", "/a", "a/../b", "..", ".", "a//b", "a/", "a\0b", "./a"])
def test_a_path_that_is_not_plain_is_refused(tmp_path: Path, path: str):
    with pytest.raises(ValueError, match="not a plain path"):
        layout.lay(str(tmp_path), {path: b""}, (), ())
    with pytest.raises(ValueError, match="not a plain path"):
        layout.lay(str(tmp_path), {}, [path], ())


def test_a_tree_is_copied_with_its_modes(tmp_path: Path):
    source, target = tmp_path / "s", tmp_path / "t"
    source.mkdir()
    target.mkdir()
    layout.lay(str(source), {"a/b": b"1" * 3_000_000, "x": b""}, (), {"x"})
    layout.copy_tree(str(source), str(target))
    assert (target / "a/b").read_bytes() == b"1" * 3_000_000
    assert (target / "x").stat().st_mode & 0o777 == 0o755


def test_only_a_plain_file_is_read_back(tmp_path: Path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"x")
    (tmp_path / "ld").symlink_to(tmp_path / "d")
    (tmp_path / "lf").symlink_to(tmp_path / "d" / "f")
    os.mkfifo(tmp_path / "pipe")
    os.truncate(os.open(tmp_path / "big", os.O_CREAT | os.O_WRONLY), MAX_FILE_BYTES + 1)
    os.truncate(os.open(tmp_path / "fits", os.O_CREAT | os.O_WRONLY), MAX_FILE_BYTES)
    root = str(tmp_path)
    assert layout.read_back(root, "d/f") == b"x"
    assert [layout.read_back(root, p) for p in ("ld/f", "lf", "pipe", "d", "missing", "big", "d/f/g")] == [None] * 7
    assert len(layout.read_back(root, "fits") or b"") == MAX_FILE_BYTES


def test_a_large_file_is_found_without_following_links(tmp_path: Path):
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    outside.write_bytes(b"x" * 100)
    (inside / "link").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    assert not layout.holds_file_of(str(inside), 100)
    (inside / "deep" / "f").write_bytes(b"x" * 100)
    assert layout.holds_file_of(str(inside), 100)
