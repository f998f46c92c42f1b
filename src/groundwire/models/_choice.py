"""From the text a user gives as model to a backend."""

from __future__ import annotations

import re
from typing import TypedDict

from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend
from groundwire.core._traits import BackendTraits

FORMS = (
    "provider/model (any LiteLLM id, for example openai/gpt-5-mini; further ones after commas are fallbacks), "
    "openai-compatible:URL#MODEL (a server of your own, or several: URL,URL#MODEL), "
    "local (a small model on this CPU), local:PATH.gguf, "
    "vllm:MODEL_OR_PATH (an engine in this process), vllm-server:MODEL_OR_PATH (a server of ours; with ?replicas=N "
    "several, each on GPUs of its own), "
    "transformers:FOLDER (a model's folder, in this process), "
    "replay:FILE (recorded calls) or scripted:FILE (JSON lines of replies)"
)

_OURS = frozenset({"scripted", "replay", "openai-compatible", "local", "transformers", "vllm", "vllm-server"})
"""What may stand before a colon; the rest is the backend's own to read."""


class Patience(TypedDict, total=False):
    """How long a request may take, where that was asked for."""

    timeout_s: float


# LiteLLM ids that hold a colon: a tag after the provider's slash (ollama/llama3:8b), or OpenAI's fine-tuned ft:…
_SCHEME = re.compile(r"([a-z][a-z_-]*):")


def backend_for(
    spec: str | Backend, *, usd_per_token: tuple[float, float] | None = None, timeout_s: float | None = None
) -> Backend:
    """The backend that `spec` names. Nothing is imported, opened or called for it, but for a file of replies.

    Args:
        spec: `provider/model`, `provider/model,provider/fallback`, `openai-compatible:URL#MODEL` (several servers:
            `URL,URL#MODEL`), `local`, `local:PATH.gguf`, `vllm:MODEL_OR_PATH`, `vllm-server:MODEL_OR_PATH` (several
            engines: `?replicas=N`), `transformers:FOLDER`, `replay:FILE`,
            `replay:FILE#TASK`, `scripted:FILE`, or a backend, which is returned as it is.
        usd_per_token: (prompt, completion) price in US dollars a token, for a model without a known price.
        timeout_s: seconds that one request may take, where it goes to a provider, a server or an engine; None: the
            backend's own.

    Raises:
        ConfigError: the form is not known, the script can't be read, what `local` needs is not installed, or a backend
            declares something that is no trait.
        RecordingError: the recording can't be read.
    """
    if not isinstance(spec, str):
        BackendTraits.of(spec)
        return spec
    check_form(spec)
    patience: Patience = {} if timeout_s is None else {"timeout_s": timeout_s}
    scheme, _, rest = spec.partition(":")
    if scheme == "scripted":
        from groundwire.models._scripted import ScriptedBackend

        return ScriptedBackend.from_file(rest)
    if scheme == "replay":
        from groundwire.models._replay import ReplayBackend

        return ReplayBackend.from_file(rest)
    if scheme == "openai-compatible":
        from groundwire.models._replicas import servers

        return servers(rest, usd_per_token=usd_per_token, **patience)
    if scheme == "local":
        from groundwire.models._local import LocalBackend

        return LocalBackend(rest) if spec != "local" else LocalBackend()
    if scheme == "vllm":
        from groundwire.models._replicas import count_in

        count, one = count_in(rest)
        if count > 1:  # engines of one process would share its GPUs
            from groundwire.models._vllm_server import VllmServerBackend

            return VllmServerBackend.from_spec(rest, model=spec, **patience)
        from groundwire.models._vllm import VllmBackend

        return VllmBackend(one, **patience)
    if scheme == "vllm-server":
        from groundwire.models._vllm_server import VllmServerBackend

        return VllmServerBackend.from_spec(rest, **patience)
    if scheme == "transformers":
        from groundwire.models._transformers import TransformersBackend

        return TransformersBackend(rest)
    from groundwire.models._litellm import LiteLLMBackend

    model, *fallbacks = spec.split(",")
    return LiteLLMBackend(model, fallbacks=fallbacks, usd_per_token=usd_per_token, **patience)


def check_form(spec: str) -> None:
    """Refuses what is no form of `backend_for`; a cheap look at the text alone.

    Raises:
        ConfigError: the form is not known.
    """
    if spec == "local" or (spec.partition(":")[0] in _OURS and ":" in spec):
        return
    if not spec or spec != "".join(spec.split()) or not spec.isprintable():
        raise ConfigError(f"{spec!r} is not a model id.", do=f"Give {FORMS}.")
    scheme = _SCHEME.match(spec)
    if scheme and scheme[1] != "ft":
        raise ConfigError(f"The model form {scheme[0]!r} is not known to this version.", do=f"Give {FORMS}.")
    if not all(spec.split(",")):
        raise ConfigError(f"{spec!r} holds an empty model id.", do=f"Give {FORMS}.")
