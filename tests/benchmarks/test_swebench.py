"""Instances in SWE-bench's form, on a real repository with a real bug and its real fix."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli import lay_out
from judging import by_hidden, by_visible

from groundwire.benchmarks import Item, benchmark
from groundwire.core._errors import ConfigError, RecordingError, TaskError
from groundwire.core._signals import Verdict
from groundwire.graphs.run._sandboxes import Sandboxes

BEFORE = {
    "pages/__init__.py": "",
    "pages/split.py": "def pages(n, size):\n    return n // size\n",
    "tests/test_split.py": "from pages.split import pages\n\n\ndef test_even():\n    assert pages(10, 5) == 2\n",
    "README.md": "pages\n",
}
FIX = "def pages(n, size):\n    return -(-n // size)\n"
MORE = f"{BEFORE['tests/test_split.py']}\n\ndef test_rest():\n    assert pages(11, 5) == 3\n"


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, env=os.environ | own, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The clone: a commit with the bug, then one that fixes it and adds its test."""
    folder = lay_out(tmp_path / "repos" / "acme__pages", BEFORE)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "pages")
    lay_out(folder, {"pages/split.py": FIX, "tests/test_split.py": MORE})
    git(folder, "commit", "--quiet", "-am", "Count the last page")
    return folder


def instance(clone: Path, **fields: Any) -> dict[str, Any]:
    return {
        "instance_id": "acme__pages-1",
        "repo": "acme/pages",
        "base_commit": git(clone, "rev-parse", "HEAD~1").strip(),
        "patch": git(clone, "diff", "HEAD~1", "HEAD", "--", "pages"),
        "test_patch": git(clone, "diff", "HEAD~1", "HEAD", "--", "tests"),
        "problem_statement": "The last page is lost when it is not full.",
        "FAIL_TO_PASS": json.dumps(["tests/test_split.py::test_rest"]),
        "PASS_TO_PASS": ["tests/test_split.py::test_even"],
        **fields,
    }


def items(clone: Path, **fields: Any) -> list[Item]:
    path = clone.parent.parent / "instances.jsonl"
    path.write_text(f"{json.dumps(instance(clone, **fields))}\n")
    return list(benchmark("swebench", repos=clone.parent).items(path))


async def test_the_fix_passes_and_the_bug_fails_only_the_hidden_tests(clone: Path) -> None:
    (item,) = items(clone)
    task = item.task
    assert (task.id, task.family, task.prompt) == (
        "acme__pages-1",
        "acme/pages",
        "The last page is lost when it is not full.",
    )
    assert set(task.tree.files) == set(BEFORE), "no history, and no file of a later commit"
    assert b"test_rest" not in b"".join(task.tree.files.values()) and "-(-n" not in repr(item)
    assert not task.may_edit("tests/test_split.py")
    boxes = Sandboxes(None)
    try:
        wrong, right = (
            {"pages/split.py": b"def pages(n, size):\n    return n // size + 0\n"},
            {"pages/split.py": FIX.encode()},
        )
        assert await by_visible(task, wrong, boxes) is Verdict.PASS
        assert await by_hidden(task, wrong, boxes) is Verdict.FAIL
        assert await by_hidden(task, right, boxes) is Verdict.PASS
    finally:
        await boxes.aclose()


def test_what_a_clones_configuration_names_is_not_started(clone: Path, tmp_path: Path) -> None:
    hook = clone / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(clone, "config", "core.fsmonitor", f"touch {tmp_path}/ran;")
    assert items(clone)
    assert not (tmp_path / "ran").exists()


WRONG = {
    "no such commit": ({"base_commit": "0" * 40}, TaskError, "can't be read from"),
    "an option for a commit": ({"base_commit": "--help"}, RecordingError, "base_commit"),
    "no clone": ({"repo": "acme/books"}, TaskError, "no clone of acme/books"),
    "out of the folder": ({"repo": "../pages"}, TaskError, "no repository's name"),
    "another patch": ({"test_patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}, TaskError, "does not apply"),
    "no test that fails": ({"FAIL_TO_PASS": "[]"}, RecordingError, "FAIL_TO_PASS"),
    "a test that is nowhere": ({"FAIL_TO_PASS": ["tests/other.py::test_x"]}, TaskError, "in no file"),
    "an option for a test": ({"PASS_TO_PASS": ["--pdb"]}, TaskError, "in no file"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_an_instance_is_said(case: str, clone: Path) -> None:
    fields, kind, message = WRONG[case]
    with pytest.raises(kind, match=message):
        items(clone, **fields)


def test_clones_have_to_be_named() -> None:
    with pytest.raises(ConfigError, match="no clones were named"):
        benchmark("swebench")
