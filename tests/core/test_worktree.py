"""Applying a verified change: all or nothing, and never over somebody's later work."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._errors import CandidateError
from groundwire.core._worktree import apply_changes

BASE = Tree({"a.py": b"old\n", "gone.py": b"x"})


def folder(root: Path) -> Path:
    (root / "a.py").write_bytes(b"old\n")
    (root / "gone.py").write_bytes(b"x")
    (root / "a.py").chmod(0o755)
    return root


def test_changes_are_written_and_modes_kept(tmp_path: Path) -> None:
    root = folder(tmp_path)
    apply_changes(root, BASE, {"a.py": b"new\n", "gone.py": None, "pkg/b.py": b"b"})
    assert (root / "a.py").read_bytes() == b"new\n"
    assert (root / "a.py").stat().st_mode & 0o777 == 0o755
    assert not (root / "gone.py").exists()
    assert (root / "pkg" / "b.py").read_bytes() == b"b"
    assert sorted(p.name for p in root.iterdir()) == ["a.py", "pkg"]


def test_modes_are_set_and_taken_away(tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "gone.py").chmod(0o640)
    base = Tree(BASE.files, frozenset({"a.py"}))
    apply_changes(
        root, base, {"a.py": b"old\n", "gone.py": b"x", "new.sh": b""}, {"a.py": False, "gone.py": True, "new.sh": True}
    )
    modes = {path.name: path.stat().st_mode & 0o777 for path in root.iterdir()}
    assert modes == {"a.py": 0o644, "gone.py": 0o750, "new.sh": 0o755}


def test_a_mode_changed_meanwhile_stops_everything(tmp_path: Path) -> None:
    root = folder(tmp_path)
    with pytest.raises(CandidateError, match=r"a\.py has changed"):
        apply_changes(root, BASE, {"a.py": b"old\n", "gone.py": None}, {"a.py": True})
    assert (root / "gone.py").exists()


def test_a_file_changed_meanwhile_stops_everything(tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "gone.py").write_bytes(b"edited")
    with pytest.raises(CandidateError, match=r"gone\.py has changed"):
        apply_changes(root, BASE, {"a.py": b"new\n", "gone.py": None})
    assert (root / "a.py").read_bytes() == b"old\n"


def test_a_file_that_appeared_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "new.py").write_bytes(b"mine")
    with pytest.raises(CandidateError, match="has changed"):
        apply_changes(root, BASE, {"new.py": b"theirs"})


@pytest.mark.parametrize("link", ["a.py", "pkg"])
def test_links_are_not_followed(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target.py").write_bytes(b"old\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / link).symlink_to(outside / "target.py" if link == "a.py" else outside)
    changes = {"a.py": b"new\n"} if link == "a.py" else {"pkg/target.py": b"new\n"}
    with pytest.raises(CandidateError, match="through a link"):
        apply_changes(root, Tree({"a.py": b"old\n", "pkg/target.py": b"old\n"}), changes)
    assert (outside / "target.py").read_bytes() == b"old\n"


def test_a_link_to_a_folder_within_leads_to_no_file_that_is_locked(tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "tests").mkdir()
    (root / "src").mkdir()
    (root / "src" / "checks").symlink_to(root / "tests")
    with pytest.raises(CandidateError, match="through a link"):
        apply_changes(root, Tree.from_folder(root), {"src/checks/helper.py": b"HACKED = True\n"})
    assert not list((root / "tests").iterdir())


def test_a_module_becomes_a_package_in_whichever_order(tmp_path: Path) -> None:
    root = folder(tmp_path)
    apply_changes(root, BASE, {"a.py/b.py": b"b", "a.py": None})
    assert (root / "a.py" / "b.py").read_bytes() == b"b"


def test_a_file_where_a_folder_still_is_stops_everything(tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "sub").mkdir()
    (root / "sub" / "data").write_bytes(b"x")
    with pytest.raises(CandidateError, match="sub is a folder, so nothing was applied"):
        apply_changes(root, Tree.from_folder(root), {"sub/data": None, "sub": b"x"})
    assert (root / "sub" / "data").exists()
