"""When a fork is as good as a fresh interpreter, and when not. What it then does is in test_fork_server."""

from __future__ import annotations

import pytest

from groundwire.sandbox.guest.pyrun import importable_names, needs_fresh


def test_names_that_files_of_a_tree_could_be_imported_by():
    paths = [
        "top.py", "pkg/__init__.py", "pkg/inner.py", "pkg/sub/__init__.py", "pkg/sub/x.py", "src/lib/__init__.py",
        "src/lib/y.py", "scripts/json.py", "native.cpython-311-x86_64-linux-gnu.so", "notes.txt", "data/no_init/z.py",
        "__init__.py",
    ]  # fmt: skip
    names = importable_names(paths)
    assert {"top", "pkg", "lib", "json", "z"} <= names
    assert names.isdisjoint({"inner", "sub", "x", "y", "notes"})


ENV = {"PATH": "/bin", "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}


@pytest.mark.parametrize(
    ("arguments", "fresh"),
    [
        (["-c", "1"], False),
        (["-m", "x", "-O"], False),
        (["-O", "-c", "1"], True),
        (["-c"], True),
        (["-m"], True),
        ([], True),
        (["-"], True),
        (["missing.py"], True),
        ([__file__], False),
    ],
)
def test_what_a_fork_can_not_do_goes_to_a_fresh_interpreter(arguments: list[str], fresh: bool):
    assert needs_fresh(arguments, ENV, ENV, set(), set()) == fresh


@pytest.mark.parametrize(
    ("change", "fresh"),
    [
        ({"X": "1"}, False),
        ({"PYTHONPATH": "/x"}, False),
        ({"PYTHONHASHSEED": "0"}, False),
        ({"PYTHONHASHSEED": "1"}, True),
        ({"PYTHONOPTIMIZE": "1"}, True),
        ({"LC_ALL": "C"}, True),
        ({"LD_PRELOAD": "/x.so"}, True),
    ],
)
def test_a_variable_that_an_interpreter_reads_at_its_start(change: dict[str, str], fresh: bool):
    assert needs_fresh(["-c", ""], {**ENV, **change}, ENV, set(), set()) == fresh


def test_a_tree_that_shadows_what_is_loaded():
    assert needs_fresh(["-c", ""], ENV, ENV, {"json", "lib"}, {"json"})
    assert not needs_fresh(["-c", ""], ENV, ENV, {"lib"}, {"json"})
