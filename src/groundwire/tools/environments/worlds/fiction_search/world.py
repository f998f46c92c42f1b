"""Searching, reading and answering as a world. An answer is given once, and compared with the key."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from groundwire.core.environments import Scene, Status
from groundwire.tools.environments.world import World
from groundwire.tools.environments.worlds.fiction_search.editions import Edition, edition
from groundwire.tools.environments.worlds.playing import Playing, Refused
from groundwire.tools.search import STOP, normalised

__all__ = ["WORLD", "AtDesk", "begin", "is_same_answer"]

FOUND = 3
"""Passages that a search finds, at most."""
SNIPPET_WORDS = 5
QUESTIONS = 10
ARTICLES = {"a", "an", "the"}
NAME = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)*")


@dataclass(frozen=True)
class AtDesk:
    """One question, what was found for it last, and what was read (`Position`).

    Args:
        number: the edition's.
        question: the question's place in it.
        found: numbers of the passages that the last search found, best first.
        read: numbers of the passages that were opened.
        answer: what was answered; empty before.
    """

    number: int
    question: int
    found: tuple[int, ...] = ()
    read: frozenset[int] = frozenset()
    answer: str = ""

    def scene(self) -> Scene:
        """See `Position`."""
        asked = self._edition.questions[self.question]
        if self.answer:
            is_right = is_same_answer(self.answer, asked.answer)
            said = f"{self.answer!r} is {'the' if is_right else 'not the'} answer."
            return Scene(f"Question: {asked.text}\n{said}", Status.WON if is_right else Status.LOST)
        passages = self._edition.corpus.passages
        told = [f"Question: {asked.text}", "Found:"]
        told += [f"  {n}: {' '.join(passages[n].split()[:SNIPPET_WORDS])} …" for n in self.found] or ["  nothing"]
        told.append("Read:")
        told += [f"  {n}: {passages[n]}" for n in sorted(self.read)] or ["  nothing"]
        return Scene("\n".join(told), actions=self._actions())

    def after(self, action: str) -> Self:
        """See `Position`. Anything may be searched for and answered, whether the scene offers it or not."""
        verb, _, what = action.partition(":")
        what = what.strip()
        match verb.strip().lower():
            case "search":
                passages = self._edition.corpus.passages
                return replace(self, found=tuple(map(passages.index, self._edition.corpus.search(what, FOUND))))
            case "open" if what in map(str, self.found):
                return replace(self, read=self.read | {int(what)})
            case "answer" if normalised(what):
                return replace(self, answer=what)
            case "open":
                raise Refused("only what the last search found can be opened, by its number.")
            case _:
                raise Refused("an action is search: …, open: … or answer: ….")

    @property
    def _edition(self) -> Edition:
        return edition(self.number)

    def _actions(self) -> tuple[str, ...]:
        """Searches for the names known so far, what can be opened, and every word that was read as an answer."""
        text = self._edition.questions[self.question].text
        read = [self._edition.corpus.passages[n] for n in sorted(self.read)]
        names = _each_once(name for told in (text, *read) for name in _names(told))
        searches = [f"search: {what}" for what in (text, *names)]
        opens = [f"open: {n}" for n in self.found if n not in self.read]
        asked = set(normalised(text).split()) | STOP
        words = (word for told in read for word in re.findall(r"\w+", NAME.sub("", told)))
        answers = _each_once(
            what
            for what in (*(name for told in read for name in _names(told)), *words)
            if not set(normalised(what).split()) <= asked
        )
        return (*searches, *opens, *(f"answer: {what}" for what in answers))


def _names(text: str) -> list[str]:
    """Runs of capitalised words, without the article or question word that a sentence begins with."""
    found: list[str] = []
    for run in NAME.findall(text):
        words = run.split()
        while words and words[0].lower() in STOP:
            del words[0]
        found.append(" ".join(words))
    return [name for name in found if name]


def _each_once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def is_same_answer(given: str, right: str) -> bool:
    """Exact match as HotpotQA and FictionalHot score it: case, punctuation and articles don't count."""
    return _bare(given) == _bare(right)


def _bare(text: str) -> list[str]:
    return [word for word in normalised(text).split() if word not in ARTICLES]


def begin(seed: int) -> AtDesk:
    """How the world of that seed begins: ten questions an edition."""
    return AtDesk(*divmod(seed, QUESTIONS))


def _desk() -> Playing:
    desk = Playing(begin)
    desk.oracle = True  # answers are compared with a key
    return desk


WORLD = World(
    name="fiction-search",
    make=_desk,
    prompt="Answer the question. It is about a country that does not exist: only the passages know. A search finds up"
    " to three; open one by its number to read it. You answer once, with a name, a word or a number and nothing else."
    " An action: `search: tower of Ambry`, `open: 4`, `answer: 1650`.",
    actions=15,
    about="ten questions about an invented country, by search; under seeds from 10 the same country has other names",
)
