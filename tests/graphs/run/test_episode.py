"""What is in the ledger when: everything before an effect and after a node, with as few transactions as that takes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from pathlib import Path

import pytest
from guessing import Check, Guesser, Noter, answer, loop

from groundwire import FeedbackGraph, Observation, Task, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection, ToolContext
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import (
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    OpenLink,
    Record,
    TrialRecord,
)
from groundwire.core._signals import Signal
from groundwire.core._traits import ActorTraits, CriticTraits, ToolTraits
from groundwire.graphs.run._episode import Episode
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.models import ScriptedBackend


class Counting(InMemoryStore):
    """Remembers each transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.transactions: list[list[Record]] = []

    async def append(self, *records: Record) -> None:
        await super().append(*records)
        self.transactions.append(list(records))

    def written(self) -> list[Record]:
        return [record for records in self.transactions for record in records]


@pytest.fixture
def store() -> Counting:
    return Counting()


def kinds(records: Sequence[Record]) -> list[str]:
    return [type(record).__name__ for record in records if not isinstance(record, Artifact)]


async def test_a_loop_takes_three_transactions_a_trial(task: Task, store: Counting) -> None:
    app = loop(Guesser([["wrong"], ["worse"], ["right"]]), Check(), Noter()).compile(store=store)
    await app.arun(task, run_id=await app.start_run())
    assert [kinds(t) for t in store.transactions[1:]] == [
        ["EpisodeRecord", "TrialRecord", "CandidateRecord"],
        ["Signal", "Admission"],
        ["ReflectionRecord"],
        ["TrialEnd", "TrialRecord", "Recall", "CandidateRecord"],
        ["Signal", "Admission"],
        ["ReflectionRecord"],
        ["TrialEnd", "TrialRecord", "Recall", "CandidateRecord"],
        ["Signal"],
        ["TrialEnd", "EpisodeEnd"],
    ]


async def test_an_episode_that_has_ended_is_freed_at_once(task: Task) -> None:
    """Not by the garbage collector, which long runs would keep busy with all that their episodes held."""
    actor, critic = Guesser([["wrong"], ["right"]] * 4), Noter()
    app = loop(actor, Check(), critic).compile(store=InMemoryStore())

    async def alive_after_one() -> int:
        assert (await app.arun(task)).trials == 2
        actor.seen.clear()
        critic.seen.clear()
        return sum(type(one) is Episode for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        # LangGraph may hold the last one
        assert len({await alive_after_one() for _ in range(4)}) == 1
    finally:
        gc.enable()


async def test_a_candidate_is_in_the_ledger_before_it_is_judged(task: Task, store: Counting) -> None:
    class Looks(Check):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            written = store.written()
            assert any(isinstance(r, CandidateRecord) and r.digest == candidate.digest for r in written)
            assert any(isinstance(r, EpisodeRecord) for r in written)
            return await super().judge(candidate, task, context)

    result = await loop(Guesser([["wrong", "worse"], ["right"]]), Looks(), width=2).compile(store=store).arun(task)
    assert result.trials == 2


async def test_a_judging_is_in_the_ledger_before_the_next_one_of_the_same_candidate(
    task: Task, store: Counting
) -> None:
    class Again(Check):
        traits = ToolTraits(repeatable=True)

        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            assert sum(isinstance(r, Signal) for r in store.written()) == len(self.judged)
            return await super().judge(candidate, task, context)

    check = Again()
    await loop(Guesser([["wrong"], ["right"]]), check).compile(store=store).arun(task)
    assert check.judged == ["wrong", "wrong", "right", "right", "right"]


async def test_everything_is_in_the_ledger_before_a_model_is_called(task: Task, store: Counting) -> None:
    class Checks(ScriptedBackend):
        async def complete(self, request: Request) -> Completion:
            assert isinstance(store.written()[-1], Intent)
            assert any(isinstance(r, TrialRecord) for r in store.written())
            return await super().complete(request)

    backend = Checks(["right"])

    class Asks:
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            request = Request(messages=(Message(role="user", content="?"),))
            completion = await context.call(backend, request)
            return [answer(context.task, completion.texts[0])]

    graph = FeedbackGraph().add_actor("write", Asks()).add_tool("test", Check()).add_edge("write", "test")
    await graph.refine("test", to="write").compile(store=store).arun(task)
    assert len(backend.requests) == 1


async def test_after_each_node_the_ledger_has_all_that_the_view_has(task: Task, store: Counting) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile(store=store)
    async with app.episode(task) as episode:
        async for _ in app.langgraph.astream(app.input(episode), context=episode, stream_mode="updates"):
            signals = {r.id for r in store.written() if isinstance(r, Signal)}
            assert signals == episode.history.signals.keys()
            assert {r.trial for r in store.written() if isinstance(r, TrialRecord)} == episode.history.lessons.keys()


async def test_a_node_that_breaks_leaves_nothing_unwritten(task: Task, store: Counting) -> None:
    class Breaks:
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            raise ZeroDivisionError

    graph = FeedbackGraph().add_actor("write", Breaks()).add_tool("test", Check()).add_edge("write", "test")
    with pytest.raises(ZeroDivisionError):
        await graph.refine("test", to="write").compile(store=store).arun(task)
    assert kinds(store.written())[1:] == ["EpisodeRecord", "TrialRecord"]


async def test_who_watches_is_told_of_what_the_ledger_has(task: Task, store: Counting) -> None:
    told: list[Record] = []

    def watch(record: Record) -> None:
        assert record in store.written()
        told.append(record)

    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile(store=store)
    await app.arun(task, observers=[watch])
    assert told == store.written()[1:-1]


async def test_an_episode_that_nobody_drove_is_in_the_ledger(task: Task, store: Counting) -> None:
    app = loop(Guesser([]), Check()).compile(store=store)
    async with app.episode(task) as episode:
        assert store.written()[1:] == []
    assert [r.id for r in store.written() if isinstance(r, EpisodeRecord)] == [episode.id]


class Jostled(Counting):
    """A database whose later transactions would be kept first."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way = 0

    async def append(self, *records: Record) -> None:
        for _ in range(0 if self.under_way else 50):
            self.under_way += 1
            await asyncio.sleep(0)
            self.under_way -= 1
        await super().append(*records)


class AsksTwice:
    """Makes two calls at once."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        backend = ScriptedBackend(lambda request: "right")
        requests = [Request(messages=(Message(role="user", content=text),)) for text in ("one", "two")]
        answers = await asyncio.gather(*(context.call(backend, request) for request in requests))
        return [answer(context.task, completion.texts[0]) for completion in answers]


async def test_of_two_calls_at_once_none_is_kept_before_what_was_noted_ahead_of_both(task: Task) -> None:
    """Found by kill -9 on PostgreSQL, whose transactions pass each other: a trial with a paid call and no beginning."""
    store = Jostled()
    graph = FeedbackGraph().add_actor("write", AsksTwice(), width=2).add_tool("test", Check()).add_edge("write", "test")
    await graph.compile(store=store).arun(task)
    begun = next(i for i, record in enumerate(store.written()) if isinstance(record, TrialRecord))
    asked = [i for i, record in enumerate(store.written()) if isinstance(record, Intent)]
    assert len(asked) == 2 and begun < min(asked)


# --- parts that declare that calls are all they do in the world


class Priced(ScriptedBackend):
    """Costs what it is told, and looks at the ledger when it is asked."""

    def __init__(self, store: CountingFile, usd: float | None) -> None:
        super().__init__(lambda request: "right" if "reflected" in request.messages[0].content else "wrong")
        self.usd = usd
        self.store = store
        self.announced: list[bool] = []

    def price(self, request: Request) -> float | None:
        return self.usd

    async def complete(self, request: Request) -> Completion:
        self.announced.append(request.canonical() in [r.body for r in self.store.written() if isinstance(r, Intent)])
        return await super().complete(request)


class CountingFile(SqlStore):
    """Remembers what each transaction of a ledger in a file has kept."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"sqlite:///{folder}/ledger.db")
        self.transactions: list[list[Record]] = []

    async def append(self, *records: Record) -> None:
        await super().append(*records)
        self.transactions.append([record for record in records if not isinstance(record, OpenLink)])

    def written(self) -> list[Record]:
        return [record for records in self.transactions for record in records]


class CallsOnly:
    """An actor and a critic in one."""

    def __init__(self, backend: Priced) -> None:
        self.backend = backend

    async def _ask(self, context: ActorContext | CriticContext, about: str) -> str:
        return (await context.call(self.backend, Request(messages=(Message(role="user", content=about),)))).texts[0]


class Asking(CallsOnly):
    traits = ActorTraits(calls_only=True)

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        return [answer(context.task, await self._ask(context, context.reflection.text if context.reflection else "?"))]


class Reflecting(CallsOnly):
    traits = CriticTraits(calls_only=True)

    async def reflect(self, context: CriticContext) -> Reflection:
        await self._ask(context, "why?")
        return Reflection("reflected", by="critic")


class Sandboxed(Check):
    traits = ToolTraits(calls_only=True)


def calling(store: CountingFile, usd: float | None, check: Check) -> tuple[FeedbackGraph, Priced]:
    backend = Priced(store, usd)
    graph = FeedbackGraph().add_actor("write", Asking(backend)).add_critic("reflect", Reflecting(backend))
    return graph.add_tool("test", check).add_edge("write", "test").refine("test", via="reflect", to="write"), backend


@pytest.mark.parametrize("usd", [0.01, None])
async def test_a_call_that_may_be_paid_for_is_in_the_ledger_before_it_is_made(
    task: Task, tmp_path: Path, usd: float | None
) -> None:
    store = CountingFile(tmp_path)
    graph, backend = calling(store, usd, Sandboxed())
    result = await graph.compile(store=store).arun(task)
    assert (result.trials, backend.announced) == (2, [True] * 3)
    whole = [kinds(t) for t in store.transactions[1:-1]]
    assert whole[:3] == [
        ["EpisodeRecord", "TrialRecord", "Intent"],
        ["ModelCall", "CandidateRecord", "Signal", "Admission", "Intent"],
        ["ModelCall", "ReflectionRecord"],
    ]
    await store.aclose()


async def test_what_costs_nothing_is_written_with_what_comes_of_it(task: Task, tmp_path: Path) -> None:
    store = CountingFile(tmp_path)
    graph, backend = calling(store, 0.0, Sandboxed())
    await graph.compile(store=store).arun(task)
    assert backend.announced == [False] * 3
    first, last = map(kinds, store.transactions[1:-1])
    assert first[:2] == ["EpisodeRecord", "TrialRecord"] and first[-1] == "ReflectionRecord"
    assert first.count("ModelCall") == 2 and last[-3:] == ["Signal", "TrialEnd", "EpisodeEnd"]
    await store.aclose()


async def test_what_passed_is_in_the_ledger_though_its_episode_was_cancelled_before_its_end(
    task: Task, tmp_path: Path
) -> None:
    """It waits for the episode's end, to be written together with it, and none comes."""
    store = CountingFile(tmp_path)

    class Ends(Sandboxed):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            if context.trial == 2:
                asyncio.get_running_loop().call_soon(running.cancel)
            return await super().judge(candidate, task, context)

    graph, _ = calling(store, 0.0, Ends())
    running = asyncio.create_task(graph.compile(store=store).arun(task))
    with pytest.raises(asyncio.CancelledError):
        await running
    await store.aclose()
    written = store.written()
    assert [r.verdict for r in written if isinstance(r, Signal)] == [Verdict.FAIL, Verdict.PASS]
    assert not any(isinstance(record, EpisodeEnd) for record in written)


async def test_what_is_noted_while_the_ledger_is_written_is_written_too(task: Task, tmp_path: Path) -> None:
    """Of an actor's slow calls each answer is in the ledger while the next one is waited for."""
    store = CountingFile(tmp_path)

    class Slow(Priced):
        async def complete(self, request: Request) -> Completion:
            for _ in range(2000):
                if sum(isinstance(record, ModelCall) for record in store.written()) == len(self.announced):
                    return await super().complete(request)
                await asyncio.sleep(0.005)
            raise AssertionError("the answer before this one was not written while this one was waited for")

    class Thrice(Asking):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            for question in ("one", "two"):
                await self._ask(context, question)
            return [answer(context.task, await self._ask(context, "reflected"))]

    actor = Thrice(Slow(store, 0.0))
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", Sandboxed()).add_edge("write", "test")
    assert (await graph.compile(store=store).arun(task)).trials == 1
    await store.aclose()


async def test_a_tool_that_declares_nothing_finds_all_in_the_ledger(task: Task, tmp_path: Path) -> None:
    store = CountingFile(tmp_path)

    class Looks(Check):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            written = store.written()
            assert [r.digest for r in written if isinstance(r, CandidateRecord)][-1:] == [candidate.digest]
            assert sum(isinstance(r, ModelCall) for r in written) == 2 * context.trial - 1
            return await super().judge(candidate, task, context)

    graph, _ = calling(store, 0.0, Looks())
    assert (await graph.compile(store=store).arun(task)).trials == 2
    await store.aclose()


async def test_what_was_noted_is_written_while_a_tool_waits(task: Task, tmp_path: Path) -> None:
    """A test run takes a minute: what was paid for before it is in the ledger long before it ends."""
    store = CountingFile(tmp_path)

    class Waits(Sandboxed):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            for _ in range(2000):
                if any(isinstance(r, CandidateRecord) and r.digest == candidate.digest for r in store.written()):
                    return await super().judge(candidate, task, context)
                await asyncio.sleep(0.005)
            raise AssertionError("the candidate was not written while its judging waited")

    graph, _ = calling(store, 0.0, Waits())
    assert (await graph.compile(store=store).arun(task)).trials == 2
    await store.aclose()


async def test_an_episode_that_breaks_leaves_nothing_unwritten_that_was_noted(task: Task, tmp_path: Path) -> None:
    store = CountingFile(tmp_path)

    class Breaks(Sandboxed):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            raise ZeroDivisionError

    graph, _ = calling(store, 0.0, Breaks())
    with pytest.raises(ZeroDivisionError):
        await graph.compile(store=store).arun(task)
    assert kinds(store.written())[-2:] == ["ModelCall", "CandidateRecord"]
    await store.aclose()


async def test_others_get_their_turn_between_the_trials_of_an_episode_that_waits_for_nothing(task: Task) -> None:
    turns: list[str] = []

    class Tells(Guesser):
        traits = ActorTraits(calls_only=True)

        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            turns.append(f"trial {context.trial}")
            return await super().propose(context, n)

    async def other() -> None:
        for _ in range(40):
            turns.append("other")
            await asyncio.sleep(0)

    app = loop(Tells([["wrong"], ["worse"], ["right"]]), Sandboxed()).compile()
    await asyncio.gather(app.arun(task), other())
    first, second = turns.index("trial 1"), turns.index("trial 2")
    assert "other" in turns[first:second] and "other" in turns[second : turns.index("trial 3")]


async def test_an_actor_that_declares_nothing_is_answered_out_of_the_ledger(task: Task, tmp_path: Path) -> None:
    store = CountingFile(tmp_path)

    class Undeclared(CallsOnly):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            said = await self._ask(context, "?")
            assert isinstance(store.written()[-1], ModelCall)
            return [answer(context.task, said)]

    backend = Priced(store, 0.0)
    graph = FeedbackGraph().add_actor("write", Undeclared(backend)).add_tool("test", Check(wanted=("wrong",)))
    assert (await graph.add_edge("write", "test").compile(store=store).arun(task)).verdict is Verdict.PASS
    assert backend.announced == [True], "nor is it asked before the ledger has the question"
    await store.aclose()
