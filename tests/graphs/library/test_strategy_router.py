"""strategy_router: scores are learnt from the ledger, and decide how many strategies are tried (methods row 58)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from guessing import Check, Guesser
from wide import QUESTION, model

from groundwire import Budget
from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._confident_vote import ConfidentVote
from groundwire.agents.width._strategy_router import StrategyRouter, chosen, scores_from
from groundwire.agents.width.controls._self_refine import SelfRefine
from groundwire.core._contexts import EditStatistics
from groundwire.core._errors import ConfigError, UngroundedPartError
from groundwire.core._records import CandidateRecord, Record
from groundwire.core._traits import ActorTraits, Needs
from groundwire.graphs.library._strategy_router import strategy_router
from groundwire.memory import SqlStore


@pytest.mark.parametrize(
    ("scores", "tried"),
    [((0.6, 0.2, 0.1, 0.1), "a"), ((0.40, 0.35, 0.15, 0.10), "ab"), ((0.30, 0.28, 0.22, 0.20), "abcd"),
     ((0.1, 0.2, 0.1, 0.6), "d"), ((0.25,) * 4, "abcd"), ((0.30, 0.15, 0.15, 0.10, 0.10, 0.10, 0.10), "a"),
     ((0.25, 0.22, 0.13, 0.10, 0.10, 0.10, 0.10), "ab"), ((1 / 7,) * 7, "abcdefg")],
)  # fmt: skip
def test_a_sure_router_tries_one_a_torn_one_two_an_unsure_one_all(scores: tuple[float, ...], tried: str) -> None:
    assert "".join(chosen(dict(zip("abcdefg", scores, strict=False)))) == tried


def test_it_needs_what_its_strategies_need() -> None:
    lines, steps = Guesser([]), Guesser([])
    lines.traits, steps.traits = ActorTraits(Needs(coverage=True, lessons=0)), ActorTraits(Needs(episode=True))  # pyright: ignore[reportAttributeAccessIssue]  an object may declare for itself
    needs = StrategyRouter({"a": lines, "b": steps}).traits.needs
    assert needs == Needs(coverage=True, episode=True, edit_statistics=True)


def test_scores_come_from_the_narrowest_circle_that_knows_anything() -> None:
    wide = {"strategy.a": (98, 0), "strategy.b": (98, 97)}
    near = EditStatistics(family={"strategy.a": (3, 3), "llm.edit": (9, 9)}, overall=wide)
    assert scores_from(near, ["a", "b"]) == pytest.approx({"a": 0.8 / 1.3, "b": 0.5 / 1.3})
    assert scores_from(EditStatistics(overall=wide), ["a", "b"])["b"] > 0.95
    assert scores_from(EditStatistics(), ["a", "b"]) == {"a": 0.5, "b": 0.5}


async def test_what_passed_is_tried_alone_the_next_time(tmp_path: Path) -> None:
    """The first episode tries all four, and counts what each was worth; the second one knows."""
    right = {"wrong": "1", "also wrong": "2", "odd": "3", "good": "right"}
    actors = {name: Guesser([[text]] * 9) for name, text in right.items()}
    store = SqlStore(f"sqlite:///{tmp_path / 'l.db'}")
    tried: list[list[str]] = []
    try:
        app = strategy_router(StrategyRouter(actors), Check(), width=4).compile(store=store, budget=Budget(trials=1))
        records: Sequence[Record] = ()
        for _ in range(3):
            before = {name: len(actor.seen) for name, actor in actors.items()}
            result = await app.arun(QUESTION)
            assert result.exit_code == 0
            tried.append([name for name, actor in actors.items() if len(actor.seen) > before[name]])
            records = await store.records(result.episode_id)
    finally:
        await store.aclose()
    assert tried == [list(right), ["good"], ["good"]]
    (made,) = [record for record in records if isinstance(record, CandidateRecord)]
    assert made.edits[0] == "strategy.good" and made.note.startswith("1 of 4 strategies")


async def test_plurality_decides_and_of_equal_ones_the_better_strategys() -> None:
    check = Check(["2"])
    actors = {name: Guesser([[text]]) for name, text in {"a": "1", "b": "2", "c": "3", "d": "2"}.items()}
    result = await strategy_router(StrategyRouter(actors), check).compile(budget=Budget(trials=1)).arun(QUESTION)
    assert check.judged == ["2"] and result.best is not None
    check = Check(["1"])
    actors = {name: Guesser([[name]]) for name in "1234"}
    await strategy_router(StrategyRouter(actors), check).compile(budget=Budget(trials=1)).arun(QUESTION)
    assert check.judged == ["1"]
    assert len({actor.seen[0].seed for actor in actors.values()}) == 4


async def test_answers_that_say_the_same_are_one_group_however_they_are_spelled() -> None:
    said = {"a": "7", "b": "1,000", "c": "$1000$", "d": "8", "e": "1000.0"}
    for wanted, judged in (("?", ["1,000", "7", "8"]), ("1,000", ["1,000"])):
        check = Check([wanted])
        actors = {name: Guesser([[text]]) for name, text in said.items()}
        graph = strategy_router(StrategyRouter(actors), check, width=3)
        result = await graph.compile(budget=Budget(trials=1)).arun(QUESTION)
        assert check.judged == judged
    assert result.best is not None
    assert result.best.candidate.edits[:3] == ("strategy.b", "guess", "strategy.c"), "each of them counts"
    programs = {name: Guesser([[text]]) for name, text in {"a": "X = 1", "b": "x = 1"}.items()}
    check = Check(["?"])
    router = StrategyRouter(programs, asking=TextAnswer("answer.txt", normalise=str.strip))
    await strategy_router(router, check, width=3).compile(budget=Budget(trials=1)).arun(QUESTION)
    assert check.judged == ["X = 1", "x = 1"], "what is the same is for who asks to say"


async def test_a_strategy_without_an_answer_has_no_vote_and_one_that_is_stuck_is_not_asked_alone() -> None:
    mute = ConfidentVote(model(lambda _request, _: "I can't."), TextAnswer(), samples=1)
    check = Check(["right"])
    router = StrategyRouter({"mute": mute, "good": Guesser([["right"]])})
    result = await strategy_router(router, check).compile(budget=Budget(trials=1)).arun(QUESTION)
    assert check.judged == ["right"] and result.exit_code == 0
    check = Check(["right"])
    router = StrategyRouter({"mute": mute, "mute too": mute})
    result = await strategy_router(router, check).compile(budget=Budget(trials=1)).arun(QUESTION)
    assert not check.judged and ": a refusal" in result.detail


def test_a_control_among_the_strategies_makes_the_router_one() -> None:
    control = SelfRefine(model(lambda _request, _: ""), TextAnswer())
    with pytest.raises(UngroundedPartError, match="StrategyRouter"):
        strategy_router(StrategyRouter({"plain": Guesser([]), "control": control}), Check()).compile()
    with pytest.raises(ConfigError):
        StrategyRouter({"only": Guesser([])})
