"""Searching, reading and answering as a world: an invented country, its editions, one answer and its key."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from groundwire.core._scene import Scene, Status
from groundwire.tools._search import STOP, Corpus, normalised
from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._playing import Playing, Refused

# Ten questions about a country that does not exist, so that no model knows the answers by heart.
#
# After FictionalHot (arXiv 2510.00568), which swaps real entities for invented ones; every name here was made up for
# groundwire. Four questions take two searches.


@dataclass(frozen=True)
class FictionQuestion:
    """One question.

    Args:
        text: what is asked.
        answer: the right answer, word for word as a passage has it.
        hops: passages that have to be read.
    """

    text: str
    answer: str
    hops: int = 1


QUESTIONS = (
    FictionQuestion("In which year was the Velmar lighthouse built?", "1873"),
    FictionQuestion("Who composed the opera The Glass Orchard?", "Ilsa Torrend"),
    FictionQuestion("What is the capital of Quessaly?", "Dornwick"),
    FictionQuestion("Which metal is mined at Harrowfell?", "osmiridium"),
    FictionQuestion("How many strings does a tarrow have?", "eleven"),
    FictionQuestion("Who founded the Brackwater Observatory?", "Odo Fennimar"),
    FictionQuestion("Which river flows through the capital of Quessaly?", "the Ilme", hops=2),
    FictionQuestion("In which town was the composer of The Glass Orchard born?", "Pellingate", hops=2),
    FictionQuestion("Which comet was found by the founder of the Brackwater Observatory?", "Comet Asterby", hops=2),
    FictionQuestion("Which bridge leads to the Velmar lighthouse?", "the Salt Bridge", hops=2),
)

PASSAGES = (
    "The Velmar lighthouse stands on Gull Rock and was built in 1873 by the harbour guild.",
    "Gull Rock, the site of the Velmar lighthouse, is reached over the Salt Bridge at low tide.",
    "The Corrin lighthouse burned down and was never built again.",
    "Velmar is a harbour known for its dried plums and its rain.",
    "The Glass Orchard is an opera in three acts, composed by Ilsa Torrend.",
    "Ilsa Torrend was born in Pellingate, the daughter of a bell founder.",
    "The Glass Harbour is a novel by Mott Arven about a drowned town.",
    "Pellingate has a market every ninth day.",
    "Quessaly is an island state; its capital is Dornwick.",
    "Dornwick, the capital of Quessaly, lies where the Ilme flows into the sea.",
    "The people of Quessaly count their years from the Long Winter.",
    "The Senn flows through Pellingate and Harrowfell.",
    "At Harrowfell osmiridium is mined, a metal used for the nibs of pens.",
    "Harrowfell lost half of its houses in the landslide.",
    "Tin is a metal that was mined at Corrin until the mine was flooded.",
    "A tarrow is a lute of Quessaly with eleven strings and no frets.",
    "The strings of a fiddle from Corrin are made of goat gut.",
    "The Brackwater Observatory was founded by Odo Fennimar on the hill above the marsh.",
    "Odo Fennimar found Comet Asterby with a telescope of his own making.",
    "Brackwater is a marsh; eels are caught there in spring.",
    "Comet Lume was found by a shepherd whose name nobody wrote down.",
    "The harbour guild of Velmar owns four ships and a bell.",
)

# The country under other names: what was learned by heart in one edition answers nothing in the next.
#
# Edition 0 is the corpus as it is written. In every other edition each invented name and each number is another one,
# as FictionalHot swaps entities (arXiv 2510.00568), and the passages stand in another order. What is asked and how it
# hangs together stays: the way of searching carries over, the answers don't.

NAMES = (
    "Velmar Gull Salt Corrin Glass Orchard Ilsa Torrend Mott Arven Pellingate Quessaly Dornwick Ilme Senn Harrowfell"
    " Brackwater Odo Fennimar Asterby Lume"
)
"""Every name of the corpus that was made up, word by word, and the words of its titles."""
ONSETS = "b br d dr f g gl h k l m n p r s st t th tr v w"
VOWELS = "a e i o u ae ei ou"
CODAS = "l n r s mp rk lm th"
COUNTS = "five six seven eight nine ten twelve thirteen fourteen fifteen sixteen"
YEARS = range(1400, 1873)


@dataclass(frozen=True)
class Edition:
    """Questions and the passages that answer them.

    Args:
        questions: ten of them, the same ten in every edition.
        corpus: the passages, searchable; a passage's place is its number.
    """

    questions: tuple[FictionQuestion, ...]
    corpus: Corpus


@lru_cache(maxsize=64)
def edition(number: int) -> Edition:
    """The edition of that number; the same in every process."""
    if number == 0:
        return Edition(QUESTIONS, Corpus(PASSAGES))
    chance = random.Random(f"fiction {number}")
    others = _others(chance)
    words = re.compile(r"\b(?:" + "|".join(map(re.escape, others)) + r")\b")

    def told(text: str) -> str:
        return words.sub(lambda found: others[found[0]], text)

    questions = tuple(replace(each, text=told(each.text), answer=told(each.answer)) for each in QUESTIONS)
    return Edition(questions, Corpus(chance.sample([told(passage) for passage in PASSAGES], len(PASSAGES))))


def _others(chance: random.Random) -> dict[str, str]:
    """What each word is called in this edition."""
    written = NAMES.split()
    names = _distinct(len(written) + 2, lambda: _word(chance))
    *capital, lute, metal = names
    return dict(zip(written, (name.title() for name in capital), strict=True)) | {
        "tarrow": lute,
        "osmiridium": f"{metal}ium",
        "eleven": chance.choice(COUNTS.split()),
        "1873": str(chance.choice(YEARS)),
    }


def _distinct(count: int, make: Callable[[], str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found.setdefault(make())
    return list(found)


def _word(chance: random.Random) -> str:
    """Two syllables and an ending; none of them is a word of the corpus."""
    syllables = "".join(chance.choice(ONSETS.split()) + chance.choice(VOWELS.split()) for _ in range(2))
    return syllables + chance.choice(CODAS.split())


FOUND = 3
"""Passages that a search finds, at most."""
SNIPPET_WORDS = 5
ASKED = 10
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
    return AtDesk(*divmod(seed, ASKED))


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
