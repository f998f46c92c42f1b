"""What a server itself sent, behind LiteLLM's reading of it.

LiteLLM reads answers into classes of its own: it refuses what they can't hold (a content that is a list), makes a
"stop" of whatever else ended an answer, drops a refusal from a stream and counts tokens by itself where the server did
not. The server's own words are there all the same: a whole answer is given to `logger_fn`, a stream's chunks lie behind
its own.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

from groundwire.models._faults import error_in, from_error
from groundwire.models._responses import at
from groundwire.models._streams import Assembly


class Raw:
    """One whole answer as the server sent it; `hear` goes to LiteLLM as `logger_fn`."""

    def __init__(self) -> None:
        self.said: bytes | None = None
        """Its JSON, where it is in the form of OpenAI's API, or an error; None where it is in a provider's own."""
        self.body: dict[str, Any] = {}
        """The same, read."""

    def hear(self, details: Mapping[str, Any]) -> None:
        """Told by LiteLLM of a request, and then of its answer."""
        said: object = details.get("original_response")
        try:
            value: object = json.loads(said) if isinstance(said, str) else None
        except (ValueError, RecursionError):
            return
        if isinstance(said, str) and isinstance(value, dict):
            body = cast("dict[str, Any]", value)
            if {"choices", "usage"} & body.keys() or error_in(body):
                self.said, self.body = said.encode("utf-8", "surrogatepass"), body

    @property
    def ended_in_an_error(self) -> bool:
        """True where a choice says so, which LiteLLM does not pass on."""
        choices = self.body.get("choices")
        listed = cast("list[Any]", choices) if isinstance(choices, list) else []
        return any(at(choice, "error") or at(choice, "finish_reason") == "error" for choice in listed)


class Tee:
    """The chunks of a stream as the server sent them: read here, and passed on to LiteLLM, which has uses of its own.

    Args:
        chunks: of OpenAI's client library.
        assembly: takes them.
        model: the id as the user named it.
        api_key: the key that was sent, so that it can be hidden.
    """

    def __init__(self, chunks: Any, assembly: Assembly, *, model: str, api_key: str | None) -> None:
        self._chunks = chunks
        self._assembly = assembly
        self._model = model
        self._api_key = api_key
        self.fault: Exception | None = None
        """How the stream itself has failed; LiteLLM would wrap it into errors of its own."""

    @staticmethod
    def fits(chunks: Any) -> bool:
        """True for a stream of OpenAI's client library, whose chunks are in the form of the API."""
        return type(chunks).__module__.partition(".")[0] == "openai"

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        """The next chunk.

        Raises:
            ModelError: the server says in it that it failed.
        """
        try:
            chunk = await anext(self._chunks)
            if not at(chunk, "choices") and (error := error_in(chunk.to_dict())):
                raise from_error(error, model=self._model, api_key=self._api_key)
        except StopAsyncIteration:
            raise
        except Exception as error:
            self.fault = error
            raise
        self._assembly.add(chunk)
        return chunk

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._chunks.close()
