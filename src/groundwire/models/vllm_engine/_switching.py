"""vLLM's side of the penalty on thought switching: loaded by the engine, in its own process, by this module's name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from groundwire.core._models import SwitchPenalty
from groundwire.models._switches import EXTRA, Thought, penalise, switch_tokens

if TYPE_CHECKING:

    class AdapterLogitsProcessor:
        """vLLM's, which is not installed where types are checked."""

        def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None: ...

else:
    from vllm.v1.sample.logits_processor import AdapterLogitsProcessor


class SwitchProcessor(AdapterLogitsProcessor):
    """Penalises switches in those requests that ask for it; costs the others nothing.

    Args:
        vllm_config: the engine's; names its tokenizer.
        device: as vLLM gives it.
        is_pin_memory: likewise.
    """

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:
        super().__init__(vllm_config, device, is_pin_memory)
        self._model_config = vllm_config.model_config
        self._tokenizer: Any = None
        self._known: dict[tuple[str, ...], frozenset[int]] = {}

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuses what is no `SwitchPenalty`, before the engine has the request.

        Raises:
            ValueError: it can't be read.
        """
        _asked(sampling_params)

    def is_argmax_invariant(self) -> bool:
        """It may change the likeliest token."""
        return False

    def new_req_logits_processor(self, params: Any) -> Any:
        """What is done to one answer's logits; None where it asks for nothing."""
        asked = _asked(params)
        if asked is None:
            return None
        tokens = asked.tokens or self._tokens(asked.words)
        thought, places = Thought(tokens), sorted(tokens)

        def next_token(written: list[int], row: Any) -> Any:
            return penalise(row, thought, written, places, asked)

        return next_token

    def _tokens(self, words: tuple[str, ...]) -> frozenset[int]:
        if words not in self._known:
            if self._tokenizer is None:
                transformers: Any = importlib.import_module("transformers")
                self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._model_config.tokenizer)
            self._known[words] = switch_tokens(words, self._encode, self._piece)
        return self._known[words]

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _piece(self, token: int) -> str:
        return str(self._tokenizer.decode([token]))


def _asked(params: Any) -> SwitchPenalty | None:
    told: Mapping[str, Any] = params.extra_args or {}
    return SwitchPenalty.model_validate_json(told[EXTRA]) if EXTRA in told else None
