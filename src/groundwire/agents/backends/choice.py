"""From the text a user gives as model to a backend."""

from __future__ import annotations

import re

from groundwire.agents.backends.litellm import LiteLLMBackend
from groundwire.agents.backends.local import LocalBackend
from groundwire.agents.backends.replay import ReplayBackend
from groundwire.agents.backends.scripted import ScriptedBackend
from groundwire.agents.backends.vllm import VllmBackend
from groundwire.agents.backends.vllm_server import VllmServerBackend
from groundwire.completions import Backend
from groundwire.errors import ConfigError

__all__ = ["FORMS", "backend_for"]

FORMS = (
    "provider/model (any LiteLLM id, for example openai/gpt-5-mini), local (a small model on this CPU), "
    "local:PATH.gguf, vllm:MODEL_OR_PATH (an engine in this process), vllm-server:MODEL_OR_PATH (a server of ours), "
    "replay:FILE (recorded calls) or scripted:FILE (JSON lines of replies)"
)

# LiteLLM ids that hold a colon: a tag after the provider's slash (ollama/llama3:8b), or OpenAI's fine-tuned ft:…
_SCHEME = re.compile(r"([a-z][a-z_-]*):")


def backend_for(spec: str | Backend, *, usd_per_token: tuple[float, float] | None = None) -> Backend:
    """The backend that `spec` names. Nothing is imported, opened or called for it, but for a file of replies.

    Args:
        spec: `provider/model`, `local`, `local:PATH.gguf`, `vllm:MODEL_OR_PATH`, `vllm-server:MODEL_OR_PATH`,
            `replay:FILE`, `replay:FILE#TASK`, `scripted:FILE`, or a
            backend, which is returned as it is.
        usd_per_token: (prompt, completion) price in US dollars a token, for a model without a known price.

    Raises:
        ConfigError: the form is not known, the script can't be read, or what `local` needs is not installed.
        RecordingError: the recording can't be read.
    """
    if not isinstance(spec, str):
        return spec
    if spec.startswith("scripted:"):
        return ScriptedBackend.from_file(spec.removeprefix("scripted:"))
    if spec.startswith("replay:"):
        return ReplayBackend.from_file(spec.removeprefix("replay:"))
    if spec == "local":
        return LocalBackend()
    if spec.startswith("local:"):
        return LocalBackend(spec.removeprefix("local:"))
    if spec.startswith("vllm:"):
        return VllmBackend(spec.removeprefix("vllm:"))
    if spec.startswith("vllm-server:"):
        return VllmServerBackend(spec.removeprefix("vllm-server:"))
    if not spec or spec != "".join(spec.split()) or not spec.isprintable():
        raise ConfigError(f"{spec!r} is no model id.", do=f"Give {FORMS}.")
    scheme = _SCHEME.match(spec)
    if scheme and scheme[1] != "ft":
        raise ConfigError(f"The model form {scheme[0]!r} is not known to this version.", do=f"Give {FORMS}.")
    return LiteLLMBackend(spec, usd_per_token=usd_per_token)
