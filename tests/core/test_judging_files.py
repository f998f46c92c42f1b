"""Files that judge a project by its command."""

from __future__ import annotations

import pytest

from groundwire.core import Task, Tree
from groundwire.core._judging_files import judging_files

TREE = Tree(
    {
        "pkg/core.py": b"def f(x): return x\n",
        "checks/parsing.py": b"from pkg.core import f\ndef test_a(): assert f(1) == 2\n",
        "suite.py": b"import unittest\n",
        "main.py": b"from pkg.core import f\nprint(f(1))\n",
        "run.py": b"from pkg.core import f\nassert f(1) == 2\n",
        "ci/run.sh": b"true\n",
        "Makefile": b"test:\n\ttrue\n",
        "package.json": b"{}",
        "README.md": b">>> 1\n1\n",
        "src/parse.test.ts": b"",
        "src/parse.ts": b"",
    }
)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("pytest checks/parsing.py::test_a", {"checks/parsing.py"}),
        ("python -m pytest -q ./checks/parsing.py", {"checks/parsing.py"}),
        ("python -m unittest suite.T.test_a", {"suite.py"}),
        ("python run.py", {"run.py"}),
        ("python main.py", set[str]()),  # it may be what is repaired
        ("python -m doctest pkg/core.py", set[str]()),
        ("pytest --doctest-glob=*.md", {"README.md"}),
        ("sh ci/run.sh", {"ci/run.sh"}),
        ("env CI=1 make test", {"Makefile"}),
        ("/usr/bin/npm test", {"package.json"}),
    ],
)
def test_what_a_command_names_or_reads_judges(command: str, found: set[str]) -> None:
    assert judging_files(TREE, command.split()) == found
    task = Task("t", tree=TREE, command=tuple(command.split()), editable=("**",))
    assert found == {path for path in TREE.files if not task.may_edit(path)} - {"src/parse.test.ts"}
    assert all(map(task.is_test, found))


def test_scripts_that_these_run_or_include_judge_too() -> None:
    files = {
        "Makefile": b"include mk/test.mk\n",
        "mk/test.mk": b"test:\n\tsh ./ci/run.sh\n",
        "ci/run.sh": b". ci/common.sh\npython build.py\n",
        "ci/common.sh": b"true\n",
        "ci/deploy.sh": b"true\n",
        "build.py": b"",
    }
    assert judging_files(Tree(files), ("make", "test")) == files.keys() - {"ci/deploy.sh", "build.py"}


def test_what_pytest_is_told_to_collect_judges() -> None:
    config = b"[tool.pytest.ini_options]\npython_files = ['check_*.py', 'spec_*.py']\n"
    files = {"pyproject.toml": config, "a/check_it.py": b"", "spec_it.py": b"", "it.py": b""}
    assert judging_files(Tree(files), ("pytest",)) == {"a/check_it.py", "spec_it.py"}
    ini = b"[pytest]\npython_files =\n    check_*.py\n    spec_*.py\n"
    assert judging_files(Tree({**files, "pytest.ini": ini, "pyproject.toml": b""}), ("pytest",)) == {
        "a/check_it.py",
        "spec_it.py",
    }


def test_what_is_named_to_be_edited_and_the_only_file_can_be() -> None:
    named = Task("t", tree=TREE, command=("make", "test"), editable=("Makefile", "pkg/core.py"))
    assert named.may_edit("Makefile")
    alone = Task("t", tree=Tree({"run.py": b"assert 1 == 2\n"}), command=("python", "run.py"))
    assert alone.may_edit("run.py")


def test_tests_of_other_languages_are_tests() -> None:
    task = Task("t", tree=TREE, command=("npm", "test"), editable=("src/**",))
    assert task.may_edit("src/parse.ts") and not task.may_edit("src/parse.test.ts")
    assert not any(map(task.may_edit, ("src/__tests__/a.js", "src/a.spec.tsx", "src/a_test.go", "src/test/A.java")))


def test_golden_data_that_only_tests_read_judges() -> None:
    tests = b"import json, mod\ndef test_a(): assert mod.f(1) == json.load(open('golden.json'))\nPLACE = 'wanted/x'\n"
    files = {"mod.py": b"def f(x): return open('cases.txt').read()\n", "tests/test_a.py": tests + b"# cases.txt\n"}
    data = dict.fromkeys(("golden.json", "wanted/1.txt", "cases.txt", "expected.c", "other.json"), b"1")
    task = Task("t", tree=Tree({**files, **data}), command=("pytest", "-q"), editable=("**",))
    assert [path for path in data if not task.may_edit(path)] == ["golden.json", "wanted/1.txt"]
    meant = Task("t", tree=task.tree, command=("pytest", "-q"), editable=("**", "golden.json", "wanted/*"))
    assert all(map(meant.may_edit, data))
