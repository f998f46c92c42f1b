"""Thought switching, penalised: what a switch is in tokens, and when its price is due (TIP, arXiv 2501.18585).

No engine and no tensor library is needed here: a row of logits is anything that takes `row[tokens] -= penalty`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from groundwire.core._errors import ConfigError
from groundwire.core._models import Request, SwitchPenalty

EXTRA = "switch_penalty"
"""The name under which vLLM is told of it (`SamplingParams.extra_args`, `vllm_xargs`)."""
LETTERS = 4
"""A piece of fewer letters, unless it is the whole word, begins too many other words to stand for this one."""

Encode = Callable[[str], Sequence[int]]
Piece = Callable[[int], str]


def switch_tokens(words: Collection[str], encode: Encode, piece: Piece) -> frozenset[int]:
    """The tokens that begin one of `words`, with and without a space before it, in small letters and with a capital.

    Args:
        words: what says that another thought begins: "alternatively".
        encode: a tokenizer's, without special tokens.
        piece: the text of one token.

    Raises:
        ConfigError: of a word there is no such token: with this tokenizer it begins as many others do.
    """
    found: set[int] = set()
    for word in words:
        forms = [f"{space}{form}" for form in (word.lower(), word.capitalize()) for space in ("", " ")]
        firsts = {ids[0] for ids in map(encode, forms) if ids}
        mine = {token for token in firsts if _names(piece(token), word)}
        if not mine:
            raise ConfigError(
                f"{word!r} has no token of its own with this tokenizer.", do="Leave it out, or give `tokens`."
            )
        found |= mine
    return frozenset(found)


def _names(piece: str, word: str) -> bool:
    text = piece.strip().lower()
    return bool(text) and word.lower().startswith(text) and (len(text) >= LETTERS or text == word.lower())


class Thought:
    """How long the current thought of one answer is: tokens since the last switch, or since the beginning.

    Args:
        tokens: that switch.
    """

    def __init__(self, tokens: Collection[int]) -> None:
        self._tokens = frozenset(tokens)
        self._seen = 0
        self._began = 0

    def length(self, written: Sequence[int]) -> int:
        """Tokens of the current thought, its switch left out.

        Args:
            written: all tokens of the answer so far; it only grows. One that is not known yet is negative, as vLLM's
                asynchronous scheduling has it: it is looked at again the next time.
        """
        while self._seen < len(written) and written[self._seen] >= 0:
            self._seen += 1
            if written[self._seen - 1] in self._tokens:
                self._began = self._seen
        return len(written) - self._began


def penalise(row: Any, thought: Thought, written: Sequence[int], tokens: Any, asked: SwitchPenalty) -> Any:
    """The logits of the next token: lower by the penalty for tokens that switch, while the thought is young.

    Args:
        row: logits, changed in place.
        thought: of this answer.
        written: its tokens so far.
        tokens: those that switch, in a form that `row` can be indexed by.
        asked: the penalty and its window.
    """
    if asked.window is None or thought.length(written) < asked.window:
        row[tokens] -= asked.penalty
    return row


def extra_of(request: Request) -> dict[str, str]:
    """What vLLM is told besides; empty where no penalty is asked for."""
    asked = request.switch_penalty
    return {} if asked is None or asked.window == 0 else {EXTRA: asked.model_dump_json()}


def logit_bias(request: Request) -> dict[str, float]:
    """The same for an API that knows no window: a bias for the whole answer; empty where none is asked for.

    Raises:
        ConfigError: a window is asked for, or no tokens are given: a hosted model's tokenizer is not ours to guess.
    """
    asked = request.switch_penalty
    if asked is None or asked.window == 0:
        return {}
    if asked.window is not None or not asked.tokens:
        raise ConfigError(
            "A penalty on thought switching has a window only on vllm: and vllm-server:, which find the tokens"
            " themselves.",
            do="Elsewhere give SwitchPenalty(window=None, tokens=[…]), with ids of the model's own tokenizer.",
        )
    return {str(token): -asked.penalty for token in asked.tokens}
