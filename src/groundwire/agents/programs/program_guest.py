"""Runs beside the program, where the program runs: starts it, ends all it started, and tells what it changed.

It is handed over as text and stands alone: the standard library, nothing of groundwire. What it tells is read by
`program_changes` as hostile, since the program could have told the same in its place.
"""

# os.path on purpose: names that are no text stay what they are
# ruff: noqa: PTH101, PTH108, PTH109, PTH113, PTH116, PTH118, PTH120, PTH123, PTH208
from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Known = dict[str, tuple[bool, bytes]]
    """Path → (executable, sha256)."""

__all__ = ["JOB", "PROMPT", "REPORT", "TASK", "main"]

JOB, PROMPT, TASK, REPORT = "job.json", "task.md", "task.json", "report.json"
PLACEHOLDER = re.compile(r"\{(workdir|prompt_file|task_file|prompt|trial|attempt|seed)\}")
PR_SET_CHILD_SUBREAPER = 36
END_GRACE_S = 1.0
END_WITHIN_S = 10.0
TICK_S = 0.02
MAX_ENTRIES = 200_000
MAX_PROBLEMS = 100
GIT = ("git", "-c", "user.name=groundwire", "-c", "user.email=groundwire@localhost", "-c", "commit.gpgsign=false")


def main() -> None:
    """Reads the job, runs the program in the current folder, writes the report."""
    support, out = os.environ["GROUNDWIRE_SUPPORT"], os.environ["GROUNDWIRE_OUT"]
    with open(os.path.join(support, JOB), encoding="utf-8") as file:
        job = json.load(file)
    folder = Folder(os.getcwd(), job)
    before = folder.survey()
    report = run(job, support)
    try:
        changes, modes, problems = folder.compare(before)
    except OSError as error:
        changes, modes, problems = [], [], [[f"unreadable ({error.strerror})", "."]]
    path = os.path.join(out, REPORT)
    if os.path.lexists(path):
        os.unlink(path)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        json.dump({**report, "changes": changes, "modes": modes, "problems": problems}, file)


def run(job: dict[str, Any], support: str) -> dict[str, Any]:
    """Runs the program until it ends or its time is over; nothing that it started is left afterwards."""
    command, environment, given = prepare(job, support)
    adopt_orphans()
    began = time.monotonic()
    ended: dict[str, Any] = {"exit_code": None, "signal": None, "timed_out": False, "error": ""}
    try:
        if job["git"]:
            make_repository(environment)
        with open(given, "rb") as stdin:
            child = subprocess.Popen(command, stdin=stdin, env=environment, start_new_session=True)
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        ended.update(exit_code=code, error=f"{error.filename or command[0]} can't be started: {error.strerror}")
    except subprocess.SubprocessError as error:
        ended.update(error=f"no repository could be made: {error}")
    else:
        try:
            status = child.wait(job["timeout_s"])
            ended["exit_code" if status >= 0 else "signal"] = abs(status)
        except subprocess.TimeoutExpired:
            ended["timed_out"] = True
            end_politely(child)
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
    end_descendants()
    ended["duration_s"] = time.monotonic() - began
    return ended


def prepare(job: dict[str, Any], support: str) -> tuple[list[str], dict[str, str], str]:
    """The command with its placeholders filled, its environment, and the file that is its standard input."""
    values: dict[str, Any] = {
        **job["values"],
        "workdir": os.getcwd(),
        "prompt_file": os.path.join(support, PROMPT),
        "task_file": os.path.join(support, TASK),
    }
    environment = {**os.environ, **{f"GROUNDWIRE_{name.upper()}": str(value) for name, value in values.items()}}
    with open(values["prompt_file"], encoding="utf-8") as file:
        values["prompt"] = file.read()
    command = [PLACEHOLDER.sub(lambda found: str(values[found[1]]), part) for part in job["command"]]
    return command, environment, values["prompt_file"] if job["stdin"] else os.devnull


def adopt_orphans() -> None:
    """What leaves its parent comes to us, so that it can be found and ended."""
    # where that is not to be had, the sandbox ends it all the same, a little later
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def make_repository(environment: dict[str, str]) -> None:
    """A repository with one commit, for programs that want one; there is no history in it."""
    for arguments in (("init", "-q", "--template="), ("add", "-A", "-f"), ("commit", "-q", "--allow-empty", "-m", ".")):
        subprocess.run([*GIT, *arguments], env=environment, stdin=subprocess.DEVNULL, check=True, timeout=120)


def end_politely(child: subprocess.Popen[bytes]) -> None:
    """Asks the program's process group to end, and gives it a moment."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(END_GRACE_S)


def end_descendants() -> None:
    """Kills all processes below this one, also those that left their group.

    Where other processes can't be seen (Landlock hides them), those are left to the sandbox, which ends them next.
    """
    until = time.monotonic() + END_WITHIN_S
    while time.monotonic() < until:
        try:
            found = descendants(os.getpid())
        except OSError:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            if not found:
                return
        time.sleep(TICK_S)


def descendants(root: int) -> list[int]:
    """Ids of all living processes below `root`.

    Raises:
        OSError: other processes can't be seen.
    """
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except (OSError, ValueError):
                continue
            if state != b"Z":
                parents[int(name)] = int(parent)
    below, more = {root}, {root}
    while more:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        below |= more
    return sorted(below - {root})


class Folder:
    """The work folder, looked at before and after.

    Args:
        root: its path.
        job: names that are passed over, and how much may change.
    """

    def __init__(self, root: str, job: dict[str, Any]) -> None:
        self._root = os.path.realpath(root)
        self._ignored_folders = frozenset(job["ignored_folders"])
        self._ignored_suffixes = tuple(job["ignored_suffixes"])
        self._max_bytes: int = job["max_bytes"]
        self._max_files: int = job["max_files"]
        self._max_file_bytes: int = job["max_file_bytes"]

    def survey(self) -> Known:
        """All regular files as they are."""
        known: Known = {}
        for path, status in self._entries(frozenset()):
            if stat.S_ISREG(status.st_mode):
                known[path] = (bool(status.st_mode & 0o100), hashlib.sha256(self._read(path)).digest())
        return known

    def compare(self, before: Known) -> tuple[list[list[str | None]], list[list[Any]], list[list[str]]]:
        """What is not as it was.

        Returns:
            (path, content or None where it is gone), (path, whether it is executable now), and (reason, path) of what
            can't be told.
        """
        changes: list[list[str | None]] = []
        modes: list[list[Any]] = []
        problems: list[list[str]] = []
        seen: set[str] = set()
        room = self._max_bytes
        for path, status in self._entries(frozenset(os.path.dirname(path) for path in before)):
            seen.add(path)
            if not path.isprintable():
                problems.append(["bad_name", ascii(path)])
                continue
            was_executable, was = before.get(path, (False, b""))
            try:
                content, reason = self._content(path, status)
            except OSError as error:
                content, reason = None, f"unreadable ({error.strerror})"
            if content is None:
                problems.append([reason, path])
                continue
            is_executable = stat.S_ISREG(status.st_mode) and bool(status.st_mode & 0o100)
            if stat.S_ISREG(status.st_mode) and is_executable != was_executable and len(modes) < self._max_files:
                modes.append([path, is_executable])
            if hashlib.sha256(content).digest() == was:
                continue
            room -= len(content)
            if room < 0 or len(changes) >= self._max_files:
                problems.append(["too_much", path])
            else:
                changes.append([path, base64.b64encode(content).decode()])
        if len(seen) >= MAX_ENTRIES:
            problems.append(["too_much", "."])
        gone = sorted(path for path in before.keys() - seen if not os.path.isfile(self._full(path)))
        changes += [[path, None] for path in gone[: self._max_files]]
        problems += [["too_much", path] for path in gone[self._max_files :]]
        return changes, modes, problems[:MAX_PROBLEMS]

    def _content(self, path: str, status: os.stat_result) -> tuple[bytes | None, str]:
        """What the file holds, or why that can't be told; a link that stays inside stands for what it leads to."""
        if stat.S_ISLNK(status.st_mode):
            real = os.path.realpath(self._full(path))
            if not real.startswith(self._root + os.sep):
                return None, "link_outside"
            path, status = os.path.relpath(real, self._root), os.stat(real)
        if not stat.S_ISREG(status.st_mode):
            return None, "not_a_file"
        if status.st_size > self._max_file_bytes:
            return None, "too_large"
        return self._read(path), ""

    def _read(self, path: str) -> bytes:
        # not blocking and not following: a name may have become a pipe or a link since it was seen
        with open(os.open(self._full(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            return file.read()

    def _full(self, path: str) -> str:
        return os.path.join(self._root, path)

    def _entries(self, kept: frozenset[str]) -> Iterator[tuple[str, os.stat_result]]:
        """Everything but folders, by path; caches and virtual environments are passed over, unless they are `kept`."""
        pending, count = [""], 0
        while pending:
            below = pending.pop()
            with os.scandir(self._listable(below)) as entries:
                for entry in sorted(entries, key=lambda e: e.name):
                    path = os.path.join(below, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        is_venv = os.path.lexists(os.path.join(entry.path, "pyvenv.cfg"))
                        if path in kept or not (is_venv or entry.name in self._ignored_folders):
                            pending.append(path)
                    elif not entry.name.endswith(self._ignored_suffixes) and count < MAX_ENTRIES:
                        count += 1
                        yield path, entry.stat(follow_symlinks=False)

    def _listable(self, path: str) -> str:
        full = self._full(path)
        if not os.access(full, os.R_OK | os.X_OK):
            os.chmod(full, 0o700)  # the program may have locked what is its own
        return full


if __name__ == "__main__":
    main()
