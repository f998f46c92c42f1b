"""Writes the report: one sealed line per event, at once, so that a crash keeps what was seen."""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH109, PTH118, PTH123
from __future__ import annotations

import faulthandler
import hashlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

MESSAGE_CHARS = 2000
FRAMES = 6
FRAMES_KEPT = 20
ALARM_AGAIN_S = 0.5
KEY_CHARS = 1024


def controls_of(recorder: Recorder) -> Any:
    """What turns cases round, where this run has that; few have, and all have to start, so it is imported here."""
    if "GROUNDWIRE_COIN" not in os.environ:
        return None
    if TYPE_CHECKING:
        from groundwire.tools.inside.controls import make_controls
    else:
        from _gw_controls import make_controls
    return make_controls(recorder)


def crossing_of(settings: dict[str, Any], recorder: Recorder, controls: Any) -> Any:
    """What keeps the candidate apart; imported where it is asked for, since it takes long. See `make_crossing`."""
    if not settings.get("crossing"):
        return None
    if TYPE_CHECKING:
        from groundwire.tools.inside.crossing import make_crossing
    else:
        from _gw_crossing import make_crossing
    return make_crossing(settings["crossing"], recorder, controls)


def read_settings() -> dict[str, Any]:
    """What our side of the sandbox's wall wants to be done."""
    with open(os.path.join(os.environ["GROUNDWIRE_SUPPORT"], "_gw_settings.json"), encoding="utf-8") as file:
        settings: dict[str, Any] = json.load(file)
    return settings


Ready = Callable[[], Mapping[str, str]]


def _ready() -> Ready | None:
    """What waits for the command, where this process began before that was there (see `core.HeadStart`)."""
    if "groundwire_ready" not in sys.modules:
        return None
    return sys.modules["groundwire_ready"].ready


def _read_key() -> bytes:
    """The run's nonce. Afterwards no descriptor leads to it any more: whoever reads standard input finds it empty."""
    key = bytes.fromhex(os.read(0, KEY_CHARS).decode("ascii").strip())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    if nothing:
        os.close(nothing)
    return key


class CaseTimeout(BaseException):
    """Raised inside a case that runs for too long; not an `Exception`, so that few handlers swallow it."""

    __module__ = "builtins"  # shown without a module of ours in front


class Recorder:
    """The report of one run.

    Each line is `MAC JSON`. A line's MAC is keyed with the run's nonce and covers the MAC before it, so that a line
    which was added, changed, dropped or reordered is found. The nonce is taken out of reach before any code of the
    project runs: it comes by standard input, which from then on is another file.
    """

    def __init__(self) -> None:
        # references of our own: the code under test may replace or fake `os` and friends
        self._open, self._write, self._close = os.open, os.write, os.close
        self._getpid, self._clock, self._cpu = os.getpid, time.perf_counter, time.process_time
        self._cpu_at_start = 0.0
        self._dumps = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=str).encode
        self._blake = hashlib.blake2b
        self.root = os.getcwd()
        out = os.environ["GROUNDWIRE_OUT"]
        self._path = os.path.join(out, "report.jsonl")
        self._lines_path = os.path.join(out, "lines.jsonl")
        self._stack_path = os.path.join(out, "stack.txt")
        self._mac = b""
        self._pending = b""
        self._cases = self._compared = self._undecided = 0
        self._ready = _ready()
        self._begin(os.environ)

    @property
    def waits(self) -> bool:
        """True until the command is there that this run is of; nothing of the project may run before that."""
        return self._ready is not None

    @property
    def cases(self) -> int:
        """How many have started."""
        return self._cases

    def wait(self) -> None:
        """Waits for the command, if it is not there yet; returns in a process that is the command's alone."""
        if self._ready is not None:
            ready, self._ready = self._ready, None
            self._begin(dict(ready()))

    def _begin(self, variables: MutableMapping[str, str]) -> None:
        self._pid = self._getpid()
        self._key = b"" if self.waits else _read_key()
        seconds, cpu_seconds = (float(variables.pop(f"GROUNDWIRE_CASE_{u}", "") or 0) for u in ("S", "CPU_S"))
        self.alarm = Alarm(seconds, cpu_seconds, self._stack_path)
        self.quick = bool(variables.pop("GROUNDWIRE_QUICK", ""))
        """What failed on the base tree runs first."""
        self.narrow = bool(variables.pop("GROUNDWIRE_NARROW", ""))
        """Nothing else is collected, nor run."""
        self.ends_at_break = self.quick or bool(variables.pop("GROUNDWIRE_ENDS_AT_BREAK", ""))
        """Where `stops` is set, the run ends with the first case that fails and did not on the base tree."""
        self.stops = bool(variables.pop("GROUNDWIRE_STOPS", ""))
        """The run ends with the first case that hangs, and where it is known to be no better than the base tree."""
        self.emit("begin", python=sys.version.split()[0], at=round(time.time(), 3))

    def emit(self, event: str, **fields: Any) -> None:
        """Appends one event. A fork of this process writes nothing, nor does one that waits for its command."""
        if self._getpid() != self._pid or self.waits:
            return
        if event == "start":
            self._cases += 1
            self._cpu_at_start = self._cpu()
        elif event == "case":
            fields["cpu"] = round(self._cpu() - self._cpu_at_start, 6)
        body = self._dumps({"e": event, **fields}).encode("ascii")
        mac = self._blake(self._mac + body, key=self._key, digest_size=16).hexdigest().encode("ascii")
        self._mac = mac
        self._pending = self._append(self._path, self._pending + mac + b" " + body + b"\n")

    def look_for_copies(self, own: list[str]) -> None:
        """Says which of the project's modules were imported from where things are installed.

        Args:
            own: names of the project's top-level modules.
        """
        found: dict[str, str] = {}
        for name in own:
            file = getattr(sys.modules.get(name), "__file__", None)
            if isinstance(file, str) and ("/site-packages/" in file or "/dist-packages/" in file):
                found[name] = file
        if found:
            self.emit("elsewhere", modules=found)

    def own_equality(self) -> None:
        """Notes, once a case, that a comparison which the candidate's own code made decided something in it."""
        if self._compared != self._cases:
            self._compared = self._cases
            self.emit("own_equality")

    def undecided(self) -> None:
        """Notes, once a case, that an object of the candidate was found unequal to a plain value, unasked."""
        if self._undecided != self._cases:
            self._undecided = self._cases
            self.emit("undecided")

    def emit_lines(self, case: int, lines: dict[str, list[int]]) -> None:
        """Appends the lines that one case ran; -1 stands for what ran outside of all cases."""
        if lines and self._getpid() == self._pid:
            self._append(self._lines_path, (self._dumps([case, lines]) + "\n").encode("ascii"))

    def now(self) -> float:
        """Seconds of a clock that the code under test can't turn back."""
        return self._clock()

    def _append(self, path: str, data: bytes) -> bytes:
        """Returns what could not be written; opened anew each time, because a test may close every descriptor."""
        try:
            descriptor = self._open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return data
        try:
            while data:
                data = data[self._write(descriptor, data) :]
        except OSError:
            return data
        finally:
            self._close(descriptor)
        return data


class Alarm:
    """Ends a case that runs for too long, by an exception in the main thread.

    Code that swallows every exception, or never comes back from C, is beyond its reach; the run's own limit ends that.
    So when the wall clock rings it also writes down where the program is: from the signal handler itself, without a
    thread, since a second thread would change what the project's tests see when they fork.

    Args:
        seconds: wall seconds a case may take; 0: no alarm.
        cpu_seconds: processor seconds a case may take, and half of it once a case of the run took too many; 0: any.
        stack_path: the file for where the program is.
    """

    def __init__(self, seconds: float, cpu_seconds: float, stack_path: str) -> None:
        self.seconds = seconds
        self.cpu_seconds = cpu_seconds
        self._least_cpu = cpu_seconds / 2
        self._stack_path = stack_path
        self._stack = (-1, -1)
        self._in_case = False
        self._rang = False
        self._timer, self._signal, self._handler_of = signal.setitimer, signal.signal, signal.getsignal
        self._open, self._fstat = os.open, os.fstat
        self._register, self._unregister = faulthandler.register, faulthandler.unregister

    def set(self, *, case: bool = False) -> None:
        """Starts the clock.

        Args:
            case: for a test case; False: for what happens around them (imports, set-up of modules and classes).
        """
        if not self.seconds:
            return
        self._rang = False
        try:
            self._signal(signal.SIGALRM, self._ring)
            self._register(signal.SIGALRM, file=self._stack_file(), all_threads=False, chain=True)
            self._timer(signal.ITIMER_REAL, self.seconds, ALARM_AGAIN_S)
            if case and self.cpu_seconds:
                self._signal(signal.SIGPROF, self._ring_cpu)
                self._timer(signal.ITIMER_PROF, self.cpu_seconds, ALARM_AGAIN_S)
        except (ValueError, OSError):  # not in the main thread, or no descriptor is left
            self.clear()

    def clear(self) -> bool:
        """Stops the clock.

        Returns:
            True if it had rung.
        """
        if self.seconds and self._handler_of(signal.SIGALRM) == self._ring:
            self._timer(signal.ITIMER_REAL, 0)
            self._unregister(signal.SIGALRM)
            self._signal(signal.SIGALRM, signal.SIG_DFL)
        if self.cpu_seconds and self._handler_of(signal.SIGPROF) == self._ring_cpu:
            self._timer(signal.ITIMER_PROF, 0)
            self._signal(signal.SIGPROF, signal.SIG_DFL)
        return self._rang

    def _stack_file(self) -> int:
        """A descriptor that still is our file: a test may have closed it, and its number may be another file's now."""
        descriptor, inode = self._stack
        try:
            if descriptor >= 0 and self._fstat(descriptor).st_ino == inode:
                return descriptor
        except OSError:
            pass
        descriptor = self._open(self._stack_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._stack = (descriptor, self._fstat(descriptor).st_ino)
        return descriptor

    def enter(self) -> None:
        """The project's code begins to run."""
        self._in_case = True

    def leave(self) -> None:
        """The test runner's own code runs again; it must not be interrupted."""
        self._in_case = False

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        if self._in_case:
            self._rang = True
            raise CaseTimeout(f"did not finish within {self.seconds:g} s")

    def _ring_cpu(self, _number: int, _frame: FrameType | None) -> None:
        if self._in_case:
            allowed = self.cpu_seconds
            if not self._rang:
                self.cpu_seconds = max(allowed / 2, self._least_cpu)
            self._rang = True
            raise CaseTimeout(f"did not finish within {allowed:g} s of processor time")


def cut(text: str, limit: int = MESSAGE_CHARS) -> str:
    """Keeps the head and the tail of a text."""
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    return f"{text[:head]}\n… {len(text) - limit} characters cut …\n{text[-tail:]}"


def leave_out_middle(trace: TracebackType | None) -> None:
    """Leaves out the middle of an endless recursion: pytest compares all of its frames with each other."""
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    if len(entries) > 2 * FRAMES_KEPT:
        entries[FRAMES_KEPT].tb_next = entries[-FRAMES_KEPT]


def explain(error: BaseException, trace: TracebackType | None, root: str, skip: tuple[str, ...] = ()) -> str:
    """What failed, shortened: the exception's own words, then the last frames inside the project.

    Args:
        error: the exception.
        trace: its traceback.
        root: the work folder; frames outside of it are left out unless there are no others.
        skip: files whose frames are left out.
    """
    try:
        words = "".join(traceback.format_exception_only(type(error), error)).strip()
    except BaseException as trouble:
        words = f"{type(error).__name__} (its text can't be made: {type(trouble).__name__})"
    try:
        entries = traceback.extract_tb(trace)
    except BaseException:
        entries = traceback.StackSummary()
    inside = [f for f in entries if f.filename.startswith(root + os.sep) and f.filename not in skip]
    frames = [_frame(f, root) for f in (inside or list(entries))[-FRAMES:]]
    return cut("\n".join([cut(words, MESSAGE_CHARS * 2 // 3), *frames]))


def _frame(frame: traceback.FrameSummary, root: str) -> str:
    name = frame.filename[len(root) + 1 :] if frame.filename.startswith(root + os.sep) else frame.filename
    line = (frame.line or "").strip()
    return f"  {name}:{frame.lineno} in {frame.name}" + (f": {cut(line, 160)}" if line else "")


def origin_of(trace: TracebackType | None, root: str) -> str:
    """The project's file in which an exception was raised, relative to the root; empty if it was none of these."""
    found = ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(root + os.sep):
            found = name[len(root) + 1 :]
        trace = trace.tb_next
    return found


def file_of(function: Callable[..., Any], root: str) -> str:
    """Where a function was written: relative to the root if inside it, else absolute; empty if it can't be told."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    name = getattr(code, "co_filename", "")
    return name[len(root) + 1 :] if name.startswith(root + os.sep) else name
