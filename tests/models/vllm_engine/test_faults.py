"""Engine troubles told apart, from texts that vLLM 0.23 and 0.32 were seen to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._errors import ModelRejected, ModelRetryable
from groundwire.models.vllm_engine._loading import EngineGone, log_tail, to_call_error, to_start_error

LOG = Path("/logs/vllm-1.log")


@pytest.mark.parametrize(
    ("logged", "what", "do"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 MiB.", "memory does not", "max_num_seqs"),
        (
            "ValueError: Free memory on device cuda:0 (10.1/79.2 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 71.3 GiB).",
            "memory does not",
            "gpu_memory_utilization",
        ),
        ("RuntimeError: Failed to infer device type, please set", "no GPU", "nvidia-smi"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "no GPU", "nvidia-smi"),
        ("OSError: x/y is not a local folder and is not a valid model identifier", "can't be found", "cache"),
        ("RuntimeError: Cannot find any model weights with `/m`", "can't be found", "folder"),
        ("KeyError: 'odd'", "it failed", "doctor"),
    ],
)  # fmt: skip
def test_why_an_engine_did_not_start(logged: str, what: str, do: str) -> None:
    raised = RuntimeError("Engine core initialization failed. See root cause above. Failed core proc(s): {}")
    error = to_start_error(raised, LOG, model="vllm:m", tail=f"INFO fine\n{logged}\n")
    assert isinstance(error, ModelRejected)
    assert what in error.what and logged[:40] in error.what
    assert do in error.do and str(LOG) in error.do


class EngineDeadError(Exception):
    """As vLLM names it."""


class VLLMClientError(Exception):
    """As vLLM 0.32 names it."""


def test_what_went_wrong_with_a_request() -> None:
    too_long = ValueError("The decoder prompt (length 631) is longer than the maximum model length of 512.")
    assert "context is too long" in to_call_error(too_long, LOG, model="m").what
    for bad in (ValueError("temperature must be non-negative"), VLLMClientError("grammar is not supported")):
        error = to_call_error(bad, LOG, model="m")
        assert isinstance(error, ModelRejected) and str(bad) in error.what
    assert isinstance(to_call_error(RuntimeError("step failed"), LOG, model="m"), ModelRetryable)
    with pytest.raises(EngineGone):
        to_call_error(EngineDeadError("gone"), LOG, model="m")


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert log_tail(tmp_path / "none") == ""
    (tmp_path / "log").write_bytes(b"x" * 50_000 + b"the end \xff")
    assert log_tail(tmp_path / "log").endswith("the end �") and len(log_tail(tmp_path / "log")) < 25_000
