"""Instances in the form of SWE-bench and of the sets made like it, as tasks, from local git clones.

The repository comes from a local clone, as the files of one commit and nothing else: no history, in which the fix could
be read. Three forms of rows are read, each by the fields that its own documentation names:

- SWE-bench (Jimenez et al., arXiv 2310.06770), SWE-Gym, SWE-rebench and their kin: `base_commit`, and a `test_patch`
  that is applied for judging alone. Their `patch` is the solution.
- SWE-smith (Yang et al., arXiv 2504.21798): no commit; `patch` makes the bug, in a mirror `…/OWNER__NAME.COMMIT`.
- R2E-Gym (Jain et al., arXiv 2504.07164): `commit_hash` is the fix, whose first parent the task begins with; its tests
  come with the row, and `expected_output_json` says which of them pass then.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, ConfigDict, Field

from groundwire.benchmarks._base import Item, find_file, read_rows
from groundwire.benchmarks._case_ids import file_of, node_ids
from groundwire.benchmarks._git_trees import apply_patch, check_out, clone_of
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._errors import TaskError
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import TEST_GLOBS, Hidden, Task
from groundwire.logs._rows import LogRow, checked

PYTEST = ("python", "-m", "pytest", "-q")
R2E_TESTS = "r2e_tests"
"""The folder that R2E-Gym's tests lie in when they judge."""
_COMMIT_IN_NAME = re.compile(r"^(?:[\w-]+/)?(.+)\.([0-9a-f]{7,40})$")


def _parsed(value: object) -> object:
    """A value, or the JSON text of one: both are published."""
    return json.loads(value) if isinstance(value, str) else value


def _names(value: object) -> object:
    found = _parsed(value)
    if found is None:
        return ()
    return tuple(str(one) for one in cast("list[object]", found)) if isinstance(found, list | tuple) else found


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


@dataclass(frozen=True)
class Laid:
    """What a row is made of, once its repository is there.

    Args:
        tree: what actors and the sandbox get.
        hidden: the files that are laid over it for the last judging.
        solved: the tree as the row's own solution leaves it.
    """

    tree: Tree
    hidden: Tree
    solved: Tree


class SweRow(LogRow):
    """What all forms share."""

    instance_id: str = Field(min_length=1)
    repo: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    problem_statement: str = Field(min_length=1)
    fail_to_pass: Names = Field(alias="FAIL_TO_PASS", min_length=1)
    pass_to_pass: Names = Field(default=(), alias="PASS_TO_PASS")
    image: Text = Field(default="", alias="image_name")

    @abstractmethod
    def laid(self, repos: Path, where: str, *, solved: bool) -> Laid:
        """Reads the repository.

        Args:
            repos: folder of clones.
            where: the row's place, for messages.
            solved: the solution is wanted too.

        Raises:
            TaskError: the clone, its commit or a patch can't be used.
        """


class SweBenchRow(SweRow):
    """SWE-bench's own form."""

    base_commit: str = Field(pattern=r"^[0-9a-f]{7,64}$")
    patch: Text = ""
    test_patch: Text = ""
    image: Text = Field(default="", alias="docker_image")

    def laid(self, repos: Path, where: str, *, solved: bool) -> Laid:
        """See `SweRow`."""
        clone = clone_of(repos, self.repo)
        with TemporaryDirectory(prefix="groundwire-swe-") as folder, TemporaryDirectory(prefix="groundwire-") as fixed:
            root = Path(folder)
            check_out(clone, self.base_commit, root)
            tree = solution = Tree.from_folder(root)
            patched = apply_patch(root, self.test_patch, where) if self.test_patch else []
            hidden = Tree({path: (root / path).read_bytes() for path in patched if _is_plain(root / path)})
            if solved:
                check_out(clone, self.base_commit, Path(fixed))
                apply_patch(Path(fixed), self.patch, where)
                solution = Tree.from_folder(Path(fixed))
            return Laid(tree, hidden, solution)


class SweSmithRow(SweRow):
    """SWE-smith's: the bug is made, and the tests that notice it are kept from sight."""

    patch: str = Field(min_length=1)

    def laid(self, repos: Path, where: str, *, solved: bool) -> Laid:
        """See `SweRow`."""
        clone, commit = self._clone(repos)
        with TemporaryDirectory(prefix="groundwire-swe-") as folder:
            root = Path(folder)
            check_out(clone, commit, root)
            healthy = Tree.from_folder(root)
            apply_patch(root, self.patch, where)
            broken = Tree.from_folder(root)
        noticing = {file_of(test) for test in self.fail_to_pass} & healthy.files.keys()
        hidden = Tree({path: healthy.files[path] for path in noticing})
        shown = {path: content for path, content in broken.files.items() if path not in noticing}
        return Laid(Tree(shown, broken.executable & shown.keys()), hidden, healthy)

    def _clone(self, repos: Path) -> tuple[Path, str]:
        """The mirror as it is, or else the repository at the commit that the mirror's name ends with."""
        try:
            return clone_of(repos, self.repo), "HEAD"
        except TaskError:
            named = _COMMIT_IN_NAME.match(self.repo)
            if named is None or "__" not in named[1]:
                raise
            return clone_of(repos, named[1].replace("__", "/", 1)), named[2]


class R2eRow(SweRow):
    """R2E-Gym's: tests come with the row."""

    model_config = ConfigDict(populate_by_name=True)

    instance_id: str = ""
    repo: str = Field(alias="repo_name", pattern=r"^[\w.-]+(/[\w.-]+)?$")
    commit_hash: str = Field(pattern=r"^[0-9a-f]{7,64}$")
    fail_to_pass: Names = ()
    expected: Annotated[dict[str, str], BeforeValidator(_parsed)] = Field(alias="expected_output_json", min_length=1)
    execution: Annotated[dict[str, Any], BeforeValidator(_parsed)] = Field(alias="execution_result_content")
    image: Text = Field(default="", alias="docker_image")

    def laid(self, repos: Path, where: str, *, solved: bool) -> Laid:
        """See `SweRow`."""
        clone = clone_of(repos, self.repo)
        with TemporaryDirectory(prefix="groundwire-swe-") as folder, TemporaryDirectory(prefix="groundwire-") as fixed:
            check_out(clone, f"{self.commit_hash}^", Path(folder))
            tree = Tree.from_folder(Path(folder))
            if solved:
                check_out(clone, self.commit_hash, Path(fixed))
            return Laid(tree, self._tests(where), Tree.from_folder(Path(fixed)) if solved else tree)

    def _tests(self, where: str) -> Tree:
        names, texts = self.execution.get("test_file_names"), self.execution.get("test_file_codes")
        if not isinstance(names, list) or not isinstance(texts, list) or not names or len(names) != len(texts):  # pyright: ignore[reportUnknownArgumentType]
            raise TaskError(
                f"{where}: its tests can't be read: execution_result_content has no test_file_names with their"
                " test_file_codes.",
                do="Export the row with its fields unchanged.",
            )
        pairs = zip(cast("list[object]", names), cast("list[object]", texts), strict=True)
        return Tree({f"{R2E_TESTS}/{Path(str(name)).name}": str(text).encode() for name, text in pairs})

    def named(self) -> R2eRow:
        """With what the other forms say in fields of their own."""
        passing = tuple(sorted(name for name, result in self.expected.items() if result == "PASSED"))
        id = f"{self.repo.replace('/', '__')}-{self.commit_hash[:12]}"
        return self.model_copy(update={"instance_id": self.instance_id or id, "fail_to_pass": passing})


class _AnyRow(LogRow):
    model_config = ConfigDict(extra="allow")


def _row_of(fields: Mapping[str, Any], where: str) -> SweRow:
    of = "instances in SWE-bench's, SWE-smith's or R2E-Gym's form"
    if "commit_hash" in fields and "base_commit" not in fields:
        return checked(R2eRow, fields, where, of).named()
    is_smith = "base_commit" not in fields and "image_name" in fields
    image = fields.get("docker_image") or fields.get("image_name")
    return (
        checked(SweSmithRow, fields, where, of)
        if is_smith
        else checked(SweBenchRow, {**fields, "docker_image": image}, where, of)
    )


@dataclass(frozen=True)
class SweBench:
    """Visible: the tests of PASS_TO_PASS that the commit has already. Hidden: the patched test files, with the tests of
    FAIL_TO_PASS and PASS_TO_PASS, of which each has to pass.

    Tests are run by pytest. The dependencies of a repository are the caller's: name an interpreter that has them, or an
    image (`--python`, `--image`).

    Args:
        repos: folder of clones.
        limits: ceilings of one judging.
    """

    repos: Path
    limits: Limits = Limits(wall_s=600, cpu_s=600)
    name: str = "swebench"
    files: tuple[str, ...] = ("instances.jsonl",)
    download: str = "https://huggingface.co/datasets/SWE-bench (export it as JSON lines, fields unchanged)"
    repairs: bool = False

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`. Further errors: TaskError where a clone, its commit or a test id can't be used."""
        for row, where in self.rows(data):
            yield Item(self._task(row, row.laid(self.repos, where, solved=False), where), image=row.image)

    def rows(self, data: Path) -> Iterator[tuple[SweRow, str]]:
        """The rows, each with its place for messages.

        Raises:
            RecordingError: the file is damaged, or a row lacks something.
        """
        path = data if data.is_file() else find_file(data, self.files, self)
        for row, where in read_rows(_AnyRow, path, self.name):
            yield _row_of(row.model_extra or {}, where), where

    def solved(self, row: SweRow, where: str) -> tuple[Item, Candidate]:
        """A row's task with the row's own solution, for checking that it is sound; no run reads that.

        Args:
            row: of `rows`.
            where: its place.

        Raises:
            TaskError: it can't be had, or changes nothing that a candidate may.
        """
        laid = row.laid(self.repos, where, solved=True)
        task = self._task(row, laid, where)
        before, after = task.tree.files, laid.solved.files
        kept = {path for path in {*before, *after} if task.may_edit(path) and path not in laid.hidden.files}
        changes = {path: after.get(path) for path in kept if before.get(path) != after.get(path)}
        if not changes:
            raise TaskError(
                f"{where}: the solution of {task.id} changes nothing that a candidate may.", do="Check its patch."
            )
        return Item(task, image=row.image), Candidate(task.tree.digest, changes)

    def _task(self, row: SweRow, laid: Laid, where: str) -> Task:
        wanted = node_ids((*row.fail_to_pass, *row.pass_to_pass), laid.tree, laid.hidden, where)
        steady = [test for test in wanted if test not in node_ids(row.fail_to_pass, laid.tree, laid.hidden, where)]
        return Task(
            id=row.instance_id,
            family=row.repo,
            prompt=row.problem_statement,
            tree=laid.tree,
            command=(*PYTEST, *_known(steady, laid.tree)),
            editable=("**",),
            test_files=(*TEST_GLOBS, *sorted({file_of(test) for test in wanted})),
            hidden=Hidden((*PYTEST, *wanted), laid.hidden),
            limits=self.limits,
        )


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _known(tests: Sequence[str], tree: Tree) -> list[str]:
    """Those that stand in the tree; the rest come with the test patch, which is hidden."""
    found: list[str] = []
    for test in tests:
        name = re.sub(r"\[.*\Z", "", test.rpartition("::")[2], flags=re.DOTALL)
        text = tree.files.get(file_of(test), b"").decode(errors="replace")
        if name and re.search(rf"\bdef {re.escape(name)}\b", text):
            found.append(test)
    return found
