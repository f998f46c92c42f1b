"""A project as it stands, and whose tests judge it: those of a commit, or those that lie in the work tree.

Whoever is judged must not choose what judges. Where there is a commit, its tests and configuration count, and what of
these was changed, added or deleted since is left out and named. Objects are read from git by their ids, so that no
filter, hook or attribute of the repository has a say in what they hold.
"""

from __future__ import annotations

import os
import posixpath
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from groundwire.cli._judging import patched
from groundwire.core._candidates import IGNORED_FOLDERS, IGNORED_SUFFIXES, MAX_TREE_BYTES, Candidate, Tree, check_path
from groundwire.core._errors import CandidateError, TaskError
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task, project_python
from groundwire.core._text import plain

WORK_TREE = "worktree"
"""In the place of a commit: the tests that lie in the work tree judge."""
MOST_PATCH_BYTES = 1024 * 1024
_GIT_SECONDS = 60
_SAFE = ("--no-replace-objects", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""Nothing that the repository's configuration names is started, and each id stands for its own object."""
_LINK, _SUBMODULE = "120000", "160000"


@dataclass(frozen=True)
class WorkTree:
    """What is judged, and by which tests.

    Args:
        settings: what was asked for, and what the project's own pyproject.toml adds: that of the commit, if there is
            one.
        task: the files that the change begins from, with the tests that count.
        candidate: what differs from these.
        tests_from: the commit whose tests count; empty: those of the work tree.
        left_out: tests and configuration that differ from what counts, and whatever else a candidate may not change.
    """

    settings: Settings
    task: Task
    candidate: Candidate
    tests_from: str
    left_out: tuple[str, ...]

    @property
    def to_repair(self) -> Task:
        """The project as it stands, with the tests that count: what a repair begins from."""
        return replace(self.task, tree=self.candidate.applied_to(self.task.tree))

    @classmethod
    def read(cls, folder: Path, flags: Mapping[str, Any], *, tests_from: str = "", patch: str = "") -> WorkTree:
        """Reads a project.

        Args:
            folder: its root.
            flags: settings that were asked for: the commands that judge, the interpreter, …
            tests_from: a commit (`commit_of`) whose tests count; empty: those of the work tree.
            patch: a change to the work tree that is judged with it, as `git diff` writes it.

        Raises:
            TaskError: the folder, its task.toml or the patch can't be used.
            ConfigError: a setting is wrong.
        """
        present = Tree.from_folder(folder)
        if tests_from:
            settings, task = _of_commit(folder, present, tests_from, flags)
        else:
            settings = Settings.resolve(flags, project=folder)
            task = _task(folder, folder, settings)
        if patch:
            if len(patch.encode("utf-8", "surrogatepass")) > MOST_PATCH_BYTES:
                raise TaskError(f"The patch is longer than {MOST_PATCH_BYTES >> 20} MiB.", do="Judge the work tree.")
            try:
                present = patched(present, patch, "work tree")
            except TaskError as error:
                do = "Give a unified diff, as `git diff` prints it, against the work tree as it stands."
                raise TaskError(error.what, do=do) from error
        hidden: Mapping[str, bytes] = task.hidden.tree.files if task.hidden else {}
        changes, modes = _difference(task.tree, _without(present, hidden))
        left_out = tuple(sorted(path for path in changes if not _may_count(task, path)))
        changes = {path: content for path, content in changes.items() if path not in left_out}
        modes = {path: mode for path, mode in modes.items() if path in changes}
        candidate = Candidate(task.tree.digest, changes, note="as it stands", modes=modes)
        return cls(settings, task, candidate, tests_from, left_out)


def commit_of(folder: Path, name: str) -> str:
    """The id of a commit; empty where the folder is in no repository, or that has none yet, and HEAD is asked for.

    Args:
        folder: a folder of a work tree.
        name: a branch, tag, id or `HEAD`; `worktree`: none.

    Raises:
        TaskError: another commit is named, and there is no such one; or git can't read the repository.
    """
    if name == WORK_TREE:
        return ""
    done = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = done.stdout.decode("ascii", "replace").strip() if done is not None and not done.returncode else ""
    if not found and name == "HEAD" and _is_in_repository(folder):
        known = _git(folder, "rev-parse", "--git-dir")
        if known is None or known.returncode:
            said = plain(known.stderr.decode("utf-8", "replace"), limit=300) if known else "git is not installed"
            raise TaskError(
                f"Whose tests judge {folder} can't be told: {said}",
                do="Let git read it, or take the tests that lie there:  --tests-from worktree",
            )
    if not found and name != "HEAD":
        raise TaskError(f"{folder} has no commit {plain(name, limit=80)!r}.", do="Name one, or  --tests-from worktree")
    return found


def top_of(folder: Path) -> Path:
    """The root of the work tree that a folder lies in; the folder itself where it is in none."""
    done = _git(folder, "rev-parse", "--show-toplevel") if folder.is_dir() else None
    found = os.fsdecode(done.stdout.removesuffix(b"\n")) if done is not None and not done.returncode else ""
    return Path(found) if found else folder


def _is_in_repository(folder: Path) -> bool:
    return any(os.path.lexists(above / ".git") for above in (folder, *folder.resolve().parents))


def _may_count(task: Task, path: str) -> bool:
    try:
        return task.may_edit(check_path(path))
    except CandidateError:
        return False


def _difference(base: Tree, present: Tree) -> tuple[Mapping[str, bytes | None], Mapping[str, bool]]:
    changes: dict[str, bytes | None] = {path: None for path in base.files if path not in present.files}
    modes: dict[str, bool] = {}
    for path, content in present.files.items():
        other_mode = (path in present.executable) != (path in base.executable)
        if base.files.get(path) != content or other_mode:
            changes[path] = content
        if other_mode:
            modes[path] = path in present.executable
    return changes, modes


def _without(tree: Tree, paths: Mapping[str, bytes]) -> Tree:
    return Tree({path: c for path, c in tree.files.items() if path not in paths}, tree.executable - paths.keys())


def _task(files: Path, folder: Path, settings: Settings) -> Task:
    task = Task.from_folder(
        files,
        test=settings.test,
        hidden=settings.hidden,
        hidden_dir=settings.hidden_dir,
        python=settings.python or project_python(folder),
    )
    if settings.case_seconds is not None:
        task = replace(task, limits=task.limits.model_copy(update={"case_s": settings.case_seconds}))
    # data and templates are a coding agent's work as much as Python is
    return replace(task, folder=folder.resolve(), editable=task.editable or ("**",))


def _of_commit(folder: Path, present: Tree, commit: str, flags: Mapping[str, Any]) -> tuple[Settings, Task]:
    base = _tree_of(folder, commit)
    with tempfile.TemporaryDirectory(prefix="groundwire-") as name:
        copy = Path(name) / folder.resolve().name  # its name is the task's
        _write(copy, base)
        settings = Settings.resolve(flags, project=copy)
        secret = settings.hidden_dir or _hidden_folder(base)
        if secret and not (copy / check_path(secret.rstrip("/"))).exists():
            # a project may keep them out of its history
            _write(copy, _below(present, secret.rstrip("/")))
        task = _task(copy, folder, settings)
    # what git ignores is what the project was built into: its surroundings, and no change of anybody's
    ignored = _ignored(folder)
    hidden: Mapping[str, bytes] = task.hidden.tree.files if task.hidden else {}
    built = {p for p in ignored & present.files.keys() - base.files.keys() - hidden.keys() if _may_count(task, p)}
    files = {**task.tree.files, **{path: present.files[path] for path in built}}
    return settings, replace(task, tree=Tree(files, task.tree.executable | present.executable & built))


def _write(folder: Path, tree: Tree) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in tree.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        if path in tree.executable:
            target.chmod(0o755)


def _hidden_folder(base: Tree) -> str:
    try:
        said = tomllib.loads(base.files.get("task.toml", b"").decode())
        return str(said.get("hidden", {}).get("dir", ""))
    except (ValueError, AttributeError):
        return ""


def _below(whole: Tree, path: str) -> Tree:
    files = {name: c for name, c in whole.files.items() if name == path or name.startswith(f"{path}/")}
    return Tree(files, whole.executable & files.keys())


# Git, read and never written.


def _git(folder: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes] | None:
    """None where git can't be used here."""
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "XDG_CONFIG_HOME") if name in os.environ}
    try:
        return subprocess.run(
            ["git", *_SAFE, *arguments],
            cwd=folder,
            env={**env, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"},
            input=given,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _read_git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    done = _git(folder, *arguments, given=given)
    if done is None or done.returncode:
        said = plain(done.stderr.decode("utf-8", "replace"), limit=300) if done else "git can't be used"
        raise TaskError(f"The commit can't be read from {folder}: {said}", do="Look at it with  git status")
    return done.stdout


def _ignored(folder: Path) -> frozenset[str]:
    said = _read_git(folder, "ls-files", "--others", "--ignored", "--exclude-standard", "-z")
    return frozenset(os.fsdecode(path) for path in said.split(b"\0") if path)


def _tree_of(folder: Path, commit: str) -> Tree:
    """The files of a commit below a folder, in the objects' own bytes."""
    entries = [entry for entry in _entries(_read_git(folder, "ls-tree", "-r", "-z", commit)) if _is_kept(entry[2])]
    ids = list(dict.fromkeys(object_id for _, object_id, _ in entries))
    held = _blobs(_read_git(folder, "cat-file", "--batch", given="".join(f"{id_}\n" for id_ in ids).encode()))
    contents = dict(zip(ids, held, strict=True))
    links = {path: contents[object_id].decode("utf-8", "replace") for mode, object_id, path in entries if mode == _LINK}
    files = {path: contents[object_id] for mode, object_id, path in entries if mode != _LINK}
    for path, target in links.items():
        end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if end in files and end not in links:
            files[path] = files[end]
    return Tree(files, frozenset(path for mode, _, path in entries if mode == "100755"))


def _entries(listed: bytes) -> Iterator[tuple[str, str, str]]:
    for line in listed.split(b"\0"):
        head, _, path = line.partition(b"\t")
        mode, _, rest = head.decode("ascii", "replace").partition(" ")
        if path and mode != _SUBMODULE:
            yield mode, rest.rpartition(" ")[2], os.fsdecode(path)


def _is_kept(path: str) -> bool:
    """As `Tree.from_folder` has it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    parts = PurePosixPath(path).parts
    return not IGNORED_FOLDERS.intersection(parts[:-1]) and not path.endswith(IGNORED_SUFFIXES)


def _blobs(batch: bytes) -> Sequence[bytes]:
    found: list[bytes] = []
    at = total = 0
    while at < len(batch):
        end = batch.index(b"\n", at)
        words = batch[at:end].split()
        if len(words) != 3:
            raise TaskError(f"git lacks an object of the commit: {plain(batch[at:end].decode('utf-8', 'replace'))}")
        size = int(words[2])
        total += size
        if total > MAX_TREE_BYTES:
            raise TaskError(f"The commit holds more than {MAX_TREE_BYTES >> 20} MiB.", do="Name a smaller folder.")
        found.append(batch[end + 1 : end + 1 + size])
        at = end + 1 + size + 1
    return found
