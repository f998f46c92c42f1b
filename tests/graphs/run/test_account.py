"""The account of an episode: what its ledger says about how well its verdicts were founded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from guessing import Check, Guesser, Noter, loop
from looking import looked

from groundwire import FeedbackGraph, NoVerdict, Observation, Origin, Rules, StopReason, Task, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._records import Admission, CandidateRecord, EpisodeEnd, Intent, ReflectionRecord
from groundwire.core._seal import Mint
from groundwire.core._signals import Crossings, Signal
from groundwire.core._traits import ToolTraits
from groundwire.graphs.run._account import OwnWord, VerdictAccount, account_of, non_discriminating
from groundwire.graphs.run._gate import may_verify
from groundwire.memory import InMemoryStore

MINT = Mint("run", b"k" * 32)
ACCESS = Intent(episode_id="e", trial=1, kind="hidden_access", digest="c")
PROPOSAL = CandidateRecord(episode_id="e", trial=2, digest="d")
REFLECTION = ReflectionRecord(episode_id="e", trial=1, signal_id="s", candidate_digest="c", task_id="t", text="x")


def admission(*, admitted: bool) -> Admission:
    return Admission(episode_id="e", trial=1, signal_id="s", candidate_digest="c", edge="refine", admitted=admitted)


def minted(look: Any, *, trial: int = 1, origin: Origin = Origin.TESTS, command: tuple[str, ...] = ("pytest",),
           **more: Any) -> Signal:  # fmt: skip
    seen = looked(look, origin, command=command).model_copy(update=more)
    return MINT.signal(seen, episode_id="e", trial=trial, issuer="t", candidate_digest=f"c{trial}")


@pytest.mark.parametrize(
    ("records", "accesses", "steering"),
    [
        ([], 0, 0),
        ([PROPOSAL, REFLECTION, ACCESS, admission(admitted=False)], 1, 0),
        ([ACCESS, ACCESS], 2, 0),
        ([ACCESS, PROPOSAL], 1, 1),
        ([ACCESS, REFLECTION], 1, 1),
        ([ACCESS, admission(admitted=True)], 1, 1),
        ([ACCESS, PROPOSAL, ACCESS, REFLECTION, ACCESS], 3, 2),
    ],
)
def test_an_access_with_anything_proposed_after_it_has_steered(
    records: list[Any], accesses: int, steering: int
) -> None:
    account = account_of(records)
    assert (account.hidden_accesses, account.steering) == (accesses, steering)


def test_commands_that_never_gave_both_verdicts_told_nothing_apart() -> None:
    never = minted({"a": True}, command=("true",))
    both = [minted({"a": True}), minted({"a": False}, trial=2)]
    hidden = minted({"a": True}, origin=Origin.HIDDEN_TESTS, command=("hidden",))
    rule = minted({"a": False}, origin=Origin.RULE, command=())
    none = minted(NoVerdict.SANDBOX, command=("broken",))
    assert non_discriminating([never, *both, hidden, rule, none]) == ("true",)
    assert account_of([never]).non_discriminating == ("true",)


def test_retries_and_rejudgings_are_told_apart() -> None:
    signals = [minted(NoVerdict.SANDBOX), minted({"a": False}), minted({"a": False}), minted({"a": False}, trial=2)]
    account = account_of(signals)
    assert (account.retries, account.rejudged, account.rejudged_s) == (1, 1, 2.0)


def test_the_candidates_own_word_is_told_of_what_was_handed_out_and_of_the_last_look() -> None:
    seen = looked({"a": True, "b": True})
    crossed = {"crossings": Crossings(own_equality=1, cases=("a",), classes=("mod.P",))}
    owning = minted({"a": True, "b": True}, evidence=seen.evidence.model_copy(update=crossed))
    given = EpisodeEnd(episode_id="e", verdict=Verdict.PASS, stop_reason=StopReason.VERIFIED, best_candidate="c1")
    assert account_of([owning, given]).own_words == (OwnWord("t", 1, 2, ("a",), ("mod.P",)),)
    assert account_of([owning, minted({"a": True}), given]).own_words == ()
    assert account_of([owning]).own_words == ()
    assert Signal.from_json(owning.to_json()) == owning and "crossings" not in minted({"a": True}).to_json()


def test_the_answer_key_and_opinions_are_marked() -> None:
    assert account_of([minted({"a": False})]) == VerdictAccount(non_discriminating=("pytest",))
    assert account_of([minted({"a": False}, oracle=True)]).oracle
    assert account_of([minted({"a": False}, origin=Origin.HUMAN)]).opinions == ("human",)


def test_what_may_declare_success() -> None:
    verify = {origin for origin in Origin if may_verify(origin)}
    assert verify == set(Origin) - {Origin.MODEL_TESTS, Origin.RULE, Origin.OTHER_MODEL, Origin.HUMAN}
    assert may_verify(Origin.HUMAN, {Origin.HUMAN})
    assert not may_verify(Origin.MODEL_TESTS, {Origin.MODEL_TESTS}), "naming it does not make it more"


@pytest.mark.parametrize("origin", [Origin.HUMAN, Origin.OTHER_MODEL])
def test_an_opinion_verifies_only_where_the_graph_names_it(task: Task, origin: Origin) -> None:
    result = loop(Guesser([["right"]]), Check(origin=origin)).compile().run(task)
    assert (result.stop_reason, result.verdict, result.patch) == (StopReason.INTERNAL_PASS, Verdict.FAIL, "")
    assert "nothing outside has verified it" in result.detail
    named = (
        FeedbackGraph(trust=[origin]).add_actor("write", Guesser([["right"]])).add_tool("test", Check(origin=origin))
    )
    store = InMemoryStore()
    result = named.add_edge("write", "test").refine("test", to="write").compile(store=store).run(task)
    assert (result.stop_reason, result.account.opinions) == (StopReason.VERIFIED, (str(origin),))
    (run,) = asyncio.run(store.runs())
    assert f'"trust":["{origin}"]' in run.config


def two_tools(weak: Check, strong: Check, actor: Guesser) -> FeedbackGraph:
    graph = FeedbackGraph().add_actor("write", actor).add_tool("first", weak).add_tool("then", strong)
    graph.add_critic("reflect", Noter()).add_edge("write", "first").confirm("first", by="then")
    return graph.refine("first", via="reflect", to="write").refine("then", via="reflect", to="write")


def test_what_a_weak_origin_passes_a_stronger_one_may_verify(task: Task) -> None:
    weak, strong = Check(origin=Origin.MODEL_TESTS), Check(("deep",), origin=Origin.TESTS)
    result = two_tools(weak, strong, Guesser([["right"], ["right deep"]])).compile().run(task)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 2)
    assert result.best is not None
    assert result.best.signal.origin is Origin.TESTS


def test_tests_that_a_model_wrote_may_ask_again_after_the_users_pass(task: Task) -> None:
    users, models = Check(("right",), origin=Origin.TESTS), Check(("deep",), origin=Origin.MODEL_TESTS)
    result = two_tools(users, models, Guesser([["right"], ["right deep"]])).compile().run(task)
    assert (result.stop_reason, result.trials, result.reflections) == (StopReason.VERIFIED, 2, 1)
    assert "+right deep" in result.patch


def test_tests_that_a_model_wrote_take_no_pass_of_the_user_back(task: Task) -> None:
    from groundwire import Budget

    users, models = Check(("right",), origin=Origin.TESTS), Check(("deep",), origin=Origin.MODEL_TESTS)
    graph = two_tools(users, models, Guesser([["right"]]))
    result = graph.compile(budget=Budget(trials=1)).run(task)
    assert (result.stop_reason, result.verdict) == (StopReason.VERIFIED, Verdict.PASS)
    assert "+right" in result.patch


def test_a_pass_that_loses_what_the_best_one_passed_is_not_handed_out(task: Task) -> None:
    class Shrinking(Check):
        """Case `b` is not even there in the second answer."""

        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            text = (candidate.changes.get("answer.txt") or b"").decode()
            return looked({"a": False, "b": True} if text == "x" else {"a": True})

    result = loop(Guesser([["x"], ["y"]]), Shrinking()).compile(rules=Rules(rejudge_fails=0)).run(task)
    assert (result.stop_reason, result.patch) == (StopReason.NO_VERDICT, "")
    assert result.detail == "count_mismatch: It passes, but cases that the best candidate passed did not run: b"
    (trade_off,) = result.account.trade_offs
    assert (trade_off.fixes, trade_off.breaks) == (("a",), ("b",))


def test_the_candidate_that_passed_is_the_one_that_is_handed_out(task: Task) -> None:
    result = loop(Guesser([["right and longer"]]), Check()).set_entry("test").compile().run(task)
    assert result.best is not None
    assert (result.stop_reason, result.best.signal.verdict) == (StopReason.VERIFIED, Verdict.PASS)


@pytest.mark.parametrize("origin", [Origin.TESTS, Origin.HIDDEN_TESTS])
async def test_an_episode_that_has_ended_still_hands_out_what_it_had(task: Task, origin: Origin) -> None:
    class Judges(Check):
        traits = ToolTraits(judges_hidden=origin is Origin.HIDDEN_TESTS)

    graph = FeedbackGraph().add_actor("write", Guesser([["right"]])).add_tool("test", Judges(origin=origin))
    app = graph.add_edge("write", "test").compile()
    run_id = await app.start_run()
    first = await app.arun(task, run_id=run_id)
    again = await app.arun(task, run_id=run_id, episode_id=first.episode_id)
    assert "+right" in first.patch
    assert (again.patch, again.stop_reason, again.account) == (first.patch, StopReason.VERIFIED, first.account)


def test_an_account_drawn_up_from_the_ledger_is_the_same(task: Task) -> None:
    store = InMemoryStore()
    check = Check(wanted=("x", "y", "z"))
    result = loop(Guesser([["x y"], ["-"], ["y z"], ["x y z"]]), check).set_entry("test").compile(store=store).run(task)
    again = account_of(asyncio.run(store.records(result.episode_id)))
    assert again == result.account
    assert [(t.fixes, t.breaks) for t in again.trade_offs] == [(("z",), ("x",))]
