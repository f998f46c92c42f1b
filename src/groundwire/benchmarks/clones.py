"""Local git clones: the files of a commit without its history, and patches applied to them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from groundwire.errors import TaskError

__all__ = ["apply_patch", "check_out", "clone_of"]

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
        raise TaskError(f"{name!r} is no repository's name.", do="It is OWNER/NAME.")
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
            f"{where}: the test patch does not apply: {done.stderr.strip()[:300]}", do="Check base_commit and patch."
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
