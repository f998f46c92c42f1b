"""A reranker behind LiteLLM: a model made to say how relevant passages are to a query (Cohere, Voyage, vLLM, …)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundwire.core._errors import ModelError, ModelReplyInvalid
from groundwire.models._guard import check_model_calls
from groundwire.models._library import loaded_litellm
from groundwire.models._litellm_faults import to_model_error
from groundwire.models._retries import Retries
from groundwire.models._slots import Slots


class LiteLLMReranker:
    """A `Reranker` that LiteLLM knows. LiteLLM is imported when the first call is made.

    Args:
        model: LiteLLM's id: `cohere/rerank-v3.5`, `voyage/rerank-2`, `hosted_vllm/BAAI/bge-reranker-v2-m3`.
        api_base: address of the API, for a server of one's own.
        api_key: the key; default: from the environment variable of the provider.
        timeout_s: seconds that one attempt may take in all.
        max_attempts: requests sent at most for one answer.
        max_in_flight: requests in flight at once.

    Raises:
        ConfigError: an argument is out of range.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        max_attempts: int = 4,
        max_in_flight: int = 16,
    ) -> None:
        self._model = model
        self._address = {
            name: value for name, value in {"api_base": api_base, "api_key": api_key}.items() if value is not None
        }
        self._slots = Slots(max_in_flight, timeout_s)
        self._retries = Retries(max_attempts)

    @property
    def name(self) -> str:
        """See `Reranker`."""
        return self._model

    async def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """See `Reranker`.

        Raises:
            ModelRejected, ModelRetryable: as a backend's.
            ModelReplyInvalid: there is no score for each passage.
            ConfigError: LiteLLM is not installed.
        """
        if not passages:
            return ()
        check_model_calls(self._model)
        litellm = await loaded_litellm()
        return (await self._retries.run(lambda: self._send(litellm, query, passages))).answer

    async def _send(self, litellm: Any, query: str, passages: Sequence[str]) -> Sequence[float]:
        fault: ModelError
        try:
            async with self._slots.here(), self._slots.deadline():
                # one owner of retries, here
                response: Any = await litellm.arerank(
                    model=self._model,
                    query=query,
                    documents=list(passages),
                    top_n=len(passages),
                    max_retries=0,
                    timeout=self._slots.timeout_s,
                    **self._address,
                )
            return self._scores(response, len(passages))
        except ModelError as error:
            fault = error
        except Exception as error:
            fault = to_model_error(
                error, litellm, model=self._model, api_key=self._address.get("api_key"), slots=self._slots
            )
        raise fault  # out here so that no traceback shows the library's error, whose text may hold the key

    def _scores(self, response: Any, count: int) -> Sequence[float]:
        scored: dict[int, float] = {}
        for result in response.results or ():
            scored[int(result["index"])] = min(1.0, max(0.0, float(result["relevance_score"])))
        if scored.keys() != set(range(count)):
            raise ModelReplyInvalid(
                f"{self._model} scored {len(scored)} of {count} passages.", do="Use a reranker that scores all of them."
            )
        return [scored[place] for place in range(count)]
