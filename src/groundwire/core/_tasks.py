"""Tasks: what is to be solved, and what judges it."""

from __future__ import annotations

import glob
import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from groundwire.core._candidates import Tree, check_path
from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._judging_files import EVERYTHING, TESTS_OF_OTHERS, golden_files, judging_files
from groundwire.core._paths import check_glob, expand_user, matches, matches_across_folders
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import canonical
from groundwire.core._text import first_problem

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
WITH_ROOT = ("python", "-m", *DEFAULT_COMMAND)
_INSTALLS = ("pyproject.toml", "setup.py", "setup.cfg")
_SETS_PATH = ("pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini")
COLLECTED = ("**/test_*.py", "**/*_test.py")
"""Files that pytest collects by themselves."""
_TEST = re.compile(rb"(?m)^\s*(?:async\s+)?def\s+test|^class\s+\w+\(.*TestCase")
_IMPORTED = re.compile(rb"(?m)^\s*(?:from|import)\s+([A-Za-z_]\w*)")
ANSWER_FILE = "answer.txt"
"""Where the answer to a task without files goes."""
ID_CHARS = 40
ANSWER_KEY = ("answer-key",)
"""In the place of a command: an answer key judges, and no program is run."""
HARBOR_VERIFIER = ("harbor-verifier",)
"""In the place of a command: the verifier of a Harbor task judges, in the task's own environment."""

TaskKind = Literal["repair", "write"]
"""What actors are told that they do: `repair` a program, or `write` what the prompt asks for."""


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
        kind: what actors are told that they do, where nobody gives them other instructions.
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
    kind: TaskKind = "repair"

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
        return self._public

    @cached_property
    def _public(self) -> Task:
        return replace(self, hidden=None, folder=None)

    def within_case_s(self, case_s: float) -> Task:
        """The same task, any one of whose cases may take no more processor seconds than so many."""
        return replace(self, limits=self.limits.model_copy(update={"case_s": min(self.limits.case_s, case_s)}))

    def may_edit(self, path: str) -> bool:
        """True if a candidate may change, add or delete `path`."""
        return path not in self._judging and self._would_edit(path)

    def _would_edit(self, path: str) -> bool:
        if self.matches(path, (*self.test_files, *TESTS_OF_OTHERS)) or matches(path, CONFIG_GLOBS):
            return False
        return self.matches(path, self.editable) if self.editable else path.endswith(".py")

    def is_test(self, path: str) -> bool:
        """True if `path` is a visible test, which can be read and never edited."""
        return path in self._judging or self.matches(path, (*self.test_files, *TESTS_OF_OTHERS))

    @cached_property
    def _judging(self) -> frozenset[str]:
        """What judges by the command, or as golden data: not what is named to be edited, and not all that could be."""
        named = {path for path in judging_files(self.tree, self.command) if path not in self.editable}
        if not EVERYTHING.isdisjoint(self.editable):
            tests = [path for path in self.tree.files if self.matches(path, self.test_files)]
            meant = [pattern for pattern in self.editable if pattern not in EVERYTHING]
            golden = golden_files(self.tree, frozenset(named.union(tests)))
            named |= {path for path in golden if not self.matches(path, meant)}
        left = any(self._would_edit(path) and path not in named for path in self.tree.files)
        return frozenset(named if left else ())

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
                **({} if self.kind == "repair" else {"kind": self.kind}),
            }
        )

    @property
    def answer_file(self) -> str:
        """The one file that an answer without a path goes to: the only one that may be edited.

        Raises:
            TaskError: there are several, or none.
        """
        found = [path for path in sorted(self.tree.files) if self.may_edit(path)]
        if not found and self.may_edit(ANSWER_FILE):
            return ANSWER_FILE
        if len(found) != 1:
            many = f"lets a candidate edit {len(found)} files ({', '.join(found[:3])}, …)" if found else "has no file"
            raise TaskError(
                f"Task {self.id} {many}, so an answer that is one text belongs nowhere.",
                do='Answer with files by their paths, {"a.py": "…"}, or name one:  Task.of(…, answer="answer.txt")',
            )
        return found[0]

    @classmethod
    def of(
        cls,
        prompt: str,
        *,
        files: Mapping[str, str | bytes] | None = None,
        answer: str | None = None,
        editable: Sequence[str] = (),
        test: str | None = None,
        id: str | None = None,
        family: str = "",
        limits: Limits | None = None,
    ) -> Task:
        """A task out of a prompt, and of files where it has any.

            Task.of("A haiku about the sea.")
            Task.of("Summarise the log.", files={"app.log": log}, answer="summary.md")
            Task.of("Make slug() pass its tests.", files={"slug.py": code, "test_slug.py": tests}, test="pytest -q")

        Args:
            prompt: what is asked for.
            files: path → text or bytes; they are shown to actors. Tests among them (`test_*.py`, …) are read-only.
            answer: the file that is to be written, where nothing else may be; default without `files`: `answer.txt`.
            editable: globs of what a candidate may change; default with `files` and without `answer`: all of it, tests
                left out, and new files.
            test: command that judges a candidate, for the tools that run one.
            id: its name; default: made of the prompt, so that the same prompt finds its lessons again.
            family: tasks that share lessons.
            limits: ceilings for one judging.

        Raises:
            TaskError: the prompt is empty, or a file is neither text nor bytes.
            CandidateError: a path is not one.
            ConfigError: the command can't be split, or a glob is not one.
        """
        if not isinstance(prompt, str) or not prompt.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TaskError("A task needs a prompt.", do='Say what is asked for:  Task.of("Write a haiku.")')
        tree = {check_path(path): _content(path, content) for path, content in (files or {}).items()}
        if answer is None and not files:
            answer = ANSWER_FILE
        if answer is not None:
            tree.setdefault(check_path(answer), b"")
            editable = editable or (glob.escape(answer),)
        return cls(
            id=id or _id_of(prompt),
            prompt=prompt,
            tree=Tree(tree),
            command=split_command(test) if test else (),
            family=family,
            editable=_globs(editable) or ("**",),
            limits=limits or Limits(),
            kind="write",
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
            test: command that judges a candidate; default: `[tests] command`, else `default_command`.
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
            command = split_command(secret_command) if secret_command else (*default_command(tree), secret_path)
            secret = Hidden(command, _hidden_tree(root, secret_path))
        return cls(
            id=spec.id or root.resolve().name,
            family=spec.family,
            prompt=prompt or spec.prompt or "Make the failing tests pass without changing the tests.",
            tree=tree,
            command=split_command(given) if (given := test or spec.tests.command) else default_command(tree),
            editable=tuple(spec.editable),
            test_files=tuple(spec.tests.files) or (*TEST_GLOBS, *lone_tests(tree)),
            hidden=secret,
            limits=limits or Limits(**spec.sandbox),
            folder=root.resolve(),
            python=python or project_python(root),
        )


def default_command(tree: Tree) -> tuple[str, ...]:
    """What judges a project whose command nobody named: `pytest -q`, or `python -m pytest -q`, which looks in the root.

    That is asked for where tests import a module that lies at the root and pytest alone would not find it: of each test
    file and conftest it puts that folder on the import path which holds the file, or the outermost package around it.
    A project with a `pyproject.toml` or `setup.py` is judged as if it were installed, so that nothing is missing there.

    Args:
        tree: the project.
    """
    if lone := lone_tests(tree):
        return (*DEFAULT_COMMAND, *lone)  # it lies in the root, so pytest looks there
    if any(name in tree.files for name in _INSTALLS):
        return DEFAULT_COMMAND
    if any(b"pythonpath" in tree.files.get(name, b"") for name in _SETS_PATH):
        return DEFAULT_COMMAND
    tests = [path for path in tree.files if path.endswith(".py") and matches(path, TEST_GLOBS)]
    if any(_outside_of_packages(path, tree) == "." for path in tests if matches(path, (*COLLECTED, "**/conftest.py"))):
        return DEFAULT_COMMAND
    at_root = {path.partition("/")[0].removesuffix(".py").encode() for path in tree.files if path.endswith(".py")}
    asked = {name for path in tests for name in _IMPORTED.findall(tree.files[path])}
    beside = {PurePosixPath(path).stem.encode() for path in tests}
    return WITH_ROOT if asked & (at_root - beside) else DEFAULT_COMMAND


def lone_tests(tree: Tree) -> tuple[str, ...]:
    """The tests of a project that keeps them in the root under a name that pytest does not collect by itself.

    Args:
        tree: the project.

    Returns:
        Empty where it has any that pytest does collect.
    """
    if any(matches(path, COLLECTED) for path in tree.files):
        return ()
    return tuple(name for name in ("test.py", "tests.py") if _TEST.search(tree.files.get(name, b"")))


def _outside_of_packages(path: str, tree: Tree) -> str:
    """The innermost folder around a file that is no package."""
    folder = PurePosixPath(path).parent
    while folder.as_posix() != "." and (folder / "__init__.py").as_posix() in tree.files:
        folder = folder.parent
    return folder.as_posix()


def check_task(task: object) -> None:
    """Raises TaskError where something else stands in the place of a task."""
    if not isinstance(task, Task):
        what = f"the text {task!r:.60}" if isinstance(task, str) else f"{type(task).__name__}"
        raise TaskError(
            f"A Task is expected; what was given is {what}.",
            do='Write  app.run(Task.from_folder(FOLDER))  or  app.run(Task("NAME", prompt="…", tree=Tree({…})))',
        )


def _content(path: str, content: object) -> bytes:
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    if isinstance(content, bytes):
        return content
    raise TaskError(
        f"The file {path} is given as {type(content).__name__}.",
        do='Give its text or its bytes:  files={"a.py": "x = 1\\n"}',
    )


def _globs(editable: Sequence[str]) -> tuple[str, ...]:
    try:
        return tuple(map(check_glob, (editable,) if isinstance(editable, str) else editable))
    except ValueError as error:
        raise ConfigError(
            f"What may be edited can't be told: {error}.", do='Give globs:  editable=["src/**"]'
        ) from error


def _id_of(prompt: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", prompt.casefold())[:ID_CHARS].strip("-")
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{words}-{digest}" if words else digest


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
    except ValidationError as error:
        raise TaskError(
            f"{path} can't be used: {first_problem(error)}", do="See docs/tasks.md for its fields."
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError) as error:
        raise TaskError(f"{path} can't be used: {error}.", do="See docs/tasks.md for its fields.") from error
    return spec
