"""Finds the model's file, by the package's own records and without importing the package, and checks what it is."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from platformdirs import user_data_path

from groundwire.agents.backends.local_model.pinned import SMOLLM2, PinnedModel
from groundwire.errors import ConfigError, ModelRejected

__all__ = [
    "check_is_model",
    "file_digest",
    "find_model",
    "model_in",
    "models_folder",
    "package_folder",
    "read_model",
    "verify_model",
]

MAGIC = b"GGUF"


def models_folder() -> Path:
    """Where models are kept: beside groundwire's other data, shared by all environments of the user."""
    return user_data_path("groundwire") / "models"


def package_folder(model: PinnedModel = SMOLLM2) -> Path:
    """The folder into which the model's package is unpacked."""
    return models_folder() / f"{model.distribution}-{model.version}"


def find_model(model: PinnedModel = SMOLLM2) -> Path | None:
    """The model's file: from groundwire's own folder, else from the package in this environment, else None."""
    return model_in(package_folder(model), model) or _in_environment(model)


def model_in(folder: Path, model: PinnedModel = SMOLLM2) -> Path | None:
    """The model's file in a folder of packages, if its package is there."""
    for package in metadata.distributions(name=model.distribution, path=[str(folder)]):
        return _file_of(package, model)
    return None


def _in_environment(model: PinnedModel) -> Path | None:
    try:
        return _file_of(metadata.distribution(model.distribution), model)
    except metadata.PackageNotFoundError:
        return None


def _file_of(package: metadata.Distribution, model: PinnedModel) -> Path | None:
    for file in package.files or ():
        if file.as_posix() == model.file:
            path = Path(str(package.locate_file(file)))
            return path if path.is_file() else None
    return None


def file_digest(path: Path) -> str:
    """sha256 of a file, as hex.

    Raises:
        ModelRejected: it can't be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


def verify_model(path: Path, model: PinnedModel = SMOLLM2) -> str:
    """The digest of `path`, if it is the pinned model, byte for byte.

    Raises:
        ModelRejected: it is another file, or can't be read.
    """
    digest = file_digest(path)
    _check(digest, path, model)
    return digest


def read_model(path: Path, model: PinnedModel) -> bytes:
    """The bytes of `path`, if they are the pinned model's; for what loads a model from memory.

    Raises:
        ModelRejected: it is another file, or can't be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    _check(hashlib.sha256(content).hexdigest(), path, model)
    return content


def _check(digest: str, path: Path, model: PinnedModel) -> None:
    if digest != model.file_sha256:
        raise ModelRejected(
            f"{path} is not {model.name} as it was pinned: its sha256 is another. It is damaged, or was changed.",
            do=f"Fetch it again:  {model.install}",
        )


def _unreadable(path: Path, error: OSError) -> ModelRejected:
    return ModelRejected(f"The model {path} can't be read: {error.strerror}.", do="Check its permissions.")


def check_is_model(path: Path) -> None:
    """Returns if `path` is a file that begins as a GGUF model does.

    Raises:
        ConfigError: it is not.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise ConfigError(
            f"The model {path} can't be read: {error.strerror}.", do="Give the path of a GGUF file:  local:PATH.gguf"
        ) from error
    if magic != MAGIC:
        raise ConfigError(f"{path} is no GGUF model.", do="Give the path of a GGUF file:  local:PATH.gguf")
