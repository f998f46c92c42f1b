"""A work tree as it is judged: by a commit's tests, whatever was made of them since."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli import BUGGY, lay_out
from work_trees import RIGHT, WRONG, committed, git, mend

from groundwire.cli.coding_agents._work_tree import WorkTree, commit_of, top_of
from groundwire.core._errors import TaskError

TESTS = "tests/test_price.py"
LAX = "def test_some():\n    pass\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return committed(tmp_path / "shop project")


def read(project: Path, tests_from: str = "HEAD", **flags: str) -> WorkTree:
    return WorkTree.read(project, flags, tests_from=commit_of(project, tests_from))


def test_what_was_changed_is_the_candidate_and_tests_of_the_commit_count(project: Path) -> None:
    mend(project)
    lay_out(project, {TESTS: LAX, "conftest.py": "x = 1\n", "tests/test_new.py": LAX, "data.json": "{}\n"})
    work = read(project)
    assert work.candidate.changes == {"shop/price.py": RIGHT.encode(), "data.json": b"{}\n"}
    assert work.left_out == ("conftest.py", "tests/test_new.py", TESTS)
    assert work.task.tree.files[TESTS] == BUGGY[TESTS].encode()
    assert (work.task.id, work.task.folder) == ("shop project", project.resolve())
    assert work.to_repair.tree.files["shop/price.py"] == RIGHT.encode()


def test_a_commit_of_the_agents_own_does_not_move_a_commit_that_was_noted(project: Path) -> None:
    noted = commit_of(project, "HEAD")
    lay_out(project, {TESTS: LAX})
    git(project, "commit", "-qam", "tests pass now")
    assert WorkTree.read(project, {}, tests_from=noted).task.tree.files[TESTS] == BUGGY[TESTS].encode()
    assert read(project).task.tree.files[TESTS] == LAX.encode()


def test_neither_configuration_nor_the_command_is_the_agents(project: Path) -> None:
    lay_out(
        project,
        {
            "pyproject.toml": '[tool.groundwire]\ntest = "true"\n[tool.pytest.ini_options]\naddopts = "-k nothing"\n',
            "task.toml": '[tests]\ncommand = "true"\n',
            "sitecustomize.py": "",
            ".gitattributes": "* ident\n",
        },
    )
    work = read(project)
    assert work.left_out == ("pyproject.toml", "sitecustomize.py", "task.toml")
    assert work.task.command == ("python", "-m", "pytest", "-q")
    assert "pyproject.toml" not in work.task.tree.files
    plain = read(project, "worktree")
    assert plain.task.command == ("true",), "whoever asks for the work tree's own gets them"


def test_what_a_filter_or_a_replacement_would_show_is_not_what_the_commit_holds(project: Path) -> None:
    git(project, "config", "filter.lax.smudge", "echo pass")
    git(project, "config", "core.fsmonitor", "touch started; true")
    lay_out(project, {"replacement": LAX, ".git/info/attributes": "*.py filter=lax\n"})
    blob = git(project, "rev-parse", f"HEAD:{TESTS}").strip()
    other = git(project, "hash-object", "-w", "--no-filters", "replacement").strip()
    git(project, "replace", blob, other)
    (project / "replacement").unlink()
    (project / "started").unlink(missing_ok=True)
    assert read(project).task.tree.files[TESTS] == BUGGY[TESTS].encode()
    assert not (project / "started").exists()


def test_what_git_ignores_belongs_to_the_surroundings(project: Path) -> None:
    lay_out(project, {".gitignore": "built/\n*.log\n"})
    git(project, "add", "-A")
    git(project, "commit", "-qm", "ignores")
    lay_out(project, {"built/fast.so": "x", "run.log": "y", "built/conftest.py": "import os; os._exit(0)"})
    work = read(project)
    assert work.candidate.is_base
    assert {"built/fast.so", "run.log"} <= work.task.tree.files.keys()
    assert work.left_out == ("built/conftest.py",), "a test that git ignores is one all the same"


def test_modes_links_and_deleted_files(project: Path) -> None:
    lay_out(project, {"tool.sh": "#!/bin/sh\n", "old.py": ""})
    (project / "again.sh").symlink_to("tool.sh")
    (project / "away").symlink_to("/etc/hostname")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "more")
    assert read(project).candidate.is_base, "a link within stands for what it leads to, one that leads out for nothing"
    (project / "tool.sh").chmod(0o755)
    (project / "old.py").unlink()
    work = read(project)
    assert work.candidate.changes["old.py"] is None
    assert work.candidate.modes["tool.sh"] is True


def test_a_folder_of_a_repository_is_a_project_of_its_own(project: Path) -> None:
    committed_inner = project / "packages" / "inner"
    lay_out(committed_inner, BUGGY)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "inner")
    mend(committed_inner)
    work = read(committed_inner)
    assert work.candidate.changes == {"shop/price.py": RIGHT.encode()}
    assert top_of(committed_inner) == project.resolve()


def test_without_a_commit_the_work_trees_own_tests_count(tmp_path: Path) -> None:
    lay_out(tmp_path, BUGGY)
    assert commit_of(tmp_path, "HEAD") == ""
    git(tmp_path, "init", "-q")
    assert commit_of(tmp_path, "HEAD") == ""
    assert read(tmp_path).candidate.is_base
    for name in ("main", "--help", "HEAD:x", "a\nb"):
        with pytest.raises(TaskError, match="has no commit"):
            commit_of(tmp_path, name)


def test_a_repository_that_git_cannot_read_is_not_taken_for_none(project: Path) -> None:
    (project / ".git/HEAD").unlink()
    with pytest.raises(TaskError, match="Whose tests judge"):
        commit_of(project, "HEAD")
    assert commit_of(project, "worktree") == ""


def test_hidden_tests_are_hidden_whoever_keeps_them(project: Path) -> None:
    lay_out(project, {"secret/test_h.py": LAX, ".gitignore": "secret/\n"})
    git(project, "add", "-A")
    git(project, "commit", "-qm", "ignored")
    mend(project)
    work = read(project, hidden_dir="secret")
    assert work.task.hidden is not None
    assert list(work.task.hidden.tree.files) == ["secret/test_h.py"]
    shown = {*work.task.tree.files, *work.candidate.changes, *work.left_out}
    assert not [path for path in shown if "secret" in path]


PATCH = """--- a/shop/price.py
+++ b/shop/price.py
@@ -1,5 +1,5 @@
 def total(prices):
     result = 0
     for price in prices:
-        result -= price
+        result += price
     return result
"""


def test_a_patch_is_judged_with_the_work_tree(project: Path) -> None:
    work = WorkTree.read(project, {}, tests_from=commit_of(project, "HEAD"), patch=PATCH)
    assert work.candidate.changes == {"shop/price.py": RIGHT.encode()}
    assert (project / "shop/price.py").read_text() == WRONG, "nothing is written"


@pytest.mark.parametrize(
    "patch",
    [
        "no patch",
        PATCH.replace("shop/", "../../"),
        PATCH.replace("a/shop", "/etc").replace("b/shop", "/etc"),
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
        "\\ No newline at end of file\n"
        "diff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+a\n",
        "x" * 1_048_577,
    ],
)
def test_a_patch_that_leads_out_is_none(patch: str, project: Path) -> None:
    before = sorted(Path("/etc").iterdir())
    with pytest.raises(TaskError, match="patch"):
        WorkTree.read(project, {}, tests_from="", patch=patch)
    assert sorted(Path("/etc").iterdir()) == before
