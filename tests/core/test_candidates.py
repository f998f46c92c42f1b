"""Trees and candidates: digests, paths, what is read from a folder."""

from __future__ import annotations

import base64
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.core import _candidates as candidates
from groundwire.core._candidates import (
    Candidate,
    Tree,
    check_path,
    count_lines,
    from_base85,
    make_patch,
    to_base85,
)
from groundwire.core._errors import CandidateError, TaskError

names = st.text(st.characters(codec="utf-8", exclude_characters="/\\\x7f", exclude_categories=("Cc", "Cs")), min_size=1)
paths = st.lists(names.filter(lambda n: n not in (".", "..", ".git", ".hg", ".svn")), min_size=1, max_size=3).map(
    "/".join
)
OWNED = {".git", ".hg", ".svn"}
safe = paths.filter(lambda p: OWNED.isdisjoint(p.lower().split("/")) and len(p.encode()) < 200)
changes = st.dictionaries(safe, st.none() | st.binary(max_size=20), max_size=4)


@given(changes)
def test_the_digest_depends_on_content_and_not_on_order(edit: dict[str, bytes | None]) -> None:
    one = Candidate("base", edit)
    other = Candidate("base", dict(reversed(edit.items())))
    assert one.digest == other.digest
    assert Candidate("other", edit).digest != one.digest


@given(changes, changes)
def test_different_changes_have_different_digests(a: dict[str, bytes | None], b: dict[str, bytes | None]) -> None:
    assert (Candidate("base", a).digest == Candidate("base", b).digest) == (a == b)


@given(changes)
def test_a_candidate_survives_storage(edit: dict[str, bytes | None]) -> None:
    candidate = Candidate("base", edit, edits=("compare.swap",), note="line 3 < → <=")
    again = Candidate.from_bytes(candidate.to_bytes())
    assert again == candidate
    assert again.digest == candidate.digest


@pytest.mark.parametrize(
    "path",
    [
     "", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", ".git/hooks/pre-commit", ".GIT/config",
     "a/.git/hooks/x", "a\nb", "a\\b", "a\x00b", "\ud800", "x" * 2000, "a/" + "é" * 128,
    ],
)  # fmt: skip
def test_paths_outside_or_odd_are_refused(path: str) -> None:
    with pytest.raises(CandidateError, match="The path"):
        Candidate("base", {path: b""})


@given(safe)
def test_plain_paths_are_accepted(path: str) -> None:
    assert check_path(path) == path


def test_stored_garbage_is_refused() -> None:
    for body in (b"", b"[]", b'{"base":1}', b'{"base":"b","changes":{"../x":"A"},"edits":[],"note":""}'):
        with pytest.raises(CandidateError):
            Candidate.from_bytes(body)


def test_a_mode_enters_digest_and_body_only_where_it_is_set() -> None:
    plain = Candidate("base", {"a.py": b"1\n", "gone.py": None}, ("e",), "n")
    assert plain.digest == "8e4f7a9a8b3d22485b251aa43f3c31853f252385277359f859fd2a174bf5d7bc", "as in older ledgers"
    assert plain.to_bytes() == b'{"base":"base","changes":{"a.py":"F$w","gone.py":null},"edits":["e"],"note":"n"}'
    on, off = (replace(plain, modes={"a.py": mode}) for mode in (True, False))
    assert len({plain.digest, on.digest, off.digest}) == 3
    assert [Candidate.from_bytes(c.to_bytes()) for c in (plain, on, off)] == [plain, on, off]


@pytest.mark.parametrize("path", ["gone.py", "other.py"])
def test_a_mode_is_that_of_a_file_that_is_written(path: str) -> None:
    with pytest.raises(CandidateError, match="has a mode"):
        Candidate("base", {"a.py": b"1\n", "gone.py": None}, modes={path: True})


def test_modes_apply() -> None:
    tree = Tree({"a": b"1", "b": b"2", "c": b"3"}, frozenset({"b", "c"}))
    made = Candidate(tree.digest, {"a": b"1", "b": b"2", "c": b"4"}, modes={"a": True, "b": False})
    assert made.applied_to(tree).executable == {"a", "c"}
    assert not made.is_base
    assert made.applied_to(tree).digest != tree.digest


def test_extends_means_append_only() -> None:
    first = Candidate("base", {"log": b"a", "gone": None})
    assert Candidate("base", {"log": b"ab", "gone": None, "new": b"x"}).extends(first)
    assert not Candidate("base", {"log": b"b", "gone": None}).extends(first)
    assert not Candidate("base", {"log": b"ab"}).extends(first)
    assert not Candidate("base", {"log": None, "gone": None}).extends(first)
    assert not Candidate("else", {"log": b"ab", "gone": None}).extends(first)
    assert not Candidate("base", {"log": b"ab", "gone": None}, modes={"log": True}).extends(first)


def test_a_folder_is_read_without_caches_links_out_and_environments(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ("src/a.py", ".git/config", "__pycache__/a.pyc", "env/pyvenv.cfg", "env/lib/x.py", "node_modules/m.js"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "secret").write_text("s")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "in").symlink_to(root / "src" / "a.py")
    script = root / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    tree = Tree.from_folder(root, exclude=("*.md",))
    assert set(tree.files) == {"src/a.py", "in", "run.sh"}
    assert tree.executable == {"run.sh"}


def test_loops_of_links_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "deep").mkdir(parents=True)
    (root / "a.py").write_text("a = 1\n")
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x")
    (root / "self.py").symlink_to("self.py")
    (root / "deep" / "up").symlink_to("..")
    assert set(Tree.from_folder(root).files) == {"a.py"}


def test_what_is_no_folder_is_a_task_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="not a folder"):
        Tree.from_folder(tmp_path / "nothing")


def test_changes_apply() -> None:
    tree = Tree({"a": b"1", "b": b"2"})
    assert tree.with_changes({"a": None, "c": b"3"}).files == {"b": b"2", "c": b"3"}
    assert tree.files == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize("name", [".git", "vendor/.git", "vendor/a/.GIT/config", ".svn/entries", "b/.hg"])
def test_what_version_control_owns_is_left_out_be_it_a_file_or_a_folder(tmp_path: Path, name: str) -> None:
    for file in ("a.py", name):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("gitdir: elsewhere\n")
    tree = Tree.from_folder(tmp_path)
    assert list(tree.files) == ["a.py"]
    assert all(check_path(path) for path in tree.files)


# Patches: whatever changed, `git apply` brings it about.


lines = st.lists(st.sampled_from(["a", "b", "", "  x = 1", "-minus", "+plus", "\t", "é", "x\r", "\x0c"]), max_size=8)


def joined(parts: list[str], newline_at_end: bool) -> bytes:
    return ("\n".join(parts) + ("\n" if newline_at_end else "")).encode()


contents = st.builds(joined, lines, st.booleans())
patch_names = st.sampled_from(["a.py", "dir/b.py", "with space.py", "ünï.py", 'quo"te.py'])
trees = st.dictionaries(patch_names, contents, max_size=4)


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
        (root / "fix.patch").write_bytes(patch)
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
    (tmp_path / "fix.patch").write_bytes(patch)
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / path).read_bytes() == content
    assert bool((tmp_path / path).stat().st_mode & 0o100) is executable


def test_a_patch_says_modes_as_git_does() -> None:
    base = Tree({"a": b"x\n", "b": b""}, frozenset({"b"}))
    patch = make_patch(base, {"a": b"x\n", "b": b"", "c": b"1\n"}, {"a": True, "b": True, "c": True})
    assert patch.decode().splitlines()[:3] == ["diff --git a/a b/a", "old mode 100644", "new mode 100755"]
    assert patch.decode().splitlines()[3:5] == ["diff --git a/c b/c", "new file mode 100755"]


def test_nothing_changed_is_no_patch() -> None:
    assert make_patch(Tree({"a": b"x"}), {"a": b"x"}) == b""


@pytest.mark.parametrize(
    "content", [b"# na\xefve\nx = 1\n", b"\0\xff\n\n", b"\xff\xfea\0\r\n", "ünï\n".encode("utf-16")]
)
def test_files_that_are_not_utf_8_keep_their_bytes(tmp_path: Path, content: bytes) -> None:
    before = b"# na\xefve\nx = 2\n"
    lay_out(tmp_path, {"a": before})
    (tmp_path / "fix.patch").write_bytes(make_patch(Tree({"a": before}), {"a": content}))
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "a").read_bytes() == content
    assert count_lines(Tree({"a": before}), {"a": before.replace(b"2", b"1")}) == (1, 1)


def test_lines_are_counted() -> None:
    base = Tree({"a": b"1\n2\n3\n", "gone": b"x\n"})
    assert count_lines(base, {"a": b"1\n++ two\n3\n4\n", "gone": None}) == (2, 2)


@given(st.binary(max_size=200), st.integers(0, 3))
def test_base_85_in_pieces_is_base_85(content: bytes, times: int) -> None:
    """Pieces are 1,024 bytes; what was read or written before is the same again."""
    whole = content * (1 + 20 * times)
    text = to_base85(whole)
    assert text == base64.b85encode(whole).decode()
    assert (from_base85(text), to_base85(from_base85(text))) == (whole, text)


@pytest.mark.parametrize("text", ["\x00", "~~~~~", "é", '"', "a" * 1280 + " "])
def test_what_is_no_base_85_is_refused(text: str) -> None:
    for _ in range(2):
        with pytest.raises(ValueError):
            from_base85(text)


def test_many_contents_are_not_all_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_PIECES", 4)
    contents = [number.to_bytes(2, "big") * 600 for number in range(40)]
    texts = [to_base85(content) for content in contents]
    assert [from_base85(text) for text in texts] == contents
    assert len(candidates._CONTENTS) <= 4  # pyright: ignore[reportPrivateUsage]
