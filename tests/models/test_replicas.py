"""Several engines of one model: an episode stays with one, none gets much more than its share, and none is needed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
import stub_model_server
from recorded_runs import question, repairing

from groundwire import Budget
from groundwire.core._errors import ConfigError, ModelRejected, ModelRetryable, Usage
from groundwire.core._models import Completion, Load, Message, ReportsLoad, Request, current_asker
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend, allow_model_calls, backend_for
from groundwire.models import _vllm_server as vllm_server
from groundwire.models._openai_compatible import GoesOn
from groundwire.models._replicas import MORE_THAN_ITS_SHARE, ReplicatedBackend, count_in, devices_of

HELLO = Request(messages=(Message(role="user", content="hello"),))


class Engine(ScriptedBackend):
    """Answers when it is told to, and can be down."""

    def __init__(self, number: int) -> None:
        super().__init__(lambda _request: str(number))
        self.number = number
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.is_down = False
        self.asked: list[str] = []
        self.was_closed = 0

    async def complete(self, request: Request) -> Completion:
        asker = current_asker.get()
        self.asked.append(asker[0] if asker else "")
        if self.is_down:
            raise ModelRetryable(f"{self.number} is down.")
        await self.goes_on.wait()
        return await super().complete(request)

    async def stream_while(self, request: Request, watch: Callable[[], GoesOn]) -> Completion:
        return await self.complete(request)

    async def aclose(self) -> None:
        self.was_closed += 1


async def ask(backend: ReplicatedBackend, episode: str, task: str = "task") -> str:
    """Which engine answered."""
    token = current_asker.set((episode, task))
    try:
        return (await backend.complete(HELLO)).texts[0]
    finally:
        current_asker.reset(token)


def engines(count: int) -> tuple[list[Engine], ReplicatedBackend]:
    made = [Engine(number) for number in range(count)]
    return made, ReplicatedBackend(made, "four")


async def test_an_episode_stays_and_a_task_s_episodes_and_other_processes_find_the_same() -> None:
    _, backend = engines(4)
    homes = {task: await ask(backend, f"first of {task}", task) for task in map(str, range(40))}
    assert len(set(homes.values())) == 4
    _, elsewhere = engines(4)
    for task, home in homes.items():
        for episode in (f"first of {task}", f"first of {task}", f"second of {task}"):
            assert await ask(backend, episode, task) == home
        assert await ask(elsewhere, "of another process", f"{task}") in set("0123")
        assert await ask(elsewhere, f"another of {task}", task) == home


async def test_no_engine_gets_much_more_than_its_share() -> None:
    made, backend = engines(4)
    for engine in made:
        engine.goes_on.clear()
    # all of one task: its own engine alone would have all of them
    waiting = [asyncio.create_task(ask(backend, str(number))) for number in range(200)]
    await asyncio.sleep(0)
    assert sum(backend.in_flight) == 200
    assert max(backend.in_flight) <= MORE_THAN_ITS_SHARE * 200 / 4 + 1
    for engine in made:
        engine.goes_on.set()
    await asyncio.gather(*waiting)
    assert backend.in_flight == [0, 0, 0, 0]


async def test_an_engine_that_is_down_is_left_alone_and_nobody_notices() -> None:
    made, backend = engines(3)
    home = int(await ask(backend, "a"))
    made[home].is_down = True
    other = await ask(backend, "a")
    assert other != str(home)
    made[home].asked.clear()
    assert {await ask(backend, str(number), str(number)) for number in range(20)} == set("012") - {str(home)}
    assert made[home].asked == [], "it rests"
    for engine in made:
        engine.is_down = True
    with pytest.raises(ModelRetryable, match="is down"):
        await ask(backend, "a")
    assert sum(Counter(engine.asked)["a"] >= 1 for engine in made) == 3, "each was asked once"
    for engine in made:
        engine.is_down = False
    assert await ask(backend, "a") in set("012"), "where all rest, one is asked all the same"


async def test_a_drained_engine_ends_what_it_has_and_gets_nothing_more() -> None:
    made, backend = engines(2)
    home = int(await ask(backend, "a"))
    made[home].goes_on.clear()
    waiting = asyncio.create_task(ask(backend, "a"))
    await asyncio.sleep(0)
    restarting = asyncio.create_task(backend.restart(home))
    await asyncio.sleep(0)
    assert await ask(backend, "a") == str(1 - home)
    assert not restarting.done() and not made[home].was_closed
    with pytest.raises(ConfigError, match="the last one"):
        await backend.drain(1 - home)
    made[home].goes_on.set()
    await asyncio.gather(waiting, restarting)
    assert made[home].was_closed == 1
    assert await ask(backend, "new", "task") == str(home), "it is there again"
    with pytest.raises(ConfigError, match="no replica 7"):
        await backend.drain(7)


async def test_real_episodes_keep_their_engine_through_all_trials() -> None:
    made, backend = engines(3)
    tasks = [question(str(number)) for number in range(8)]
    graph = repairing(["unused"], backend=backend)  # pyright: ignore[reportArgumentType]  # any backend does
    results = await graph.compile(store=InMemoryStore(), budget=Budget(trials=3)).abatch(tasks)
    by_episode = {result.episode_id: [e.number for e in made if result.episode_id in e.asked] for result in results}
    assert all(len(homes) == 1 for homes in by_episode.values()), by_episode
    assert sum(len(engine.asked) for engine in made) > 2 * len(tasks)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def stub(_spec: object, port: int) -> list[str]:
        return [sys.executable, stub_model_server.__file__, str(port), "serves"]

    monkeypatch.setattr(vllm_server, "server_arguments", stub)
    monkeypatch.setattr(vllm_server, "installed_version", lambda: "vllm 0")
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


@pytest.fixture
async def two(model: Path) -> AsyncGenerator[ReplicatedBackend]:
    made = backend_for(f"vllm:{model}?replicas=2&max_model_len=512")
    assert isinstance(made, ReplicatedBackend)
    with allow_model_calls():
        yield made
    await made.aclose()


async def test_two_real_servers_of_which_one_is_killed(two: ReplicatedBackend) -> None:
    assert isinstance(two, ReportsLoad)
    assert two.load() == Load(0, 0, 512)
    homes: dict[str, str] = {}
    for number in range(12):
        homes[str(number)] = (await ask(two, str(number), str(number))).split()[0]
    assert len(set(homes.values())) == 2, "both are used"
    for episode, pid in homes.items():
        assert (await ask(two, episode, episode)).split()[0] == pid
    killed = homes["0"]
    os.kill(int(killed), signal.SIGKILL)
    after = {episode: (await ask(two, episode, episode)).split()[0] for episode in homes}
    assert killed not in after.values()
    assert all(after[episode] == pid for episode, pid in homes.items() if pid != killed)
    assert len({after[episode] for episode, pid in homes.items() if pid == killed}) == 1, "started again, once"


def test_each_replica_has_gpus_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert [devices_of(index, 2) for index in range(2)] == ["0,1", "2,3"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-abc,6")
    assert [devices_of(index, 1) for index in range(3)] == ["4", "GPU-abc", "6"]
    with pytest.raises(ConfigError, match="Replica 2 needs 2 GPUs"):
        devices_of(1, 2)


@pytest.mark.parametrize("told", ["replicas=0", "replicas=two", "replicas=65", "replicas=2&replicas=3", "replicas="])
def test_a_number_that_is_none_is_refused(told: str, model: Path) -> None:
    with pytest.raises(ConfigError, match="replicas is"):
        backend_for(f"vllm-server:{model}?{told}")


def test_what_is_told_besides_is_kept() -> None:
    assert count_in("/m?replicas=2&dtype=bfloat16&lora=/a b") == (2, "/m?dtype=bfloat16&lora=/a+b")
    assert count_in("/m?replicas=2") == (2, "/m")
    assert count_in("org/m") == (1, "org/m")


def test_servers_are_named_beside_each_other() -> None:
    several = backend_for("openai-compatible:http://a:1,http://b:2/v1#m")
    assert isinstance(several, ReplicatedBackend)
    assert several.model == "openai-compatible:http://a:1,http://b:2/v1#m"
    assert not isinstance(several, ReportsLoad)
    with pytest.raises(ConfigError, match="twice"):
        backend_for("openai-compatible:http://a:1,http://a:1#m")


async def test_what_can_never_work_is_not_asked_elsewhere() -> None:
    made, backend = engines(2)

    async def refuse(_request: Request) -> Completion:
        raise ModelRejected("too long")

    for engine in made:
        engine.complete = refuse  # type: ignore[method-assign]
    with pytest.raises(ModelRejected):
        await ask(backend, "a")
    assert backend.in_flight == [0, 0]


async def test_what_a_replica_used_and_did_not_answer_is_counted() -> None:
    made, backend = engines(2)
    home = int(await ask(backend, "a"))

    async def fail(_request: Request) -> Completion:
        error = ModelRetryable("cut off")
        error.used = Usage(prompt_tokens=11, completion_tokens=7, usd=0.5)
        raise error

    made[home].complete = fail  # type: ignore[method-assign]
    well = await made[1 - home].complete(HELLO)
    token = current_asker.set(("a", "task"))
    try:
        backend.restore(home)
        answer = await backend.complete(HELLO)
    finally:
        current_asker.reset(token)
    assert answer.attempts == well.attempts + 1
    assert answer.prompt_tokens == well.prompt_tokens + 11
    assert answer.completion_tokens == well.completion_tokens + 7
    made[1 - home].complete = fail  # type: ignore[method-assign]
    with pytest.raises(ModelRetryable) as caught:
        await backend.complete(HELLO)
    assert caught.value.used == Usage(22, 14, 1.0)
