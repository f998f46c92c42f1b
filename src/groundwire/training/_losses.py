"""How surprising answers are to the model that is to be trained, as somebody has measured it.

groundwire trains nothing and loads no weights: it names each answer (`provenance.turns`), and whoever has the model
writes a JSON line for each. All values are mean negative log probabilities of a token, in nats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from groundwire.core._errors import ConfigError
from groundwire.core._text import lines_of

Loss = Annotated[float, Field(ge=0, le=1e4, allow_inf_nan=False)]
MOST_NATS = 700.0
"""Above this the exponential is no finite number."""


def perplexity(loss: float) -> float:
    """exp of a mean loss in nats."""
    return math.exp(min(loss, MOST_NATS))


class Losses(BaseModel):
    """Of one answer.

    Args:
        turn: the answer, as rows name it in `provenance.turns`.
        answer_given_prompt: L(y|x).
        answer_alone: L(y), without the prompt.
        prompt_given_answer: L(x|y).
        prompt_alone: L(x).
        logprobs: of the answer's tokens, given the prompt; instead of `answer_given_prompt`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    turn: str
    answer_given_prompt: Loss | None = None
    answer_alone: Loss | None = None
    prompt_given_answer: Loss | None = None
    prompt_alone: Loss | None = None
    logprobs: tuple[Annotated[float, Field(le=0, ge=-1e4)], ...] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.answer_given_prompt is None) == (not self.logprobs):
            raise ValueError("give either answer_given_prompt or logprobs")
        return self

    @property
    def loss(self) -> float:
        """L(y|x)."""
        if self.answer_given_prompt is not None:
            return self.answer_given_prompt
        logprobs = self.logprobs or (0.0,)
        return -math.fsum(logprobs) / len(logprobs)

    @property
    def ppl(self) -> float:
        """Perplexity of the answer, given the prompt."""
        return perplexity(self.loss)

    @property
    def ifd(self) -> float | None:
        """Instruction-following difficulty, ppl(y|x) / ppl(y) (arXiv 2402.10110): near 1 the prompt hardly helps."""
        return None if self.answer_alone is None else perplexity(self.loss - self.answer_alone)

    @property
    def reversed_ifd(self) -> float | None:
        """ppl(x|y') / ppl(x) (same paper): the lower, the better the answer tells what was asked."""
        if self.prompt_given_answer is None or self.prompt_alone is None:
            return None
        return perplexity(self.prompt_given_answer - self.prompt_alone)


def read_losses(path: Path) -> Mapping[str, Losses]:
    """Losses out of a file of JSON lines, by answer.

    Raises:
        ConfigError: a line is none of the kind, or names an answer that was named before.
        RecordingError: the file can't be read.
    """
    found: dict[str, Losses] = {}
    for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            one = Losses.model_validate_json(line)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise ConfigError(
                f"{path}:{number} holds no losses: {f'{where}: ' if where else ''}{error.errors()[0]['msg']}.",
                do='Write JSON lines like {"turn": "0193…#0", "answer_given_prompt": 1.7}; mean nats of a token.',
            ) from error
        if one.turn in found:
            raise ConfigError(f"{path}:{number} names {one.turn[:80]} again.", do="Give each answer one line.")
        found[one.turn] = one
    return found
