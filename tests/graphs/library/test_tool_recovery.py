"""Rows 68 (THOR) and 76 (Fission-GRPO): a failing call rewinds to the step that made it, and is not made again."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from dying import dies_and_goes_on
from pages import check_page
from trails import trail, turns

from groundwire import Budget, EpisodeResult, StopReason, Task, Verdict
from groundwire.agents import ToolActor
from groundwire.core._models import Request
from groundwire.core._records import Record
from groundwire.core._toolcalls import Steps, answer_of
from groundwire.graphs.library._tool_recovery import tool_recovery
from groundwire.graphs.library._tool_steps import ToolAccount, tool_account
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools import AnswerCheck, Toolbox

TASK = Task(id="stock", prompt="How many bolts are there in all stores together?")


def call(tool: str, **arguments: Any) -> str:
    return json.dumps({"tool": tool, "arguments": arguments})


def answer(text: str) -> str:
    return json.dumps({"answer": text})


class Stores:
    """Two tools over a stock list, and what was really called."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def box(self) -> Toolbox:
        def count(store: str) -> int:
            """Bolts in one store."""
            self.called.append(store)
            stock = {"north": 20, "south": 22}
            if store not in stock:
                raise LookupError(f"a\nlong\ntraceback\nno store {store}; there are north and south")
            return stock[store]

        def add(a: int, b: int) -> int:
            """Adds two numbers."""
            return a + b

        return Toolbox(count, add)


async def run(*replies: str, budget: Budget | None = None) -> tuple[EpisodeResult, Run]:
    stores, backend, store = Stores(), ScriptedBackend(replies), InMemoryStore()
    box = stores.box()
    graph = tool_recovery(ToolActor(backend, box.specs), box, AnswerCheck(lambda a: a == "42" or "42 was expected"))
    app = graph.compile(store=store, budget=budget)
    records: list[Record] = []
    result = await app.arun(TASK, observers=[records.append])
    replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None, replayed.difference
    return result, Run(records, backend, stores.called, await tool_account(store, result.episode_id))


class Run:
    """What one episode left behind."""

    def __init__(
        self, records: list[Record], backend: ScriptedBackend, called: list[str], account: ToolAccount
    ) -> None:
        self.records = records
        self.backend = backend
        self.called = called
        self.account = account


async def test_a_failing_call_is_made_anew_and_the_steps_before_it_stay() -> None:
    result, ran = await run(
        call("count", store="north"),
        call("count", store="sout"),
        call("count", store="south"),
        call("add", a=20, b=22),
        answer("42"),
    )
    assert trail(ran.records) == [
        *("act", "call go_on", "advance", "act", "call fail", "refine"),
        *("act", "call go_on", "advance", "act", "call go_on", "advance", "act", "check pass"),
    ]
    assert (result.verdict, result.stop_reason, result.trials) == (Verdict.PASS, StopReason.VERIFIED, 2)
    assert ran.called == ["north", "sout", "south"]
    before, again, after = (turns(ran.backend.requests[i]) for i in (1, 2, 3))
    # the regeneration sees the very same steps, then the failing call with one line of its error
    assert again[: len(before)] == before
    assert again[len(before) :] == [
        call("count", store="sout"),
        '<tool_error origin="tool_error">\nLookupError: no store sout; there are north and south\n</tool_error>',
    ]
    # once it is past, the error is out of the context
    assert after[: len(before)] == before and "sout;" not in "\n".join(after)
    assert result.best is not None
    done = Steps.of(result.best.candidate)
    first = Steps(done.base_digest, done.steps[:1])
    assert done.ids[0] == first.ids[0] and answer_of(result.best.candidate) == "42"
    assert ran.account == ToolAccount(made=3, failed=1, recovered=1)
    assert ran.account.recovery_rate == 1.0


async def test_three_failures_of_one_step_end_the_episode() -> None:
    result, ran = await run(call("count", store="north"), *(call("count", store=name) for name in "abcd"))
    assert trail(ran.records)[3:] == ["act", "call fail", "refine", "act", "call fail", "refine", "act", "call fail"]
    assert result.stop_reason is StopReason.TOOL_EXHAUSTED
    assert result.verdict is Verdict.FAIL and "no store c" in result.detail
    assert ran.called == ["north", "a", "b", "c"] and ran.backend.left == 1
    # each try sees what was tried at this step before
    assert [turn for turn in turns(ran.backend.requests[3]) if "no store" in turn] == [
        f'<tool_error origin="tool_error">\nLookupError: no store {name}; there are north and south\n</tool_error>'
        for name in "ab"
    ]


async def test_a_step_that_went_well_lets_the_next_one_fail_three_times_again() -> None:
    result, ran = await run(
        *(call("count", store=name) for name in ("a", "b", "north", "c", "d", "south")), answer("42")
    )
    assert result.stop_reason is StopReason.VERIFIED
    assert ran.account == ToolAccount(made=2, failed=4, recovered=4)


async def test_the_same_call_after_its_error_is_not_made_and_is_counted() -> None:
    wrong = call("count", store="sout")
    result, ran = await run(wrong, wrong, f"Again: {wrong}", call("count", store="south"), answer("42"))
    assert result.stop_reason is StopReason.VERIFIED
    assert ran.called == ["sout", "south"]
    assert ran.account.degenerate_repeats == 2
    assert turns(ran.backend.requests[2])[-1] == (
        "This very call was judged before, and will not be judged again. Take another way."
    )
    risen = [request.temperature for request in ran.backend.requests]
    assert risen == [0.2, 0.2, 0.35, 0.5, 0.2]


async def test_an_actor_that_only_repeats_itself_is_stuck() -> None:
    wrong = call("count", store="sout")
    result, ran = await run(*[wrong] * 12)
    assert result.stop_reason is StopReason.STUCK and ran.called == ["sout"]


async def test_what_does_not_fit_is_refused_before_anything_is_called() -> None:
    result, ran = await run(
        call("count"),
        call("count", store="north", force=True),
        call("launch", store="north"),
    )
    assert result.stop_reason is StopReason.TOOL_EXHAUSTED and ran.called == []
    shown = "\n".join(turns(ran.backend.requests[2]))
    assert "arguments: store: Field required" in shown
    assert "arguments: force: Extra inputs are not permitted" in shown
    assert "there is no tool" in result.detail and "count, add" in result.detail


async def test_a_rejected_answer_is_made_anew_after_the_same_calls() -> None:
    result, ran = await run(call("count", store="north"), answer("20"), answer("42"))
    assert trail(ran.records)[3:] == ["act", "check fail", "refine", "act", "check pass"]
    assert result.stop_reason is StopReason.VERIFIED and ran.called == ["north"]
    assert turns(ran.backend.requests[2])[-2:] == [
        answer("20"),
        '<tool_error origin="verifier">\n42 was expected\n</tool_error>',
    ]
    assert ran.account.cuts[0].kept == 1 and ran.account.cuts[0].gain


async def test_a_failure_with_no_budget_left_is_no_success() -> None:
    result, _ = await run(call("count", store="a"), call("count", store="b"), budget=Budget(trials=1))
    assert (result.verdict, result.stop_reason) == (Verdict.FAIL, StopReason.BUDGET_TRIALS)


async def test_an_answer_that_can_not_be_read_is_sent_back_and_is_no_trial() -> None:
    result, ran = await run("I would count them.", answer("42"))
    assert result.stop_reason is StopReason.VERIFIED and result.trials == 1
    assert [r.purpose for r in ran.backend.requests] == ["propose", "correct"]
    assert "No step was found" in turns(ran.backend.requests[1])[-1]


async def test_a_process_that_dies_anywhere_is_gone_on_with_by_another() -> None:
    def reply(request: Request) -> str:
        """The same answer to the same request, as often as it is asked."""
        shown = "\n".join(turns(request))
        made = shown.count("<output")
        if made == 2:
            return answer("42")
        return call("count", store="south" if "no store" in shown else "x" if made else "north")

    async def played(dies: Callable[[object], bool] | None) -> tuple[StopReason, list[str], list[str]]:
        stores = Stores()
        box = stores.box()
        actor = ToolActor(ScriptedBackend(reply), box.specs)
        app = tool_recovery(actor, box, AnswerCheck(lambda a: a == "42")).compile()
        result = await (dies_and_goes_on(app, TASK, dies) if dies else app.arun(TASK))
        return result.stop_reason, trail(await app.store.records(result.episode_id)), stores.called

    whole = await played(None)
    assert whole[0] is StopReason.VERIFIED and whole[2] == ["north", "x", "south"]
    index = 0
    for index in range(4 * len(whole[1])):
        records = count()
        try:
            again = await played(lambda _, at=index, seen=records: next(seen) == at)
        except pytest.fail.Exception:
            break  # the episode has no more records to die at
        assert again[:2] == whole[:2], index
    assert index > 2 * len(whole[1])


def test_its_page_shows_this_graph() -> None:
    box = Stores().box()
    actor = ToolActor(ScriptedBackend([]), box.specs)
    check_page("tool_recovery", tool_recovery(actor, box, AnswerCheck(bool)))
