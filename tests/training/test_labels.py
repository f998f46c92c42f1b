"""Labels of tokens, by hand; what TRL makes of them is in test_trl.py."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_language_model import tokenizer_of

from groundwire.core._errors import ConfigError
from groundwire.training import with_labels
from groundwire.training._labels import IGNORED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tokenizer_of(["user assistant a wrong right what came back"])


def learned(row: dict[str, Any], tokenizer: Any) -> str:
    told = with_labels(row, tokenizer)
    assert len(told["input_ids"]) == len(told["labels"])
    kept = [label for label in told["labels"] if label != IGNORED]
    return str(tokenizer.decode(kept))


def said(*messages: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content, "tool_calls": None} for role, content in messages]


def test_only_what_the_mask_keeps_is_learned(tokenizer: Any) -> None:
    messages = said(("user", "a"), ("assistant", "wrong"), ("user", "what came back"), ("assistant", "right"))
    row = {"messages": messages, "loss_mask": [False, False, False, True]}
    assert learned(row, tokenizer) == "right</s>"


@pytest.mark.parametrize("answer", ["a", "assistant", "user", "s", "a</s>a", "  a  "])
def test_an_answer_that_its_own_header_holds_is_found_behind_it(tokenizer: Any, answer: str) -> None:
    row = {"prompt": said(("user", "a"), ("assistant", "a"), ("user", "a")), "completion": said(("assistant", answer))}
    told = with_labels(row, tokenizer)
    assert learned(row, tokenizer) == f"{answer}</s>"
    assert told["labels"][-1] == tokenizer.eos_token_id and told["labels"].count(IGNORED) > len(answer)


def test_segments_of_an_answer(tokenizer: Any) -> None:
    segments = [{"start": 0, "end": 6, "loss": False}, {"start": 6, "end": 11, "loss": True}]
    row = {"prompt": said(("user", "a")), "completion": said(("assistant", "wrong right")), "segments": segments}
    assert learned(row, tokenizer).strip() == "right</s>", "the space that a token begins with is nobody's"


def test_turns_of_one_role_are_one_message(tokenizer: Any) -> None:
    told = [
        ("student", "wrong", True),
        ("world", "what", False),
        ("teacher", "came", False),
        ("student", "right", True),
    ]
    turns = [{"speaker": s, "content": c, "loss": loss} for s, c, loss in told]
    row = {"prompt": said(("user", "a")), "turns": turns}
    assert learned(row, tokenizer) == "wrong</s>right</s>"
    rendered = tokenizer.decode(with_labels(row, tokenizer)["input_ids"])
    assert "what\n\ncame" in rendered and rendered.count("<s>") == 4


def test_what_a_template_drops_is_not_learned_in_silence(tokenizer: Any) -> None:
    row = {"messages": said(("user", "a"), ("assistant", "<think>b</think>right")), "loss_mask": [False, True]}
    kept = tokenizer.chat_template
    try:
        tokenizer.chat_template = kept.replace("m['content']", "m['content'].split('</think>')[-1]")
        with pytest.raises(ConfigError, match="changes or drops"):
            with_labels(row, tokenizer)
    finally:
        tokenizer.chat_template = kept


@pytest.mark.parametrize("row", [{}, {"prompt": "text", "completions": ["a"]}, {"prompt": [], "chosen": []}])
def test_rows_that_hold_no_conversation_are_refused(tokenizer: Any, row: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        with_labels(row, tokenizer)
