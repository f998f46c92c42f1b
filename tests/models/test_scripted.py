"""The scripted backend: a real backend that plays texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groundwire.core._errors import ConfigError, ModelRejected, ModelReplyInvalid, ModelRetryable
from groundwire.core._models import Backend, Message, Request
from groundwire.models._scripted import ScriptedBackend, count_tokens


def ask(text: str = "12345678", **fields: Any) -> Request:
    return Request(messages=(Message(role="user", content=text),), **fields)


async def test_plays_in_order_and_keeps_the_requests() -> None:
    backend: Backend = ScriptedBackend(["one", "two", "three"])
    first = await backend.complete(ask("a"))
    rest = await backend.complete(ask("b", n=2))
    assert (first.texts, rest.texts) == (("one",), ("two", "three"))
    assert isinstance(backend, ScriptedBackend)
    assert [request.messages[0].content for request in backend.requests] == ["a", "b"]
    assert backend.left == 0


async def test_counts_by_the_stated_rule_and_is_free() -> None:
    backend = ScriptedBackend(["abcde", ""], model="demo")
    answer = await backend.complete(ask("12345678", n=2))
    assert (answer.prompt_tokens, answer.completion_tokens, answer.usd) == (2, 2, 0.0)
    assert (answer.model, answer.finish_reasons, answer.attempts) == ("demo", ("stop", "stop"), 1)
    assert backend.price(ask()) == 0.0
    assert [count_tokens(text) for text in ("", "a", "abcd", "abcde", "üü", "\ud800")] == [0, 1, 1, 2, 1, 1]


async def test_runs_out_with_a_clear_rejection() -> None:
    backend = ScriptedBackend(["only"])
    await backend.complete(ask())
    with pytest.raises(ModelRejected, match="held 1 replies and sample 2"):
        await backend.complete(ask())
    assert len(backend.requests) == 2


async def test_raises_scripted_errors_in_their_turn() -> None:
    backend = ScriptedBackend(["a", ModelRetryable("busy"), "b"])
    assert (await backend.complete(ask())).texts == ("a",)
    with pytest.raises(ModelRetryable, match="busy"):
        await backend.complete(ask())
    assert (await backend.complete(ask())).texts == ("b",)


async def test_a_function_sees_each_request_and_stop_is_held() -> None:
    backend = ScriptedBackend(lambda request: f"{request.messages[0].content}! STOP rest")
    assert (await backend.complete(ask("hey", n=2, stop=("STOP", "")))).texts == ("hey! ", "hey! ")
    assert backend.left is None


async def test_many_take_their_replies_in_order_also_when_slow() -> None:
    backend = ScriptedBackend([str(i) for i in range(6)], latency_s=0.01)
    answers = await backend.complete_many([ask(n=2), ask(n=3), ask()])
    assert [answer.texts for answer in answers] == [("0", "1"), ("2", "3", "4"), ("5",)]


async def test_schema_is_held() -> None:
    backend = ScriptedBackend(["1", '"text"', "3", "no"])
    schema = {"type": "integer"}
    assert (await backend.complete(ask(n=3, json_schema=schema))).texts == ("1", "3")
    with pytest.raises(ModelReplyInvalid):
        await backend.complete(ask(json_schema=schema))


async def test_of_an_answer_to_a_schema_only_the_json_is_kept() -> None:
    schema = {"type": "object", "required": ["word"], "properties": {"word": {"type": "string"}}}
    dressed = [
        'Sure!\n```json\n{"word": "a",}\n```\nDone.',
        "{'word': 'b'}",
        '{"word": "c"} or {"word": "d"}',
        '{"word": "cut',
    ]
    dressed.append('By {"type": "object", "required": ["word"]} it is {"word": "e"}.')
    answer = await ScriptedBackend(dressed).complete(ask(n=5, json_schema=schema))
    kept = tuple(f'{{"word": "{word}"}}' for word in "abe")
    assert answer.texts == kept, "two that differ are no answer, and nothing is completed"


async def test_reads_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my replies.jsonl"
    file.write_text('"one\u2028line"\n\n{"text": "two", "note": 1}\n', encoding="utf-8")
    backend = ScriptedBackend.from_file(file)
    assert (await backend.complete(ask(n=2))).texts == ("one\u2028line", "two")


@pytest.mark.parametrize("content", [b"", b"\n", b"plain", b"3", b'{"txt": "x"}', b'"a"\n[1]', b"\xff\xfe"])
def test_refuses_a_bad_file_with_its_place(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"replies\.jsonl"):
        ScriptedBackend.from_file(file)
    with pytest.raises(ConfigError, match="can't be read"):
        ScriptedBackend.from_file(tmp_path / "missing.jsonl")
