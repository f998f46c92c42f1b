"""Losses of answers under the model to be trained, as they are given."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError
from groundwire.training._losses import Losses, read_losses


def test_perplexities_and_difficulties(tmp_path: Path) -> None:
    file = tmp_path / "losses.jsonl"
    file.write_text(
        '{"turn": "a#0", "answer_given_prompt": 1, "answer_alone": 1.5, "prompt_given_answer": 2, "prompt_alone": 3}\n'
        '\n{"turn": "b#0", "logprobs": [-0.5, -1.5]}\n{"turn": "c", "answer_given_prompt": 10000}\n'
    )
    told = read_losses(file)
    first, second = told["a#0"], told["b#0"]
    assert first.ppl == pytest.approx(math.e) and first.ifd == pytest.approx(math.exp(-0.5))
    assert first.reversed_ifd == pytest.approx(math.exp(-1))
    assert (second.loss, second.ifd, second.reversed_ifd) == (1.0, None, None)
    assert math.isfinite(told["c"].ppl)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"turn": "a"}', "give either answer_given_prompt or logprobs"),
        ('{"turn": "a", "answer_given_prompt": 1, "logprobs": [-1]}', "give either"),
        ('{"turn": "a", "logprobs": []}', "give either"),
        ('{"turn": "a", "logprobs": [0.5]}', "less than or equal to 0"),
        ('{"turn": "a", "answer_given_prompt": -1}', "answer_given_prompt"),
        ('{"turn": "a", "answer_given_prompt": NaN}', "losses.jsonl:1"),
        ('{"turn": "a", "loss": 1}', "loss: Extra"),
        ("not JSON", "holds no losses"),
        ('{"turn": "a", "answer_given_prompt": 1}\n{"turn": "a", "answer_given_prompt": 1}', "names a again"),
    ],
)
def test_what_is_none_is_refused_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    file = tmp_path / "losses.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(ConfigError, match=why):
        read_losses(file)


def test_a_loss_stands_for_its_answer() -> None:
    assert Losses(turn="a", logprobs=(-1.0, -3.0)).ppl == pytest.approx(math.exp(2))
