"""A collection of passages to search, and judges of what was found, apart from whoever searched.

`Relevance` looks at each search as it is made, and labels what it found. `Supported` looks at the whole sequence once
there is an answer, and says at which search it went wrong.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._models import Embedder, Reranker
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.core._toolcalls import RELEVANT, SeenCall, Steps, answer_of, seen_calls
from groundwire.core._traits import ToolTraits
from groundwire.tools._functions import FunctionTool

# Words of a text as they are compared: lower case, without the commonest ones, endings taken off.

COMMON = (
    "a an and are as at by did do does for from has have he her his how in into is it its of on or she that the their"
    " them there they this to was were what when where which who whom whose why will with"
)
STOP = frozenset(COMMON.split())
ENDINGS = ("ing", "ed", "es", "s")
SHORTEST = 4
"""Letters that must be left when an ending is taken off."""


def terms(text: str) -> frozenset[str]:
    """The words that carry meaning."""
    return frozenset(_stem(word) for word in normalised(text).split() if word not in STOP)


def normalised(text: str) -> str:
    """Lower case, letters and digits only, single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST:
            return word[: -len(ending)]
    return word


# A collection of passages that can be searched: BM25, nothing to install, nothing outside this process.

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009)."""
NOTHING = "(nothing was found)"


class Corpus:
    """Passages, ranked by Okapi BM25 over the sets of their words.

    Args:
        passages: texts without empty lines; results keep them apart by one.
    """

    def __init__(self, passages: Iterable[str]) -> None:
        self.passages = tuple(passages)
        self._terms = [terms(passage) for passage in self.passages]
        self._counts = Counter(term for words in self._terms for term in words)
        self._mean = sum(map(len, self._terms)) / max(len(self._terms), 1) or 1.0

    def search(self, query: str, k: int = 3) -> list[str]:
        """The `k` passages that match best, best first; those that share no word with the query are left out."""
        wanted = terms(query)
        scored = [(self._score(wanted, words), -i) for i, words in enumerate(self._terms)]
        best = sorted((pair for pair in scored if pair[0] > 0), reverse=True)[:k]
        return [self.passages[-place] for _, place in best]

    def tool(self, k: int = 3) -> FunctionTool:
        """`search` as a tool; the same query is refused a second time."""

        def search(query: str) -> str:
            """Finds passages about a query of a few words: names and what is asked of them."""
            return "\n\n".join(self.search(query, k)) or NOTHING

        return FunctionTool(search, once=True)

    def _score(self, wanted: frozenset[str], words: frozenset[str]) -> float:
        length = 1 - B + B * len(words) / self._mean
        return sum(self._rarity(term) * (K1 + 1) / (1 + K1 * length) for term in wanted & words)

    def _rarity(self, term: str) -> float:
        found = self._counts[term]
        return math.log(1 + (len(self.passages) - found + 0.5) / (found + 0.5))


# Judges of what a search found, apart from whoever searched (ReSeek, arXiv 2510.00568; Search-R2, arXiv 2602.03647).


class Scorer(Protocol):
    """Says how much a passage has to do with a question."""

    @property
    def origin(self) -> Origin:
        """Where its word comes from: `verifier` for plain code, `other_model` for a model."""
        ...

    @property
    def threshold(self) -> float:
        """From which score on a passage is relevant."""
        ...

    async def score(self, question: str, query: str, known: str, passages: Sequence[str]) -> Sequence[float]:
        """A score from 0 to 1 for each passage.

        Args:
            question: the task.
            query: what was searched for.
            known: what was accepted before.
            passages: what was found.
        """
        ...


class ByWords:
    """The share of the query's words that the passage holds. Words that stand neither in the question nor in what was
    accepted are the actor's own invention, and count against it.

    Args:
        threshold: see `Scorer`.
    """

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold
        self.origin = Origin.VERIFIER

    async def score(self, question: str, query: str, known: str, passages: Sequence[str]) -> Sequence[float]:
        """See `Scorer`."""
        wanted = terms(query)
        grounded = wanted & (terms(question) | terms(known))
        return [len(grounded & terms(passage)) / len(wanted) if wanted else 0.0 for passage in passages]


class ByMeaning:
    """The cosine of the embeddings of question and query together, and of the passage. It is a model's word.

    Args:
        embedder: the model, for example MiniLM (extra `embeddings`).
        threshold: see `Scorer`.
    """

    def __init__(self, embedder: Embedder, threshold: float = 0.5) -> None:
        self.threshold = threshold
        self.origin = Origin.OTHER_MODEL
        self._embedder = embedder

    async def score(self, question: str, query: str, known: str, passages: Sequence[str]) -> Sequence[float]:
        """See `Scorer`."""
        asked, *found = await self._embedder.embed([f"{question} {query}", *passages])
        return [max(0.0, _cosine(asked, vector)) for vector in found]


class ByReranking:
    """What a reranker says of a passage and the question with the query. It is a model's word.

    Args:
        reranker: the model, for example `LiteLLMReranker("cohere/rerank-v3.5")`, or one of your own.
        threshold: see `Scorer`; rerankers differ in what their scores mean.
    """

    def __init__(self, reranker: Reranker, threshold: float = 0.5) -> None:
        self.threshold = threshold
        self.origin = Origin.OTHER_MODEL
        self._reranker = reranker

    async def score(self, question: str, query: str, known: str, passages: Sequence[str]) -> Sequence[float]:
        """See `Scorer`."""
        return await self._reranker.rerank(f"{question} {query}", passages) if passages else ()


def scorer_of(relevance: Scorer | Reranker | Embedder | None) -> Scorer:
    """How relevance is scored: by a model where one is given, by words where none is."""
    if relevance is None:
        return ByWords()
    if isinstance(relevance, Reranker):
        return ByReranking(relevance)
    return ByMeaning(relevance) if isinstance(relevance, Embedder) else relevance


class Relevance:
    """Labels the last search, and each of its passages: relevant or not. Either way the actor goes on; what was
    rejected stays, with its label.

    Args:
        scorer: says how relevant a passage is.
    """

    traits = ToolTraits(never_passes=True)

    def __init__(self, scorer: Scorer) -> None:
        self.origin = scorer.origin
        self._scorer = scorer

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        *earlier, last = seen_calls(Steps.of(candidate), context.past())
        known = "\n".join(text for call in earlier for text in _accepted(call))
        query = " ".join(str(value) for value in last.call.arguments.values())
        scores = await self._scorer.score(task.prompt, query, known, _passages(last))
        best = max(scores, default=0.0)
        said = "relevant" if best >= self._scorer.threshold else "not relevant"
        named = [(RELEVANT, best), *((_place(i), score) for i, score in enumerate(scores))]
        return Observation(
            verdict=Verdict.NONE,
            reason=NoVerdict.GO_ON,
            origin=self.origin,
            evidence=Evidence(
                cases=tuple(self._case(name, score) for name, score in named),
                detail=f"{said}: the best passage scores {best:.2f}, wanted {self._scorer.threshold:.2f}",
            ),
        )

    def _case(self, name: str, score: float) -> CaseOutcome:
        result = CaseResult.PASSED if score >= self._scorer.threshold else CaseResult.FAILED
        return CaseOutcome(id=name, result=result, message=f"score {score:.2f}")


class Supported:
    """Passes an answer whose very words stand in a passage that was accepted. It is no proof that the answer is right.

    A FAIL names the first search that led away, so that those before it stay: the first that was rejected, else the
    last one.
    """

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        answer = normalised(answer_of(candidate))
        seen = seen_calls(Steps.of(candidate), context.past())
        accepted = [text for call in seen for text in _accepted(call)]
        if answer and any(f" {answer} " in f" {normalised(text)} " for text in accepted):
            verdict, said = Verdict.PASS, "the answer stands in an accepted passage"
            case = CaseOutcome(id="supported", result=CaseResult.PASSED)
        else:
            verdict, said = Verdict.FAIL, "the answer stands in no accepted passage; this search led away"
            case = CaseOutcome(id=_first_bad(seen), result=CaseResult.FAILED, message=said)
        return Observation(verdict=verdict, origin=Origin.VERIFIER, evidence=Evidence(cases=(case,), detail=said))


def _passages(call: SeenCall) -> list[str]:
    return [passage for passage in call.output.split("\n\n") if passage.strip()]


def _place(index: int) -> str:
    return f"{RELEVANT}-{index + 1}"


def _accepted(call: SeenCall) -> list[str]:
    """The passages of a search that were found relevant."""
    return [text for i, text in enumerate(_passages(call)) if call.labels.get(_place(i))]


def _first_bad(seen: Sequence[SeenCall]) -> str:
    bad = next((call.id for call in seen if not call.labels.get(RELEVANT)), "")
    return bad or (seen[-1].id if seen else "answer")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other) or 1.0)
