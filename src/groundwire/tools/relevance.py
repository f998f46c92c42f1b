"""Judges of what a search found, apart from whoever searched (ReSeek, arXiv 2510.00568; Search-R2, arXiv 2602.03647).

`Relevance` looks at each search as it is made, and labels what it found. `Supported` looks at the whole sequence once
there is an answer, and says at which search it went wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from groundwire.contexts import ToolContext
from groundwire.embeddings import Embedder
from groundwire.signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.tasks import Task
from groundwire.toolcalls import RELEVANT, SeenCall, Steps, answer_of, seen_calls
from groundwire.tools.lexical import normalised, terms
from groundwire.trees import Candidate

__all__ = ["ByMeaning", "ByWords", "Relevance", "Scorer", "Supported"]


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


class Relevance:
    """Labels the last search, and each of its passages: relevant or not. Either way the actor goes on; what was
    rejected stays, with its label.

    Args:
        scorer: says how relevant a passage is.
    """

    never_passes = True

    def __init__(self, scorer: Scorer) -> None:
        self.origin = scorer.origin
        self._scorer = scorer

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.contexts.Tool`."""
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
        """See `groundwire.contexts.Tool`."""
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
