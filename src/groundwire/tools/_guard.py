"""Keeps what judges out of the candidate's reach.

A candidate that changes a file which it may not edit is not judged at all, since what would be judged is something
else; the attempt is itself a FAIL, with one case `tamper::PATH` for each such file. So is one that puts a file where a
folder is, or the other way round (`misplaced::PATH`): no sandbox could lay it out. For doctests, where what judges
lies in the file that is repaired, the examples that the base tree holds must stay as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import PurePosixPath

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._paths import matches
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.tools._docstrings import examples
from groundwire.tools._separation import reaches_in
from groundwire.tools._shadowing import refused_names

MAX_WATCHED = 500
MAX_WATCHED_BYTES = 4 << 20
STEERING = ("**/conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini")
"""Files that steer pytest: out of reach whatever the task says of its test files."""
RUNS_DOCTESTS = frozenset(
    {"testmod", "testsource", "run_docstring_examples", "DocTestSuite", "DocTestFinder", "DocTestParser",
     "DocTestRunner"}
)  # fmt: skip
"""Names in tests that run the examples in the docstrings of what they test."""


def tampering(candidate: Candidate, task: Task) -> Observation | None:
    """A FAIL if the candidate changes what it may not; writing a file's own content again changes nothing."""
    base, modes = task.tree, candidate.modes
    changed = [
        path
        for path, content in candidate.changes.items()
        if content != base.files.get(path) or (path in modes and modes[path] != (path in base.executable))
    ]
    paths = [p for p in changed if is_fixed(p, task)]
    cases = [_case(f"tamper::{p}", f"{p} is a test or configuration file, or not editable: restored.") for p in paths]
    found = _observation(cases, paths) or _refused(candidate) or _misplaced(candidate, base)
    return found or (tampering_with_doctests(candidate, task) if _run_doctests(task) else None)


def _run_doctests(task: Task) -> bool:
    """True where tests run the examples in docstrings themselves, so that these judge."""
    if not any(b"doctest" in content for path, content in task.tree.files.items() if not task.may_edit(path)):
        return False
    return reaches_in(task, RUNS_DOCTESTS) in RUNS_DOCTESTS


def digests(task: Task) -> dict[str, str]:
    """Path → digest of the files that a candidate may not change, which the runner looks at while it runs.

    Those of great projects that are no Python are left out: each look would cost more than the tests.
    """
    kept = {path: content for path, content in sorted(task.tree.files.items()) if is_fixed(path, task)}
    if len(kept) > MAX_WATCHED or sum(map(len, kept.values())) > MAX_WATCHED_BYTES:
        kept = {path: content for path, content in kept.items() if path.endswith(".py")}
    return {path: hashlib.blake2b(content, digest_size=16).hexdigest() for path, content in kept.items()}


def is_fixed(path: str, task: Task) -> bool:
    """True for what no candidate may change: what is not editable, and what steers pytest whatever the task says."""
    return not task.may_edit(path) or matches(path, STEERING)


def editable_files(task: Task) -> tuple[str, ...]:
    """What of the base tree a candidate may change."""
    return tuple(sorted(path for path in task.tree.files if not is_fixed(path, task)))


def why_from_scratch(candidate: Candidate, task: Task, arguments: Sequence[str]) -> str:
    """Why the run of a candidate can't begin before that is there: it may decide how a run begins. Empty if it can.

    Args:
        candidate: the candidate.
        task: its task.
        arguments: of the runner.
    """
    named = {word.partition("::")[0].strip("/") for word in arguments} - {"."}
    for path, content in candidate.changes.items():
        name = path.rpartition("/")[2]
        if content is None or not name.endswith(".py") or name in ("setup.py", "conftest.py"):
            return f"it changes {path}"
        if path not in task.tree.files and not named.isdisjoint((path, *map(str, PurePosixPath(path).parents))):
            return f"it adds {path}, which the command names"
    return ""


def tampering_with_doctests(candidate: Candidate, task: Task) -> Observation | None:
    """A FAIL if an example in a docstring of the base tree was changed or is gone."""
    cases: list[CaseOutcome] = []
    for path, content in sorted(candidate.changes.items()):
        before = examples(task.tree.files.get(path))
        after = examples(content)
        if before and after is not None:
            gone = [name or "module" for name in before if after.get(name) != before[name]]
            cases += [
                _case(f"tamper::{path}::{n}", f"The examples in the docstring of {n} were changed.") for n in gone
            ]
    return _observation(cases, [c.id.removeprefix("tamper::") for c in cases])


def tampering_with_hidden(candidate: Candidate, task: Task) -> Observation | None:
    """A FAIL if the candidate holds a file where the hidden tests are laid."""
    if task.hidden is None:
        return None
    files = task.hidden.tree.files
    theirs = {str(PurePosixPath(p).parent) for p in files} - {str(PurePosixPath(p).parent) for p in task.tree.files}
    laid = Tree({p: c for p, c in {**files, **candidate.changes}.items() if c is not None})
    paths = [
        p
        for p in candidate.changes
        if p in files or str(PurePosixPath(p).parent) in theirs or (p in laid.files and _clashes(p, laid))
    ]
    return _observation([_case(f"tamper::{p}", f"{p} lies where the hidden tests are laid.") for p in paths], paths)


def _case(name: str, message: str) -> CaseOutcome:
    return CaseOutcome(id=name, result=CaseResult.FAILED, message=message)


def _refused(candidate: Candidate) -> Observation | None:
    paths = refused_names(candidate)
    cases = [_case(f"refused::{p}", f"{p!a} acts without being imported, or its name misleads.") for p in paths]
    return _observation(cases, list(map(ascii, paths)), "brings a file that acts by itself, or a misleading name")


def _misplaced(candidate: Candidate, base: Tree) -> Observation | None:
    after = candidate.applied_to(base)
    paths = [p for p, c in candidate.changes.items() if c is not None and p not in base.files and _clashes(p, after)]
    cases = [_case(f"misplaced::{p}", f"{p} would be a file where a folder is, or below a file.") for p in paths]
    return _observation(cases, paths, "puts a file where a folder is, or below a file")


def _clashes(path: str, tree: Tree) -> bool:
    """True if another file of the tree lies below that path, or that path below another file."""
    above = any(str(folder) in tree.files for folder in PurePosixPath(path).parents)
    return above or any(other.startswith(f"{path}/") for other in tree.files)


def _observation(
    cases: list[CaseOutcome], names: list[str], what: str = "changes what it may not"
) -> Observation | None:
    if not cases:
        return None
    shown = ", ".join(sorted(names)[:3]) + (" …" if len(names) > 3 else "")
    return Observation(
        verdict=Verdict.FAIL,
        origin=Origin.TOOL_ERROR,
        evidence=Evidence(cases=tuple(cases), detail=f"Not judged: the candidate {what} ({shown})."),
    )
