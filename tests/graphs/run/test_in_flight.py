"""How many episodes of a batch run at once, against a simulated engine in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pytest
from guessing import Check, answer
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import run_in_virtual_time

from groundwire import FeedbackGraph, StopReason, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._models import Completion, Load, Message, Request
from groundwire.graphs.run._in_flight import FIRST, MOST, InFlight
from groundwire.models import ScriptedBackend

ASK = Request(messages=(Message(role="user", content="guess"),))


class Engine(ScriptedBackend):
    """Generates `capacity` answers at once; the others wait."""

    def __init__(self, capacity: int) -> None:
        super().__init__(lambda _request: "wrong")
        self.capacity = capacity
        self.at_it = self.longest_queue = 0
        self.busy_s = 0.0
        self._places = asyncio.Semaphore(capacity)

    def load(self) -> Load:
        return self.now()

    def now(self) -> Load:
        running = min(self.at_it, self.capacity)
        return Load(running, self.at_it - running, self.capacity)

    async def answer(self, seconds: float) -> None:
        self.at_it += 1
        self.longest_queue = max(self.longest_queue, self.now().waiting)
        try:
            async with self._places:
                await asyncio.sleep(seconds)
                self.busy_s += seconds
        finally:
            self.at_it -= 1


@dataclass
class Simulated:
    """One batch: per episode, its trials as seconds of generating and of judging; when it is cancelled, if ever."""

    capacity: int
    episodes: Sequence[tuple[Sequence[tuple[float, float]], float | None]]

    async def run(self) -> None:
        self.engine, self.gate = Engine(self.capacity), InFlight()
        self.judging = self.most_judging = self.finished = 0
        self.begun_at: list[float] = []
        started = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._episode(*episode)) for episode in self.episodes]
        self.seconds = asyncio.get_running_loop().time() - started
        self.cancelled = sum(task.cancelled() for task in running)

    async def _episode(self, trials: Sequence[tuple[float, float]], until: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(until), self.gate.slot() as slot:
                for generating, judging in trials:
                    self._check()
                    slot.calling(self.engine, 1)
                    try:
                        await self.engine.answer(generating)
                    finally:
                        slot.called()
                    self.judging += 1
                    self.most_judging = max(self.most_judging, self.judging)
                    try:
                        await asyncio.sleep(judging)
                    finally:
                        self.judging -= 1
        self.finished += 1

    def _check(self) -> None:
        admission = self.gate.admission
        assert 0 <= admission.silent <= admission.active <= max(FIRST, MOST * self.capacity)
        # a queue is what was let in ahead, and what came back from judging
        assert self.engine.load().waiting <= self.capacity + self.most_judging + FIRST


SECONDS = st.floats(0.001, 100, allow_nan=False)
EPISODES = st.lists(
    st.tuples(
        st.lists(st.tuples(SECONDS, SECONDS), max_size=4),
        st.none() | st.none() | SECONDS,
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=60)
@given(capacity=st.integers(1, 8), episodes=EPISODES)
def test_every_episode_has_its_turn_and_the_queue_is_bounded(
    capacity: int, episodes: Sequence[tuple[Sequence[tuple[float, float]], float | None]]
) -> None:
    simulated = Simulated(capacity, episodes)
    run_in_virtual_time(simulated.run())
    assert simulated.finished == len(episodes) and not simulated.cancelled
    admission = simulated.gate.admission
    assert (admission.active, admission.silent, simulated.engine.at_it) == (0, 0, 0)


@pytest.mark.parametrize("judging_s", [0.05, 5.0, 20.0])
@pytest.mark.parametrize("capacity", [4, 64])
def test_the_engine_is_kept_full_whatever_judging_takes(capacity: int, judging_s: float) -> None:
    generating_s = 10.0
    simulated = Simulated(capacity, [([(generating_s, judging_s)] * 3, None)] * (20 * capacity))
    run_in_virtual_time(simulated.run())
    full = simulated.engine.busy_s / (capacity * simulated.seconds)
    assert full > 0.93
    # one at a time would take as long as all of them after each other
    assert simulated.seconds * capacity < 1.1 * 20 * capacity * 3 * generating_s
    # two capacities at the engine, and by Little's law those that are being judged
    assert simulated.gate.most <= 2 * capacity + simulated.most_judging


def test_slow_judging_does_not_let_everybody_in() -> None:
    simulated = Simulated(2, [([(0.01, 1000.0)], None)] * 100)
    run_in_virtual_time(simulated.run())
    assert simulated.gate.most == MOST * 2


def test_a_cancelled_episode_gives_its_place_to_the_next_at_once() -> None:
    async def scenario() -> None:
        gate, order = InFlight(1), list[str]()

        async def hold(name: str, seconds: float) -> None:
            async with gate.slot():
                order.append(name)
                await asyncio.sleep(seconds)

        first = asyncio.create_task(hold("first", 1000.0))
        gives_up = asyncio.create_task(hold("gives up", 1.0))
        last = asyncio.create_task(hold("last", 1.0))
        await asyncio.sleep(1.0)
        gives_up.cancel()
        await asyncio.sleep(1.0)
        at = asyncio.get_running_loop().time()
        first.cancel()
        await last
        assert asyncio.get_running_loop().time() == at + 1.0
        assert order == ["first", "last"] and gate.admission.active == 0

    run_in_virtual_time(scenario())


class Asker:
    """Proposes what the model says."""

    def __init__(self, backend: ScriptedBackend) -> None:
        self.backend = backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        said = (await context.call(self.backend, ASK)).texts[0]
        return [answer(context.task, said)]


class Slow(Engine):
    """An engine whose answers take a moment."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.most = 0

    async def complete(self, request: Request) -> Completion:
        self.most = max(self.most, self.at_it + 1)
        await self.answer(0.05)  # long beside what an episode takes of the processor
        return Completion(texts=("right",))


class Silent(ScriptedBackend):
    """One that does not say how busy it is."""

    def __init__(self, capacity: int) -> None:
        super().__init__(lambda _request: "right")
        self._engine = Slow(capacity)

    @property
    def most(self) -> int:
        return self._engine.most

    async def complete(self, request: Request) -> Completion:
        return await self._engine.complete(request)


@pytest.mark.parametrize(("kind", "at_once", "most"), [(Slow, None, 12), (Slow, 3, 3), (Silent, None, FIRST)])
async def test_a_batch_runs_as_many_as_the_engine_wants(
    kind: type[Slow | Silent], at_once: int | None, most: int, task: Task
) -> None:
    engine = kind(6)
    graph = FeedbackGraph().add_actor("write", Asker(engine)).add_tool("test", Check())
    app = graph.add_edge("write", "test").refine("test", to="write").compile()
    results = await app.abatch([task] * 40, at_once=at_once)
    assert {r.stop_reason for r in results} == {StopReason.VERIFIED}
    assert most - 1 <= engine.most <= most
