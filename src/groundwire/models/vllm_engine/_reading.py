"""Chats as token ids, off the engine's thread; what was read in an earlier trial is not read again.

The prompts of one task begin alike, trial after trial, and reading one takes milliseconds: the template, then the
tokenizer. So a text is read in pieces, each of which is remembered. Pieces end where no token of a usual tokenizer
reaches across: between a letter or digit and the end of its line. Whether that holds for the tokenizer at hand is
looked at: of the first prompts, and of some later ones, the whole is read too, and where that ever differs, all are
read whole from then on.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from groundwire.core._models import Message
from groundwire.models.vllm_engine._talk import prompt_text

LEAST_CHARS = 512
"""Of a piece: a shorter one is read sooner than it is looked up."""
MOST_PIECES = 16_384
"""That are remembered: about 10 million tokens, 40 MB, and as much text."""
CHECKED_FIRST = 16
CHECKED_LATER = 64
"""One in so many prompts, after the first ones."""
_CUT = re.compile(r"(?<=[A-Za-z0-9])(?=\n)")


def pieces_of(text: str) -> Iterator[str]:
    """The text in pieces of at least 512 characters; two texts that begin alike have their first pieces in common."""
    start = 0
    while (cut := _CUT.search(text, start + LEAST_CHARS)) is not None:
        yield text[start : cut.start()]
        start = cut.start()
    if start < len(text):
        yield text[start:]


class PromptReader:
    """Reads chats. It may be called from any thread; one reads at a time, since tokenizers are not made for more.

    Args:
        tokenizer: the model's own.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._known: OrderedDict[str, array[int]] = OrderedDict()
        self._read = 0
        self.in_pieces = True
        """False once pieces gave other tokens than the whole."""

    def tokens(self, messages: Sequence[Message], *, model: str) -> list[int]:
        """A chat's token ids.

        Args:
            messages: the chat.
            model: the id as the user named it, for errors.

        Raises:
            ModelRejected: the model has no template, or its template refuses such a chat.
        """
        with self._lock:
            text = prompt_text(self._tokenizer, messages, model=model)
            if not self.in_pieces:
                return self._whole(text)
            found = self._by_pieces(text)
            self._read += 1
            if self._read <= CHECKED_FIRST or self._read % CHECKED_LATER == 0:
                whole = self._whole(text)
                if found != whole:
                    self.in_pieces = False
                    self._known.clear()
                    return whole
            return found

    def _by_pieces(self, text: str) -> list[int]:
        pieces = list(pieces_of(text))
        unknown = [piece for piece in dict.fromkeys(pieces) if piece not in self._known]
        # in one call, which costs more than reading a piece does, and reads several on several cores
        for piece, tokens in zip(unknown, self._read_each(unknown), strict=True):
            self._known[piece] = array("i", tokens)
        found: list[int] = []
        for piece in pieces:
            self._known.move_to_end(piece)
            found.extend(self._known[piece])
        while len(self._known) > MOST_PIECES:
            self._known.popitem(last=False)
        return found

    def _whole(self, text: str) -> list[int]:
        return list(self._read_each([text])[0])

    def _read_each(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        # the template has written the special tokens already
        return self._tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else ()
