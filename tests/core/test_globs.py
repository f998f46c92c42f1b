"""Globs: what they name, what they do not, and how those of older records are read."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._paths import check_glob, matches, matches_across_folders


@pytest.mark.parametrize(
    ("path", "glob"),
    [
        ("src/a.py", "src/*.py"),
        ("src/.a.py", "src/*.py"),
        ("a.py", "*"),
        ("src/a.py", "src/?.py"),
        ("src/a.py", "src/[ab].py"),
        ("src/c.py", "src/[!ab].py"),
        ("src/a.py", "./src/*.py"),
        ("src/a.py", "src//a.py"),
        ("a.py", "**/*.py"),
        ("a/b/c.py", "**/*.py"),
        ("src/a.py", "src/**/*.py"),
        ("src/b/a.py", "src/**/*.py"),
        ("src/b/c/a.py", "src/**"),
        ("src/b/tests/c/x.py", "src/**/tests/**/*.py"),
        ("tests/test_a.py", "tests/**"),
        ("a/tests/x.py", "**/tests/**"),
        ("tests/test_a.py", "tests"),
        ("tests/a/b.py", "tests/"),
        ("tests/a/b.py", "./tests/"),
        ("packages/one/src/deep/a.py", "packages/*/src"),
        ("build-1/a/b.py", "build-*/"),
        ("a/b.py", "."),
        ("a/b.py", "./"),
        # a path that is written out
        ("app/[id]/page.py", "app/[id]/page.py"),
        ("app/[id]/page.py", "app/[id]"),
        ("what?/a.py", "what?/a.py"),
    ],
)
def test_what_a_glob_names(path: str, glob: str) -> None:
    assert matches(path, [glob])
    assert matches(path, ["nothing", glob])


@pytest.mark.parametrize(
    ("path", "glob"),
    [
        ("src/a/b.py", "src/*.py"),
        ("src/a/b.py", "src/*"),
        ("src/*/b.py", "src/*"),
        ("src/*.py/b.py", "src/*.py"),
        ("src/?/b.py", "src/?"),
        ("src/a/b.py", "*.py"),
        ("src/a.py", "*"),
        ("a/b/c.py", "a/*/*/c.py"),
        ("src/a.py", "src?a.py"),
        ("src/a.py", "src[/]a.py"),
        ("src/a.py", "src[!x]a.py"),
        ("src/a/b.py", "src/[!x]*.py"),
        ("src/A.py", "src/a.py"),
        ("SRC/a.py", "src"),
        ("src/a.PY", "src/*.py"),
        ("x/src/a.py", "src/*.py"),
        ("src", "src/**"),
        ("testsuite/a.py", "tests"),
        ("x/tests/a.py", "tests"),
        ("build-1", "build-*/x"),
        ("src/a.py", "tests/**"),
        ("a/b.py", "a/b.py/c"),
        ("a.py", "!b.py"),
        ("a.py", ""),
        ("a.py", "/"),
        ("a.py", "/a.py"),
        ("a.py", "x/../a.py"),
    ],
)
def test_what_a_glob_does_not_name(path: str, glob: str) -> None:
    assert not matches(path, [glob])


def _by_definition(path: Sequence[str], glob: Sequence[str]) -> bool:
    """Part by part, with every length that `**` may have."""
    if not glob:
        return not path
    if glob[0] == "**":
        least = 1 if len(glob) == 1 else 0
        return any(_by_definition(path[skipped:], glob[1:]) for skipped in range(least, len(path) + 1))
    return bool(path) and fnmatchcase(path[0], glob[0]) and _by_definition(path[1:], glob[1:])


NAMES = st.lists(st.sampled_from(["a", "b", "ab", "a.py", ".a"]), min_size=1, max_size=6)
PARTS = st.lists(st.sampled_from(["a", "ab", "*", "**", "?", "[ab]", "[!a]", "*.py", "a*"]), min_size=1, max_size=6)


@given(path=NAMES, glob=PARTS)
def test_it_is_matched_part_by_part(path: list[str], glob: list[str]) -> None:
    expected = _by_definition(path, glob) or (not set(glob[-1]) & set("*?[") and _by_definition(path, [*glob, "**"]))
    assert matches("/".join(path), ["/".join(glob)]) is expected


def test_many_stars_take_no_time_to_speak_of() -> None:
    assert not matches("a/" * 500 + "b", ["**/a/" * 50 + "c"])
    assert not matches("a" * 1000, ["*a" * 100 + "b"])


@pytest.mark.parametrize("glob", ["", " ", "/src", "../src", "src/../x", "!src/a.py", "src/**.py", "a**/b"])
def test_a_glob_that_can_name_nothing_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match=r"the glob .* (is empty|leads out|negates|has \*\*)"):
        check_glob(glob)


def test_what_can_name_something_is_taken_as_it_is() -> None:
    for glob in ("src", "./src/", "src/**/*.py", "**", ".", "app/[id]", "[!a].py"):
        assert check_glob(glob) == glob


def test_globs_of_older_records_cross_folders() -> None:
    assert matches_across_folders("src/a/b.py", ["src/*.py"])
    assert matches_across_folders("src/a.py", ["src/**/*.py"])
    assert matches_across_folders("tests/a.py", ["tests"])
    assert not matches_across_folders("testsuite/a.py", ["tests"])
