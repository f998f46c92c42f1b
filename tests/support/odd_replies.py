"""What real servers of OpenAI's chat API are known to send, byte for byte, and what is to become of it.

Written after what OpenAI, Azure, OpenRouter, DeepSeek, Mistral, vLLM, SGLang, llama.cpp, Ollama, LM Studio, TGI and
gateways before them document or were reported to send; nothing is copied from anywhere. `ByteServer` plays them.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["HOLD", "KNOWN", "ODD_REPLIES", "ByteServer", "Kind", "Odd", "Wire", "good"]

HOLD = "hold"
"""Nothing more is sent, and the connection is kept open."""
Wire = Sequence[bytes | Literal["hold"]]
"""What is sent for one request, each piece by itself; then the connection is closed."""
KNOWN = (100, 20)
"""Prompt and completion tokens that the servers count."""
USAGE: dict[str, Any] = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
HEAD: dict[str, Any] = {"id": "c1", "created": 1, "model": "served"}

Kind = Literal["text", "repair", "retry", "rejected", "silent"]


@dataclass(frozen=True)
class Odd:
    """One odd reply.

    Args:
        name: what is odd, and where that was seen.
        kind: `text`: an answer all the same; `repair`: the model is to be asked anew; `retry`: the request is sent
            again; `rejected`: it never is; `silent`: nothing came in time.
        whole: the reply to a request that does not stream, around the text of the model; None: there is no such case.
        events: the same for one that does.
        used: tokens that are known to be used; None where the server counts none.
        says: what the error says.
        thinking: what was thought.
        litellm_streams: `kind` of a stream on LiteLLM's path, where OpenAI's client says no more than that it ended.
    """

    name: str
    kind: Kind
    whole: Callable[[str], Wire] | None = None
    events: Callable[[str], Wire] | None = None
    used: tuple[int, int] | None = KNOWN
    says: str = ""
    thinking: str = ""
    litellm_streams: Kind | None = None


def http(
    body: bytes, *, status: str = "200 OK", kind: str = "application/json", more: int = 0, **headers: str
) -> bytes:
    """A whole answer; `more`: bytes that are promised and don't come."""
    fields = {"content-type": kind, "content-length": str(len(body) + more), "connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def sse(body: bytes, **headers: Any) -> bytes:
    """An answer that ends with its connection."""
    return http(body, kind="text/event-stream", content_length="", **headers)


def body(message: Any = None, finish: Any = "stop", usage: Any = USAGE, **more: Any) -> dict[str, Any]:
    """The usual body around a message; a field that is `...` is left out."""
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {**HEAD, "object": "chat.completion", "choices": [_without(choice)], "usage": usage, **more}
    return _without(whole)


def _without(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not ...}


def chunk(delta: Any = ..., finish: Any = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is ... else [_without({"index": 0, "delta": delta, "finish_reason": finish})]
    return _without({**HEAD, "object": "chat.completion.chunk", "choices": choices, **more})


def lines(*events: Any, done: bool = True, end: str = "\n\n") -> bytes:
    """Events as they are written."""
    data = [event if isinstance(event, str) else f"data: {json.dumps(event)}" for event in events]
    return "".join(f"{line}{end}" for line in (*data, *(["data: [DONE]"] if done else []))).encode()


def said(text: str, usage: Any = USAGE, *deltas: Any, finish: Any = "stop") -> list[dict[str, Any]]:
    """The usual events, with those of `deltas` before the text."""
    half = len(text) // 2
    before = [chunk({"role": "assistant", "content": ""}), *map(chunk, deltas)]
    events = [*before, chunk({"content": text[:half]}), chunk({"content": text[half:]}), chunk({}, finish)]
    return [*events, chunk(usage=usage)] if usage is not ... else events


def good(text: str, *, streams: bool = False) -> Wire:
    """An answer that nothing is odd about."""
    return [sse(lines(*said(text)))] if streams else [http(_json(body(_message(text))))]


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _message(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def _both(
    name: str,
    kind: Kind,
    whole: Callable[[str], Mapping[str, Any]],
    events: Callable[[str], Sequence[Any]],
    used: tuple[int, int] | None = KNOWN,
    **more: Any,
) -> Odd:
    return Odd(name, kind, lambda t: [http(_json(whole(t)))], lambda t: [sse(lines(*events(t)))], used, **more)


def _text(name: str, message: Callable[[str], Any], deltas: Callable[[str], Sequence[Any]], **more: Any) -> Odd:
    """A message of another form, and its deltas."""

    def events(text: str) -> Sequence[Any]:
        return [*map(chunk, deltas(text)), chunk({}, "stop"), chunk(usage=USAGE)]

    return _both(name, "text", lambda t: body(message(t)), events, **more)


def _inside(name: str, text: Callable[[str], str], **more: Any) -> Odd:
    """Something in the very text."""
    return _both(name, "text", lambda t: body(_message(text(t))), lambda t: said(text(t)), **more)


def _counted(name: str, usage: Any, used: tuple[int, int] | None = KNOWN) -> Odd:
    """A usage of another form."""
    return _both(name, "text", lambda t: body(_message(t), usage=usage), lambda t: said(t, usage), used)


def _error(name: str, kind: Kind, error: Mapping[str, Any], says: str, **more: Any) -> Odd:
    """A success that is an error."""
    return _both(name, kind, lambda _t: error, lambda _t: [error], None, says=says, **more)


def _nothing(
    name: str, message: Any, delta: Any, says: str, finish: str = "stop", kind: Kind = "repair", **more: Any
) -> Odd:
    """No answer, which was counted all the same."""

    def events(_text: str) -> Sequence[Any]:
        return [chunk(delta), chunk({}, finish), chunk(usage=USAGE)]

    return _both(name, kind, lambda _t: body(message, finish), events, says=says, **more)


def _bytes(name: str, kind: Kind, wire: Callable[[str], Wire], *, used: Any = None, **more: Any) -> Odd:
    """The same bytes whether it streams or not."""
    return Odd(name, kind, wire, wire, used, **more)


THOUGHT = "FILE: answer.txt\n```\nwrong\n```\nNo, that is wrong."
PAGE = b"<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1><script>alert(1)</script></body></html>"
REFUSAL = "I'm sorry, but I can't help with \x1b[31mthat\x1b[0m."


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _parts(text: str) -> list[Any]:
    return [{"type": "text", "text": half} for half in _halves(text)]


def _mistral(text: str) -> list[Any]:
    return [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}, {"type": "text", "text": text}]


def _split_in_a_character(text: str) -> Wire:
    whole = sse(lines(*said(text + "é世")).replace(b"\\u00e9", "é".encode()).replace(b"\\u4e16", "世".encode()))
    place = whole.index("世".encode()) + 1
    return [whole[: place - 2], whole[place - 2 : place], whole[place:]]


def _marked(opens: str, closes: str) -> Callable[[str], str]:
    return lambda t: f"{opens}\n{THOUGHT}\n{closes}\n\n{t}"


ODD_REPLIES: Sequence[Odd] = (
    # --- an answer in another form
    _text("content is a list of parts", lambda t: _message(_parts(t)), lambda t: [{"content": _parts(t)}]),
    _text(
        "a part is a text", lambda t: _message([*_halves(t)]), lambda t: [{"content": [half]} for half in _halves(t)]
    ),
    _text(
        "content is one part",
        lambda t: _message(_parts(t)[0] | {"text": t}),
        lambda t: [{"content": {"type": "text", "text": t}}],
    ),
    _text(
        "Mistral: a part is thinking",
        lambda t: _message(_mistral(t)),
        lambda t: [{"content": [part]} for part in _mistral(t)],
        thinking=THOUGHT,
    ),
    _text(
        "DeepSeek: reasoning_content",
        lambda t: _message(t, reasoning_content=THOUGHT),
        lambda t: [{"role": "assistant", "content": None, "reasoning_content": THOUGHT}, {"content": t}],
        thinking=THOUGHT,
    ),
    _text(
        "OpenRouter: reasoning",
        lambda t: _message(t, reasoning=THOUGHT, refusal=None),
        lambda t: [{"role": "assistant", "content": "", "reasoning": THOUGHT}, {"content": t, "reasoning": None}],
        thinking=THOUGHT,
    ),
    _text(
        "vLLM: tool_calls empty, function_call null",
        lambda t: _message(t, tool_calls=[], function_call=None, refusal=None),
        lambda t: [{"content": t, "tool_calls": None}],
    ),
    _inside("thinking in the text", _marked("<think>", "</think>"), thinking=THOUGHT),
    _inside(
        "vLLM without a reasoning parser: only the closing mark",
        lambda t: f"{THOUGHT}\n</think>\n\n{t}",
        thinking=THOUGHT,
    ),
    _inside(
        "thinking twice",
        lambda t: f"<think>{THOUGHT}</think>\n<think>{THOUGHT}</think>\n{t}",
        thinking=f"{THOUGHT}\n\n{THOUGHT}",
    ),
    _inside("Kimi's marks", _marked("◁think▷", "◁/think▷"), thinking=THOUGHT),
    _inside("Magistral's marks", _marked("[THINK]", "[/THINK]"), thinking=THOUGHT),
    _inside(
        "gpt-oss without a parser",
        _marked("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        thinking=THOUGHT,
    ),
    _text(
        "thinking in a part's text",
        lambda t: _message([{"type": "text", "text": f"<think>{THOUGHT}</think>{t}"}]),
        lambda t: [{"content": [{"type": "text", "text": f"<think>{THOUGHT}</think>{t}"}]}],
        thinking=THOUGHT,
    ),
    _both(
        "TGI: ended by eos_token",
        "text",
        lambda t: body(_message(t), "eos_token"),
        lambda t: said(t, finish="eos_token"),
    ),
    _both("finish_reason is null", "text", lambda t: body(_message(t), None), lambda t: said(t, finish=None)),
    _both("finish_reason is missing", "text", lambda t: body(_message(t), ...), lambda t: said(t, finish=...)),
    _both(
        "Azure: content_filter_results",
        "text",
        lambda t: body(_message(t), prompt_filter_results=[{"prompt_index": 0, "content_filter_results": {}}]),
        lambda t: [chunk(prompt_filter_results=[]), *said(t)],
    ),
    _both(
        "text in place of a message",
        "text",
        lambda t: {**body(), "choices": [{"index": 0, "text": t, "finish_reason": "stop"}]},
        lambda t: [{**chunk(), "choices": [{"index": 0, "text": t, "finish_reason": "stop"}]}, chunk(usage=USAGE)],
    ),
    _both(
        "error is null",
        "text",
        lambda t: body(_message(t), error=None),
        lambda t: [event | {"error": None} for event in said(t)],
    ),
    # --- counts
    _counted("usage is null", None, None),
    _counted("usage is missing", ..., None),
    _counted("usage is zeros", dict.fromkeys(USAGE, 0), None),
    _counted("usage is floats", {name: float(value) for name, value in USAGE.items()}),
    _counted("usage is texts", {name: str(value) for name, value in USAGE.items()}),
    _counted("usage is nonsense", {"prompt_tokens": -5, "completion_tokens": True, "total_tokens": [1]}, None),
    _counted("usage lacks a count", {"prompt_tokens": 100, "total_tokens": 120}),
    _counted("usage by Anthropic's names", {"input_tokens": 100, "output_tokens": 20}),
    Odd(
        "usage grows with each event",
        "text",
        None,
        lambda t: [
            sse(
                lines(
                    *(
                        event
                        | {
                            "usage": {
                                **USAGE,
                                "completion_tokens": min(20, 5 * i),
                                "total_tokens": 100 + min(20, 5 * i),
                            }
                        }
                        for i, event in enumerate(said(t, ...), 1)
                    )
                )
            )
        ],
    ),
    Odd(
        "usage twice, then zeros",
        "text",
        None,
        lambda t: [sse(lines(*said(t), chunk(usage=USAGE), chunk(usage=dict.fromkeys(USAGE, 0))))],
    ),
    # --- the wire
    Odd(
        "comments and CRLF",
        "text",
        None,
        lambda t: [
            sse(
                b": OPENROUTER PROCESSING\r\n\r\n"
                + lines(
                    ": keep-alive",
                    "event: message\r\nid: 1\r\ndata: " + json.dumps(said(t)[0]),
                    *said(t)[1:],
                    end="\r\n\r\n",
                )
            )
        ],
    ),
    Odd("no [DONE]", "text", None, lambda t: [sse(lines(*said(t), done=False))]),
    Odd(
        "events in place of a whole",
        "text",
        None,
        lambda t: [http(lines(*said(t)), kind="text/event-stream; charset=utf-8")],
    ),
    Odd("a piece ends within a character", "text", None, _split_in_a_character),
    Odd(
        "a byte order mark",
        "text",
        lambda t: [http(b"\xef\xbb\xbf" + _json(body(_message(t))))],
        lambda t: [sse(b"\xef\xbb\xbf" + lines(*said(t)))],
    ),
    Odd(
        "OpenRouter: blank lines before the body",
        "text",
        lambda t: [http(b"\n         \n\n" + _json(body(_message(t))))],
    ),
    Odd(
        "gzip that nobody asked for",
        "text",
        lambda t: [http(gzip.compress(_json(body(_message(t)))), content_encoding="gzip")],
        lambda t: [sse(gzip.compress(lines(*said(t))), content_encoding="gzip")],
    ),
    Odd(
        "latin-1",
        "text",
        lambda t: [
            http(
                json.dumps(body(_message(f"{t}é")), ensure_ascii=False).encode("latin-1"),
                kind="application/json; charset=iso-8859-1",
            )
        ],
    ),
    Odd("not UTF-8", "text", lambda t: [http(_json(body(_message(f"{t}é"))).replace(b"\\u00e9", b"\xff\xfe"))]),
    _inside("NUL and half a character", lambda t: f"{t}\x00\ud83d"),
    # --- trouble that passes
    _error(
        "OpenRouter: 502 in an answer's place",
        "retry",
        {
            "error": {"code": 502, "message": "Provider returned error", "metadata": {"provider_name": "X"}},
            "user_id": "u",
        },
        "Provider returned error",
    ),
    _error("the error is a text", "retry", {"error": "engine died"}, "engine died"),
    _error(
        "vLLM: object error",
        "retry",
        {"object": "error", "message": "engine died", "type": "InternalServerError", "param": None, "code": 500},
        "engine died",
    ),
    _error(
        "Anthropic behind a proxy: overloaded",
        "retry",
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        "Overloaded",
    ),
    _error(
        "TGI: the kind beside the error",
        "retry",
        {"error": "Request failed during generation", "error_type": "generation"},
        "failed during generation",
    ),
    _error("FastAPI: detail", "retry", {"detail": "worker restarted"}, "worker restarted"),
    _both(
        "choices is empty",
        "retry",
        lambda _t: {**body(), "choices": []},
        lambda _t: [chunk(usage=USAGE)],
        says="no choices",
    ),
    _both(
        "choices is null",
        "retry",
        lambda _t: {**body(), "choices": None},
        lambda _t: [{**chunk(usage=USAGE), "choices": None}],
        says="no choices",
    ),
    _both(
        "choices is missing",
        "retry",
        lambda _t: {**HEAD, "usage": USAGE},
        lambda _t: [{**HEAD, "usage": USAGE}],
        says="no choices",
    ),
    _bytes("no body", "retry", lambda _t: [http(b"")], says="empty", litellm_streams="retry"),
    _bytes("a blank body", "retry", lambda _t: [http(b" \r\n\r\n ")], says="empty", litellm_streams="retry"),
    _bytes("no events", "retry", lambda _t: [sse(b"")], says=""),
    Odd(
        "the JSON breaks off",
        "retry",
        lambda t: [http(_json(body(_message(t)))[:-60])],
        lambda t: [sse(lines(*said(t), done=False)[:-200])],
        None,
        "broke off",
    ),
    _bytes(
        "the connection breaks off", "retry", lambda t: [http(_json(body(_message(t))), more=50)], says="connection"
    ),
    _both(
        "OpenRouter: a choice holds an error",
        "retry",
        lambda t: {
            **body(),
            "choices": [
                {
                    "index": 0,
                    "message": _message(t[:5]),
                    "finish_reason": "error",
                    "error": {"code": 502, "message": "Provider disconnected"},
                }
            ],
        },
        lambda t: [
            chunk({"content": t[:5]}),
            chunk(usage=USAGE),
            {**chunk({"content": ""}, "error"), "error": {"code": 502, "message": "Provider disconnected"}},
        ],
        says="Provider disconnected",
    ),
    _both(
        "ended by an error",
        "retry",
        lambda t: body(_message(t[:5]), "error"),
        lambda t: said(t[:5], finish="error"),
        says="ended in an error",
    ),
    Odd(
        "an error in the middle of a stream",
        "retry",
        None,
        lambda t: [
            sse(lines(*said(t)[:2], {"error": {"code": 500, "message": "engine died", "type": "server_error"}}))
        ],
        None,
        "engine died",
    ),
    Odd(
        "llama.cpp: an error field",
        "retry",
        None,
        lambda t: [
            sse(lines(*said(t)[:2], 'error: {"code": 500, "message": "slot lost", "type": "server_error"}', done=False))
        ],
        None,
        "",
    ),
    Odd(
        "an error after the usage",
        "retry",
        None,
        lambda t: [sse(lines(*said(t)[:2], chunk(usage=USAGE), {"error": {"message": "engine died"}}))],
        KNOWN,
        "engine died",
    ),
    _bytes(
        "429",
        "retry",
        lambda _t: [http(_json({"error": {"message": "slow down"}}), status="429 Too Many Requests", retry_after="0")],
        says="429",
    ),
    _bytes(
        "503 and a page",
        "retry",
        lambda _t: [http(PAGE, status="503 Service Unavailable", kind="text/html")],
        says="503",
    ),
    _bytes(
        "529",
        "retry",
        lambda _t: [
            http(
                _json({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                status="529 Overloaded",
            )
        ],
        says="529",
    ),
    # --- no answer, though the model was asked
    _nothing("content is null", _message(None), {"role": "assistant", "content": None}, "empty reply"),
    _nothing("content is blank", _message(" \n"), {"content": " \n"}, "empty reply"),
    _nothing("content is a list of nothing", _message([]), {"content": []}, "empty reply"),
    _nothing(
        "an image alone",
        _message([{"type": "image_url", "image_url": {"url": "data:,x"}}]),
        {"content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]},
        "empty reply",
    ),
    _nothing("no message", ..., {}, "empty reply"),
    _nothing(
        "thinking that never ends",
        _message(f"<think>\n{THOUGHT}"),
        {"content": f"<think>\n{THOUGHT}"},
        "answered nothing",
    ),
    _nothing(
        "nothing behind the thinking",
        _message(f"<think>{THOUGHT}</think>\n"),
        {"content": f"<think>{THOUGHT}</think>\n"},
        "answered nothing",
    ),
    _nothing(
        "SGLang: all of it is reasoning",
        _message(None, reasoning_content=THOUGHT),
        {"content": None, "reasoning_content": THOUGHT},
        "answered nothing",
    ),
    _nothing(
        "tokens used up by thinking",
        _message("", reasoning_content=THOUGHT),
        {"reasoning_content": THOUGHT},
        "without writing any text",
        "length",
    ),
    _nothing(
        "a refusal", _message(None, refusal=REFUSAL), {"content": None, "refusal": REFUSAL}, "I can't help with that"
    ),
    _nothing(
        "a refusal as a part",
        _message([{"type": "refusal", "refusal": REFUSAL}]),
        {"content": [{"type": "refusal", "refusal": REFUSAL}]},
        "I can't help with that",
    ),
    _bytes(
        "a page", "repair", lambda _t: [http(PAGE, kind="text/html")], says="502 Bad Gateway", litellm_streams="retry"
    ),
    _bytes("a list", "repair", lambda _t: [http(b"[1, 2]")], says="no completion", litellm_streams="retry"),
    # --- what never works
    _nothing("Azure: withheld", _message(None), {"content": None}, "content policy", "content_filter", "rejected"),
    _error(
        "the context is too long",
        "rejected",
        {"error": {"code": 400, "message": "maximum context length is 9", "type": "BadRequestError"}},
        "context is too long",
    ),
    _error(
        "a kind in words",
        "rejected",
        {"error": {"code": "context_length_exceeded", "message": "too many tokens", "type": "invalid_request_error"}},
        "context is too long",
    ),
    _error(
        "the key is refused",
        "rejected",
        {"error": {"message": "bad key KEY", "type": "authentication_error"}},
        "refused the key",
    ),
    _error(
        "no credit",
        "rejected",
        {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}},
        "no credit",
    ),
    # --- silence
    _bytes("nothing ever", "silent", lambda _t: [HOLD], says="did not answer within"),
    _bytes(
        "the head and then nothing",
        "silent",
        lambda t: [http(_json(body(_message(t))))[:60], HOLD],
        says="did not answer within",
    ),
    Odd(
        "half a stream and then nothing",
        "silent",
        None,
        lambda t: [sse(lines(*said(t)[:3], done=False)), HOLD],
        None,
        "did not answer within",
    ),
)


class ByteServer:
    """Sends given bytes on loopback, one wire a request; the last one is repeated."""

    def __init__(self) -> None:
        self.script: list[Wire] = []
        self.asked = 0
        self._over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def play(self, *wires: Wire) -> None:
        self.script[:] = wires
        self.asked = 0

    def close(self) -> None:
        self._over.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._answer, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            if not self._read(connection):
                return
            self.asked += 1
            wire = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            try:
                for piece in wire:
                    if isinstance(piece, str):
                        self._over.wait(60)
                        return
                    connection.sendall(piece)
                    self._over.wait(0.005)
            except OSError:
                return  # nobody listens any more

    def _read(self, connection: socket.socket) -> bool:
        """True once a request has come."""
        raw = b""
        while b"\r\n\r\n" not in raw:
            if not (more := connection.recv(65536)):
                return False
            raw += more
        head, _, rest = raw.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        while len(rest) < length:
            rest += connection.recv(65536)
        return True
