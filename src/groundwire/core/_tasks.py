"""Tasks: what is to be solved, and what judges it."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from groundwire.core._candidates import Tree, check_path
from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._paths import check_glob, expand_user, matches, matches_across_folders
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import canonical

TEST_GLOBS = ("**/test_*.py", "**/*_test.py", "**/test_*/**/*.py", "test/**", "**/tests/**", "**/conftest.py",
              "pytest.ini", "tox.ini")  # fmt: skip
CONFIG_GLOBS = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "task.toml",
    "sitecustomize.py",
    "usercustomize.py",
)
DEFAULT_COMMAND = ("pytest", "-q")


@dataclass(frozen=True)
class Hidden:
    """Tests that judge once, at the end, and never steer.

    Args:
        command: what runs them, split; never given to a shell.
        tree: the files that are laid over the project for the final judging only.
    """

    command: tuple[str, ...]
    tree: Tree


@dataclass(frozen=True)
class Task:
    """What to solve, and what judges it.

    Args:
        id: its name; lessons of the same id are recalled first.
        prompt: what is asked for, in words.
        tree: the project as it stands, without hidden tests.
        command: what judges a candidate, split; never given to a shell. `()`: the tool's own default.
        family: tasks that share lessons.
        editable: globs of what a candidate may change; `()`: every Python file that is not a test or configuration.
            What a glob names: `groundwire.core._paths`.
        test_files: globs of the visible tests; they can be read, never edited.
        hidden: what judges at the end.
        limits: ceilings for one judging.
        folder: where the project came from, if it came from a folder.
        python: the interpreter that runs the project; None: the project's `.venv`, else the current one.
        stars_cross: True for what was recorded while `*` in a glob stood for `/` too. An episode is read, gone on with
            and replayed by the rule that it began with.
    """

    id: str
    prompt: str = ""
    tree: Tree = field(default_factory=Tree)
    command: tuple[str, ...] = ()
    family: str = ""
    editable: tuple[str, ...] = ()
    test_files: tuple[str, ...] = TEST_GLOBS
    hidden: Hidden | None = None
    limits: Limits = Limits()
    folder: Path | None = None
    python: Path | None = None
    stars_cross: bool = False

    def __post_init__(self) -> None:
        """Refuses what Python would take and every use would stumble over.

        Raises:
            TaskError: the tree is no `Tree`, or one text stands where a tuple of texts belongs.
        """
        tree: object = getattr(self, "tree")  # noqa: B009  callers are not always checked
        if not isinstance(tree, Tree):
            raise TaskError(
                f"The tree of task {self.id} is of type {type(tree).__name__}; a Tree is expected.",
                do=f'Write  Task({self.id!r}, tree=Tree({{"main.py": b"…"}}))  or  Task.from_folder(FOLDER)',
            )
        for name in ("command", "editable", "test_files"):
            given: object = getattr(self, name)
            if isinstance(given, str):
                split = tuple(given.split()) if name == "command" else (given,)
                raise TaskError(
                    f"{name} of task {self.id} is one text; a tuple of texts is expected.", do=f"Write  {name}={split}"
                )

    def public(self) -> Task:
        """The task as actors, critics and memory may see it: without anything hidden, and not where it came from.

        The folder on disk still holds the hidden files, so a program that is told of it could read them there.
        """
        return replace(self, hidden=None, folder=None)

    def may_edit(self, path: str) -> bool:
        """True if a candidate may change, add or delete `path`."""
        if self.is_test(path) or matches(path, CONFIG_GLOBS):
            return False
        return self.matches(path, self.editable) if self.editable else path.endswith(".py")

    def is_test(self, path: str) -> bool:
        """True if `path` is a visible test, which can be read and never edited."""
        return self.matches(path, self.test_files)

    def matches(self, path: str, globs: Sequence[str]) -> bool:
        """True if `path` matches any of `globs`, read as this task's own are."""
        return (matches_across_folders if self.stars_cross else matches)(path, globs)

    def describe(self) -> str:
        """Canonical JSON of what identifies the task: ids, commands, digests (no file contents)."""
        return canonical(
            {
                "id": self.id,
                "family": self.family,
                "prompt": self.prompt,
                "tree": self.tree.digest,
                "command": list(self.command),
                "editable": list(self.editable),
                "test_files": list(self.test_files),
                "stars_cross": self.stars_cross,
                "hidden": self.hidden and {"command": list(self.hidden.command), "tree": self.hidden.tree.digest},
                "folder": str(self.folder) if self.folder else None,
                "limits": self.limits.model_dump(mode="json"),
                "python": str(self.python) if self.python else None,
            }
        )

    @classmethod
    def from_folder(
        cls,
        folder: str | Path,
        *,
        test: str | None = None,
        hidden: str | None = None,
        hidden_dir: str | None = None,
        limits: Limits | None = None,
        python: Path | None = None,
        prompt: str | None = None,
    ) -> Task:
        """Reads a project folder, with its `task.toml` where there is one; infers the rest.

        Args:
            folder: the project's root.
            test: command that judges a candidate; default: `[tests] command`, else `pytest -q`.
            hidden: command that judges once at the end; default: `[hidden] command`.
                hidden_dir: folder or file that only the final judging may see; default: `[hidden] dir`, else the path
                that the hidden command names.
            limits: ceilings for one judging; default: `[sandbox]`.
            python: interpreter of the project; default: its `.venv`, else the current one.
            prompt: what is asked for; default: the file's, else a general repair prompt.

        Raises:
            TaskError: not a folder, unreadable, or `task.toml` is wrong.
            ConfigError: a command can't be split, or a path is not one.
        """
        root = expand_user(folder)
        spec = _read_spec(root)
        secret_command = hidden or spec.hidden.command
        secret_path = hidden_dir or spec.hidden.dir or _path_in(root, secret_command)
        if secret_path:
            secret_path = check_path(secret_path.rstrip("/"))
        tree = Tree.from_folder(root, exclude=_all_of(secret_path) if secret_path else ())
        secret: Hidden | None = None
        if secret_path:
            command = split_command(secret_command) if secret_command else (*DEFAULT_COMMAND, secret_path)
            secret = Hidden(command, _hidden_tree(root, secret_path))
        return cls(
            id=spec.id or root.resolve().name,
            family=spec.family,
            prompt=prompt or spec.prompt or "Make the failing tests pass without changing the tests.",
            tree=tree,
            command=split_command(test or spec.tests.command) if (test or spec.tests.command) else DEFAULT_COMMAND,
            editable=tuple(spec.editable),
            test_files=tuple(spec.tests.files) or TEST_GLOBS,
            hidden=secret,
            limits=limits or Limits(**spec.sandbox),
            folder=root.resolve(),
            python=python or project_python(root),
        )


def check_task(task: object) -> None:
    """Raises TaskError where something else stands in the place of a task."""
    if not isinstance(task, Task):
        what = f"the text {task!r:.60}" if isinstance(task, str) else f"{type(task).__name__}"
        raise TaskError(
            f"A Task is expected; what was given is {what}.",
            do='Write  app.run(Task.from_folder(FOLDER))  or  app.run(Task("NAME", prompt="…", tree=Tree({…})))',
        )


def check_tasks(tasks: object) -> None:
    """Raises TaskError where something else stands in the place of a list of tasks."""
    if isinstance(tasks, Task):
        raise TaskError("A list of tasks is expected; what was given is one.", do="Write  app.batch([task])")
    for task in cast(
        "Sequence[object]", tasks if isinstance(tasks, Sequence) and not isinstance(tasks, str) else [tasks]
    ):
        check_task(task)


def split_command(text: str) -> tuple[str, ...]:
    """Splits a command line as a shell would, without a shell.

    Raises:
        ConfigError: empty, or a quote is not closed.
    """
    try:
        parts = tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"The command {text!r} can't be split: {error}.", do="Close its quotes.") from error
    if not parts:
        raise ConfigError("The command is empty.", do='Give one, for example --test "pytest -q".')
    return parts


def project_python(root: Path) -> Path | None:
    """The interpreter of the project's own `.venv` or `venv`, if it has one."""
    for name in (".venv", "venv"):
        python = root / name / "bin" / "python"
        if python.exists():
            return python.absolute()
    return None


def _path_in(root: Path, command: str) -> str:
    """The file or folder of the project that a hidden command names: what has to be kept from everyone else."""
    if not command:
        return ""
    for part in split_command(command)[1:]:
        name = part.split("::")[0].rstrip("/")
        if name and name != "." and (root / name).exists() and (root / name).resolve().is_relative_to(root.resolve()):
            return (root / name).resolve().relative_to(root.resolve()).as_posix()
    raise ConfigError(
        f"Which files the hidden command {command!r} keeps secret can't be told.",
        do="Name their folder with --hidden-dir, or [hidden] dir in task.toml.",
    )


def _all_of(path: str) -> tuple[str, str]:
    """Globs of a file, or of a folder and all below it, whatever characters are in its name."""
    return glob.escape(path), f"{glob.escape(path)}/"


def _hidden_tree(root: Path, secret_path: str) -> Tree:
    if (root / secret_path).is_file():
        is_executable = bool((root / secret_path).stat().st_mode & 0o100)
        return Tree({secret_path: (root / secret_path).read_bytes()}, frozenset({secret_path} if is_executable else ()))
    inner = Tree.from_folder(root / secret_path)
    return Tree(
        {f"{secret_path}/{path}": content for path, content in inner.files.items()},
        frozenset(f"{secret_path}/{path}" for path in inner.executable),
    )


_Glob = Annotated[str, AfterValidator(check_glob)]


class _Tests(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    command: str = ""
    files: list[_Glob] = []


class _Hidden(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    command: str = ""
    dir: str = ""


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    id: str = ""
    family: str = ""
    prompt: str = ""
    editable: list[_Glob] = []
    tests: _Tests = _Tests()
    hidden: _Hidden = _Hidden()
    sandbox: Mapping[str, Any] = {}


def _read_spec(root: Path) -> _Spec:
    path = root / "task.toml"
    if not path.is_file():
        return _Spec()
    import tomllib

    try:
        spec = _Spec.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        Limits(**spec.sandbox)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError, TypeError) as error:
        raise TaskError(f"{path} can't be used: {error}", do="See docs/tasks.md for its fields.") from error
    return spec
