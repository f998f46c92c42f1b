"""Instances in SWE-bench's form (Jimenez et al., arXiv 2310.06770), from local git clones without their history.

The repository comes from a local clone, as the files of that commit and nothing else: no history, in which the fix
could be read. The published patch is never read.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import Field, field_validator

from groundwire.benchmarks._base import Item, find_file, read_rows
from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import TEST_GLOBS, Hidden, Task
from groundwire.logs._rows import LogRow

# Local git clones: the files of a commit without its history, and patches applied to them.

TIMEOUT_S = 300
SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never")
"""Nothing that a clone's configuration names is started, and nothing is fetched."""


def clone_of(repos: Path, name: str) -> Path:
    """The clone of `OWNER/NAME` in a folder.

    Raises:
        TaskError: there is none, or the name leads elsewhere.
    """
    owner, _, repo = name.partition("/")
    if {owner, repo} & {"", ".", ".."}:
        raise TaskError(f"{name!r} is not a repository name.", do="Write OWNER/NAME.")
    for place in (f"{owner}__{repo}", f"{owner}/{repo}", repo):
        folder = repos / place
        if (folder / ".git").exists() or (folder / "objects").is_dir():
            return folder
    raise TaskError(
        f"There is no clone of {name} in {repos}.",
        do=f"Make one:  git clone https://github.com/{name} {repos / f'{owner}__{repo}'}",
    )


def check_out(clone: Path, commit: str, folder: Path) -> None:
    """Writes the files of a commit into an empty folder: no `.git`, so no history comes with them.

    Raises:
        TaskError: the clone lacks the commit, or git is missing.
    """
    index = {"GIT_INDEX_FILE": str(folder / ".git-index")}
    where = ("--git-dir", str(clone / ".git" if (clone / ".git").exists() else clone), "--work-tree", str(folder))
    for arguments in (["read-tree", f"{commit}^{{tree}}"], ["checkout-index", "--all", "--force"]):
        done = _git([*where, *arguments], folder, index)
        if done.returncode:
            raise TaskError(
                f"The commit {commit} can't be read from {clone}: {done.stderr.strip()[:300]}",
                do="Fetch it into the clone.",
            )
    (folder / ".git-index").unlink(missing_ok=True)


def apply_patch(folder: Path, patch: str, where: str) -> list[str]:
    """Applies a patch to files that are in no repository.

    Returns:
        The paths that it touches.

    Raises:
        TaskError: it does not apply; with its place.
    """
    done = _git(["apply", "--whitespace=nowarn", "-"], folder, {}, patch)
    if done.returncode:
        raise TaskError(
            f"{where}: the patch does not apply: {done.stderr.strip()[:300]}", do="Check base_commit and patch."
        )
    return sorted(set(re.findall(r"^\+\+\+ b/(.+?)\t?$", patch, flags=re.MULTILINE)))


def _git(
    arguments: Sequence[str], folder: Path, env: Mapping[str, str], given: str = ""
) -> subprocess.CompletedProcess[str]:
    clean = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.run(
            ["git", *SAFE, *arguments],
            cwd=folder,
            env={**clean, **own, **env},
            input=given,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise TaskError(f"git can't be used: {error}.", do="Install git.") from error


# Instances in SWE-bench's form (Jimenez et al., arXiv 2310.06770): a repository at a commit, an issue, a test patch.

PYTEST = ("python", "-m", "pytest", "-q")


class SweBenchRow(LogRow):
    """What is read of an instance: everything but its patch."""

    instance_id: str = Field(min_length=1)
    repo: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    base_commit: str = Field(pattern=r"^[0-9a-f]{7,64}$")
    problem_statement: str = Field(min_length=1)
    test_patch: str = Field(min_length=1)
    fail_to_pass: tuple[str, ...] = Field(alias="FAIL_TO_PASS", min_length=1)
    pass_to_pass: tuple[str, ...] = Field(default=(), alias="PASS_TO_PASS")

    @field_validator("fail_to_pass", "pass_to_pass", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """A list, or the JSON text of one: it is published in both forms."""
        found: object = json.loads(value) if isinstance(value, str) else value
        return tuple(str(one) for one in found) if isinstance(found, list) else found  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


@dataclass(frozen=True)
class SweBench:
    """Visible: the tests of PASS_TO_PASS that the commit has already. Hidden: the patched test files, with the tests of
    FAIL_TO_PASS and PASS_TO_PASS.

    Tests are pytest's. The dependencies of a repository are the caller's: name an interpreter that has them, or an
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
        path = data if data.is_file() else find_file(data, self.files, self)
        for row, where in read_rows(SweBenchRow, path, self.name):
            yield Item(self._task(row, where))

    def _task(self, row: SweBenchRow, where: str) -> Task:
        clone = clone_of(self.repos, row.repo)
        with TemporaryDirectory(prefix="groundwire-swe-") as folder:
            root = Path(folder)
            check_out(clone, row.base_commit, root)
            tree = Tree.from_folder(root)
            patched = apply_patch(root, row.test_patch, where)
            hidden = Tree({path: (root / path).read_bytes() for path in patched if (root / path).is_file()})
        wanted = (*row.fail_to_pass, *row.pass_to_pass)
        missing = sorted({_file(t) for t in wanted} - {*tree.files, *hidden.files})
        if missing or any(test.startswith("-") for test in wanted):
            raise TaskError(
                f"{where}: the tests of {row.instance_id} are in no file of the repository: {', '.join(missing[:3])}.",
                do="Give ids as pytest prints them: path/to/test_file.py::test_name.",
            )
        return Task(
            id=row.instance_id,
            family=row.repo,
            prompt=row.problem_statement,
            tree=tree,
            command=(*PYTEST, *_known(row.pass_to_pass, tree)),
            test_files=(*TEST_GLOBS, *sorted({_file(t) for t in wanted})),
            hidden=Hidden((*PYTEST, *wanted), hidden),
            limits=self.limits,
        )


def _file(test: str) -> str:
    return test.partition("::")[0]


def _known(tests: Sequence[str], tree: Tree) -> list[str]:
    """Those that stand in the tree; the rest come with the test patch, which is hidden."""
    found: list[str] = []
    for test in tests:
        name = re.sub(r"\[.*\Z", "", test.rpartition("::")[2], flags=re.DOTALL)
        text = tree.files.get(_file(test), b"").decode(errors="replace")
        if name and re.search(rf"\bdef {re.escape(name)}\b", text):
            found.append(test)
    return found
