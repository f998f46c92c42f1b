"""What a vLLM engine is told: from `PATH?max_model_len=4096&lora=DIR` to engine arguments, with our defaults."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl

from groundwire.core._errors import ConfigError
from groundwire.core._models import Request
from groundwire.core._paths import expand_user

MAX_NUM_SEQS = 256
"""Samples generated at once; what waits beyond them keeps the engine full while other episodes are being judged."""
DEFAULTS: Mapping[str, Any] = {
    "enable_prefix_caching": True,
    "scheduling_policy": "priority",
    "max_num_seqs": MAX_NUM_SEQS,
    "use_tqdm_on_load": False,
}
ALLOWED_IN_SPEC = frozenset(
    {
        "dtype",
        "enforce_eager",
        "gpu_memory_utilization",
        "kv_cache_dtype",
        "kv_cache_memory_bytes",
        "load_format",
        "lora",
        "max_lora_rank",
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_seqs",
        "pipeline_parallel_size",
        "quantization",
        "switch_penalty",
        "tensor_parallel_size",
    }
)
"""A model id may come from a stranger's pyproject.toml: what makes vLLM run code or fetch more is for Python only."""
LOAD_FORMATS = ("auto", "safetensors", "dummy")
"""Of vLLM's, those that a model id may name: nothing is unpickled or fetched. `dummy` makes the weights at random."""
SWITCH_PENALTY = "switch_penalty"
"""Our own option: the engine gets a part that can penalise thought switching (`completions.SwitchPenalty`)."""
PROCESSOR = "groundwire.models.vllm_engine._switching:SwitchProcessor"
LORA_RANKS = (8, 16, 32, 64, 128, 256, 512)
"""Ranks that vLLM has room for; an adapter of another one takes the next."""


@dataclass(frozen=True)
class EngineOptions:
    """An engine: equal options share one.

    Args:
        model: a folder in the Hugging Face layout, or a model id.
        arguments: arguments of vLLM's `AsyncEngineArgs` by name, sorted; they win over our defaults.
    """

    model: str
    arguments: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, model: str, arguments: Mapping[str, Any]) -> Self:
        """The options, made hashable.

        Raises:
            ConfigError: a value is no JSON-like scalar, list or object; or no model is named.
        """
        if not model.strip():
            raise ConfigError("No model is named.", do="Give vllm:PATH, a folder in the Hugging Face layout.")
        path = expand_user(model)
        if _looks_like_path(model) and not (path / "config.json").is_file():
            raise ConfigError(
                f"{model} is not a model: it has no config.json.",
                do="Give a folder in the Hugging Face layout (config.json, *.safetensors, tokenizer files).",
            )
        named = str(path) if _looks_like_path(model) else model
        return cls(named, tuple(sorted((name, _frozen(value)) for name, value in arguments.items())))

    @property
    def capacity(self) -> int:
        """Samples generated at once at most."""
        return int(self.engine_arguments()["max_num_seqs"])

    @property
    def name(self) -> str:
        """The model's name without its folder."""
        return Path(self.model).name if _looks_like_path(self.model) else self.model

    def engine_arguments(self) -> dict[str, Any]:
        """What vLLM's `AsyncEngineArgs` gets."""
        given = {name: _thawed(value) for name, value in self.arguments}
        if "max_lora_rank" in given:
            given["enable_lora"] = True
        if given.pop(SWITCH_PENALTY, False):
            given["logits_processors"] = [*given.get("logits_processors", ()), PROCESSOR]
        return {"model": self.model, **DEFAULTS, **given}

    def check(self, request: Request) -> None:
        """Refuses a request that this engine was not made for.

        Raises:
            ConfigError: it asks for a penalty on thought switching, and the engine has no part that could take it.
        """
        if request.switch_penalty is not None and not dict(self.arguments).get(SWITCH_PENALTY):
            raise ConfigError(
                f"The engine of {self.name} was not made to penalise thought switching.",
                do=f"Name it with the option:  vllm:{self.model}?{SWITCH_PENALTY}=true",
            )


@dataclass(frozen=True)
class Spec:
    """A model as a user names it.

    Args:
        options: of its engine.
        lora: folder of the LoRA adapter that its answers go through; None: the model as it is.
    """

    options: EngineOptions
    lora: str | None = None

    @property
    def name(self) -> str:
        """How answers say who gave them."""
        return f"{self.options.name}+{Path(self.lora).name}" if self.lora else self.options.name


def parse_spec(text: str, *, lora: str | None = None, arguments: Mapping[str, Any] | None = None) -> Spec:
    """The engine and the adapter that `MODEL_OR_PATH?name=value&…` names.

    Args:
        text: what stands after `vllm:`.
        lora: as in the text, and wins over it.
        arguments: engine arguments beyond what the text may hold; they win over it.

    Raises:
        ConfigError: an option is not known or not allowed in a text, or the model or the adapter is not there.
    """
    model, _, query = text.partition("?")
    given: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in ALLOWED_IN_SPEC:
            raise ConfigError(
                f"{name!r} can't be set in a model id.",
                do=f"Known there: {', '.join(sorted(ALLOWED_IN_SPEC))}. Others are arguments of VllmBackend.",
            )
        if name == "load_format" and value not in LOAD_FORMATS:
            raise ConfigError(
                f"load_format={value} can't be set in a model id.",
                do=f"One of these can: {', '.join(LOAD_FORMATS)}. Others are for VllmBackend(..., load_format=...).",
            )
        given[name] = _value(value)
    adapter = lora or given.pop("lora", None)
    given.pop("lora", None)
    given.update(arguments or {})
    if adapter is not None:
        adapter = str(expand_user(str(adapter)))
        given.setdefault("max_lora_rank", _rank_of(adapter))
    return Spec(EngineOptions.of(model, given), adapter)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _rank_of(adapter: str) -> int:
    try:
        rank = int(json.loads((Path(adapter) / "adapter_config.json").read_text())["r"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{adapter} is not a LoRA adapter: its adapter_config.json can't be read or names no rank r.",
            do="Give a folder that PEFT saved (adapter_config.json, adapter_model.safetensors).",
        ) from error
    fitting = [room for room in LORA_RANKS if room >= rank]
    if rank < 1 or not fitting:
        raise ConfigError(f"{adapter} has rank {rank}.", do=f"vLLM takes ranks of 1 to {LORA_RANKS[-1]}.")
    return fitting[0]


def _looks_like_path(model: str) -> bool:
    return model.startswith(("/", ".", "~")) or os.sep + os.sep in model or Path(model).is_dir()


def _frozen(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    try:
        return _Json(json.dumps(value, sort_keys=True))
    except TypeError as error:
        raise ConfigError(
            f"{value!r} can't be an engine argument.", do="Give text, numbers, lists or objects."
        ) from error


def _thawed(value: Any) -> Any:
    return json.loads(value.text) if isinstance(value, _Json) else value


@dataclass(frozen=True, order=True)
class _Json:
    text: str
