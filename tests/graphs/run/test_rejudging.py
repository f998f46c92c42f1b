"""Looking again: retries after trouble, rejudging before anything rests on a verdict, and what flaky cases may do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from dying import dies_and_goes_on
from guessing import Guesser, Noter, loop
from hypothesis import given
from hypothesis import strategies as st
from looking import Look, Looks, looked

from groundwire import EpisodeResult, NoVerdict, Origin, Rules, StopReason, Task, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._records import Admission
from groundwire.core._seal import Mint
from groundwire.core._signals import Signal
from groundwire.graphs.run._history import History
from groundwire.graphs.run._rejudging import reconcile, wants_another_look
from groundwire.memory import InMemoryStore

GOOD, BAD = {"a": True, "b": True}, {"a": True, "b": False}
MINT = Mint("run", b"k" * 32)


def minted(look: Look, *, flaky: tuple[str, ...] = ()) -> Signal:
    seen = looked(look)
    seen = seen.model_copy(update={"evidence": seen.evidence.model_copy(update={"flaky": flaky})})
    return MINT.signal(seen, episode_id="e", trial=1, issuer="t", candidate_digest="c")


def run(
    task: Task,
    script: Mapping[str, Sequence[Look]],
    *,
    actor: Guesser | None = None,
    critic: Noter | None = None,
    baseline: bool = False,
    width: int = 1,
    repeatable: bool = True,
    **rules: Any,
) -> tuple[EpisodeResult, Looks, list[Any]]:
    store = InMemoryStore()
    tool = Looks(script, repeatable=repeatable)
    graph = loop(actor or Guesser([["x"], ["y"]]), tool, critic, width=width)
    if baseline:
        graph.set_entry("test")
    result = graph.compile(store=store, rules=Rules(**rules)).run(task)
    return result, tool, list(asyncio.run(store.records(result.episode_id)))


def admitted(records: list[Any]) -> list[Admission]:
    return [r for r in records if isinstance(r, Admission) and r.admitted]


# --- retries


@pytest.mark.parametrize(
    "reason", [NoVerdict.SANDBOX, NoVerdict.RUNNER_CRASHED, NoVerdict.REPORT_MISSING, NoVerdict.LIMIT_HIT]
)
def test_broken_surroundings_are_tried_again_as_often_as_the_rules_say(task: Task, reason: NoVerdict) -> None:
    for retries in (0, 1, 3):
        result, tool, _ = run(task, {"x": [reason]}, retries=retries)
        assert (result.stop_reason, result.verdict) == (StopReason.NO_VERDICT, Verdict.NONE)
        assert tool.judged == ["x"] * (1 + retries)
        assert (result.account.retries, result.account.rejudged) == (retries, 0)
        assert ("looked" in result.detail) == (retries > 0)


@pytest.mark.parametrize("reason", [NoVerdict.NOTHING_COLLECTED, NoVerdict.USAGE, NoVerdict.COUNT_MISMATCH])
def test_what_would_be_the_same_again_is_not_tried_again(task: Task, reason: NoVerdict) -> None:
    result, tool, _ = run(task, {"x": [reason]})
    assert (result.stop_reason, tool.judged) == (StopReason.NO_VERDICT, ["x"])


def test_trouble_that_passes_costs_one_retry(task: Task) -> None:
    result, tool, _ = run(task, {"x": [NoVerdict.SANDBOX, GOOD]}, rejudge_passes=0)
    assert (result.stop_reason, tool.judged, result.account.retries) == (StopReason.VERIFIED, ["x", "x"], 1)


def test_while_others_get_a_verdict_only_the_sandbox_is_to_blame(task: Task) -> None:
    script: Mapping[str, Sequence[Look]] = {"x": [BAD], "y": [NoVerdict.RUNNER_CRASHED], "z": [NoVerdict.SANDBOX, BAD]}
    _, tool, _ = run(task, script, actor=Guesser([["x", "y", "z"]]), width=3, rejudge_fails=0)
    assert tool.judged == ["x", "y", "z", "z"]


def test_the_count_of_retries_outlives_the_process(task: Task) -> None:
    tool = Looks({"x": [NoVerdict.SANDBOX]})
    app = loop(Guesser([["x"]]), tool).compile()
    result = asyncio.run(dies_and_goes_on(app, task, lambda record: isinstance(record, Signal)))
    assert (result.stop_reason, tool.judged, result.account.retries) == (StopReason.NO_VERDICT, ["x", "x"], 1)


# --- rejudging


def test_a_new_failing_case_is_looked_at_again_and_one_that_is_known_is_not(task: Task) -> None:
    critic = Noter()
    result, tool, _ = run(
        task,
        {"nothing": [BAD], "x": [BAD], "y": [{"a": False, "b": True}]},
        actor=Guesser([["x"], ["y"]]),
        critic=critic,
        baseline=True,
    )
    assert tool.judged == ["nothing", "nothing", "x", "y", "y"]
    assert (result.account.rejudged, result.account.rejudged_s, result.account.flaky) == (2, 4.0, ())
    assert len(critic.seen) == 3


@pytest.mark.parametrize(("times", "looks"), [(0, 1), (1, 2), (4, 5)])
def test_how_often_is_a_setting(task: Task, times: int, looks: int) -> None:
    result, tool, _ = run(task, {"x": [BAD], "y": [GOOD]}, rejudge_fails=times, rejudge_passes=times)
    assert tool.judged == ["x"] * looks + ["y"] * looks
    assert result.stop_reason is StopReason.VERIFIED
    assert result.account.rejudged == 2 * times


def test_a_tool_that_can_not_repeat_is_asked_once(task: Task) -> None:
    _, tool, _ = run(task, {"x": [BAD], "y": [GOOD]}, repeatable=False)
    assert tool.judged == ["x", "y"]


def test_a_failure_that_only_a_flaky_case_makes_opens_nothing(task: Task) -> None:
    critic, actor = Noter(), Guesser([["x"], ["y"]])
    result, tool, records = run(task, {"x": [BAD, GOOD]}, actor=actor, critic=critic)
    assert (result.stop_reason, result.verdict, result.exit_code) == (StopReason.NO_VERDICT, Verdict.NONE, 3)
    assert result.detail == "flaky: 2 of 2; flaky, so counted neither for nor against the candidate: b (looked 2 times)"
    assert (len(actor.seen), critic.seen, admitted(records)) == (1, [], [])
    assert (tool.judged, result.account.flaky) == (["x", "x"], ("b",))
    first, second = [r for r in records if isinstance(r, Signal)]
    assert (first.verdict, second.verdict, second.reason) == (Verdict.FAIL, Verdict.NONE, NoVerdict.FLAKY)
    assert second.evidence.flaky == ("b",)


def test_a_flaky_case_beside_a_steady_failure_is_marked_and_never_reflected_on(task: Task) -> None:
    critic = Noter()
    result, _, _ = run(
        task,
        {"x": [{"a": False, "coin": False}, {"a": False, "coin": True}], "y": [{"a": True, "coin": True}]},
        critic=critic,
    )
    (reflected,) = critic.seen
    assert [c.id for c in reflected.failing.signal.evidence.failed()] == ["a"]
    assert reflected.failing.signal.evidence.flaky == ("coin",)
    assert (result.stop_reason, result.account.flaky) == (StopReason.VERIFIED, ("coin",))


def test_a_pass_that_does_not_hold_verifies_nothing(task: Task) -> None:
    result, _, _ = run(task, {"x": [GOOD, BAD]})
    assert (result.stop_reason, result.patch, result.account.flaky) == (StopReason.NO_VERDICT, "", ("b",))


def test_a_case_once_flaky_stays_so_for_later_candidates(task: Task) -> None:
    coin: Look = {"a": True, "coin": False}
    critic = Noter()
    result, tool, _ = run(
        task,
        {"x": [{"a": False, "coin": False}, {"a": False, "coin": True}], "y": [coin]},
        critic=critic,
    )
    assert (result.stop_reason, tool.judged, len(critic.seen)) == (StopReason.NO_VERDICT, ["x", "x", "y"], 1)
    assert "coin" in result.detail


def test_the_choice_among_many_stays_when_a_look_again_takes_its_verdict(task: Task) -> None:
    script: Mapping[str, Sequence[Look]] = {
        "x": [{"a": False, "b": False}],
        "y": [BAD, GOOD],
        "z": [{"a": False, "b": False}],
    }
    result, tool, records = run(task, script, actor=Guesser([["x", "y", "z"]]), width=3)
    assert (result.stop_reason, tool.judged, admitted(records)) == (StopReason.NO_VERDICT, ["x", "y", "z", "y"], [])


def test_without_a_budget_for_another_try_nobody_looks_again(task: Task) -> None:
    from groundwire import Budget

    tool = Looks({"x": [BAD]})
    result = loop(Guesser([["x"]]), tool).compile(budget=Budget(trials=1)).run(task)
    assert (result.stop_reason, tool.judged) == (StopReason.BUDGET_TRIALS, ["x"])


def test_an_actor_is_shown_each_candidate_once(task: Task) -> None:
    actor = Guesser([["x"], ["y"]])
    run(task, {"x": [BAD], "y": [GOOD]}, actor=actor)
    (judged,) = actor.seen[1].judged
    assert actor.seen[1].failing is not None
    assert judged.signal.id == actor.seen[1].failing.signal.id


# --- what several looks come to


def test_looks_without_a_case_that_contradict_each_other_are_no_verdict() -> None:
    fails = looked({}).model_copy(update={"verdict": Verdict.FAIL})
    seen = reconcile(fails, [minted({})])
    assert (seen.verdict, seen.reason) == (Verdict.NONE, NoVerdict.FLAKY)


def test_a_case_that_had_not_run_before_is_not_flaky() -> None:
    seen = reconcile(looked({"a": True, "b": False}), [minted({"a": False})])
    assert (seen.verdict, seen.evidence.flaky) == (Verdict.FAIL, ("a",))
    assert [c.id for c in seen.evidence.failed()] == ["b"]


def test_a_pass_after_a_flaky_look_is_still_none() -> None:
    before = minted({"a": True, "coin": False}, flaky=("coin",)).model_copy(
        update={"verdict": Verdict.NONE, "reason": NoVerdict.FLAKY}
    )
    assert reconcile(looked({"a": True, "coin": True}), [before]).verdict is Verdict.NONE


looks = st.dictionaries(st.sampled_from("abc"), st.booleans(), min_size=1)


@given(st.lists(looks, min_size=1, max_size=4), looks)
def test_no_verdict_rests_on_a_case_that_ended_both_ways(earlier: list[dict[str, bool]], last: dict[str, bool]) -> None:
    seen = reconcile(looked(last), [minted(look) for look in earlier])
    told = [*earlier, last]
    both = {name for name in "abc" if {look[name] for look in told if name in look} == {True, False}}
    assert both <= set(seen.evidence.flaky) | {n for n in both if n not in last}
    assert not both & {c.id for c in seen.evidence.failed()}
    assert not both & seen.evidence.passed()
    if seen.verdict is Verdict.FAIL:
        assert seen.evidence.failed()
    if seen.verdict is Verdict.PASS:
        assert all(all(look.values()) for look in told)


def test_origin_and_output_are_those_of_the_last_look() -> None:
    seen = reconcile(looked({"a": False, "b": True}, Origin.EXECUTION), [minted({"a": False, "b": False})])
    assert (seen.origin, seen.evidence.stdout) == (Origin.EXECUTION, "a bad\n")


# --- flaky cases that speak for a candidate


def test_a_pass_is_looked_at_three_times_unless_somebody_said_how_often(task: Task) -> None:
    script: Mapping[str, Sequence[Look]] = {"x": [GOOD, GOOD, BAD]}
    result, tool, _ = run(task, script)
    assert (result.stop_reason, tool.judged, result.account.flaky) == (StopReason.NO_VERDICT, ["x"] * 3, ("b",))
    result, tool, _ = run(task, script, rejudge_passes=1)
    assert (result.stop_reason, tool.judged) == (StopReason.VERIFIED, ["x"] * 2)


def test_a_pass_that_rests_on_a_flaky_case_alone_verifies_nothing(task: Task) -> None:
    script: Mapping[str, Sequence[Look]] = {
        "nothing": [BAD],
        "x": [{"a": False, "b": True}, {"a": False, "b": False}],
        "y": [GOOD],
    }
    result, _, _ = run(task, script, actor=Guesser([["x"], ["y"]]), baseline=True)
    assert (result.stop_reason, result.patch, result.account.flaky) == (StopReason.NO_VERDICT, "", ("b",))
    assert result.detail.startswith("flaky: 2 of 2; flaky, so counted neither for nor against the candidate: b")


def test_what_only_ran_out_of_time_is_not_looked_at_again(task: Task) -> None:
    hangs = looked(BAD)
    hangs = hangs.model_copy(update={"evidence": hangs.evidence.model_copy(update={"late": ("b",)})})
    history = History(Candidate(task.tree.digest, {}))
    signal = MINT.signal(hangs, episode_id="e", trial=1, issuer="t", candidate_digest="c")
    assert not wants_another_look([signal], history, Rules())
    assert wants_another_look([minted(BAD)], history, Rules())
