"""Requests and answers in vLLM's words."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from groundwire.core._errors import ModelRejected, ModelReplyInvalid, ModelRetryable
from groundwire.core._models import Load, Message, Request
from groundwire.models.vllm_engine._engine import Gauge
from groundwire.models.vllm_engine._talk import Watching, completion_of, prompt_text, sampling_arguments

HELLO = Message(role="user", content="hello")


class Tokenizer:
    """Writes down how its template was asked."""

    chat_template = "x"

    def apply_chat_template(self, chat: list[dict[str, str]], **options: Any) -> str:
        if chat[0]["role"] == "system":
            raise ValueError("System role not supported\x1b[2J")
        assert options.pop("tokenize") is False
        return f"{[m['content'] for m in chat]} {sorted(options.items())}"


def test_a_begun_answer_is_gone_on_with() -> None:
    fresh = prompt_text(Tokenizer(), [HELLO], model="m")
    begun = prompt_text(Tokenizer(), [HELLO, Message(role="assistant", content="1.")], model="m")
    assert "('add_generation_prompt', True), ('continue_final_message', False)" in fresh
    assert "('add_generation_prompt', False), ('continue_final_message', True)" in begun


def test_a_template_that_is_missing_or_refuses_is_the_models_own_limit() -> None:
    with pytest.raises(ModelRejected, match="System role not supported") as caught:
        prompt_text(Tokenizer(), [Message(role="system", content="be kind")], model="m")
    assert "\x1b" not in str(caught.value)
    with pytest.raises(ModelRejected, match="no chat template"):
        prompt_text(SimpleNamespace(chat_template=None), [HELLO], model="m")


def test_what_is_asked_for_becomes_sampling_arguments() -> None:
    request = Request(messages=(HELLO,), n=3, temperature=0.5, max_tokens=100, stop=("a",), seed=4, logprobs=True)
    assert sampling_arguments(request, room=60, fixed={"ignore_eos": True}) == {
        "n": 3, "temperature": 0.5, "max_tokens": 60, "stop": ["a"], "seed": 4, "logprobs": 0, "ignore_eos": True,
    }  # fmt: skip
    plain = sampling_arguments(Request(messages=(HELLO,), n=3), room=9999, fixed={})
    assert plain == {"n": 1, "temperature": 0.0, "max_tokens": 2048}, "greedy samples are all the same"


def test_no_answer_has_to_be_longer_than_the_context_has_room_for() -> None:
    """vLLM before its pull request 51299 generates nothing more there, and never ends the request."""
    request = Request(messages=(HELLO,), max_tokens=100)
    fixed = {"min_tokens": 256, "max_tokens": 256}
    near_the_end = sampling_arguments(request, room=60, fixed=fixed)
    assert (near_the_end["min_tokens"], near_the_end["max_tokens"]) == (60, 60)
    roomy = sampling_arguments(request, room=9999, fixed=fixed)
    assert (roomy["min_tokens"], roomy["max_tokens"]) == (256, 256), "what is fixed wins over the request"
    assert sampling_arguments(request, room=60, fixed={"max_tokens": None})["max_tokens"] is None


def likely(logprob: float) -> Any:
    return SimpleNamespace(logprob=logprob)


def output(*texts: str, reason: str = "stop") -> Any:
    samples = [
        SimpleNamespace(
            index=i,
            text=text,
            token_ids=[5, 6],
            finish_reason=reason,
            logprobs=[{5: likely(-0.5)}, {9: likely(-9.0), 6: likely(-1.0)}],
        )
        for i, text in reversed(list(enumerate(texts)))
    ]  # fmt: skip
    return SimpleNamespace(outputs=samples, prompt_token_ids=[1, 2, 3])


def test_an_output_becomes_a_completion() -> None:
    request = Request(messages=(HELLO,), n=2, temperature=1.0, logprobs=True, top_logprobs=1)
    answer = completion_of(output("a", "b"), request, model="vllm:m", name="m")
    assert (answer.texts, answer.finish_reasons, answer.model) == (("a", "b"), ("stop", "stop"), "m")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.usd) == (3, 4, 0.0)
    assert answer.logprobs == ((-0.5, -1.0), (-0.5, -1.0))
    assert answer.top_logprobs == (((-0.5,), (-1.0,)), ((-0.5,), (-1.0,)))
    greedy = completion_of(output("a"), Request(messages=(HELLO,), n=2), model="vllm:m", name="m")
    assert (greedy.texts, greedy.completion_tokens, greedy.logprobs) == (("a", "a"), 2, None)


def test_samples_off_the_schema_are_dropped_and_none_is_an_error() -> None:
    schema = {"type": "object", "required": ["n"]}
    request = Request(messages=(HELLO,), n=2, temperature=1.0, json_schema=schema)
    assert completion_of(output('{"n": 1}', "{"), request, model="m", name="m").texts == ('{"n": 1}',)
    with pytest.raises(ModelReplyInvalid, match="did not answer in the form"):
        completion_of(output("{}", "{"), request, model="m", name="m")
    with pytest.raises(ModelReplyInvalid, match="empty reply"):
        completion_of(output("", " "), request, model="m", name="m")
    with pytest.raises(ModelRetryable, match="ended the request"):
        completion_of(output("a", reason="abort"), request, model="m", name="m")


def test_the_gauge_counts_what_the_engine_says() -> None:
    gauge = Gauge(4)
    assert gauge(object(), 0) is gauge
    gauge.in_flight = 7
    stats = SimpleNamespace(num_running_reqs=3, prefix_cache_stats=SimpleNamespace(queries=100, hits=60))
    gauge.record(stats, SimpleNamespace(num_preempted_reqs=2), None, engine_idx=0)
    gauge.record(None, None)
    assert gauge.load() == Load(running=3, waiting=4, capacity=4)
    assert (gauge.prompt_tokens, gauge.cached_tokens, gauge.preempted, gauge.most_running) == (100, 60, 2, 3)
    gauge.in_flight = 0
    assert gauge.load() == Load(0, 0, 4), "nothing of ours runs, whatever the last step said"


def test_a_sample_is_looked_at_token_by_token_while_it_is_written() -> None:
    told: list[tuple[float, ...]] = []

    def goes_on(top: Sequence[float]) -> bool:
        told.append(tuple(top))
        return len(told) < 3

    watching, places = Watching(goes_on, 2), [{1: likely(-1.0), 2: likely(-0.5), 3: likely(-9.0)} for _ in range(4)]
    written = SimpleNamespace(index=0, text="a", token_ids=[1], logprobs=places[:1], finish_reason=None)
    unfinished = SimpleNamespace(outputs=[written], prompt_token_ids=[1], finished=False)
    assert not watching.ends(unfinished) and told == [(-0.5, -1.0)]
    written.logprobs = places
    assert watching.ends(unfinished) and len(told) == 3, "each is told of once, the ones behind the last not at all"
    written.token_ids, written.text = [1, 1, 1, 1], ""
    asked = Request(messages=(HELLO,), logprobs=True, top_logprobs=2)
    ended = completion_of(unfinished, asked, model="vllm:m", name="m")
    assert (ended.finish_reasons, ended.completion_tokens) == (("killed",), 4)
    whole = SimpleNamespace(outputs=[written], finished=True)
    assert not Watching(lambda _top: False, 2).ends(whole), "what is all there is no longer ended"
