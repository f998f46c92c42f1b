"""A real OpenAI-compatible HTTP server on loopback that plays a script and keeps every request it got."""

from __future__ import annotations

import gc
import json
import socket
import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from groundwire.models._guard import allow_model_calls
from groundwire.models._litellm import LiteLLMBackend
from groundwire.models._openai_compatible import OpenAICompatibleBackend

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
    hold_after: int | None = None
    """Go on after so many bytes of the body only when the test says so (`stub.go_on`)."""


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
    top: Sequence[float] = (),
    model: str = "served-model",
    cached: int = 0,
    calls: Sequence[tuple[str, str]] = (),
) -> Reply:
    """A well-formed answer."""
    choices: list[dict[str, Any]] = [
        {"index": i, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        for i, text in enumerate(texts)
    ]
    if logprobs is not None:
        for choice in choices:
            others = [{"token": "o", "logprob": p, "bytes": None} for p in top]
            tokens = [{"token": "t", "logprob": p, "bytes": None, "top_logprobs": others} for p in logprobs]
            choice["logprobs"] = {"content": tokens}
    for choice in choices if calls else ():
        choice["message"]["tool_calls"] = [
            {"id": f"call-{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(calls)
        ]
    body: dict[str, Any] = {"id": "c1", "object": "chat.completion", "created": 1, "model": model, "choices": choices}
    if usage:
        counts: dict[str, Any] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
        body["usage"] = counts | ({"prompt_tokens_details": {"cached_tokens": cached}} if cached else {})
    return Reply(body=json.dumps(body).encode(), headers={"content-type": "application/json"})


def streamed(whole: Reply, *, whole_lines: int | None = None, piece: int = 3) -> Reply:
    """The same answer as server-sent events, `piece` characters at a time; with `whole_lines`, the first ones only."""
    body: dict[str, Any] = json.loads(whole.body)
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    events: list[dict[str, Any]] = []
    for choice in body["choices"]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        text: str = choice["message"]["content"] or ""
        deltas += [{"content": text[i : i + piece]} for i in range(0, len(text), piece)]
        for number, call in enumerate(choice["message"].get("tool_calls") or ()):
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            deltas.append({"tool_calls": [{**call, "index": number, "function": {"name": name, "arguments": ""}}]})
            for i in range(0, len(arguments), piece):
                deltas.append({"tool_calls": [{"index": number, "function": {"arguments": arguments[i : i + piece]}}]})
        listed: dict[str, Any] = choice.get("logprobs") or {}
        tokens: list[Any] = list(listed.get("content", ()))
        for delta in deltas:
            part: list[Any] = [tokens.pop(0)] if tokens and delta.get("content") else []
            events.append({"index": choice["index"], "delta": delta, "finish_reason": None})
            if part:
                events[-1]["logprobs"] = {"content": part + (tokens if delta is deltas[-1] else [])}
        events.append({"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]})
    lines = [{**head, "choices": [event]} for event in events]
    if body.get("usage"):
        lines.append({**head, "choices": [], "usage": body["usage"]})
    shown = [f"data: {json.dumps(line)}\n\n" for line in lines]
    shown = [*shown, "data: [DONE]\n\n"] if whole_lines is None else shown[:whole_lines]
    headers = {"content-type": "text/event-stream"}
    return Reply(body="".join(shown).encode(), headers=headers)


def failure(status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None) -> Reply:
    """An error as OpenAI writes it."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return Reply(status, body, {"content-type": "application/json", **(headers or {})})


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some tests are about."""


class OpenAIStub:
    """The server. `script` holds the replies to come; the last one is repeated."""

    def __init__(self) -> None:
        self.script: list[Reply | Callable[[Seen], Reply]] = []
        self.seen: list[Seen] = []
        self.models = ["served-model"]
        self.listed = 0
        self.most_at_once = 0
        self.arrived = threading.Event()
        self.go_on = threading.Event()
        self.dropped = threading.Event()
        """Set when a client has closed the connection of a request that hangs."""
        self._at_once = 0
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._server = _Quiet(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    completion = staticmethod(completion)
    failure = staticmethod(failure)
    streamed = staticmethod(streamed)
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
                stub.dropped.set()
                self.close_connection = True
            finally:
                stub.leave()

        def _answer(self, reply: Reply) -> None:
            if reply.hang:
                while not stub.wait(0.02) and not self._is_dropped():
                    pass
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
            if reply.cut_after is not None:
                self.wfile.write(reply.body[: reply.cut_after])
                self.wfile.flush()
                self.close_connection = True
                return
            self.wfile.write(reply.body[: reply.hold_after])
            self.wfile.flush()
            if reply.hold_after is not None:
                while not stub.go_on.wait(0.02) and not self._is_dropped():
                    pass
                self.wfile.write(reply.body[reply.hold_after :])

        def do_GET(self) -> None:
            stub.listed += 1
            body = json.dumps({"data": [{"id": name} for name in stub.models]}).encode()
            self._answer(Reply(body=body, headers={"content-type": "application/json"}))

        def _is_dropped(self) -> bool:
            try:
                dropped = self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
            except BlockingIOError:
                return False
            except OSError:
                dropped = True
            if dropped:
                stub.dropped.set()
            return dropped

    return Handler


@pytest.fixture
def stub() -> Generator[OpenAIStub]:
    server = OpenAIStub()
    yield server
    server.close()


KINDS = ("litellm", "native")


@pytest.fixture
async def connect(stub: OpenAIStub) -> AsyncGenerator[Callable[..., LiteLLMBackend]]:
    """Makes real LiteLLM backends that talk to the stub; model calls are allowed while it is in use."""
    made: list[LiteLLMBackend] = []

    def make(model: str = "openai/some-model", **options: Any) -> LiteLLMBackend:
        given: dict[str, Any] = {"api_base": stub.url, "api_key": KEY, "timeout_s": 60.0, "backoff_s": 0.001}
        made.append(LiteLLMBackend(model, **given | options))
        return made[-1]

    with allow_model_calls():
        yield make
    for backend in made[:1]:
        await backend.aclose()


@pytest.fixture
def forgets_what_was_cut_off() -> Generator[None]:
    """LiteLLM makes coroutines in a thread; one that is cancelled meanwhile is never awaited, as Python says later."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.fixture(params=KINDS)
async def reach(
    request: pytest.FixtureRequest, stub: OpenAIStub, connect: Callable[..., LiteLLMBackend]
) -> AsyncGenerator[Callable[..., LiteLLMBackend | OpenAICompatibleBackend]]:
    """Makes backends that talk to the stub: through LiteLLM, then directly; the test runs with either."""
    made: list[OpenAICompatibleBackend] = []

    def make(*, url: str = "", **options: Any) -> LiteLLMBackend | OpenAICompatibleBackend:
        if request.param == "litellm":
            return connect(**({"api_base": url} if url else {}), **options)
        given: dict[str, Any] = {"api_key": KEY, "timeout_s": 60.0, "backoff_s": 0.001}
        made.append(OpenAICompatibleBackend(url or stub.url, "some-model", **given | options))
        return made[-1]

    yield make
    for backend in made:
        await backend.aclose()
