"""The country under other names: what was learned by heart in one edition answers nothing in the next.

Edition 0 is the corpus as it is written. In every other edition each invented name and each number is another one, as
FictionalHot swaps entities (arXiv 2510.00568), and the passages stand in another order. What is asked and how it hangs
together stays: the way of searching carries over, the answers don't.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from groundwire.tools.environments.worlds.fiction_search.corpus import PASSAGES, QUESTIONS, Question
from groundwire.tools.search import Corpus

__all__ = ["Edition", "edition"]

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

    questions: tuple[Question, ...]
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
