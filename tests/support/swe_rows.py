"""Rows in the form of SWE-bench and its kin, of a repository of our own: one bug, its fix, and the test of that."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from cli import lay_out

BEFORE = {
    "pages/__init__.py": "",
    "pages/split.py": "def pages(n, size):\n    return n // size\n",
    "tests/test_split.py": "from pages.split import pages\n\n\ndef test_even():\n    assert pages(10, 5) == 2\n",
    "tests/test_import.py": (
        "import pytest\n\n\ndef test_import():\n    more = pytest.importorskip('pages.more')\n"
        "    assert more.SIZE == 5\n"
    ),
    "pages/more.py": "SIZE = 5\n",
    "README.md": "pages\n",
}
FIX = "def pages(n, size):\n    return -(-n // size)\n"
IN_A_CLASS = """\
import unittest

from pages.split import pages


def test_even():
    assert pages(10, 5) == 2


def test_odd():
    assert pages(3, 2) == 7


class Rest(unittest.TestCase):
    def test_rest(self):
        self.assertEqual(pages(11, 5), 3)
"""
MORE = f"{BEFORE['tests/test_split.py']}\n\ndef test_rest():\n    assert pages(11, 5) == 3\n"


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, env=os.environ | own, capture_output=True, check=True)
    return done.stdout.decode()


def repository(repos: Path) -> Path:
    """A clone in a folder of them: a commit with the bug, then one that fixes it and adds its test."""
    folder = lay_out(repos / "acme__pages", BEFORE)
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
        "PASS_TO_PASS": ["tests/test_split.py::test_even", "tests/test_import.py::test_import"],
        **fields,
    }


def smith(clone: Path, **fields: Any) -> dict[str, Any]:
    """The same bug as SWE-smith publishes one: no commit, and a patch that makes it."""
    return {
        "instance_id": "acme__pages.smith-1",
        "repo": f"swesmith/acme__pages.{git(clone, 'rev-parse', 'HEAD')[:8]}",
        "patch": git(clone, "diff", "HEAD", "HEAD~1", "--", "pages"),
        "problem_statement": "The last page is lost when it is not full.",
        "FAIL_TO_PASS": ["tests/test_split.py::test_rest"],
        "PASS_TO_PASS": ["tests/test_split.py::test_even", "tests/test_import.py::test_import"],
        "image_name": "acme/pages:1",
        **fields,
    }


def r2e(clone: Path, **fields: Any) -> dict[str, Any]:
    """The same fix as R2E-Gym publishes one: tests in the row, and what they come to."""
    return {
        "repo_name": "pages",
        "docker_image": "acme/pages_final:1",
        "commit_hash": git(clone, "rev-parse", "HEAD").strip(),
        "problem_statement": "The last page is lost when it is not full.",
        "expected_output_json": json.dumps({"test_even": "PASSED", "Rest.test_rest": "PASSED", "test_odd": "FAILED"}),
        "execution_result_content": json.dumps({"test_file_names": ["test_1.py"], "test_file_codes": [IN_A_CLASS]}),
        **fields,
    }


def written(clone: Path, *rows: dict[str, Any]) -> Path:
    path = clone.parent.parent / "instances.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path
