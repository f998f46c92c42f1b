"""Tasks from folders: what is inferred, what is hidden, what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._tasks import Task, default_command, split_command


def lay_out(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py").replace("_toml", ".toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_plain_project_needs_no_task_file(tmp_path: Path) -> None:
    task = Task.from_folder(lay_out(tmp_path / "shop", a_py="x = 1\n", tests__test_a_py=""))
    assert (task.id, task.command, task.hidden, task.folder) == ("shop", ("pytest", "-q"), None, tmp_path / "shop")
    assert task.may_edit("a.py")
    assert task.may_edit("pkg/new.py")
    for path in ("tests/test_a.py", "test_b.py", "conftest.py", "pkg/conftest.py", "pyproject.toml", "setup.py",
                 "sitecustomize.py", "notes.txt", "pytest.ini"):  # fmt: skip
        assert not task.may_edit(path), path


@pytest.mark.parametrize(
    ("files", "needs_root"),
    [
        ({"shop.py": "", "tests/test_a.py": "import shop\n"}, True),
        ({"shop/__init__.py": "", "tests/unit/test_a.py": "from shop.cart import Cart\n"}, True),
        ({"shop.py": "", "tests/test_a.py": "import shop\n", "setup.py": ""}, False),
        ({"shop.py": "", "tests/test_a.py": "import shop\n", "conftest.py": ""}, False),
        ({"shop.py": "", "tests/test_a.py": "import shop\n", "tests/__init__.py": ""}, False),
        ({"shop.py": "", "tests/test_a.py": "import shop\n", "pytest.ini": "[pytest]\npythonpath = .\n"}, False),
        ({"shop.py": "", "test_a.py": "import shop\n"}, False),
        ({"src/shop.py": "", "tests/test_a.py": "import shop\n"}, False),
        ({"tests/help.py": "", "tests/test_a.py": "import help\n"}, False),
        ({"tests/test_a.py": "import json\n"}, False),
    ],
)
def test_pytest_looks_in_the_root_where_tests_need_that(files: dict[str, str], needs_root: bool) -> None:
    tree = Tree({path: text.encode() for path, text in files.items()})
    assert default_command(tree) == (("python", "-m") if needs_root else ()) + ("pytest", "-q")


def test_tests_in_the_root_that_pytest_does_not_collect_are_named_and_may_not_be_edited(tmp_path: Path) -> None:
    case = "import shop\ndef test_a():\n    assert shop.x\n"
    task = Task.from_folder(lay_out(tmp_path / "shop", shop_py="x = 1\n", test_py=case))
    assert task.command == ("pytest", "-q", "test.py")
    assert not task.may_edit("test.py")
    assert task.is_test("test.py")
    other = Task.from_folder(lay_out(tmp_path / "other", tests_py="x = 1\n"))
    assert other.command == ("pytest", "-q"), "a module of that name without a test"
    both = Task.from_folder(lay_out(tmp_path / "both", test_py=case, tests__test_a_py=case))
    assert both.command[-1] == "-q"
    assert both.may_edit("test.py"), "there are tests where they are looked for"


def test_a_star_in_a_glob_stays_in_its_folder() -> None:
    task = Task("t", editable=("src/*.py", "lib/**/*.py", "data"), test_files=("spec/*.py", "checks/"))
    for path in ("src/a.py", "lib/a.py", "lib/a/b.py", "data/a/b.csv", "spec/deep/x.py"):
        assert task.may_edit(path) is (path != "spec/deep/x.py"), path
    for path in ("src/a/b.py", "SRC/a.py", "other/a.py", "spec/a.py", "checks/a/b.py"):
        assert not task.may_edit(path), path
    assert task.is_test("spec/a.py")
    assert not task.is_test("spec/deep/x.py")


@pytest.mark.parametrize(
    "path",
    ["test_a.py", "a_test.py", "x/y/test_a.py", "x/a_test.py", "test_helpers/deep/util.py", "x/test_helpers/util.py",
     "tests/a.json", "x/tests/y/a.py", "test/a.py", "x/y/conftest.py", "tox.ini"],
)  # fmt: skip
def test_what_is_a_test_where_nothing_is_said(path: str) -> None:
    assert Task("t").is_test(path)
    assert not Task("t", editable=("**",)).may_edit(path)


def test_an_older_task_is_read_by_its_own_rule() -> None:
    old = Task("t", editable=("src/*.py",), test_files=("test_*.py",), stars_cross=True)
    assert old.may_edit("src/a/b.py")
    assert old.is_test("test_data/x.py")
    assert old.describe() != replace(old, stars_cross=False).describe()


def test_what_is_hidden_is_in_no_tree_that_an_actor_sees(tmp_path: Path) -> None:
    root = lay_out(
        tmp_path,
        a_py="",
        secret__test_b_py="assert 42",
        task_toml='id = "t"\nfamily = "f"\nprompt = "p"\neditable = ["src"]\n[hidden]\ndir = "secret"\n'
        '[tests]\ncommand = "python -m pytest tests"\nfiles = ["tests"]\n[sandbox]\nwall_s = 5\n',
    )
    task = Task.from_folder(root)
    assert task.hidden is not None
    assert set(task.hidden.tree.files) == {"secret/test_b.py"}
    assert task.hidden.command == ("pytest", "-q", "secret")
    assert "secret/test_b.py" not in task.tree.files
    assert task.public().hidden is None
    assert task.public().folder is None, "the hidden files still lie there"
    assert (task.family, task.prompt, task.limits.wall_s) == ("f", "p", 5)
    assert task.may_edit("src/x.py")
    assert not task.may_edit("a.py")
    assert "assert 42" not in task.describe()


def test_a_hidden_file_stays_executable(tmp_path: Path) -> None:
    root = lay_out(tmp_path, a_py="", check_py="#!/bin/sh\n")
    (root / "check.py").chmod(0o755)
    task = Task.from_folder(root, hidden="sh check.py")
    assert task.hidden is not None
    assert task.hidden.tree.executable == {"check.py"}


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    root = lay_out(tmp_path, a_py="", checks__c_py="", task_toml='[tests]\ncommand = "x"\n')
    task = Task.from_folder(root, test='pytest -k "a b"', hidden="pytest checks", hidden_dir="checks/", prompt="q")
    assert task.command == ("pytest", "-k", "a b")
    assert task.hidden is not None
    assert task.hidden.command == ("pytest", "checks")
    assert set(task.tree.files) == {"a.py", "task.toml"}


def test_the_projects_own_interpreter_is_found(tmp_path: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (tmp_path / "a.py").write_text("")
    assert Task.from_folder(tmp_path).python == python


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        "nonsense = 1\n",
        '[hidden]\nfolder = "x"\n',
        "[sandbox]\nwall_s = 'long'\n",
        "id = 3\n",
        "editable = ['!src/generated']\n",
        "editable = ['/src']\n",
        "editable = ['src/**.py']\n",
        "[tests]\nfiles = ['../tests']\n",
        "[sandbox]\nnetwork = ['example.org']\n",
        "[sandbox]\nnetwork = 'example.org:443'\n",
    ],
)
def test_a_wrong_task_file_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(TaskError, match=r"task\.toml can't be used"):
        Task.from_folder(lay_out(tmp_path, task_toml=text))


def test_a_task_may_list_hosts(tmp_path: Path) -> None:
    listed = "[sandbox]\nnetwork = ['B.example:443', '127.0.0.1:80']\n"
    task = Task.from_folder(lay_out(tmp_path, task_toml=listed))
    assert task.limits.network == ("127.0.0.1:80", "b.example:443")


@pytest.mark.parametrize(("text", "message"), [("", "empty"), ('pytest "', "can't be split")])
def test_a_command_that_can_not_be_split_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        split_command(text)


def test_a_hidden_folder_outside_or_missing_is_refused(tmp_path: Path) -> None:
    root = lay_out(tmp_path, a_py="")
    with pytest.raises(TaskError, match="not a folder"):
        Task.from_folder(root, hidden_dir="nowhere")
    with pytest.raises(Exception, match="outside the tree"):
        Task.from_folder(root, hidden_dir="../x")


@pytest.mark.parametrize(
    "command", ["pytest -q deep/secret", "pytest deep/secret/test_x.py::test_a", "pytest deep/secret/"]
)
def test_the_path_that_a_hidden_command_names_is_hidden(tmp_path: Path, command: str) -> None:
    root = lay_out(tmp_path, a_py="", deep__secret__test_x_py="assert 1")
    task = Task.from_folder(root, hidden=command)
    assert task.hidden is not None
    assert set(task.hidden.tree.files) == {"deep/secret/test_x.py"}
    assert set(task.tree.files) == {"a.py"}


@pytest.mark.parametrize("name", ["checks[1]", "che?ks", "checks*"])
def test_what_is_hidden_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "test_x.py").write_text("assert 1")
    task = Task.from_folder(lay_out(tmp_path, a_py=""), hidden_dir=name)
    assert task.hidden is not None
    assert (set(task.tree.files), set(task.hidden.tree.files)) == ({"a.py"}, {f"{name}/test_x.py"})


def test_a_hidden_command_that_names_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be told"):
        Task.from_folder(lay_out(tmp_path, a_py=""), hidden="pytest -m secret")


def test_a_folder_that_may_not_be_read_is_named(open_folder: Path, request: pytest.FixtureRequest) -> None:
    lay_out(open_folder, a_py="")
    (open_folder / "closed").mkdir(mode=0)
    request.getfixturevalue("powerless")
    with pytest.raises(TaskError, match=r"closed can't be read: Permission denied"):
        Task.from_folder(open_folder)
