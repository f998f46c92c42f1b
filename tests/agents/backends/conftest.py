"""A real OpenAI-compatible HTTP server on loopback that plays a script and keeps every request it got."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from groundwire.agents.backends.guard import allow_model_calls
from groundwire.agents.backends.litellm import LiteLLMBackend

KEY = "sk-test-Zx81QwErTyUiOp"


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    cut_after: int | None = None
    """Close the connection after so many bytes of the body (-1: before any answer)."""
    hang: bool = False
    """Never answer."""
    dribble: bool = False
    """Send one byte every 50 ms, for ever."""


@dataclass(frozen=True)
class Seen:
    """One request as it came over the wire."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


def completion(
    *texts: str | None,
    finish: str = "stop",
    usage: tuple[int, int] | None = (7, 5),
    logprobs: Sequence[float] | None = None,
    model: str = "served-model",
) -> Reply:
    """A well-formed answer."""
    choices: list[dict[str, Any]] = [
        {"index": i, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        for i, text in enumerate(texts)
    ]
    if logprobs is not None:
        for choice in choices:
            choice["logprobs"] = {"content": [{"token": "t", "logprob": p, "top_logprobs": []} for p in logprobs]}
    body: dict[str, Any] = {"id": "c1", "object": "chat.completion", "created": 1, "model": model, "choices": choices}
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return Reply(body=json.dumps(body).encode(), headers={"content-type": "application/json"})


def failure(status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None) -> Reply:
    """An error as OpenAI writes it."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return Reply(status, body, {"content-type": "application/json", **(headers or {})})


class OpenAIStub:
    """The server. `script` holds the replies to come; the last one is repeated."""

    def __init__(self) -> None:
        self.script: list[Reply | Callable[[Seen], Reply]] = []
        self.seen: list[Seen] = []
        self.most_at_once = 0
        self.arrived = threading.Event()
        self._at_once = 0
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    completion = staticmethod(completion)
    failure = staticmethod(failure)
    Reply = Reply
    key = KEY

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def play(self, *replies: Reply | Callable[[Seen], Reply]) -> None:
        self.script[:] = replies

    def take(self, seen: Seen) -> Reply:
        with self._lock:
            self.seen.append(seen)
            self.arrived.set()
            reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return reply if isinstance(reply, Reply) else reply(seen)

    def enter(self) -> None:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)

    def leave(self) -> None:
        with self._lock:
            self._at_once -= 1

    def wait(self, seconds: float) -> bool:
        """Waits; True once the server is being closed."""
        return self._released.wait(seconds)

    def close(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def _handler(stub: OpenAIStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            seen = Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(raw))
            stub.enter()
            try:
                self._answer(stub.take(seen))
            except ConnectionError:
                self.close_connection = True
            finally:
                stub.leave()

        def _answer(self, reply: Reply) -> None:
            if reply.hang:
                stub.wait(30)
                self.close_connection = True
                return
            if reply.cut_after == -1:
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body) if not reply.dribble else 10_000))
            self.end_headers()
            if reply.dribble:
                while not stub.wait(0.05):
                    self.wfile.write(b" ")
                    self.wfile.flush()
            self.wfile.write(reply.body[: reply.cut_after])
            self.wfile.flush()
            if reply.cut_after is not None:
                self.close_connection = True

    return Handler


@pytest.fixture
def stub() -> Generator[OpenAIStub]:
    server = OpenAIStub()
    yield server
    server.close()


@pytest.fixture
async def connect(stub: OpenAIStub) -> AsyncGenerator[Callable[..., LiteLLMBackend]]:
    """Makes real LiteLLM backends that talk to the stub; model calls are allowed while it is in use."""
    made: list[LiteLLMBackend] = []

    def make(model: str = "openai/some-model", **options: Any) -> LiteLLMBackend:
        given: dict[str, Any] = {"api_base": stub.url, "api_key": KEY, "timeout_s": 5.0, "backoff_s": 0.001}
        made.append(LiteLLMBackend(model, **given | options))
        return made[-1]

    with allow_model_calls():
        yield make
    for backend in made[:1]:
        await backend.aclose()
