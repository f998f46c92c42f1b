"""Actors that need no model: what they choose, that they learn across trials and tasks, and that memory is why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from dying import dies_and_goes_on
from grid import MAP, STEPS, Grid, grid_task
from worlds import Corridor, Porch

from groundwire import Budget, FeedbackApp, Origin, StopReason, Verdict
from groundwire.agents.patching._variants import BlindActor
from groundwire.agents.worlds import LEARNERS, BanditActor, TabularActor, learner_named
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Judged
from groundwire.core._environments import Move, actions_in, attempt, environment_task, scene_as_text
from groundwire.core._errors import ConfigError
from groundwire.core._experience import NO_EXPERIENCE, Experience, Followed, Row, known, place_of
from groundwire.core._records import CandidateRecord, ReflectionRecord, Store
from groundwire.core._scene import Scene, Status
from groundwire.core._seal import Mint
from groundwire.core._signals import Evidence, NoVerdict, Observation
from groundwire.evaluation._learning import carried_over
from groundwire.evaluation._reading import read_run
from groundwire.graphs.library._episodic import episodic
from groundwire.memory import InMemoryStore, SqlStore

MINT = Mint("run", b"k" * 32)
GRID = grid_task(0)
PORCH = environment_task(Porch(), id="porch", family="doors")


def app_of(name: str, store: Store, *, trials: int = 6, make: Any = Grid) -> FeedbackApp:
    learner = learner_named(name)
    graph = episodic(learner.actor, learner.critic, make, repeats=None, actions=40)
    return graph.compile(store=store, budget=Budget(trials=trials, steps=41))


async def ways_of(store: Store, episode_id: str) -> list[tuple[str, ...]]:
    """By trial, all that was done in it."""
    done: dict[int, tuple[str, ...]] = {}
    for record in await store.records(episode_id):
        if isinstance(record, CandidateRecord):
            done[record.trial] = actions_in(Candidate.from_bytes(await store.artifact(record.artifact)))
    return list(done.values())


async def test_what_was_learned_of_a_family_carries_over_to_seeds_that_nobody_has_seen() -> None:
    store = InMemoryStore()
    app = app_of("tabular", store, trials=12)
    run = await app.start_run()
    for seed in range(8):
        result = await app.arun(grid_task(seed), run_id=run, seed=seed)
        assert result.verdict is Verdict.PASS, "it wins after few trials"
    (record,) = await store.runs()
    first, later = carried_over((await read_run(store, record)).trials, 12, after=(0, 3))
    assert (first.solved.whole, later.solved.whole) == (3, 5)
    assert later.mean == later.low == 1.0 < first.mean, "on unseen starts it wins at once"

    async def alone(seed: int) -> bool:
        result = await app_of("tabular", InMemoryStore(), trials=1).arun(grid_task(seed), seed=seed)
        return result.verdict is Verdict.PASS

    assert sum([await alone(seed) for seed in range(3, 8)]) < 4, "without memory a first trial is seldom enough"


async def test_a_control_is_given_nothing_however_much_is_known() -> None:
    store = InMemoryStore()
    app = app_of("tabular", store)
    for seed in range(4):
        await app.arun(grid_task(seed), seed=seed)
    assert not (await store.experience("grid", "grid-0")).is_empty
    given: list[Experience] = []

    class Spying(TabularActor):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            given.append(context.experience)
            return await super().propose(context, n)

    for actor in (BlindActor(Spying(), samples=False, width=1), Spying()):
        graph = episodic(actor, learner_named("random").critic, Grid, repeats=None, actions=40)
        await graph.compile(store=store, budget=Budget(trials=1, steps=41)).arun(grid_task(0))
        assert all(e == NO_EXPERIENCE for e in given) is isinstance(actor, BlindActor)


async def test_it_goes_on_and_replays_with_what_the_trial_was_given_whatever_others_learn_meanwhile(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/memory.db"
    async with aclosing(SqlStore(url)) as store, aclosing(SqlStore(url, namespace="twin")) as twin:
        for each in (store, twin):
            await app_of("tabular", each, trials=1).arun(grid_task(0), seed=5)
        whole = await app_of("tabular", twin, trials=2).arun(grid_task(1), seed=3)

        class Meanwhile(SqlStore):
            """Between the death of one process and the next, others learn all there is."""

            async def records(self, episode_id: str) -> Any:
                for seed in range(8):
                    await app_of("tabular", store).arun(grid_task(seed), seed=seed)
                return await super().records(episode_id)

        seen: list[object] = []

        def third_step(record: object) -> bool:
            seen.extend([record] * isinstance(record, CandidateRecord))
            return len(seen) == 3

        async with aclosing(Meanwhile(url)) as dying:
            app = app_of("tabular", dying, trials=2)
            result = await dies_and_goes_on(app, grid_task(1), third_step, seed=3)
        assert (await ways_of(store, result.episode_id))[0] == (await ways_of(twin, whole.episode_id))[0]
        replayed = await app_of("tabular", store, trials=2).areplay(
            grid_task(1), run_id=result.run_id, episode_id=result.episode_id
        )
        assert (replayed.difference, replayed.is_whole) == (None, True)


LEARN = """
import asyncio, sys
from contextlib import aclosing
sys.path.insert(0, sys.argv[1])
from grid import MAP, STEPS, Grid, grid_task
from groundwire import Budget
from groundwire.agents.worlds import learner_named
from groundwire.graphs.library._episodic import episodic
from groundwire.memory import SqlStore

async def main():
    learner = learner_named("tabular")
    graph = episodic(learner.actor, learner.critic, Grid, repeats=None, actions=40)
    async with aclosing(SqlStore(sys.argv[2])) as store:
        app = graph.compile(store=store, budget=Budget(trials=6, steps=41))
        for seed in sys.argv[3].split(","):
            result = await app.arun(grid_task(int(seed)), seed=int(seed))
            print(result.verdict, result.trials)

asyncio.run(main())
"""


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_processes_learn_together_in_one_database(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/memory.db" if place == "sqlite" else request.getfixturevalue("postgres_url")
    support = str(Path(__file__).parents[2] / "support")
    started = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", LEARN, support, url, seeds), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for seeds in ("0,1,2", "3,4,5")
    ]
    told = [await process.communicate() for process in started]
    assert [err.decode() for _, err in told] == ["", ""]
    taken = [int(line.split()[1]) for out, _ in told for line in out.decode().splitlines()]
    assert len(taken) == 6
    async with aclosing(SqlStore(url)) as store:
        family = (await store.experience("grid", "")).family
        trials = [f.trials for actions in family.values() for ways in actions.values() for f in ways if f.place == ""]
        assert sum(trials) == sum(taken), "each trial of both has ended somewhere, and is counted once"
        result = await app_of("tabular", store, trials=1).arun(grid_task(6), seed=6)
    assert result.verdict is Verdict.PASS, "a third one profits from both"


async def test_the_reason_is_on_file_where_it_is_won_and_where_it_is_not() -> None:
    store = InMemoryStore()
    result = await app_of("bandit", store, trials=8, make=Porch).arun(PORCH, seed=1)
    texts = [r.text for r in await store.records(result.episode_id) if isinstance(r, ReflectionRecord)]
    assert result.verdict is Verdict.PASS
    assert texts[0].startswith("Lost by “kick door” where one sees: You")
    assert texts[0].endswith(". It led to: The neighbours come running.")
    learner = learner_named("heuristic")
    graph = episodic(learner.actor, learner.critic, lambda: Grid(), actions=2)
    short = await graph.compile(store=store, budget=Budget(trials=2)).arun(grid_task(0))
    (text,) = [r.text for r in await store.records(short.episode_id) if isinstance(r, ReflectionRecord)]
    assert text.startswith("stuck: inefficient: more than 2 actions in one trial. Of 4 scenes, ")


def after(judged: Sequence[Judged], move: Move) -> list[Judged]:
    """What the world has answered by then, on the grid's first start."""
    done = actions_in(judged[-1].candidate) if judged else ()
    seen = Observation(
        verdict=Verdict.NONE,
        reason=NoVerdict.GO_ON,
        origin=Origin.ENVIRONMENT,
        evidence=Evidence(stdout=scene_as_text(move.scene)),
    )
    candidate = attempt(GRID, 1, [*done, move.action])
    signal = MINT.signal(seen, episode_id="e", trial=1, issuer="world", candidate_digest=candidate.digest)
    return [*judged, Judged(candidate, signal)]


def context(moves: Sequence[Move], experience: Experience = NO_EXPERIENCE, *, seed: int = 0) -> ActorContext:
    """Where an actor stands after these moves."""
    return standing(reduce(after, moves, list[Judged]()), experience, seed)


def standing(judged: Sequence[Judged], experience: Experience, seed: int) -> ActorContext:
    no_call: Any = None
    failing = judged[-1] if judged else None
    return ActorContext(
        task=GRID, tree=GRID.tree, call=no_call, failing=failing, judged=judged, seed=seed, experience=experience
    )


async def chosen(name: str, given: ActorContext) -> str:
    (candidate,) = await learner_named(name).actor.propose(given, 1)
    return actions_in(candidate)[-1]


def there(row: int, column: int) -> Scene:
    return Scene(f"row {row}, column {column}", Status.RUNNING, ("left", "down", "right", "up"))


def slippery() -> Experience:
    """What a long life on the slippery grid would show: each action goes to either side as often as straight on."""
    names, rows = list(STEPS), list[Row]()
    for row, column in product(range(4), range(4)):
        if MAP[row][column] == ".":
            for at, action in enumerate(names):
                led = Counter(landing(row, column, names[(at + turn) % 4]) for turn in (-1, 0, 1))
                rows += [(place_of(there(row, column)), action, replace(f, times=20 * n)) for f, n in led.items()]
    return Experience(family=known(rows))


def landing(row: int, column: int, action: str) -> Followed:
    world = Grid(row=row, column=column)
    scene = world.act(action)
    is_over = scene.status is not Status.RUNNING
    return Followed("" if is_over else place_of(scene), scene.status, 0 if is_over else 4, 1)


async def test_where_chance_is_at_work_what_is_known_of_it_makes_the_first_trial_better() -> None:
    """Each seed is a chance of its own, so that only what holds for all of them can help on one that is new."""

    async def won(name: str, given: Experience) -> int:
        actor, wins = learner_named(name).actor, 0
        for seed in range(24):
            world, judged = Grid(slip=True), list[Judged]()
            scene = world.reset(8 * seed)
            while len(judged) < 100 and scene.status is Status.RUNNING:
                (candidate,) = await actor.propose(standing(judged, given, seed), 1)
                scene = world.act(actions_in(candidate)[-1])
                judged = after(judged, Move(actions_in(candidate)[-1], scene))
            wins += scene.status is Status.WON
        return wins

    knowing, random = await won("tabular", slippery()), await won("random", NO_EXPERIENCE)
    assert knowing >= 14 > 6 >= random


@pytest.mark.parametrize("name", LEARNERS)
async def test_the_same_seed_chooses_the_same_and_a_world_that_lists_nothing_is_refused(name: str) -> None:
    assert len({await chosen(name, context([], seed=s)) for s in range(20)}) > 1
    assert await chosen(name, context([], seed=4)) == await chosen(name, context([], seed=4))
    task = environment_task(Corridor(), id="corridor")
    result = await app_of(name, InMemoryStore(), make=Corridor).arun(task)
    assert (result.stop_reason, result.verdict) == (StopReason.EXHAUSTED, Verdict.NONE)
    assert "does not say what can be done" in result.detail


async def test_the_heuristic_goes_where_it_has_not_been() -> None:
    moves = [Move("right", there(0, 1)), Move("left", there(0, 0)), Move("up", there(0, 0)), Move("left", there(0, 0))]
    assert {await chosen("heuristic", context(moves, seed=s)) for s in range(9)} == {"down"}


async def test_the_bandit_prefers_what_won_and_the_tasks_own_word_over_that_of_the_family() -> None:
    def arms(won: str) -> Any:
        ways = {a: Followed("", Status.LOST, 0, 9, 9, 8 if a == won else 0) for a in ("left", "down", "right", "up")}
        return known((place_of(there(0, 0)), action, followed) for action, followed in ways.items())

    given = Experience(task=arms("down"), family=arms("up"))
    assert {await chosen("bandit", context([], given, seed=s)) for s in range(9)} == {"down"}
    family = Experience(family=arms("up"))
    assert {await chosen("bandit", context([], family, seed=s)) for s in range(9)} == {"up"}
    with pytest.raises(ConfigError):
        BanditActor(explore=-1.0)


async def test_the_tabular_one_takes_a_known_way_rather_than_one_that_nobody_has_gone() -> None:
    def way(row: int, column: int, action: str, to: Scene | None, status: Status = Status.RUNNING) -> Any:
        followed = Followed(place_of(to) if to else "", status, 4 if to else 0, 1)
        return place_of(there(row, column)), action, followed

    rows = [way(0, 0, "down", there(1, 0)), way(1, 0, "down", None, Status.WON), way(0, 0, "left", None, Status.LOST)]
    for given in (Experience(task=known(rows)), Experience(family=known(rows))):
        assert {await chosen("tabular", context([], given, seed=s)) for s in range(9)} == {"down"}
    lost = known([way(0, 0, a, None, Status.LOST) for a in ("left", "right", "up")])
    assert {await chosen("tabular", context([], Experience(task=lost), seed=s)) for s in range(9)} == {"down"}
    late = known([*rows, way(0, 0, "down", None, Status.LOST)])
    chose = {await chosen("tabular", context([], Experience(task=late), seed=s)) for s in range(9)}
    assert chose == {"down"}, "a loss beside the one place where an action leads is the clock's doing"
    wall = [Move(a, there(0, 0)) for a in ("left", "up")]
    assert {await chosen("tabular", context(wall, seed=s)) for s in range(20)} == {"down", "right"}, (
        "its own moves count"
    )
    # worlds of other seeds look the same and answer otherwise; this one has always answered the same
    others = known([*rows, way(0, 1, "down", there(0, 1)), way(0, 1, "down", there(2, 2))])
    steady = known(
        (place, action, replace(followed, times=2))
        for place, action, followed in [way(0, 0, a, there(0, 0)) for a in ("left", "up", "right")]
    )
    given = Experience(task=steady, family=others)
    assert {await chosen("tabular", context([], given, seed=s)) for s in range(20)} == {"down"}, (
        "what led nowhere is not tried ten times because other worlds contradict each other"
    )
    # nor because one action of many has led to two places: something unseen had changed
    hidden = known(
        [(way(2, 2, "up", there(1, 2))), way(2, 2, "up", there(2, 2))]
        + [(place, action, f) for place, actions in steady.items() for action, (f,) in actions.items()]
        + [(*way(2, 2, a, there(2, 2))[:2], replace(way(2, 2, a, there(2, 2))[2], times=2)) for a in ("left", "right")]
    )
    assert {await chosen("tabular", context([], Experience(task=hidden), seed=s)) for s in range(20)} == {"down"}


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        learner_named("genius")
    assert all(name in caught.value.do for name in LEARNERS)
