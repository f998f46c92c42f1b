"""Opens a sandbox by kind, and says which kinds work here; always by running something in them."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from groundwire.core._candidates import Tree
from groundwire.core._errors import ConfigError, SandboxError, SandboxUnavailable
from groundwire.core._sandboxes import Enforcement, LimitName, Limits, Sandbox

KINDS = ("bubblewrap", "landlock", "docker", "subprocess")
DEFAULT_KINDS = ("bubblewrap", "landlock")
"""Tried in this order where no kind is named."""
DEFAULT_IMAGE = "python:3.12-slim"
PROBE_S = 60.0


@dataclass(frozen=True)
class Probe:
    """Whether one kind of sandbox works here.

    Args:
        kind: its name.
        ok: a program really ran in it.
        detail: what was found, or why it does not work.
        cure: what to do about it; empty if it works.
        version: of the program that isolates.
        enforcement: how firmly each limit holds.
        startup_s: seconds for one run of `print(1)`; 0 if it does not work.
    """

    kind: str
    ok: bool
    detail: str = ""
    cure: str = ""
    version: str = ""
    enforcement: Mapping[LimitName, Enforcement] = field(default_factory=dict[LimitName, Enforcement])
    startup_s: float = 0.0


async def open_sandbox(
    kind: str | None = None, *, python: Path | None = None, image: str = DEFAULT_IMAGE, runtime: str = ""
) -> Sandbox:
    """Opens a sandbox and proves that a program runs in it.

    Args:
        kind: `bubblewrap`, `landlock`, `docker` or `subprocess` (no isolation). None: bubblewrap, else landlock, else
            an error; never less.
        python: the interpreter that runs the project; None: the current one. Docker uses the image's.
        image: Docker only: the image's name.
        runtime: Docker only: the OCI runtime (`runsc` for gVisor); empty: the engine's default.

    Returns:
        An open sandbox; close it with `aclose`. It belongs to the running event loop.

    Raises:
        SandboxUnavailable: this kind does not work here; says why and what to do.
        ConfigError: there is no such kind.
    """
    if kind is not None:
        check_kind(kind)
    interpreter = python or Path(sys.executable)
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailable(f"Sandboxes need Linux; this is {sys.platform}.", do="Run groundwire on Linux.")
    if kind is None:
        return await _open_default(interpreter)
    if kind == "bubblewrap":
        from groundwire.sandbox._bubblewrap import Bubblewrap

        return await Bubblewrap.open(interpreter)
    if kind == "landlock":
        from groundwire.sandbox._landlock import Landlock

        return await Landlock.open(interpreter)
    if kind == "docker":
        from groundwire.sandbox._containers import Docker

        return await Docker.open(image, runtime=runtime)
    from groundwire.sandbox._local import Subprocess

    return await Subprocess.open(interpreter)


def check_kind(kind: str) -> None:
    """Refuses what is none of `KINDS`.

    Raises:
        ConfigError: there is no such kind.
    """
    if kind not in KINDS:
        raise ConfigError(f"There is no sandbox {kind!r}.", do=f"Choose one of: {', '.join(KINDS)}.")


async def _open_default(interpreter: Path) -> Sandbox:
    """Bubblewrap; Landlock where that does not work; the error of the first where neither does."""
    strongest, fallback = DEFAULT_KINDS
    try:
        return await open_sandbox(strongest, python=interpreter)
    except SandboxUnavailable as first:
        try:
            return await open_sandbox(fallback, python=interpreter)
        except SandboxUnavailable as second:
            raise SandboxUnavailable(f"{first.what} Nor does {fallback}: {second.what}", do=first.do) from second


async def probe_all(*, python: Path | None = None, image: str = DEFAULT_IMAGE) -> list[Probe]:
    """Tries every kind of sandbox by running `print(1)` in it.

    Args:
        python: the interpreter that is run; None: the current one.
        image: Docker only: the image's name.

    Returns:
        One probe for each of `KINDS`; a kind that does not work is a result and not an error.
    """
    return [await _probe(kind, python, image) for kind in KINDS]


async def _probe(kind: str, python: Path | None, image: str) -> Probe:
    try:
        sandbox = await open_sandbox(kind, python=python, image=image)
    except SandboxError as error:
        return Probe(kind, ok=False, detail=error.what, cure=error.do)
    try:
        began = time.monotonic()
        result = await sandbox.run(["python", "-c", "print(1)"], Tree(), Limits(wall_s=PROBE_S))
        took = time.monotonic() - began
    except SandboxError as error:
        return Probe(kind, ok=False, detail=error.what, cure=error.do)
    finally:
        await sandbox.aclose()
    info = sandbox.info
    if result.stdout != b"1\n":
        return Probe(kind, ok=False, detail=f"print(1) printed {result.stdout[:80]!r}.", version=info.version)
    detail = "isolated" if info.isolated else "works, and isolates nothing"
    return Probe(kind, True, detail, version=info.version, enforcement=info.enforcement, startup_s=took)
