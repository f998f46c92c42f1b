"""Rows 46 (ReSeek), 56 (Search-R2) and 100 (FictionalHot): evidence is judged apart from whoever searched for it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from pages import check_page
from trails import trail, turns

from groundwire import Origin, Rules, StopReason, Task
from groundwire.core._models import Request
from groundwire.core._records import Record
from groundwire.core._signals import Signal
from groundwire.core._toolcalls import Steps, answer_of
from groundwire.graphs.library._search_judge import search_judge
from groundwire.graphs.library._tool_steps import Cut, tool_account
from groundwire.models import ScriptedBackend
from groundwire.tools import Corpus
from groundwire.tools._search import ByMeaning
from groundwire.tools.environments.worlds._fiction_search import PASSAGES, QUESTIONS, FictionQuestion

CORPUS = Corpus(PASSAGES)
TASK = Task(id="town", prompt="In which town was the composer of The Glass Orchard born?")


def search(query: str) -> str:
    return json.dumps({"tool": "search", "arguments": {"query": query}})


def answer(text: str) -> str:
    return json.dumps({"answer": text})


async def test_no_answer_is_taken_before_a_search_was_accepted() -> None:
    backend = ScriptedBackend(
        [
            search("famous harbours and their trade"),
            answer("Velmar"),
            search("famous harbours and their trade"),
            search("The Glass Orchard composer"),
            search("Ilsa Torrend born"),
            answer("Pellingate"),
        ]
    )
    app = search_judge(backend, CORPUS.tool()).compile()
    records: list[Record] = []
    result = await app.arun(TASK, observers=[records.append])
    assert trail(records) == [
        *("act", "call go_on", "judge go_on", "advance"),
        *("act", "call fail", "refine"),  # the answer went to the calls, which refuse it: never to `check`
        *("act", "call fail", "refine"),  # the rejected query is not made again
        *("act", "call go_on", "judge go_on", "advance"),
        *("act", "call go_on", "judge go_on", "advance"),
        *("act", "check pass"),
    ]
    assert result.stop_reason is StopReason.VERIFIED
    # the rejected text is still there, with its label; the offer says that no answer is taken
    (_, query, shown, _, refused, _, again) = turns(backend.requests[3])
    assert query == search("famous harbours and their trade")
    assert shown.startswith("<output id=") and 'relevant="no"' in shown and "dried plums" in shown
    assert "no search has found anything relevant" in refused
    assert "this very call was made before" in again
    assert "an answer is not taken yet" in turns(backend.requests[1])[-1]
    last = turns(backend.requests[5])
    assert ['relevant="yes"' in turn for turn in last if turn.startswith("<output")] == [False, True, True]
    account = await tool_account(app.store, result.episode_id)
    assert (account.labelled, account.accepted) == (3, 2)
    replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None


async def test_after_four_searches_only_an_answer_is_taken_and_one_without_evidence_fails() -> None:
    queries = ["plum trade", "rain season", "ninth market", "ship bell"]
    backend = ScriptedBackend([*map(search, queries), search("a fifth"), answer("Pellingate"), *[answer("x")] * 9])
    app = search_judge(backend, CORPUS.tool(), cuts=0).compile()
    records: list[Record] = []
    result = await app.arun(TASK, observers=[records.append])
    assert trail(records)[-5:] == ["act", "call fail", "refine", "act", "check fail"]
    assert result.stop_reason is StopReason.REJECTED
    assert "all 4 searches were made" in turns(backend.requests[4])[-1]
    schema = search_judge(ScriptedBackend([]), CORPUS.tool(), form="schema")
    assert schema.name == "search_judge"


async def test_an_unsupported_answer_cuts_at_the_first_bad_search_and_keeps_the_prefix() -> None:
    good = [search("The Glass Orchard composer"), search("composer Ilsa Torrend")]
    bad, later = search("prices of dried plums"), search("Torrend Pellingate")
    second_bad = search("eels in the spring")
    backend = ScriptedBackend(
        [
            *[*good, bad, later, answer("Velmar")],
            *[second_bad, answer("Dornwick")],
            *[search("Ilsa Torrend born town"), answer("Pellingate")],
        ]
    )
    app = search_judge(backend, CORPUS.tool()).compile()
    records: list[Record] = []
    result = await app.arun(TASK, observers=[records.append])
    assert result.stop_reason is StopReason.VERIFIED and result.trials == 3
    first, regenerated = turns(backend.requests[2]), turns(backend.requests[5])
    assert regenerated[: len(first)] == first  # messages of searches 1 and 2, byte for byte, ids included
    assert regenerated[len(first)] == bad and "this search led away" in regenerated[-1]
    assert len(regenerated) == len(first) + 2
    assert result.best is not None
    done = Steps.of(result.best.candidate)
    assert [call.line for call in done.calls[:2]] == [
        json.dumps(json.loads(q), sort_keys=True, separators=(",", ":")) for q in good
    ]
    account = await tool_account(app.store, result.episode_id)
    assert account.cuts == (Cut(trial=1, calls=4, kept=2, gain=False), Cut(trial=2, calls=3, kept=2, gain=True))
    assert account.accept_rate == pytest.approx(4 / 6)
    made = [r.trial for r in records if isinstance(r, Signal) and r.issuer == "call"]
    assert made == [1, 1, 1, 1, 2, 3]  # kept searches are not made again


async def test_more_cuts_than_two_are_not_made() -> None:
    queries = iter(["plum trade", "rain season", "ninth market", "ship bell", "gut goat"])

    def wrong(request: Request) -> str:
        found = any('relevant="yes"' in turn for turn in turns(request)[-1:])
        return answer("Velmar") if found else search(f"The Glass Orchard composer {next(queries)[:4]}")

    app = search_judge(ScriptedBackend(wrong), CORPUS.tool()).compile()
    result = await app.arun(TASK)
    assert result.stop_reason is StopReason.REJECTED and result.trials == 3
    assert len((await tool_account(app.store, result.episode_id)).cuts) == 3


class Letters:
    """An embedder that only counts letters; enough to see whose word it is."""

    name, revision, dimensions = "letters", "1", 26

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[float(text.lower().count(chr(97 + i))) for i in range(26)] for text in texts]


async def test_a_judge_that_is_a_model_is_marked_so() -> None:
    backend = ScriptedBackend([search("Ilsa Torrend born"), answer("Pellingate")])
    app = search_judge(backend, CORPUS.tool(), scorer=ByMeaning(Letters(), 0.5)).compile()
    assert app.trust == {Origin.OTHER_MODEL}
    records: list[Record] = []
    result = await app.arun(TASK, observers=[records.append])
    assert result.stop_reason is StopReason.VERIFIED
    assert [r.origin for r in records if isinstance(r, Signal)][1] is Origin.OTHER_MODEL


class Overlap:
    """A reranker that counts shared words; enough to see whose word it is, and that it is asked once a search."""

    name = "overlap"

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        self.asked.append((query, len(passages)))
        words = set(query.lower().split())
        return [min(1.0, len(words & set(text.lower().split())) / 2) for text in passages]


async def test_a_reranker_or_an_embedder_is_taken_as_it_is_and_words_where_neither_is_given() -> None:
    overlap = Overlap()
    assert search_judge(ScriptedBackend([]), CORPUS.tool()).compile().trust == set()
    for scorer in (overlap, Letters()):
        backend = ScriptedBackend([search("Ilsa Torrend born"), answer("Pellingate")])
        app = search_judge(backend, CORPUS.tool(), scorer=scorer).compile()
        assert app.trust == {Origin.OTHER_MODEL}
        result = await app.arun(TASK)
        assert result.stop_reason is StopReason.VERIFIED
    ((query, passages),) = overlap.asked
    assert TASK.prompt in query and query.endswith("Ilsa Torrend born") and passages


def reader(question: FictionQuestion) -> ScriptedBackend:
    """Knows nothing by heart: it searches for what it was asked, then for the names that it was shown, and answers with
    the key where a passage that was shown holds it. It measures the graph, not a model."""

    def reply(request: Request) -> str:
        shown = [turn for turn in turns(request) if turn.startswith("<output")]
        if any(question.answer in turn and 'relevant="yes"' in turn for turn in shown):
            return answer(question.answer)
        asked = sum('"tool"' in turn for turn in turns(request))
        if not shown and not request.messages[-1].content.endswith("Go on."):
            return answer("unknown")
        names = " ".join(word for turn in shown for word in turn.split() if word[:1].isupper())
        return search(f"{question.text} {names}"[: 80 + asked * 40] if asked else question.text)

    return ScriptedBackend(reply)


async def test_the_fictional_corpus_is_unanswerable_without_search_and_answered_with_it() -> None:
    with_search, without = 0, 0
    for question in QUESTIONS:
        task = Task(id=question.answer, prompt=question.text)
        app = search_judge(reader(question), CORPUS.tool()).compile(rules=Rules(repeats=None))
        result = await app.arun(task)
        if result.stop_reason is StopReason.VERIFIED and result.best is not None:
            with_search += answer_of(result.best.candidate) == question.answer
        empty = search_judge(reader(question), Corpus([]).tool()).compile()
        blind = await empty.arun(task)
        without += blind.stop_reason is StopReason.VERIFIED
    assert without == 0
    assert with_search >= 8


def test_its_page_shows_this_graph() -> None:
    check_page("search_judge", search_judge(ScriptedBackend([]), CORPUS.tool()))
