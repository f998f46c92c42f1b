"""Programs of the candidate that the tests start: they run where the candidate is, and their output comes back.

Stands where `subprocess` starts a process. What is no program of the candidate, or is talked with while it runs, can't
be had so.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH100, PTH109, PTH118, PTH119
from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_codec import inside, type_of
else:
    from _gw_crossing_codec import inside, type_of

WITH_A_WORD = frozenset("WX")
"""Options of the interpreter that take a word."""
PLAIN_OPTIONS = frozenset("bBdEiIOPqsSuvx")
OF_HOW = frozenset(("bufsize", "close_fds", "restore_signals", "start_new_session", "process_group", "pipesize"))
"""Arguments that make no difference to what comes back."""


class Asks(Protocol):
    """The conversation, as it is used here."""

    def ask(self, verb: str, *fields: Any) -> Any:
        """Asks the candidate's process; raises what it raised."""
        ...

    def unfit(self, why: str) -> NoReturn:
        """Ends this run: the tests need more than can be sent."""
        ...

    def is_program(self, path: str) -> bool:
        """True for a file of the candidate."""
        ...

    def is_theirs(self, module: str) -> bool:
        """True for the name of a module of the candidate."""
        ...


def stand_in(asks: Asks) -> None:
    """From now on `subprocess` starts the candidate's programs over there."""

    class Popen(_Program):
        """Stands for `subprocess.Popen`."""

        _asks = asks

    Popen.__module__, Popen.__qualname__ = "subprocess", "Popen"
    inside(subprocess)["Popen"] = Popen


class _Program:
    _asks: Asks

    def __init__(
        self,
        args: Any,
        bufsize: int = -1,
        executable: Any = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        preexec_fn: Any = None,
        close_fds: Any = True,
        shell: Any = False,
        cwd: Any = None,
        env: Mapping[str, str] | None = None,
        universal_newlines: Any = None,
        startupinfo: Any = None,
        creationflags: int = 0,
        *more: Any,
        text: Any = None,
        encoding: str | None = None,
        errors: str | None = None,
        **named: Any,
    ) -> None:
        self.args = args
        self.returncode: int | None = None
        given: list[Any] = [args] if isinstance(args, (str, bytes)) or hasattr(args, "__fspath__") else [*args]
        words = [os.fsdecode(word) for word in given]
        extras = [executable, preexec_fn, shell, startupinfo, creationflags, *more]
        if any(extras) or not OF_HOW.issuperset(named) or not self._is_program(words, cwd):
            self._asks.unfit(f"the tests start a program that is not the candidate's ({_shown(words)})")
        self._words, self._cwd, self._env = words, cwd, env
        self._is_text = bool(text or encoding or errors or universal_newlines)
        self._encoding, self._errors = encoding or "utf-8", errors or "strict"
        self._ends = (stdout, stderr)
        self._given = _read(stdin)
        self._came: tuple[bytes, bytes] | None = None
        self.stdin: Any = self._stream(b"", True) if stdin == subprocess.PIPE else None

    def _is_program(self, words: Sequence[str], cwd: Any) -> bool:
        """True for what lies over there and is named by its file, or as a module."""
        rest = list(words[1:])
        if words[0] != sys.executable and os.path.basename(words[0]) not in ("python", "python3"):
            return self._lies_there(words[0], cwd) and "/" in words[0]
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            if option == "-m":
                return bool(rest) and self._asks.is_theirs(rest[0])
            if option[1:2] in WITH_A_WORD:
                rest = rest[1:] if len(option) == 2 else rest
            elif not PLAIN_OPTIONS.issuperset(option[1:]) or option == "-":
                return False
        return bool(rest) and self._lies_there(rest[0], cwd)

    def _lies_there(self, path: str, cwd: Any) -> bool:
        whole = os.path.join(os.getcwd() if cwd is None else os.path.abspath(os.fsdecode(cwd)), path)
        return self._asks.is_program(whole)

    # --- running

    def _run(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        if self._came is None:
            if self.stdin is not None:
                self._given += _raw(self.stdin)
            told = ("python" if self._words[0] == sys.executable else self._words[0], *self._words[1:])
            folder = None if self._cwd is None else os.path.abspath(os.fsdecode(self._cwd))
            code, out, err = self._asks.ask(
                "program", told, self._given, self._changed(), folder, timeout, self._ends[1] == subprocess.STDOUT
            )
            if type_of(out) is not bytes or type_of(err) is not bytes or type_of(code) not in (int, type(None)):
                raise OSError("the code under test gave no output of a program")
            self._came = out, err
            if code is None:
                self.returncode = -9
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0, out or None, err or None)
            self.returncode = code
            for end, said, own in ((self._ends[0], out, 1), (self._ends[1], err, 2)):
                _write(end, said, own)
        return self._came

    def _changed(self) -> tuple[tuple[str, str | None], ...]:
        """The variables that are not as they are for the tests; None stands for one that is not there."""
        if self._env is None:
            return ()
        given = {os.fsdecode(name): os.fsdecode(value) for name, value in self._env.items()}
        names = {**os.environ, **given}
        return tuple((name, given.get(name)) for name in names if given.get(name) != os.environ.get(name))

    def _stream(self, content: bytes, write: bool = False) -> Any:
        raw = io.BytesIO(content)
        if write:
            raw.close = raw.flush  # type: ignore[method-assign]
        if not self._is_text:
            return raw
        return io.TextIOWrapper(raw, self._encoding, self._errors, write_through=True)

    @property
    def stdout(self) -> Any:
        """What it has written, once it has ended."""
        return self._stream(self._run()[0]) if self._ends[0] == subprocess.PIPE else None

    @property
    def stderr(self) -> Any:
        """See `stdout`."""
        return self._stream(self._run()[1]) if self._ends[1] == subprocess.PIPE else None

    @property
    def pid(self) -> int:
        """Not to be had: it is another box's."""
        self._asks.unfit("the tests ask for the number of a process")

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """See `subprocess.Popen.communicate`."""
        if input is not None and self._came is None:
            self._given += input.encode(self._encoding, self._errors) if isinstance(input, str) else bytes(input)
        self._run(timeout)
        return tuple(None if end is None else end.read() for end in (self.stdout, self.stderr))  # type: ignore[return-value]

    def wait(self, timeout: float | None = None) -> int | None:
        """See `subprocess.Popen.wait`."""
        self._run(timeout)
        return self.returncode

    def poll(self) -> int | None:
        """See `subprocess.Popen.poll`; what was not waited for yet can't be told of."""
        if self._came is None:
            self._asks.unfit("the tests look at a program while it runs")
        return self.returncode

    def send_signal(self, _number: int) -> None:
        """Does nothing to one that has ended."""
        self.poll()

    def kill(self) -> None:
        """Does nothing to one that has ended."""
        self.poll()

    terminate = kill

    def __enter__(self) -> _Program:
        return self

    def __exit__(self, *_raised: object) -> None:
        if self._came is None and _raised[0] is None:
            self._run()

    def __class_getitem__(cls, _kind: Any) -> Any:
        return cls


def _read(stdin: Any) -> bytes:
    if stdin is None or stdin in (subprocess.PIPE, subprocess.DEVNULL):
        return b""
    descriptor = stdin if isinstance(stdin, int) else stdin.fileno()
    parts: list[bytes] = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _raw(stream: Any) -> bytes:
    return getattr(stream, "buffer", stream).getvalue()


def _write(end: Any, said: bytes, own: int) -> None:
    if end in (subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL):
        return
    descriptor = own if end is None else end if isinstance(end, int) else end.fileno()
    view = memoryview(said)
    while view:
        view = view[os.write(descriptor, view) :]


def _shown(words: Sequence[str]) -> str:
    return " ".join(os.path.basename(word) for word in words[:3])[:80]
