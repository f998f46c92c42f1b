"""Our side of the talk with the guest: one job sent, its frames read, bounded and never trusted."""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import cast

from groundwire.core._candidates import Tree, check_path
from groundwire.core._errors import CandidateError, ConfigError, SandboxCrashed
from groundwire.core._sandboxes import LimitName, Limits
from groundwire.sandbox._process import readable
from groundwire.sandbox.guest import wire

CREDENTIALS = struct.Struct("iII")
FD = struct.Struct("i")
MAX_TEXT = 4096
MAX_FRAME = wire.MAX_FILE_BYTES + wire.INDEX.size
READ_BYTES = 256 * 1024
BLOCK = 4096
ROOM_BYTES = 1 << 20


class JobReport:
    """What the guest reported about one job."""

    def __init__(self, fields: tuple[int, int, int, float, float, int, int], files: dict[str, bytes]) -> None:
        code, ended_by, limit, self.cpu_s, self.duration_s, self.stdout_cut, self.stderr_cut = fields
        self.exit_code = code if code >= 0 else None
        self.signal = ended_by or None
        self.limit_hit: LimitName | None = None
        if 0 < limit < len(wire.LIMITS):
            self.limit_hit = cast("LimitName", wire.LIMITS[limit])
        self.files = files


class FrameReader:
    """Cuts what the guest sends into frames."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> None:
        """Takes the next bytes."""
        self._pending += data

    def next(self) -> tuple[bytes, bytes] | None:
        """The next whole frame, if there is one.

        Raises:
            SandboxCrashed: the guest reports that it failed, or sends what no guest of ours sends.
        """
        if len(self._pending) < wire.HEADER.size:
            return None
        kind, size = wire.HEADER.unpack_from(self._pending)
        if size > MAX_FRAME:
            raise SandboxCrashed("The sandbox sent a frame that is too large.")
        end = wire.HEADER.size + size
        if len(self._pending) < end:
            return None
        body = bytes(self._pending[wire.HEADER.size : end])
        del self._pending[:end]
        if kind == wire.BROKEN:
            raise SandboxCrashed(f"The sandbox failed from inside: {body[:MAX_TEXT].decode(errors='replace')}.")
        return kind, body


class _Report:
    """Gathers frames until there is an outcome."""

    def __init__(self, collect: Sequence[str]) -> None:
        self._collect = collect
        self._files: dict[str, bytes] = {}

    def take(self, kind: bytes, body: bytes) -> JobReport | None:
        """Takes one frame; returns the outcome if that was it."""
        if kind == wire.FILE and len(body) >= wire.INDEX.size:
            index: int = wire.INDEX.unpack_from(body)[0]
            if index < len(self._collect):
                self._files[self._collect[index]] = body[wire.INDEX.size :]
            return None
        if kind == wire.REFUSED:
            text = body[:MAX_TEXT].decode(errors="replace")
            raise CandidateError(f"The files can't be laid out: {text}.", do="Correct their paths.")
        if kind == wire.RESULT and len(body) == wire.OUTCOME.size:
            return JobReport(wire.OUTCOME.unpack(body), self._files)
        raise SandboxCrashed(f"The sandbox sent an unknown frame {kind!r}.")


def read_outcome(frames: Iterable[tuple[bytes, bytes]], collect: Sequence[str]) -> JobReport | None:
    """Reads frames until the result; None if they end without one.

    Raises:
        CandidateError: the tree can't be laid out.
        SandboxCrashed: a frame that no guest of ours sends.
    """
    report = _Report(collect)
    for kind, body in frames:
        outcome = report.take(kind, body)
        if outcome is not None:
            return outcome
    return None


class Channel:
    """One end of a socket pair; the other is the guest's.

    Args:
        near: our end.
    """

    def __init__(self, near: socket.socket) -> None:
        self._near = near
        self._reader = FrameReader()
        self.greeted = False  # by a keeper's first sign of life
        near.setblocking(False)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    async def send(self, value: object) -> None:
        """Sends a value of plain types.

        Raises:
            SandboxCrashed: nobody listens.
        """
        await self.send_packed(wire.pack_value(value))

    async def send_packed(self, data: bytes) -> None:
        """Sends a value that was packed before.

        Raises:
            SandboxCrashed: nobody listens.
        """
        try:
            await asyncio.get_running_loop().sock_sendall(self._near, data)
        except OSError as error:
            raise SandboxCrashed(f"The sandbox ended before it was told what to run: {error}.") from error

    async def hello(self) -> int:
        """Waits for the keeper's first sign of life.

        Returns:
            Its process id, as the kernel says it, in our numbering.

        Raises:
            SandboxCrashed: it ended instead.
        """
        for kind, content in await self._with_more(0):
            if kind == socket.SCM_CREDENTIALS:
                pid, _, _ = CREDENTIALS.unpack(content)
                self.greeted = True
                return pid
        raise SandboxCrashed("The sandbox ended before it had started.")

    async def door(self) -> socket.socket:
        """Waits for the socket that a guest hands out before it learns what to run; see `guest.door`.

        Raises:
            SandboxCrashed: it ended instead.
        """
        for kind, content in await self._with_more(socket.CMSG_LEN(FD.size)):
            if kind == socket.SCM_RIGHTS:
                return socket.socket(fileno=FD.unpack(content)[0])
        raise SandboxCrashed("The sandbox ended before it had handed out its socket.")

    async def _with_more(self, room: int) -> list[tuple[int, bytes]]:
        """What comes beside the next frame, which has no body: credentials, and what `room` bytes hold."""
        size = wire.HEADER.size
        while True:
            try:
                data, extra, _, _ = self._near.recvmsg(size, socket.CMSG_SPACE(CREDENTIALS.size) + room)
                break
            except BlockingIOError:
                await readable(self._near)
        if len(data) == size and data[:1] == wire.BROKEN:
            self._reader.feed(data)
            await self.frame()
        return [(kind, content) for level, kind, content in extra if len(data) == size and level == socket.SOL_SOCKET]

    async def frame(self) -> tuple[bytes, bytes] | None:
        """The next frame, None at the end.

        Raises:
            SandboxCrashed: the guest reports that it failed, or sends what no guest of ours sends.
        """
        loop = asyncio.get_running_loop()
        while (frame := self._reader.next()) is None:
            try:
                data = await loop.sock_recv(self._near, READ_BYTES)
            except ConnectionError:
                data = b""
            if not data:
                return None
            self._reader.feed(data)
        return frame

    async def frames(self, kind: bytes) -> AsyncIterator[bytes]:
        """The bodies of frames of one kind, until the end or another kind."""
        while (frame := await self.frame()) is not None and frame[0] == kind:
            yield frame[1]

    async def outcome(self, collect: Sequence[str]) -> JobReport | None:
        """Reads until the result; None if the guest ended without one.

        Raises:
            CandidateError: the tree can't be laid out.
            SandboxCrashed: see `frame`.
        """
        report = _Report(collect)
        while (frame := await self.frame()) is not None:
            outcome = report.take(*frame)
            if outcome is not None:
                return outcome
        return None

    def hang_up(self) -> None:
        """Says that nobody listens any more; the guest ends what it runs."""
        with suppress(OSError):
            self._near.shutdown(socket.SHUT_RDWR)


def content_bytes(files: Mapping[str, bytes]) -> int:
    """What files themselves take on a disk, so that a limit is left to the command whole."""
    return sum(-(-len(content) // BLOCK) * BLOCK + BLOCK for content in files.values()) + ROOM_BYTES


def make_job(
    *,
    box: str,
    arguments: Sequence[str],
    python: str,
    tree: Tree,
    deleted: Sequence[str] = (),
    base: str = "",
    env: Mapping[str, str],
    stdin: bytes = b"",
    collect: Sequence[str],
    limits: Limits,
    disk_bytes: int,
    watch_disk_bytes: int = 0,
    nproc: int,
    watch: bool,
    uid: int = 0,
    line: bool = False,
) -> wire.Job:
    """A command in the form the guest reads; see `wire.Job`.

    Raises:
        CandidateError: a path of the tree or of `collect` is not a plain relative path.
        ConfigError: there is no command.
    """
    if not arguments:
        raise ConfigError("There is no command to run.", do="Give a program and its arguments.")
    for path in (*tree.files, *deleted, *collect):
        check_path(path)
    return {
        "box": box,
        "base": base,
        "arguments": list(arguments),
        "python": python,
        "files": dict(tree.files),
        "deleted": list(deleted),
        "executable": sorted(tree.executable),
        "env": dict(env),
        "stdin": stdin,
        "collect": list(collect),
        "wall_s": limits.wall_s,
        "cpu_s": max(1, math.ceil(limits.cpu_s)),
        "memory_bytes": limits.memory_bytes,
        "processes": limits.processes,
        "open_files": limits.open_files,
        "file_bytes": limits.file_bytes,
        "disk_bytes": disk_bytes,
        "watch_disk_bytes": watch_disk_bytes,
        "output_bytes": limits.output_bytes,
        "nproc": nproc,
        "watch": watch,
        "uid": uid,
        "line": 0 if line else -1,
    }
