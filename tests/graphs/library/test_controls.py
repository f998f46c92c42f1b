"""The controls: refused without a flag, marked in every report, with the calls that they say (rows 1, 17, 95 to 97)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guessing import Check, Guesser
from sample_numbers import sample_of
from typer.testing import CliRunner
from wide import QUESTION, asked, model, prompts, purposes, ran

from groundwire import Budget, EpisodeResult, FeedbackGraph, StopReason
from groundwire.agents.patching._variants import BlindActor, ChosenPast, LocalOrGlobal
from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._strategy_router import StrategyRouter
from groundwire.agents.width.controls._drafts import BlindResampling, Fusion, Sets
from groundwire.agents.width.controls._mad_debate import MadDebate
from groundwire.agents.width.controls._self_refine import SelfRefine
from groundwire.agents.width.controls._ssr import SocraticRefine
from groundwire.agents.worlds._roll_outs import RollOutActor
from groundwire.cli.commands._app import app as cli
from groundwire.core._contexts import Actor
from groundwire.core._errors import ConfigError, UngroundedLoopError, UngroundedPartError
from groundwire.core._ids import seed_for
from groundwire.core._models import Request
from groundwire.core._records import RunRecord
from groundwire.graphs.build._control import EpisodeUsage, resampling_of
from groundwire.graphs.library._blind_resampling import blind_resampling
from groundwire.graphs.library._catalogue import cards
from groundwire.graphs.library._fusion import fusion
from groundwire.graphs.library._mad_debate import mad_debate
from groundwire.graphs.library._self_refine import self_refine
from groundwire.graphs.library._sets import sets
from groundwire.graphs.library._ssr import ssr
from groundwire.memory import SqlStore

BUILDERS: dict[str, Callable[..., FeedbackGraph]] = {
    "self_refine": self_refine,
    "blind_resampling": blind_resampling,
    "fusion": fusion,
    "mad_debate": mad_debate,
    "sets": sets,
    "ssr": ssr,
}
ACTORS: dict[str, Callable[..., Any]] = {
    "self_refine": SelfRefine,
    "blind_resampling": BlindResampling,
    "fusion": Fusion,
    "mad_debate": MadDebate,
    "sets": Sets,
    "ssr": SocraticRefine,
}
TEXT = TextAnswer()
NOT_ASKED = model(lambda _request, _purpose: "")


def test_every_control_is_refused_by_name_without_the_flag_and_only_they_are() -> None:
    assert {card.name for card in cards() if not card.grounded} == BUILDERS.keys()
    for name, build in BUILDERS.items():
        actor = ACTORS[name](NOT_ASKED, TEXT)
        with pytest.raises(UngroundedPartError, match=rf"write \({type(actor).__name__}\)") as caught:
            build(actor, Check()).compile()
        assert isinstance(caught.value, UngroundedLoopError)
        assert "allow_ungrounded=True" in str(caught.value)
        assert build(actor, Check(), allow_ungrounded=True).compile().ungrounded == ("write",)


AROUND: dict[str, Callable[[Actor], Actor]] = {
    "blind": lambda control: BlindActor(control, samples=True, width=1),
    "local or global": lambda control: LocalOrGlobal(Guesser([]), control),
    "chosen past": lambda control: ChosenPast(control, NOT_ASKED),
    "roll-outs": lambda control: RollOutActor(control),
    "router": lambda control: StrategyRouter({"a": Guesser([]), "b": control}),
    "two deep": lambda control: RollOutActor(LocalOrGlobal(Guesser([]), Guesser([]), draft=control)),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_no_actor_around_a_control_hides_it(around: Callable[[Actor], Actor]) -> None:
    graph = FeedbackGraph().add_actor("write", around(SelfRefine(NOT_ASKED, TEXT))).add_tool("test", Check())
    with pytest.raises(UngroundedPartError, match="write"):
        graph.add_edge("write", "test").refine("test", to="write").compile()


def test_the_blind_control_of_a_graph_with_a_control_is_let_in_as_it_was_and_marked() -> None:
    graph = self_refine(SelfRefine(NOT_ASKED, TEXT), Check(), allow_ungrounded=True)
    assert resampling_of(graph, EpisodeUsage(first_call=1)).compile().ungrounded == ("write",)
    refused = self_refine(SelfRefine(NOT_ASKED, TEXT), Check())
    with pytest.raises(UngroundedPartError):
        resampling_of(refused, EpisodeUsage(first_call=1)).compile()


def test_the_flag_neither_marks_a_grounded_graph_nor_lets_an_open_loop_in_and_nesting_hides_nothing() -> None:
    outer = FeedbackGraph(allow_ungrounded=True)
    outer.add_actor("write", Guesser([])).add_tool("test", Check()).add_edge("write", "test")
    assert outer.refine("test", to="write").compile().ungrounded == ()
    loop = FeedbackGraph(allow_ungrounded=True).add_actor("a", Guesser([])).add_actor("b", Guesser([]))
    with pytest.raises(UngroundedLoopError, match="a → b → a"):
        loop.add_edge("a", "b").add_edge("b", "a").compile()
    nested = FeedbackGraph()
    nested.add_node("inner", self_refine(SelfRefine(NOT_ASKED, TEXT), Check())).set_entry("inner")
    with pytest.raises(UngroundedPartError, match="inner/write"):
        nested.compile()


def test_every_report_of_a_control_says_so(tmp_path: Path) -> None:
    """Row 1, with the ledger and `show`; and what is told to it is nothing."""

    def says(request: Request, purpose: str) -> str:
        return "Looks doubtful to me." if purpose == "criticise" else f"I think.\nANSWER: {request.purpose[-1]}0"

    backend, url = model(says), f"sqlite:///{tmp_path / 'l.db'}"
    graph = self_refine(SelfRefine(backend, TEXT), Check(["40"]), allow_ungrounded=True)

    async def run_it() -> tuple[EpisodeResult, RunRecord]:
        store = SqlStore(url)
        try:
            result = await graph.compile(store=store, budget=Budget(trials=2)).arun(QUESTION)
            (run,) = await store.runs()
        finally:
            await store.aclose()
        return result, run

    result, run = asyncio.run(run_it())
    assert (result.stop_reason, result.grounded) == (StopReason.VERIFIED, False)
    assert (json.loads(run.config)["grounded"], json.loads(run.config)["ungrounded"]) == (False, ["write"])
    shown = CliRunner().invoke(cli, ["show", result.run_id, "--db", url])
    assert "NOT grounded: write revises its own answers" in " ".join(shown.output.split())
    as_data = json.loads(CliRunner().invoke(cli, ["show", result.run_id, "--db", url, "--json"]).output)
    assert "grounded" in json.dumps(as_data)


@pytest.mark.parametrize(("options", "rounds"), [({}, 2), ({"output": "choice"}, 1), ({"rounds": 3}, 3)])
async def test_rounds_without_a_signal_are_bounded_by_what_is_asked_for(options: dict[str, Any], rounds: int) -> None:
    """Row 67: written freely two, a choice one."""
    backend, check = model(lambda request, _: f"ANSWER: {request.purpose[-1]}"), Check(["x"])
    await ran(self_refine(SelfRefine(backend, TEXT, **options), check, allow_ungrounded=True), check)
    assert sum(purpose.startswith("criticise") for purpose in purposes(backend)) == rounds


async def test_self_refine_keeps_its_whole_history_and_is_told_of_no_verdict() -> None:
    def says(request: Request, purpose: str) -> str:
        return f"Complaint {request.purpose}." if purpose == "criticise" else f"ANSWER: {request.purpose[-1]}"

    backend, check = model(says), Check(["9"])
    got = await ran(self_refine(SelfRefine(backend, TEXT), check, allow_ungrounded=True), check, trials=2)
    once = ["propose.0", "criticise.1", "propose.2", "criticise.3", "propose.4"]
    assert purposes(backend)[:5] == once
    assert got.judged[:1] == ["4\n"]
    assert got.candidates[0].note == "its own revision 2 of 2"
    last = prompts(backend, "propose.4")[0]
    assert last.index("Complaint criticise.1.") < last.index("Complaint criticise.3.")
    assert not any("<evidence " in prompt for prompt in map(asked, (r.messages for r in backend.requests)))
    assert got.result.critical_tokens == got.result.completion_tokens > 0


async def test_a_blind_sample_is_asked_the_same_again_whatever_was_said_of_the_last() -> None:
    backend, check = model(lambda request, _: f"ANSWER: {request.seed}"), Check(["right"])
    graph = blind_resampling(BlindResampling(backend, TEXT), check, width=3, allow_ungrounded=True)
    got = await ran(graph, check, trials=2)
    assert got.judged == [f"{seed_for(0, trial, 'width', 0, i)}\n" for trial in (1, 2) for i in range(3)]
    assert len({request.messages for request in backend.requests}) == 1


async def test_fusion_merges_all_drafts_as_they_came_without_a_word_of_doubt() -> None:
    backend, check = (
        model(lambda r, _: f"ANSWER: {r.seed}" if r.purpose == "propose.0" else "ANSWER: 42"),
        Check(["42"]),
    )
    got = await ran(fusion(Fusion(backend, TEXT, drafts=4), check, allow_ungrounded=True), check)
    assert purposes(backend) == ["propose.0"] * 4 + ["propose.2"]
    (merged,) = prompts(backend, "propose.2")
    places = [merged.index(f"ANSWER: {seed_for(0, 1, 'width', 0, i)}") for i in range(4)]
    assert places == sorted(places) and "wrong" not in merged.partition("</task>")[2]
    assert got.result.stop_reason is StopReason.VERIFIED
    with pytest.raises(ConfigError, match="at most 10"):
        Fusion(backend, TEXT, drafts=11)


@pytest.mark.parametrize(("preferred_in", "calls", "answer"), [(1, 3, "n1"), (None, 10, "the judge's")])
async def test_debate_ends_with_the_moderator_or_with_one_judge_who_sees_the_last_answers(
    preferred_in: int | None, calls: int, answer: str
) -> None:
    """Row 17; the published code shows the judge the answers of the first round."""

    def says(request: Request, purpose: str) -> str:
        stage = int(request.purpose.partition(".")[2])
        number = stage // 3 + 1
        if purpose == "moderate":
            side = "negative" if number == preferred_in else "none"
            return f'I think {{"preference": "{side}", "reason": "because"}}'
        return (
            f"ANSWER: {'the judge' + chr(39) + 's' if stage == 9 else ('a' if stage % 3 == 0 else 'n') + str(number)}"
        )

    backend, check = model(says), Check([answer])
    got = await ran(mad_debate(MadDebate(backend, TEXT), check, allow_ungrounded=True), check)
    assert len(backend.requests) == calls
    assert got.judged == [f"{answer}\n"]
    assert {request.temperature for request in backend.requests} == {0.0}
    assert "You disagree with it" in prompts(backend, "propose.1")[0]
    if preferred_in is None:
        (judge,) = prompts(backend, "propose.9")
        assert "ANSWER: a3" in judge and "ANSWER: n3" in judge and "a1" not in judge


async def test_each_of_a_debate_remembers_its_own_dialogue() -> None:
    """Row 17: what a side and the moderator were asked and said before stands in what they are asked now."""
    said = iter(f"s{number}" for number in range(99))

    def says(request: Request, purpose: str) -> str:
        return '{"preference": "none", "reason": "m"}' if purpose == "moderate" else f"Because.\nANSWER: {next(said)}"

    backend, check = model(says), Check(["?"])
    await ran(mad_debate(MadDebate(backend, TEXT), check, allow_ungrounded=True), check)
    by_phase = {request.purpose: request.messages for request in backend.requests}
    dialogues = (("propose.6", ["s0", "s2"], ["s1", "s3"]), ("propose.7", ["s1", "s3"], ["s0", "s2", "s4"]))
    for phase, own, others in dialogues:
        messages = by_phase[phase]
        assert [m.content[-2:] for m in messages if m.role == "assistant"] == own
        told = "".join(m.content for m in messages if m.role == "user")
        assert all(f"ANSWER: {name}" in told for name in others)
    moderator = by_phase["moderate.8"]
    assert [m.role for m in moderator].count("assistant") == 2 and "round 3" in moderator[-1].content


async def test_sets_corrects_what_its_own_model_calls_wrong_and_never_calls_more_than_it_says() -> None:
    """Row 97: four samples, two rounds, at most 4 · (1 + 2 · 2) calls; one that is called correct is left alone."""
    wrong = model(lambda r, purpose: "VERDICT: wrong" if purpose == "verify" else f"ANSWER: {r.seed}")
    check = Check(["right"])
    await ran(sets(Sets(wrong, TEXT), check, allow_ungrounded=True), check)
    assert len(wrong.requests) == 4 * (1 + 2 * 2)

    def says(request: Request, purpose: str) -> str:
        if purpose == "verify":
            text = asked(request.messages)
            return "It fails.\n**VERDICT: wrong**" if "ANSWER: 7" in text else "Fine.\nVERDICT: correct"
        if request.purpose == "propose.0":
            return "ANSWER: 42" if sample_of(request) == 3 else "ANSWER: 7"
        return "ANSWER: 42." if "It fails." in asked(request.messages) else "?"

    backend, check = model(says), Check(["42"])
    got = await ran(sets(Sets(backend, TEXT), check, allow_ungrounded=True), check)
    assert purposes(backend) == ["propose.0"] * 4 + ["verify.1"] * 4 + ["propose.2"] * 3 + ["verify.3"] * 3
    assert got.result.stop_reason is StopReason.VERIFIED
    assert "100% of 4 answers" in got.candidates[0].note
    assert got.result.critical_tokens < got.result.completion_tokens / 2


async def test_ssr_redoes_the_step_that_solving_it_again_agrees_with_least() -> None:
    """Row 96: step 2 of 4 is planted wrong."""
    steps = [("What is one?", "1"), ("What is two times seven?", "15"), ("What is three?", "3"), ("All?", "42")]

    def says(request: Request, purpose: str) -> str:
        text = asked(request.messages)
        if purpose == "split":
            return "\n".join(f"Q: {q}\nA: {a}" for q, a in steps)
        if purpose == "resolve":
            question = text.rpartition("<question>")[2]
            right = dict(steps) | {"What is two times seven?": "14"}
            return next(f"I see.\nANSWER: {a}" for q, a in right.items() if q in question)
        return "ANSWER: 42" if "A: 14" in text else "Step by step.\nANSWER: 43"

    backend, check = model(says), Check(["42"])
    got = await ran(ssr(SocraticRefine(backend, TEXT), check, allow_ungrounded=True), check)
    assert purposes(backend) == ["propose.0", "split.1", *["resolve.2"] * 12, "propose.3"]
    (rebuilt,) = prompts(backend, "propose.3")
    assert "A: 1\n" in rebuilt and "A: 14" in rebuilt and "What is three?" not in rebuilt
    assert got.candidates[0].note == "step 2 of 4 redone: 0% agreed with it"
    assert got.result.stop_reason is StopReason.VERIFIED
    assert len({r.seed for r in backend.requests if r.purpose == "resolve.2"}) == 12
