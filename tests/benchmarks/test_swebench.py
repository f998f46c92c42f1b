"""Instances in the form of SWE-bench and its kin, on a real repository with a real bug and its real fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from judging import by_hidden, by_visible
from swe_rows import BEFORE, FIX, git, instance, r2e, repository, smith, written

from groundwire.benchmarks import Item, SweBench, benchmark
from groundwire.benchmarks._case_ids import node_ids
from groundwire.core._candidates import Tree
from groundwire.core._errors import ConfigError, RecordingError, TaskError
from groundwire.core._signals import Verdict
from groundwire.graphs.run._sandboxes import Sandboxes


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return repository(tmp_path / "repos")


def items(clone: Path, **fields: Any) -> list[Item]:
    return list(benchmark("swebench", repos=clone.parent).items(written(clone, instance(clone, **fields))))


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


ATTACKS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "an edited test": {"pages/split.py": FIX, "tests/test_split.py": BEFORE["tests/test_split.py"]},
    "a conftest that passes it all": {"conftest.py": "import pytest\n\n@pytest.hookimpl(hookwrapper=True)\n"
                                      "def pytest_runtest_makereport(item, call):\n    out = yield\n"
                                      "    out.get_result().outcome = 'passed'\n"},
    "a test that passed breaks": {"pages/split.py": FIX.replace("return", "return 7 if n == 10 else")},
    "a test that passed is skipped": {"pages/split.py": FIX, "pages/more.py": None},
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_does_not_resolve_the_issue_is_no_pass(attack: str, clone: Path) -> None:
    (item,) = items(clone)
    boxes = Sandboxes(None)
    try:
        files = {path: text and text.encode() for path, text in ATTACKS[attack].items()}
        wanted = Verdict.NONE if "skipped" in attack else Verdict.FAIL
        assert await by_hidden(item.task, files, boxes) is wanted
    finally:
        await boxes.aclose()


@pytest.mark.parametrize("form", [instance, smith, r2e])
async def test_each_form_passes_with_its_own_solution_alone(form: Any, clone: Path) -> None:
    data = SweBench(clone.parent)
    ((row, where),) = data.rows(written(clone, form(clone)))
    item, solution = data.solved(row, where)
    (unsolved,) = data.items(written(clone, form(clone)))
    assert unsolved == item
    assert dict(solution.changes) == {"pages/split.py": FIX.encode()}
    assert b"test_rest" not in b"".join(item.task.tree.files.values()), "what judges is not in sight"
    boxes = Sandboxes(None)
    try:
        assert await by_hidden(item.task, {}, boxes) is Verdict.FAIL
        assert await by_hidden(item.task, solution.changes, boxes) is Verdict.PASS
        assert await by_visible(item.task, {}, boxes) is Verdict.PASS or form is r2e
    finally:
        await boxes.aclose()


def test_a_row_names_its_image(clone: Path) -> None:
    rows = [smith(clone), r2e(clone), instance(clone), instance(clone, instance_id="2", docker_image="acme/pages:2")]
    named = [item.image for item in benchmark("swebench", repos=clone.parent).items(written(clone, *rows))]
    assert named == ["acme/pages:1", "acme/pages_final:1", "", "acme/pages:2"]


def test_a_mirror_is_used_as_it_is(clone: Path) -> None:
    mirror = clone.parent / "swesmith" / "acme__pages.01234567.git"
    git(clone, "clone", "--quiet", "--bare", str(clone), str(mirror))
    row = smith(clone, repo="swesmith/acme__pages.01234567")
    assert [item.task.id for item in benchmark("swebench", repos=clone.parent).items(written(clone, row))] == [
        "acme__pages.smith-1"
    ]


def test_a_link_in_a_test_patch_leads_nowhere(clone: Path) -> None:
    patch = instance(clone)["test_patch"] + (
        "diff --git a/tests/leak.txt b/tests/leak.txt\nnew file mode 120000\nindex 0000000..1\n--- /dev/null\n"
        "+++ b/tests/leak.txt\n@@ -0,0 +1 @@\n+/etc/hostname\n\\ No newline at end of file\n"
    )
    (item,) = items(clone, test_patch=patch)
    assert item.task.hidden and set(item.task.hidden.tree.files) == {"tests/test_split.py"}


TESTS = Tree({
    "tests/test_a.py": b"def test_one():\n    pass\n\n\nclass A:\n    def test_two(self):\n        pass\n",
    "tests/test_b.py": b"def test_one():\n    pass\n\n\ndef test_three():\n    pass\n",
})  # fmt: skip


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("tests/test_a.py::test_one", "tests/test_a.py::test_one"),
        ("tests/test_a.py::test_one[a b]", "tests/test_a.py::test_one[a b]"),
        ("tests/test_a.py::test_one[a", "tests/test_a.py::test_one"),
        ("test_three", "tests/test_b.py::test_three"),
        ("test_three[1]", "tests/test_b.py::test_three[1]"),
        ("A.test_two", "tests/test_a.py::A::test_two"),
        ("test_two (tests.test_a.A)", "tests/test_a.py::A::test_two"),
        ("test_two (tests.test_a.A.test_two)", "tests/test_a.py::A::test_two"),
    ],
)
def test_a_test_is_found_by_what_rows_call_it(name: str, id: str) -> None:
    assert node_ids([name], Tree(), TESTS, "row") == [id]


@pytest.mark.parametrize(
    ("name", "tree", "message"),
    [
        ("test_one", {}, "stands for several tests: tests/test_a.py::test_one, tests/test_b.py::test_one"),
        ("test_four", {}, "in no file of the repository: 'test_four'"),
        ("test_it (admin.tests.Case)", {"tests/runtests.py": b""}, "only tests/runtests.py can run these tests"),
        ("--pdb", {}, "in no file"),
        ("-p x::y", {}, "in no file"),
    ],
)
def test_a_test_that_can_t_be_told_is_refused(name: str, tree: dict[str, bytes], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        node_ids([name], Tree(tree), TESTS, "row")


def test_what_a_clones_configuration_names_is_not_started(clone: Path, tmp_path: Path) -> None:
    hook = clone / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (clone / ".gitattributes").write_text("*.py filter=own\n")
    git(clone, "add", ".gitattributes")
    git(clone, "commit", "--quiet", "-m", "filters")
    git(clone, "config", "filter.own.smudge", f"touch {tmp_path}/ran; cat")
    git(clone, "config", "core.fsmonitor", f"touch {tmp_path}/ran;")
    head = git(clone, "rev-parse", "HEAD").strip()
    assert items(clone, base_commit=head, test_patch="")
    assert not (tmp_path / "ran").exists()


WRONG = {
    "no such commit": ({"base_commit": "0" * 40}, TaskError, "can't be read from"),
    "an option for a commit": ({"base_commit": "--help"}, RecordingError, "base_commit"),
    "no clone": ({"repo": "acme/books"}, TaskError, "no clone of acme/books"),
    "out of the folder": ({"repo": "../pages"}, TaskError, "is not a repository name"),
    "another patch": ({"test_patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}, TaskError, "does not apply"),
    "no test that fails": ({"FAIL_TO_PASS": "[]"}, RecordingError, "FAIL_TO_PASS"),
    "a test that is nowhere": ({"FAIL_TO_PASS": ["tests/other.py::test_x"]}, TaskError, "in no file"),
    "a repository that a name only ends like": ({"repo": "acme/.."}, TaskError, "is not a repository name"),
    "no words": ({"problem_statement": ""}, RecordingError, "problem_statement"),
    "tests that are no list": ({"FAIL_TO_PASS": "test_rest"}, RecordingError, "FAIL_TO_PASS"),
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
