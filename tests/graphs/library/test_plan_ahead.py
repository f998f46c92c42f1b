"""plan_ahead: one action of a way that was looked ahead for, then a new plan (methods rows 64, 66 and 75)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from pages import check_page
from worlds import Chain, Porch, Trap, Trouble

from groundwire import Budget, EpisodeResult, FeedbackApp, Origin, StopReason, Verdict
from groundwire.agents.worlds import Imagined, LLMForesight, LookaheadActor, Rollouts, Simulator, Value, WorldModel
from groundwire.core._contexts import ActorContext, Lesson
from groundwire.core._environments import Move, actions_in, environment_task
from groundwire.core._errors import ConfigError
from groundwire.core._ids import SeedRule
from groundwire.core._models import Backend, Completion, Message, Request
from groundwire.core._records import Admission, CandidateRecord
from groundwire.core._scene import Scene, Status
from groundwire.core._signals import Signal
from groundwire.graphs.library._plan_ahead import plan_ahead
from groundwire.models import ScriptedBackend

TRAP = environment_task(Trap(), id="trap")
LIGHT = {"hall": 0.5, "dark": 0.1, "darker": 0.1}


class Brightness:
    """The local score that favours the dead end; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, context: ActorContext, moves: Sequence[Move]) -> float:
        place = moves[-1].scene.text
        self.asked.append(place)
        return LIGHT.get(place, 0.9)


class Counted:
    """A copy of the trap that counts how often it is asked."""

    def __init__(self, world: WorldModel) -> None:
        self.world, self.asked = world, 0

    async def imagine(self, context: ActorContext, moves: Sequence[Move], action: str) -> Imagined:
        self.asked += 1
        return await self.world.imagine(context, moves, action)


async def play(app: FeedbackApp, task: Any) -> tuple[EpisodeResult, list[list[str]], list[Any]]:
    """The result, what was done in each trial, and the ledger."""
    result = await app.arun(task)
    records = list(await app.store.records(result.episode_id))
    async with app.episode(task, run_id=result.run_id, episode_id=result.episode_id) as episode:
        made = {r.trial: episode.history.candidates[r.digest] for r in records if isinstance(r, CandidateRecord)}
    return result, [list(actions_in(made[trial])) for trial in sorted(made)], records


async def test_looking_ahead_leaves_the_trap_that_a_local_score_walks_into() -> None:
    greedy = LookaheadActor(Simulator(Trap), value=Brightness(), depth=1)
    lost, ways, _ = await play(plan_ahead(greedy, Trap).compile(budget=Budget(trials=1)), TRAP)
    assert (lost.verdict, ways) == (Verdict.FAIL, [["bright 1", "brightest"]])

    worlds: list[Trap] = []

    def make() -> Trap:
        worlds.append(Trap())
        return worlds[-1]

    simulator, value = Counted(Simulator(Trap)), Brightness()
    app = plan_ahead(LookaheadActor(simulator, value=value), make).compile()
    won, ways, records = await play(app, TRAP)
    assert (won.stop_reason, won.trials, ways) == (StopReason.VERIFIED, 1, [["dark", "darker", "out"]])
    assert [world.acted for world in worlds] == [3], "one real action between two plans; planning acts in copies"
    assert [r.edge for r in records if isinstance(r, Admission)] == ["advance"] * 2
    assert {s.origin for s in records if isinstance(s, Signal)} == {Origin.ENVIRONMENT}
    assert len(value.asked) == len(set(value.asked)), "a place that was valued once is not valued again"
    assert simulator.asked < 3 * 16 * 3
    replayed = await app.areplay(TRAP, run_id=won.run_id, episode_id=won.episode_id)
    assert replayed.difference is None


class Wishful:
    """Thinks that the first door leads out, which is a wall; and that the second one leads nowhere."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []

    async def imagine(self, context: ActorContext, moves: Sequence[Move], action: str) -> Imagined:
        self.asked.append((len(moves), action))
        return Imagined(Scene("out", Status.WON) if action == "first" else Scene("a closet"), 0.6)


class Doors:
    """Two doors: behind the first there is a wall, the second leads out."""

    def reset(self, seed: int) -> Scene:
        return Scene("two doors", actions=("first", "second"))

    def act(self, action: str) -> Scene:
        won = Scene("out", Status.WON)
        return won if action == "second" else Scene("two doors", actions=("first", "second"))

    def close(self) -> None: ...


async def test_one_surprise_changes_the_next_plan_and_only_what_was_seen_is_remembered() -> None:
    wishful = Wishful()
    result, ways, _ = await play(
        plan_ahead(LookaheadActor(wishful, depth=1), Doors).compile(), environment_task(Doors(), id="doors")
    )
    assert (result.stop_reason, ways) == (StopReason.VERIFIED, [["first", "second"]])
    assert (1, "first") not in wishful.asked, "what has really happened is not imagined again"
    assert (1, "second") in wishful.asked, "what was only imagined is"

    hopeless, ways, _ = await play(
        plan_ahead(LookaheadActor(Wishful(), depth=1, sees_all=False), Doors).compile(budget=Budget(trials=1)),
        environment_task(Doors(), id="doors"),
    )
    assert (hopeless.verdict, ways) == (Verdict.FAIL, [["first"] * 4]), (
        "where a scene shows less, it only looks the same"
    )


async def test_a_loss_of_an_earlier_trial_is_known_in_the_next() -> None:
    class Blind(Wishful):
        async def imagine(self, context: ActorContext, moves: Sequence[Move], action: str) -> Imagined:
            return Imagined(Scene("somewhere", actions=("on",)), 0.9 if action == "kick door" else 0.1)

    app = plan_ahead(LookaheadActor(Blind(), depth=1), Porch).compile(budget=Budget(trials=2))
    _, ways, _ = await play(app, environment_task(Porch(), id="porch"))
    assert (ways[0], ways[1][0]) == (["kick door"], "look"), "what was lost here before is not done here again"


class Gullible:
    """Thinks most of the way that leads nowhere, and can value what was really seen."""

    def __init__(self, *, values: bool = True) -> None:
        self.valued: list[str] = []

    async def imagine(self, context: ActorContext, moves: Sequence[Move], action: str) -> Imagined:
        scene = scene_of(moves)
        worth = {"left": 0.8, "right": 0.6}.get(action, 0.7)
        return Imagined(Scene(f"{scene} {action}?", actions=("on", "back")), worth)

    async def value(self, context: ActorContext, moves: Sequence[Move]) -> float:
        self.valued.append(scene_of(moves))
        return 0.8 if "left" in scene_of(moves) else 0.6


def scene_of(moves: Sequence[Move]) -> str:
    return moves[-1].scene.text if moves else "a fork"


class Fork:
    """On the left one can go on, and is lost at the second step; the right way is won at the second."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def reset(self, seed: int) -> Scene:
        self.done = []
        return Scene("a fork", actions=("left", "right"))

    def act(self, action: str) -> Scene:
        self.done.append(action)
        if len(self.done) == 1:
            return Scene(f"{action} path", actions=("on", "back"))
        return Scene("home", Status.WON) if self.done[0] == "right" else Scene("a swamp", Status.LOST)

    def close(self) -> None: ...


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_a_way_that_was_lost_looks_worse_than_before_and_is_not_taken_again(depth: int) -> None:
    world = Gullible()
    app = plan_ahead(LookaheadActor(world, depth=depth, simulations=8), Fork).compile(budget=Budget(trials=4))
    result, ways, _ = await play(app, environment_task(Fork(), id="fork"))
    assert ways[0][0] == "left" and ways[1][0] == "right"
    assert result.stop_reason is StopReason.VERIFIED and result.trials == 2


async def completed(backend: Backend, request: Request) -> Completion:
    return await backend.complete(request)


async def test_what_was_really_seen_is_valued_by_the_model_and_lessons_are_in_what_it_is_asked() -> None:
    asked: list[str] = []

    def answers(request: Request) -> str:
        system, text = (message.content for message in request.messages)
        asked.append(text)
        if "say how good a place" in system:
            return "**Value:** 9/10" if "dark" in text else "Value: 20%"
        return "Scene: a hall\nStatus: running (so far)\nValue: 3 out of 10"

    model = LLMForesight(ScriptedBackend(answers))
    context: Any = type("Context", (), {
        "task": TRAP, "seed": 1, "lessons": (Lesson("1", "never go bright", "trap"),), "seed_rule": SeedRule.HASHED,
        "trial": 1, "judged": (), "failing": None, "call": staticmethod(completed),
    })  # fmt: skip
    moves = [Move("dark", Scene("a dark hall", actions=("on",)))]
    assert await model.value(context, moves) == 0.9
    imagined = await model.imagine(context, moves, "on")
    assert (imagined.value, imagined.scene.status) == (0.3, Status.RUNNING)
    assert all("never go bright" in text for text in asked)


async def test_a_value_that_a_model_gives_is_asked_for_in_a_replay_as_it_was() -> None:
    class Asked:
        async def __call__(self, context: ActorContext, moves: Sequence[Move]) -> float:
            request = Request(messages=(Message(role="user", content=scene_of(moves)),), seed=len(context.judged))
            return float((await context.call(backend, request)).texts[0])

    backend = ScriptedBackend(lambda _request: "0.5")
    app = plan_ahead(LookaheadActor(Simulator(Trap), value=Asked()), Trap).compile(budget=Budget(trials=1))
    for _ in range(2):
        result, _, _ = await play(app, TRAP)
        replayed = await app.areplay(TRAP, run_id=result.run_id, episode_id=result.episode_id)
        assert replayed.difference is None


async def test_a_model_proposes_foresees_and_values_and_each_call_is_on_record() -> None:
    def answers(request: Request) -> str:
        system, asked = (message.content for message in request.messages)
        if "Name actions" in system:
            return "1. lift mat\n2. unlock door\n- fly away"
        action = asked.rpartition("<action>\n")[2].split("\n")[0]
        has_key = 'action="lift mat"' in asked
        if action == "unlock door" and has_key:
            return "Scene: the door opens\nStatus: **won**\nValue: 10"
        return f"Scene: nothing much\nStatus: running\nValue: {4 if action == 'lift mat' else 1}/10"

    backend = ScriptedBackend(answers)
    model = LLMForesight(backend)
    actor = LookaheadActor(model, propose=model.propose, depth=2, simulations=4, sees_all=False)
    app = plan_ahead(actor, Porch).compile()
    result, ways, records = await play(app, environment_task(Porch(), id="porch", prompt="Get in."))
    assert (result.stop_reason, ways) == (StopReason.VERIFIED, [["lift mat", "unlock door"]])
    assert {request.purpose for request in backend.requests} == {"plan"}
    assert not any("fly" in r.messages[-1].content for r in backend.requests), (
        "what the world does not offer is dropped"
    )
    assert len({s.verdict for s in records if isinstance(s, Signal)}) == 2
    replayed = await app.areplay(environment_task(Porch(), id="porch", prompt="Get in."), run_id=result.run_id,
                                 episode_id=result.episode_id)  # fmt: skip
    assert replayed.difference is None


async def test_rollouts_come_near_the_exact_value_on_a_chain() -> None:
    count = 400
    rollouts: Value = Rollouts(Simulator(Chain), count=count, depth=5)
    context: Any = type("Context", (), {"task": environment_task(Chain(), id="chain"), "seed": 1})
    for place, exact in ((0, 1 / 8), (1, 1 / 4), (2, 1 / 2)):
        moves = [Move("go", Scene(f"place {n + 1}", actions=("go", "fall"))) for n in range(place)]
        error = abs(await rollouts(context, moves) - exact)
        assert error <= 3 * math.sqrt(exact * (1 - exact) / count)
    assert await rollouts(context, []) == await rollouts(context, [])


async def test_a_copy_that_breaks_ends_the_episode_with_the_reason() -> None:
    async def crash(context: ActorContext, moves: Sequence[Move], n: int) -> Sequence[str]:
        return ["crash"]

    actor = LookaheadActor(Simulator(Trouble), propose=crash)
    result, ways, _ = await play(plan_ahead(actor, Trouble).compile(), environment_task(Trouble(), id="trouble"))
    assert (result.stop_reason, result.verdict, ways) == (StopReason.EXHAUSTED, Verdict.NONE, [])
    assert (
        "the copy of the world" in result.detail.lower() and "OSError" in result.detail and "\x1b" not in result.detail
    )


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError):
        LookaheadActor(Wishful(), depth=0)
    with pytest.raises(ConfigError):
        Rollouts(Wishful(), count=0)
    with pytest.raises(ConfigError):
        LLMForesight("scripted:x", max_tokens=0)


def test_its_page_shows_this_graph() -> None:
    check_page("plan_ahead", plan_ahead(LookaheadActor(Wishful()), Porch))
