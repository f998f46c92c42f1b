"""A LangGraph graph as an actor: its calls are reserved, booked and in the ledger, and a replay runs nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from typing_extensions import TypedDict

from groundwire import Budget, Candidate, EpisodeResult, FeedbackGraph, StopReason, Task, UngroundedLoopError, Verdict
from groundwire import from_langgraph as wrapped
from groundwire.core._errors import ConfigError
from groundwire.core._records import Intent, ModelCall, ProgramRun
from groundwire.memory import InMemoryStore, SqlStore

TASK = Task.of("A list in JSON.")
NODES: list[str] = []


class Broken(GenericFakeChatModel):
    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("429 too many requests")


class Question(TypedDict):
    question: str
    answer: str


def valid(candidate: Candidate) -> str:
    try:
        json.loads(candidate.text)
    except ValueError as error:
        return str(error)
    return ""


def model(*answers: str | AIMessage, counted: bool = True) -> GenericFakeChatModel:
    usage: Any = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15} if counted else None
    made = (AIMessage(a, usage_metadata=usage) if isinstance(a, str) else a for a in answers)
    replies: Iterator[AIMessage | str] = iter(made)
    return GenericFakeChatModel(messages=replies)


def one_node(node: Any) -> Any:
    builder: Any = StateGraph(MessagesState)
    return builder.add_node("ask", node).add_edge(START, "ask").add_edge("ask", END).compile(name="agent")


def sync(*answers: str, counted: bool = True) -> Any:
    asked = model(*answers, counted=counted)
    return one_node(lambda state: {"messages": [asked.invoke(state["messages"])]})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]


def later(*answers: str, counted: bool = True) -> Any:
    asked = model(*answers, counted=counted)

    async def ask(state: Any) -> Any:
        NODES.append("ask")
        return {"messages": [await asked.ainvoke(state["messages"])]}

    return one_node(ask)


async def ran(graph: Any, budget: Budget | None = None, **options: Any) -> EpisodeResult:
    app = FeedbackGraph.loop(wrapped(graph, **options), valid).compile(budget=budget)
    return await app.arun(TASK, on_error="end")


@pytest.mark.parametrize("make", [sync, later])
async def test_one_line_gates_its_loop_and_its_tokens_are_those_of_the_provider(make: Any) -> None:
    result = await ran(make("{", "[1]"))
    assert (result.verdict, result.trials, result.tokens, result.completion_tokens) == (Verdict.PASS, 2, 30, 10)
    assert result.best and result.best.candidate.text == "[1]"


@pytest.mark.parametrize("make", [sync, later])
async def test_a_call_that_could_cost_too_much_is_not_made(make: Any) -> None:
    result = await ran(make("{", "[1]"), Budget(calls=1))
    assert (result.stop_reason, result.trials, result.tokens) == (StopReason.BUDGET_CALLS, 1, 15)
    result = await ran(make("[1]"), Budget(tokens=300), max_tokens=300)
    assert (result.stop_reason, result.tokens) == (StopReason.BUDGET_TOKENS, 0)
    assert (await ran(make("[1]"), Budget(tokens=300), max_tokens=100)).verdict is Verdict.PASS


async def test_money_needs_a_price() -> None:
    result = await ran(later("[1]"), Budget(usd=1.0))
    assert (result.stop_reason, result.usd) == (StopReason.BUDGET_USD, 0.0)
    name = "generic-fake-chat-model"
    for prices in ((1e-3, 1e-2), {name: (1e-3, 1e-2)}):
        result = await ran(later("[1]"), Budget(usd=100.0), usd_per_token=prices)
        assert result.usd == pytest.approx(10 * 1e-3 + 5 * 1e-2)  # pyright: ignore[reportUnknownMemberType]
    assert (await ran(later("[1]"), Budget(usd=1.0), usd_per_token={"other": (0, 0)})).stop_reason.value == "budget_usd"


async def test_a_model_that_counts_nothing_is_counted_all_the_same() -> None:
    result = await ran(later("[1, 2]", counted=False))
    assert result.tokens == 5 + 2  # 15 and 6 characters, at 3.5 a token


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def agent(*answers: str | AIMessage) -> Any:
    asked = model(*answers)
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [asked.invoke(state["messages"])]})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    builder.add_node("tools", ToolNode([add]))
    builder.add_edge(START, "model").add_edge("tools", "model").add_conditional_edges("model", tools_condition)
    return builder.compile(name="agent")


async def test_an_agent_with_tools_is_let_in_since_they_touch_the_world() -> None:
    call: Any = {"name": "add", "args": {"a": 1, "b": 2}, "id": "1"}
    store = InMemoryStore()
    app = FeedbackGraph.loop(wrapped(agent(AIMessage("", tool_calls=[call]), "[3]")), valid).compile(store=store)
    result = await app.arun(TASK)
    assert result.verdict is Verdict.PASS
    records = await store.records(result.episode_id)
    first, second = (json.loads(r.body) for r in records if isinstance(r, Intent) and r.kind == "model_call")
    assert first["messages"][0]["role"] == "user" and TASK.prompt in first["messages"][0]["content"]
    assert [m["role"] for m in second["messages"]] == ["user", "assistant", "tool"]
    assert second["messages"][1]["tool_calls"][0]["name"] == "add" and second["messages"][2]["content"] == "3"
    assert [type(r) for r in records if isinstance(r, ModelCall | ProgramRun)] == [ModelCall, ModelCall, ProgramRun]


def test_one_that_refines_by_its_own_word_is_refused() -> None:
    asked = model("x")
    builder: Any = StateGraph(Question)
    builder.add_node("write", lambda state: {"answer": asked.invoke(state["question"]).text})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    builder.add_node("criticise", lambda state: {"question": asked.invoke(state["answer"]).text})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    builder.add_edge(START, "write").add_edge("write", "criticise")
    builder.add_conditional_edges("criticise", lambda state: "write", ["write", END])  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    actor = wrapped(builder.compile(), input="question", output="answer")
    with pytest.raises(UngroundedLoopError, match="write/LangGraph/write → write/LangGraph/criticise"):
        FeedbackGraph.loop(actor, valid).compile()


async def test_a_replay_asks_nobody_and_accounts_for_every_call(tmp_path: Any) -> None:
    NODES.clear()
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/l.db")) as store:
        app = FeedbackGraph.loop(wrapped(later("{", "[1]")), valid).compile(store=store)
        result = await app.arun(TASK)
        replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
    assert (replayed.difference, replayed.is_whole, NODES) == (None, True, ["ask"] * 2)
    assert replayed.compared > 15


async def test_a_failed_call_that_the_graph_got_over_is_replayed_too() -> None:
    fine = model("[1]")

    async def ask(state: Any) -> Any:
        try:
            return {"messages": [await Broken(messages=iter([])).ainvoke(state["messages"])]}
        except RuntimeError:
            return {"messages": [await fine.ainvoke(state["messages"])]}

    app = FeedbackGraph.loop(wrapped(one_node(ask)), valid).compile()
    result = await app.arun(TASK)
    assert (result.verdict, result.tokens) == (Verdict.PASS, 15)
    replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None


async def test_a_model_that_fails_ends_the_episode_as_a_model_s_error() -> None:
    async def ask(state: Any) -> Any:
        return {"messages": [await Broken(messages=iter([])).ainvoke(state["messages"])]}

    result = await ran(one_node(ask))
    assert result.stop_reason is StopReason.MODEL_ERROR
    assert "RuntimeError: 429 too many requests" in result.detail


async def test_calls_side_by_side_are_each_metered() -> None:
    builder: Any = StateGraph(MessagesState)
    for name in "abc":
        asked = model("[1]")

        async def ask(state: Any, asked: GenericFakeChatModel = asked) -> Any:
            return {"messages": [await asked.ainvoke(state["messages"])]}

        builder.add_node(name, ask).add_edge(START, name)
    assert (await ran(builder.compile())).tokens == 45


async def test_time_is_kept_inside_the_graph_too() -> None:
    async def sleep(state: Any) -> Any:
        await asyncio.sleep(60)

    result = await ran(one_node(sleep), timeout_s=0.05)
    assert "ran out of time" in result.detail
    assert (await ran(one_node(sleep), Budget(seconds=0.2))).stop_reason is StopReason.BUDGET_SECONDS


async def test_a_call_without_await_in_an_async_node_is_said() -> None:
    asked = model("[1]")

    async def ask(state: Any) -> Any:
        return {"messages": [asked.invoke(state["messages"])]}

    result = await ran(one_node(ask))
    assert result.stop_reason is StopReason.INTERNAL_ERROR and "await model.ainvoke" in str(result.error)


async def test_a_graph_that_waits_for_a_person_has_no_answer() -> None:
    def ask(state: Any) -> Any:
        return interrupt("well?")

    builder: Any = StateGraph(MessagesState)
    builder.add_node("ask", ask).add_edge(START, "ask")
    result = await ran(builder.compile(checkpointer=InMemorySaver()))
    assert result.verdict is Verdict.NONE and "waits for a person" in result.detail


@pytest.mark.parametrize("answer", ["[1]", {"answer.txt": "[1]"}, ["[1]", "ignored"]])
async def test_fields_and_functions_say_what_goes_in_and_out(answer: Any) -> None:
    builder: Any = StateGraph(Question)
    builder.add_node("ask", lambda state: {"answer": state["question"] + "!"})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    graph = builder.add_edge(START, "ask").compile()
    seen: list[str] = []

    def out(state: Any) -> Any:
        seen.append(state["answer"])
        return answer

    result = await ran(graph, input=lambda context: {"question": context.task.id}, output=out)  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType]
    assert (result.verdict, seen) == (Verdict.PASS, [f"{TASK.id}!"])
    result = await ran(graph, input="question", output="answer")
    assert result.best and result.best.candidate.text.startswith(TASK.prompt)


@pytest.mark.parametrize("final", [7, {"answer.txt": 7}, {"../x": "y"}, {"other.txt": "y"}])
async def test_what_is_no_proposal_ends_the_trial_and_is_said(final: Any) -> None:
    result = await ran(later("[1]"), output=lambda state: final)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert result.verdict is Verdict.NONE and result.detail


@pytest.mark.parametrize(
    ("graph", "options", "why"),
    [
        (StateGraph(MessagesState), {}, r"graph\.compile\(\)"),
        ("agent", {}, "got str"),
        (sync("x"), {"input": "question"}, "no field 'question'"),
        (sync("x"), {"output": "answer"}, "its own.*messages"),
        (sync("x"), {"timeout_s": 0}, "out of range"),
    ],
)
def test_what_is_wrong_is_met_where_it_is_made(graph: Any, options: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        wrapped(graph, **options)


async def test_each_of_several_drafts_is_a_run_of_its_own() -> None:
    drafts: Sequence[str] = ("{", "[", "[1]")
    app = FeedbackGraph.loop(wrapped(later(*drafts)), valid, width=3).compile()
    result = await app.arun(TASK)
    assert (result.verdict, result.trials, result.candidates, result.tokens) == (Verdict.PASS, 1, 3, 45)
