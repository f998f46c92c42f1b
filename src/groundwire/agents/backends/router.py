"""Several models behind one backend: LiteLLM's own Router picks the first that is not cooling down.

The Router falls back by itself too, and then nobody counts the requests. So each call of it may send one request only,
a failure puts that model into its cooldown, and the one owner of retries (`Retries`) sends again: to the next model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.agents.backends.library import load_litellm
from groundwire.agents.backends.slots import PerLoop
from groundwire.errors import ModelRetryable

__all__ = ["Fallbacks"]

GROUP = "groundwire"


class Fallbacks:
    """Models in the order in which they are asked.

    Args:
        models: LiteLLM's ids, the preferred one first.
        first: arguments for the preferred one alone: its address and key.
        cooldown_s: seconds for which a model that failed is not asked; longer where its provider says so.
    """

    def __init__(self, models: Sequence[str], first: Mapping[str, Any], cooldown_s: float) -> None:
        self._models = models
        self._first = first
        self._cooldown_s = cooldown_s
        self._routers: PerLoop[Any] = PerLoop(self._router)

    async def acompletion(self, litellm: Any, **arguments: Any) -> Any:
        """One request to one model.

        Raises:
            ModelRetryable: all of them are cooling down; nothing was sent.
            Exception: whatever LiteLLM raises for that request.
        """
        try:
            return await self._routers.here().acompletion(**{**arguments, "model": GROUP}, disable_fallbacks=True)
        except litellm.types.router.RouterRateLimitError as error:
            raise ModelRetryable(
                f"Each of {', '.join(self._models)} has failed a moment ago and is left alone for now.",
                do="Try again later, or add another model.",
                retry_after_s=float(getattr(error, "cooldown_time", self._cooldown_s)),
            ) from None

    def which(self, response: Any) -> int:
        """The index of the model that gave `response`."""
        hidden: Any = getattr(response, "_hidden_params", None) or {}
        known = str(hidden.get("model_id", "")) if hasattr(hidden, "get") else ""
        return int(known) if known.isdecimal() and int(known) < len(self._models) else 0

    def _router(self) -> Any:
        return load_litellm().Router(
            model_list=[self._deployment(i, model) for i, model in enumerate(self._models)],
            num_retries=0,
            allowed_fails=0,
            cooldown_time=self._cooldown_s,
        )

    def _deployment(self, index: int, model: str) -> dict[str, Any]:
        parameters = {"model": model, "order": index + 1, "max_retries": 0, **(self._first if index == 0 else {})}
        return {"model_name": GROUP, "litellm_params": parameters, "model_info": {"id": str(index)}}
