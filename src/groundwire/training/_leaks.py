"""The last look at a row before it is written: no text of hidden tests, and no answer where a question should be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from groundwire.training._schema import Row, texts_in

PLANTED = re.compile(r"gwcanary[0-9a-f]{32}")
"""The token that the firewall plants into the copies of hidden tests; it exists nowhere else."""
OWN_WORDS = frozenset({"attempt", "assistant", "action", "call", "candidate"})
"""What an actor is shown again of its own: that it wrote the answer there is no leak."""
_SPACES = re.compile(r"\s+")


def normal_form(text: str) -> str:
    """A text as it is compared: case and spacing don't count."""
    return _SPACES.sub(" ", text).strip().casefold()


@dataclass(frozen=True, kw_only=True)
class Leaks:
    """What may not be in a row.

    Args:
        gold: by task, its answers; they may stand in what the model answered and in what it is shown of that, nowhere
            else. One matches as a whole word, whatever its case and spacing.
        secrets: texts that may be nowhere: canaries and lines of hidden tests.
    """

    gold: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    secrets: Sequence[str] = ()

    def found(self, row: Row, line: str) -> str:
        """Why a row may not be written; empty where it may.

        Args:
            row: the row.
            line: the same as JSON.
        """
        if "gwcanary" in line and PLANTED.search(line):
            return "hidden_test_canary"
        if self.secrets and any(form in text for _, text in texts_in(json.loads(line), "") for form in self._forms):
            return "hidden_test_text"
        gold = self.gold.get(row.provenance.task, ())
        if gold and any(_holds(text, gold) for text in _shown(row)):
            return "holds_the_answer"
        return ""

    @property
    def _forms(self) -> Iterable[str]:
        return {form for secret in self.secrets for form in (secret, escape(secret, quote=False))}


def _holds(text: str, gold: Sequence[str]) -> bool:
    plain = normal_form(text)
    return any(
        re.search(rf"(?<!\w){re.escape(form)}(?!\w)", plain)
        for answer in gold
        for form in {normal_form(answer), normal_form(escape(answer, quote=False))} - {""}
    )


def _shown(row: Row) -> Iterator[str]:
    """The texts of a row in which no answer may stand: without what the model wrote itself."""
    own: dict[str, list[tuple[int, int]]] = {}
    for part in row.provenance.origins:
        if part.what in OWN_WORDS:
            own.setdefault(part.part, []).append((part.start, part.end))
    for place, text in row.shown():
        for start, end in sorted(own.get(place, ()), reverse=True):
            text = f"{text[:start]} {text[end:]}"
        yield text
