"""Paths: globs over a project's, by which a task says what may be edited, and the `~` that people write.

A glob is matched from the project's root, part by part, as a shell with `globstar` does. In a part, `*` stands for any
characters, `?` for one and `[…]` for one of a set; none of them stands for `/`. A part that is `**` stands for any
number of parts. Letters count as they are written, and a leading dot is a character like any other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

ANY = "**"
_WILD = re.compile(r"[*?[]")
_STARS = re.compile(r"[*?]")
"""What a folder's name does not hold, as it may hold brackets: one that is called so was made to be under a glob."""


def matches(path: str, globs: Iterable[str]) -> bool:
    """True if any of `globs` names `path`, or a folder that it lies in.

    Args:
        path: relative, with `/` between its parts.
        globs: one that ends with a plain name, or with `/`, names a folder too, and so all below it: `src`, `./src/`,
            `packages/*/src`, `build-*/`. Other ones name files only: `src/*` is what lies directly in `src`. A path
            that is written out names itself, whatever characters are in it; what lies below it too, but for `*`, `?`.
    """
    return any(_is_named(path, glob) for glob in globs)


def check_glob(glob: str) -> str:
    """Returns `glob` if it can name a path of a project.

    Raises:
        ValueError: it is empty or absolute, climbs out, negates, or has `**` beside other characters in a part.
    """
    parts = glob.split("/")
    problem = ""
    if not glob.strip():
        problem = "is empty: name a file or a folder, or leave it out"
    elif glob.startswith("/") or ".." in parts:
        problem = "leads out of the project: globs begin at its root"
    elif glob.startswith("!"):
        problem = "negates, which globs here can't: name what is meant"
    elif any(ANY in part and part != ANY for part in parts):
        problem = f"has ** inside of a name, where it is no more than *: write {glob.replace(ANY, '**/*', 1)!r}"
    if problem:
        raise ValueError(f"the glob {glob!r} {problem}")
    return glob


@lru_cache(maxsize=1 << 14)
def _is_named(path: str, glob: str) -> bool:
    literal = glob.rstrip("/")
    if literal and (path == literal or (path.startswith(f"{literal}/") and not _STARS.search(literal))):
        return True
    return any(_fits(path.split("/"), form) for form in _forms(glob))


@lru_cache(maxsize=4096)
def _forms(glob: str) -> tuple[tuple[str, ...], ...]:
    """The glob in parts, and once more for what lies below, where it names a folder."""
    parts = tuple(part for part in glob.split("/") if part not in ("", "."))
    if not glob or glob.startswith("/"):
        return ()
    names_folder = not parts or glob.endswith("/") or not _WILD.search(parts[-1])
    # what ** ends with is a file: one part at the least
    file = (*parts, "*") if parts[-1:] == (ANY,) else parts
    return (file, (*parts, ANY, "*")) if names_folder else (file,)


def _fits(path: Sequence[str], glob: Sequence[str]) -> bool:
    """Goes back no further than to the last `**`, so the time is at most the product of both lengths."""
    at = step = 0
    again: tuple[int, int] | None = None
    while at < len(path):
        if step < len(glob) and glob[step] == ANY:
            step += 1
            again = (at, step)
        elif step < len(glob) and fnmatchcase(path[at], glob[step]):
            at += 1
            step += 1
        elif again is not None:
            at, step = again[0] + 1, again[1]
            again = (at, step)
        else:
            return False
    return step == len(glob)


def matches_across_folders(path: str, globs: Iterable[str]) -> bool:
    """As `matches` was while `*`, `?` and `[…]` stood for `/` too: how episodes of that time are read."""
    for glob in globs:
        pattern = glob.rstrip("/")
        if fnmatchcase(path, pattern) or path.startswith(f"{pattern}/"):
            return True
        if "**/" in pattern and fnmatchcase(path, pattern.replace("**/", "")):
            return True
    return False


# Paths as people write them.


def expand_user(path: str | Path) -> Path:
    """The path, with the home that a leading `~` or `~USER` stands for; one of no user is a name like any other."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def write_private(path: Path, content: bytes, *, below: Path) -> None:
    """Writes a file that only its owner can read, in folders that only they can enter, whatever the umask.

    Args:
        path: the file; one that is there is written anew.
        content: what it is to hold.
        below: folders below this one are made 0700, and are so afterwards where they were there already.

    Raises:
        OSError: it can't be written.
    """
    below.mkdir(parents=True, exist_ok=True)
    folder = below
    for part in path.parent.relative_to(below).parts:
        folder /= part
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
