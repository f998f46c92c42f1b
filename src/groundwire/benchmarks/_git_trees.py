"""Local git clones: the files of a commit without its history, and patches applied to them."""

from __future__ import annotations

import glob
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire.core._candidates import check_path
from groundwire.core._errors import CandidateError, TaskError

TIMEOUT_S = 300
SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never")
"""Nothing that a clone's configuration names is started, and nothing is fetched."""


def clone_of(repos: Path, name: str) -> Path:
    """The clone of `OWNER/NAME` in a folder, or of a `NAME` that only one clone there has.

    Raises:
        TaskError: there is none, or several, or the name leads elsewhere.
    """
    owner, _, repo = name.rpartition("/")
    if repo in ("", ".", "..") or owner in (".", "..") or name.startswith("/"):
        raise TaskError(f"{name!r} is not a repository name.", do="Write OWNER/NAME.")
    if owner:
        places = [repos / place for place in (f"{owner}__{repo}", f"{owner}/{repo}", repo)]
    else:
        escaped = glob.escape(repo)
        places = [repos / repo, *sorted(repos.glob(f"*__{escaped}")), *sorted(repos.glob(f"*/{escaped}"))]
    found = [
        folder for place in places for folder in (place, place.with_name(f"{place.name}.git")) if _is_clone(folder)
    ]
    if len(found) == 1 or (found and owner):
        return found[0]
    if found:
        raise TaskError(f"Several clones in {repos} are called {repo}.", do=f"Keep the one that is meant as {repo}.")
    raise TaskError(
        f"There is no clone of {name} in {repos}.",
        do=f"Make one:  git clone https://github.com/{name if owner else f'OWNER/{repo}'}"
        f" {repos / (f'{owner}__{repo}' if owner else repo)}",
    )


def _is_clone(folder: Path) -> bool:
    return (folder / ".git").exists() or (folder / "objects").is_dir()


def check_out(clone: Path, commit: str, folder: Path) -> None:
    """Writes the files of a commit into an empty folder: no `.git`, so no history comes with them.

    They are read as they are stored: a filter that the clone's configuration names is not started.

    Args:
        clone: a clone with a work tree, or a bare one.
        commit: its digest; `^` after it is its first parent.
        folder: where to.

    Raises:
        TaskError: the clone lacks the commit, or git is missing.
    """
    inside = ("--git-dir", str(clone / ".git" if (clone / ".git").exists() else clone))
    listed = _git([*inside, "ls-tree", "-r", "-z", "--full-tree", f"{commit}^{{tree}}"], folder)
    entries = [_Entry.read(line) for line in listed.stdout.split(b"\0") if line]
    blobs = [entry for entry in entries if entry.mode in FILES and entry.is_plain]
    asked = b"".join(entry.blob + b"\n" for entry in blobs)
    read = _git([*inside, "cat-file", "--batch"], folder, asked)
    if listed.returncode or read.returncode:
        raise TaskError(
            f"The commit {commit} can't be read from {clone}: {_said(listed) or _said(read)}",
            do="Fetch it into the clone.",
        )
    start = 0
    links: list[tuple[Path, bytes]] = []
    for entry in blobs:
        head, _, _ = read.stdout[start : start + 200].partition(b"\n")
        start += len(head) + 1
        content = read.stdout[start : start + int(head.rpartition(b" ")[2])]
        start += len(content) + 1
        target = folder / entry.path
        if FILES[entry.mode] == "link":
            links.append((target, content))
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(0o755 if FILES[entry.mode] == "executable" else 0o644)
    for target, content in links:  # last, so that nothing is written through one
        if not target.exists() and target.parent.is_dir() and b"\0" not in content:
            target.symlink_to(os.fsdecode(content))


FILES = {b"100644": "file", b"100664": "file", b"100755": "executable", b"120000": "link"}
"""By git's mode; a submodule's is none of them."""


@dataclass(frozen=True)
class _Entry:
    mode: bytes
    blob: bytes
    path: str

    @classmethod
    def read(cls, line: bytes) -> _Entry:
        about, _, path = line.partition(b"\t")
        mode, _, rest = about.partition(b" ")
        return cls(mode, rest.rpartition(b" ")[2], os.fsdecode(path))

    @property
    def is_plain(self) -> bool:
        try:
            return check_path(self.path) == self.path
        except CandidateError:
            return False  # what no tree may hold


def apply_patch(folder: Path, patch: str, where: str) -> list[str]:
    """Applies a patch to files that are in no repository.

    Returns:
        The paths that it writes or deletes.

    Raises:
        TaskError: it does not apply; with its place.
    """
    touched: set[str] = set()
    for options in (["--numstat", "-z"], []):
        # as bytes, so that line ends stay as they are
        given = patch.encode("utf-8", "surrogatepass")
        done = _git(["apply", "--whitespace=nowarn", *options, "-"], folder, given)
        if done.returncode:
            raise TaskError(f"{where}: the patch does not apply: {_said(done)}", do="Check base_commit and patch.")
        touched |= {os.fsdecode(line.split(b"\t", 2)[-1]) for line in done.stdout.split(b"\0") if line}
    return sorted(touched)


def _git(arguments: Sequence[str], folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    clean = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_TERMINAL_PROMPT": "0"}
    try:
        return subprocess.run(
            ["git", *SAFE, *arguments],
            cwd=folder,
            env={**clean, **own},
            input=given,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise TaskError(f"git can't be used: {error}.", do="Install git.") from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip()[:300]
