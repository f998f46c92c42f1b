"""A reranker behind LiteLLM, over a real connection to a server of our own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from groundwire.core._errors import ModelRejected, ModelReplyInvalid
from groundwire.models import LiteLLMReranker

pytest.importorskip("litellm", reason="needs the extra llm")
MODEL = "hosted_vllm/reranker"


class Ranks(BaseHTTPRequestHandler):
    """Scores by length, in an order of its own; what is asked for `broken` or `short` it answers so."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body)
        texts: list[str] = body["documents"][: 1 if body["query"] == "short" else None]
        results = [{"index": i, "relevance_score": len(text) / 10} for i, text in reversed(list(enumerate(texts)))]
        said = json.dumps({"id": "1", "results": results, "usage": {"total_tokens": 1}}).encode()
        self.send_response(400 if body["query"] == "broken" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("GROUNDWIRE_MODEL_CALLS", "allow")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ranks)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


async def test_scores_come_in_the_passages_order_and_trouble_is_ours(address: str) -> None:
    reranker = LiteLLMReranker(MODEL, api_base=address, api_key="k", max_attempts=1)
    assert await reranker.rerank("q", ["a", "bbb", "c" * 99]) == pytest.approx([0.1, 0.3, 1.0])
    assert Ranks.asked[-1]["query"] == "q" and await reranker.rerank("q", []) == ()
    with pytest.raises(ModelReplyInvalid, match="1 of 2"):
        await reranker.rerank("short", ["a", "b"])
    with pytest.raises(ModelRejected):
        await reranker.rerank("broken", ["a"])
