"""Looks whether the files that a candidate may not change still are what was laid, while the tests run."""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundwire.tools.inside.recorder import Recorder

CHUNK_BYTES = 1 << 20


class FixedFiles:
    """Reports each file once, as soon as it is seen to be something else.

    Args:
        recorder: where events go.
        digests: path below the project's root → digest of what was laid.
    """

    def __init__(self, recorder: Recorder, digests: dict[str, str]) -> None:
        # references of our own: the code under test may replace or fake `os` and friends
        self._recorder = recorder
        self._digests = digests
        self._blake2b = blake2b
        self._read, self._open, self._close = os.read, os.open, os.close
        self._told: set[str] = set()
        self._read_by_runner: set[str] = set()

    def names(self) -> list[str]:
        """Paths below the project's root of the files that must stay as they are."""
        return [*self._digests]

    def look(self, path: str) -> None:
        """At one file that the runner reads now, and may be none of ours."""
        name = os.path.relpath(path, self._recorder.root)
        self._read_by_runner.add(name)
        self._look(name, late=False)

    def look_at_all(self) -> None:
        """At every file, before the first case: nobody but code that was imported can have written."""
        for name in self._digests:
            self._look(name, late=False)

    def look_again(self) -> None:
        """At the end, at what the runner has read: no case writes its own tests, but many write data."""
        for name in sorted(self._read_by_runner):
            self._look(name, late=True)

    def _look(self, name: str, *, late: bool) -> None:
        if name in self._digests and name not in self._told:
            how = self._difference(name)
            if how:
                self._tell(name, how, late=late)

    def steered_by(self, path: str) -> None:
        """At a file that steers the runner, and must be one of those that were laid."""
        name = os.path.relpath(path, self._recorder.root)
        if not name.startswith("..") and name not in self._digests and name not in self._told:
            self._tell(name, "added", late=False)

    def _tell(self, name: str, how: str, *, late: bool) -> None:
        self._told.add(name)
        self._recorder.emit("touched", id=name, m=how, late=late)

    def _difference(self, name: str) -> str:
        digest = self._blake2b(digest_size=16)
        try:
            fd = self._open(f"{self._recorder.root}/{name}", os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return "removed or replaced"
        try:
            while True:
                chunk = self._read(fd, CHUNK_BYTES)
                if not chunk:
                    break
                digest.update(chunk)
        finally:
            self._close(fd)
        return "" if digest.hexdigest() == self._digests[name] else "changed"
