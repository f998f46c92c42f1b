"""`.harborignore`: what of a task's tests and solutions stays where it is, and is laid in no container.

The rule is that of Harbor 0.26 (its `TaskFileFilter`): such files count in `tests/` and `solution/`, the task's and its
steps', and in the folders below; their patterns are git's, the deepest folder's last one that matches decides, and what
lies in a folder that is left out is left out. They are never laid themselves. What an image is built of, a verifier's
too, is not looked at by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".harborignore"
_SCOPES = ("tests", "solution")


def without_ignored(files: Tree, links: Mapping[str, str] | None = None) -> Tree:
    """A task's files as Harbor would lay them.

    Args:
        files: the task's folder.
        links: path → path that it is a link to, for those that are: what is left out is so under either name.

    Raises:
        TaskError: the patterns can't be read.
    """
    specs = dict(_specs(files))
    if not specs:
        return files

    def is_ignored(path: str) -> bool:
        return PurePosixPath(path).name == NAME or _is_left_out(path, specs)

    kept = {
        path: body
        for path, body in files.files.items()
        if not is_ignored(path) and not (links and path in links and is_ignored(links[path]))
    }
    return Tree(kept, files.executable & kept.keys())


def links_in(root: Path, files: Tree) -> Mapping[str, str]:
    """Path → path within the folder that it leads to, of files that links lead to.

    Args:
        root: the task's folder, itself no link.
        files: what was read of it.
    """
    led = {path: (root / path).resolve() for path in files.files}
    return {path: at.relative_to(root).as_posix() for path, at in led.items() if at != root / path}


def _specs(files: Tree) -> Iterator[tuple[str, GitIgnoreSpec]]:
    """Folder → its patterns."""
    for path, body in files.files.items():
        folder, _, name = path.rpartition("/")
        if NAME in folder.split("/"):
            raise TaskError(f"{folder} is a folder, and holds no patterns.", do="Write them into a file of that name.")
        if name != NAME or not _is_in_scope(folder):
            continue
        from pathspec import GitIgnoreSpec  # few tasks have any

        try:
            yield folder, GitIgnoreSpec.from_lines(body.decode().splitlines())
        except (ValueError, re.error) as error:
            raise TaskError(f"{path} can't be read: {error}.", do="Write patterns there as in a .gitignore.") from error


def _is_in_scope(folder: str) -> bool:
    parts = folder.split("/")
    return parts[0] in _SCOPES or (parts[0] == "steps" and len(parts) > 2 and parts[2] in _SCOPES)


def _is_left_out(path: str, specs: Mapping[str, GitIgnoreSpec]) -> bool:
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        at = "/".join(parts[:depth])
        asked = f"{at}/" if depth < len(parts) else at
        said: bool | None = None
        for above in range(1, depth):
            folder = "/".join(parts[:above])
            spec = specs.get(folder)
            if spec is not None and (told := spec.check_file(asked.removeprefix(f"{folder}/")).include) is not None:
                said = told
        if said:
            return True
    return False
