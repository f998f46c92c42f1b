"""Patches: whatever changed, `git apply` brings it about."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.core._candidates import Tree, count_lines, make_patch
from groundwire.core._errors import CandidateError

lines = st.lists(st.sampled_from(["a", "b", "", "  x = 1", "-minus", "+plus", "\t", "é", "x\r", "\x0c"]), max_size=8)


def joined(parts: list[str], newline_at_end: bool) -> bytes:
    return ("\n".join(parts) + ("\n" if newline_at_end else "")).encode()


contents = st.builds(joined, lines, st.booleans())
names = st.sampled_from(["a.py", "dir/b.py", "with space.py", "ünï.py", 'quo"te.py'])
trees = st.dictionaries(names, contents, max_size=4)


def lay_out(root: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees, trees)
def test_git_apply_gives_the_changed_tree(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    lay_out(root, before)
    changes: dict[str, bytes | None] = {**dict.fromkeys(before, None), **after}
    # an empty file that is added or deleted has no lines, so only its header says so
    patch = make_patch(Tree(before), changes)
    if patch:
        (root / "fix.patch").write_bytes(patch.encode())
        subprocess.run(["git", "apply", "fix.patch"], cwd=root, check=True, capture_output=True)
        (root / "fix.patch").unlink()
    found = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    assert found == after


@pytest.mark.parametrize(
    ("path", "content", "mode", "executable"),
    [
        ("plain", b"x\n", True, True),
        ("plain", b"y\n", True, True),
        ("run", b"x\n", False, False),
        ("run", b"y\n", False, False),
        ("run", b"y\n", None, True),
        ("new", b"x\n", True, True),
        ("new", b"", True, True),
        ("new", b"x\n", None, False),
        ("binary", b"\xff", True, True),
    ],
)
def test_git_apply_gives_the_mode(
    tmp_path: Path, path: str, content: bytes, mode: bool | None, executable: bool
) -> None:
    base = Tree({"plain": b"x\n", "run": b"x\n", "binary": b"\xff"}, frozenset({"run"}))
    lay_out(tmp_path, dict(base.files))
    (tmp_path / "run").chmod(0o755)
    patch = make_patch(base, {path: content}, {} if mode is None else {path: mode})
    (tmp_path / "fix.patch").write_bytes(patch.encode())
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / path).read_bytes() == content
    assert bool((tmp_path / path).stat().st_mode & 0o100) is executable


def test_a_patch_says_modes_as_git_does() -> None:
    base = Tree({"a": b"x\n", "b": b""}, frozenset({"b"}))
    patch = make_patch(base, {"a": b"x\n", "b": b"", "c": b"1\n"}, {"a": True, "b": True, "c": True})
    assert patch.splitlines()[:3] == ["diff --git a/a b/a", "old mode 100644", "new mode 100755"]
    assert patch.splitlines()[3:5] == ["diff --git a/c b/c", "new file mode 100755"]


def test_nothing_changed_is_no_patch() -> None:
    assert make_patch(Tree({"a": b"x"}), {"a": b"x"}) == ""


def test_binary_is_refused_with_what_to_do() -> None:
    with pytest.raises(CandidateError, match="not UTF-8") as caught:
        make_patch(Tree({"a": b"x"}), {"a": b"\xff"})
    assert "--apply" in str(caught.value)


def test_lines_are_counted() -> None:
    base = Tree({"a": b"1\n2\n3\n", "gone": b"x\n"})
    assert count_lines(base, {"a": b"1\n++ two\n3\n4\n", "gone": None}) == (2, 2)
