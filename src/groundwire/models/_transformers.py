"""`transformers:FOLDER`: a model in the Hugging Face layout, in this process: what was just trained, on a CPU or a GPU.

One request is answered at a time, its samples as one batch; an engine that serves hundreds at once is `vllm:`. Free,
and no text leaves the machine.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.util
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl

from groundwire.core._errors import ConfigError, ModelError, ModelRejected, ModelReplyInvalid, Usage
from groundwire.core._models import Completion, Request
from groundwire.core._paths import expand_user
from groundwire.core._text import plain
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of, cut_at_stop, reasoning_and_answer, valid_samples
from groundwire.models._guard import check_model_calls

SCHEME = "transformers:"
EXTRA = 'pip install "groundwire[improve]"'
KNOWN = frozenset({"lora", "device"})


@dataclass(frozen=True)
class _Loaded:
    """What answers."""

    model: Any
    tokenizer: Any
    torch: Any


class TransformersBackend:
    """A causal language model that transformers loads, with its own chat template. It is loaded at the first call.

    Samples are drawn from the whole distribution at the temperature that was asked for; the same request with the same
    seed gives the same texts on the same machine.

    Args:
        model: `FOLDER` or `FOLDER?lora=DIR&device=cpu`: a folder with `config.json`, weights and tokenizer; the folder
            of a LoRA adapter to answer through; where it runs (default: a GPU where there is one).

    Raises:
        ConfigError: the folder holds no model, an option is not known, or transformers or torch is not installed.
    """

    traits = BackendTraits(continues=True)
    """An answer that is begun is gone on with, by the model's own template."""

    def __init__(self, model: str) -> None:
        folder, _, query = model.partition("?")
        given = dict(parse_qsl(query, keep_blank_values=True))
        if unknown := sorted(given.keys() - KNOWN):
            raise ConfigError(f"{unknown[0]!r} can't be set in a model id.", do=f"Known: {', '.join(sorted(KNOWN))}.")
        self._folder = expand_user(folder)
        self._lora = expand_user(given["lora"]) if "lora" in given else None
        self._device = given.get("device", "")
        self._model = f"{SCHEME}{model}"
        for place, file in ((self._folder, "config.json"), (self._lora, "adapter_config.json")):
            if place is not None and not (place / file).is_file():
                raise ConfigError(
                    f"{place} is not a model: it has no {file}.",
                    do="Give a folder in the Hugging Face layout (config.json, *.safetensors, tokenizer files).",
                )
        for package in ("torch", "transformers", *(("peft",) if self._lora else ())):
            if importlib.util.find_spec(package) is None:
                raise ConfigError(f"{SCHEME} needs {package}.", do=EXTRA)
        self._loaded: _Loaded | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"TransformersBackend({self._model!r})"

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._model

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. A call that is cancelled ends behind the token that it is at.

        Raises:
            ModelRejected: the model can't be loaded, has no chat template, or the prompt leaves no room for an answer.
            ModelReplyInvalid: see `Backend`.
            ConfigError: the request asks for what this can't do.
        """
        check_model_calls(self._model)
        if request.tools or request.switch_penalty is not None or request.logprobs:
            raise ConfigError(
                f"{SCHEME} gives texts alone: no tools, no log probabilities, no penalty on switching.",
                do="Use vllm: for these.",
            )
        ended = threading.Event()
        try:
            return await asyncio.to_thread(self._answer, request, ended)
        finally:
            ended.set()

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. One after the other."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """Always free."""
        return 0.0

    async def aclose(self) -> None:
        """Lets go of the weights; the next call would load them again."""
        await asyncio.to_thread(self._drop)

    def _drop(self) -> None:
        with self._lock:
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            torch = loaded.torch
            del loaded
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _answer(self, request: Request, ended: threading.Event) -> Completion:
        with self._lock:
            if ended.is_set():
                raise ModelRejected("The call was cancelled before its turn.")
            if self._loaded is None:
                self._loaded = self._load()
            try:
                texts, reasons, used = _generated(self._loaded, request, ended, self._model)
            except ModelError:
                raise
            except Exception as error:  # out of memory, a damaged weight: torch's own kinds
                raise _broken(self._model, error) from error
        said = [reasoning_and_answer(text, request) for text in texts]
        answers, thinking = [text for _, text in said], [thought for thought, _ in said]
        try:
            if not any(text.strip() for text in answers):
                raise ModelReplyInvalid(f"{self._model} gave an empty reply.", do="Try another model or temperature.")
            kept = valid_samples(answers, request.json_schema, model=self._model)
        except ModelReplyInvalid as error:
            error.used = used
            raise
        return Completion(
            texts=tuple(kept.values()),
            model=self._folder.name if self._lora is None else f"{self._folder.name}+{self._lora.name}",
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            usd=0.0,
            finish_reasons=tuple(reasons[i] for i in kept),
            thinking=tuple(thinking[i] for i in kept) if any(thinking[i] for i in kept) else (),
        )

    def _load(self) -> _Loaded:
        torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))
        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                self._folder, local_files_only=True, dtype="auto"
            )
            if self._lora is not None:
                model = importlib.import_module("peft").PeftModel.from_pretrained(model, self._lora)
            return _Loaded(model.to(device).eval(), tokenizer, torch)
        except Exception as error:  # whatever a folder of somebody else's makes transformers raise
            raise ModelRejected(
                f"{self._model} can't be loaded: {plain(str(error), limit=400)}",
                do="See that the folder holds config.json, *.safetensors and the tokenizer's files, all whole.",
            ) from error


def _broken(model: str, error: Exception) -> ModelRejected:
    if "out of memory" in str(error).lower() or "can't allocate" in str(error).lower():
        return ModelRejected(
            f"There was no memory for the answers of {model}.", do="Ask for fewer samples or tokens at once."
        )
    return ModelRejected(f"{model} failed: {type(error).__name__}: {plain(str(error), limit=400)}")


def _generated(
    loaded: _Loaded, request: Request, ended: threading.Event, name: str
) -> tuple[list[str], list[str], Usage]:
    """The samples, why each ended, and what they took."""
    from groundwire.models.vllm_engine._talk import prompt_text

    tokenizer, model, torch = loaded.tokenizer, loaded.model, loaded.torch
    transformers: Any = importlib.import_module("transformers")
    # the template has written what begins a text
    prompt: Any = tokenizer(
        prompt_text(tokenizer, request.messages, model=name), return_tensors="pt", add_special_tokens=False
    )
    length = int(prompt["input_ids"].shape[1])
    room = int(getattr(model.config, "max_position_embeddings", 0) or 1 << 20) - length
    if room < 1:
        raise ModelRejected(
            f"The prompt has {length} tokens, which leaves {name} no room for an answer.", do="Show it less."
        )
    greedy = request.temperature == 0
    settings: dict[str, Any] = {
        "max_new_tokens": min(request.max_tokens, room),
        "do_sample": not greedy,
        "num_return_sequences": 1 if greedy else request.n,
        "pad_token_id": tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
        "stopping_criteria": transformers.StoppingCriteriaList([_until(torch, ended)]),
    }
    if not greedy:
        settings |= {"temperature": request.temperature, "top_k": 0, "top_p": 1.0}
    if request.stop:
        settings |= {"stop_strings": list(request.stop), "tokenizer": tokenizer}
    if request.seed is not None:
        torch.manual_seed(request.seed)
    # transformers 4 reads token types as well, which a causal model has no use for and refuses
    given = {part: prompt[part].to(model.device) for part in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        made: Any = model.generate(**given, **settings)
    ends = {settings["pad_token_id"], *_ends_of(model, tokenizer)}
    texts: list[str] = []
    reasons: list[str] = []
    written = 0
    for row in made[:, length:].tolist():
        tokens = row[: next((at for at, token in enumerate(row) if token in ends), len(row))]
        text = str(tokenizer.decode(tokens, skip_special_tokens=True))
        cut = cut_at_stop(text, request.stop)
        whole = len(tokens) < len(row) or cut != text
        texts.append(cut)
        reasons.append("stop" if whole else "length")
        written += len(tokens)
    copies = request.n if greedy else 1  # greedy samples would all be the same
    return texts * copies, reasons * copies, Usage(length, written, 0.0)


def _ends_of(model: Any, tokenizer: Any) -> list[int]:
    ends: Any = model.generation_config.eos_token_id
    many = cast("list[Any]", ends if isinstance(ends, list) else [ends])
    known: list[Any] = [*many, tokenizer.eos_token_id]
    return [int(end) for end in known if end is not None]


def _until(torch: Any, ended: threading.Event) -> Any:
    """A criterion that ends all samples once nobody waits for them."""

    def is_over(input_ids: Any, _scores: Any, **_: Any) -> Any:
        return torch.full((input_ids.shape[0],), ended.is_set(), dtype=torch.bool, device=input_ids.device)

    return is_over
