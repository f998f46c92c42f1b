"""Where actions led in worlds: the same counts in every store, made again from the ledger, whoever writes at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from remembering import MINT, RUN
from worlds import Porch

from groundwire import Task
from groundwire.core._environments import WON, Environment, attempt, environment_task, scene_as_text
from groundwire.core._errors import StorageError
from groundwire.core._experience import Experience, Followed, place_of
from groundwire.core._records import Artifact, CandidateRecord, EpisodeRecord, Record, Store, TrialEnd, tree_key
from groundwire.core._scenes import Scene, Status
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.memory import SqlStore
from groundwire.memory._experience_rows import experience
from groundwire.memory._retention import rebuild_lessons

LOOKED = Scene("You see a door and a mat.", actions=Porch().reset(0).actions)


def porch(seed: int = 0) -> Task:
    return environment_task(Porch(), id=f"porch-{seed}", seed=seed, family="doors")


def said(scene: Scene, *, oracle: bool = False) -> Observation:
    """What the tool makes of a scene."""
    if scene.status is Status.RUNNING:
        evidence = Evidence(stdout=scene_as_text(scene))
        return Observation(
            verdict=Verdict.NONE, reason=NoVerdict.GO_ON, origin=Origin.ENVIRONMENT, evidence=evidence, oracle=oracle
        )
    won = scene.status is Status.WON
    result = CaseResult.PASSED if won else CaseResult.FAILED
    case = CaseOutcome(id=WON, result=result, message=f"{scene.status}\n{scene.text}")
    evidence = Evidence(cases=(case,), collected=1, stdout=scene_as_text(scene))
    verdict = Verdict.PASS if won else Verdict.FAIL
    return Observation(verdict=verdict, origin=Origin.ENVIRONMENT, evidence=evidence, oracle=oracle)


def played(task: Task, actions: Sequence[str], *, trial: int = 1, oracle: bool = False, **end: Any) -> list[Record]:
    """The records of one episode with one trial, as a graph writes them."""
    world: Environment = Porch()
    world.reset(int(task.id.rpartition("-")[2]))
    episode = EpisodeRecord(run_id=RUN.id, task_id=task.id, family=task.family, base_digest=task.tree.digest)
    records: list[Record] = [
        episode,
        Artifact(digest=tree_key(task.tree.digest), kind="tree", body=task.tree.to_bytes()),
    ]
    verdict = Verdict.FAIL
    for count in range(1, len(actions) + 1):
        candidate = attempt(task, trial, actions[:count])
        seen = said(world.act(actions[count - 1]), oracle=oracle)
        place: dict[str, Any] = {"episode_id": episode.id, "trial": trial}
        signal = MINT.signal(seen, **place, issuer="world", candidate_digest=candidate.digest)
        records += [
            Artifact(digest=candidate.digest, kind="candidate", body=candidate.to_bytes()),
            CandidateRecord(**place, digest=candidate.digest, artifact=candidate.digest),
            signal,
        ]
        verdict = seen.verdict
    return [*records, TrialEnd(episode_id=episode.id, trial=trial, verdict=end.get("verdict", verdict))]


async def test_each_way_is_counted_and_credited_once_a_trial(store: Store) -> None:
    start = Porch().reset(0)
    records = played(porch(), ["look", "look", "kick door"])
    await store.append(*records[:-1])
    assert (await store.experience("doors", "porch-0")).is_empty, "a trial counts once it has ended"
    await store.append(records[-1])
    await store.append(*played(porch(), ["look", "lift mat", "unlock door"]))
    await store.append(*played(porch(1), ["kick door"]))
    await store.append(*played(porch(), ["lift mat"], verdict=Verdict.NONE))

    told = await store.experience("doors", "porch-0")
    begin, looked, keyed = (place_of(s) for s in (start, LOOKED, Scene("You find a key.", actions=start.actions)))
    lost = Followed("", Status.LOST, 0, 1, 1, 0, "lost: The neighbours come running.")
    assert told.task == {
        begin: {"look": (Followed(looked, Status.RUNNING, 4, 2, 2, 1),)},
        looked: {
            "kick door": (lost,),
            "lift mat": (Followed(keyed, Status.RUNNING, 4, 1, 1, 1),),
            "look": (Followed(looked, Status.RUNNING, 4, 1, 1, 0),),
        },
        keyed: {"unlock door": (Followed("", Status.WON, 0, 1, 1, 1),)},
    }
    elsewhere = place_of(Porch().reset(1))
    assert told.family == {**told.task, elsewhere: {"kick door": (lost,)}}
    assert list(told.family) == sorted(told.family), "the same order in every store"
    assert (await store.experience("", "porch-1")).task == {elsewhere: {"kick door": (lost,)}}
    assert (await store.experience("others", "porch-9")).is_empty
    assert Experience.from_bytes(told.to_bytes()) == told


async def test_an_answer_key_says_no_reason_and_what_is_gone_is_left_out(store: Store) -> None:
    await store.append(*played(porch(), ["kick door"], oracle=True))
    (only,) = (await store.experience("", "porch-0")).task[place_of(Porch().reset(0))]["kick door"]
    assert (only.status, only.trials, only.why) == (Status.LOST, 1, "")
    no_tree = [r for r in played(porch(2), ["look", "kick door"]) if not (isinstance(r, Artifact) and r.kind == "tree")]
    await store.append(*no_tree)
    assert list((await store.experience("", "porch-2")).task) == [place_of(LOOKED)], "its first step can't be told"
    no_bodies = [r for r in played(porch(3), ["look", "kick door"]) if not isinstance(r, Artifact)]
    await store.append(*no_bodies)
    assert (await store.experience("", "porch-3")).is_empty


async def test_a_way_with_branches_and_a_stranger_among_the_candidates(store: Store) -> None:
    """Two candidates of one step, and a body that is no sequence of actions: each is told from its own beginning."""
    records = played(porch(), ["look", "lift mat"])
    other = attempt(porch(), 1, ["look", "kick door"])
    (end,) = (record for record in records if isinstance(record, TrialEnd))
    place: dict[str, Any] = {"episode_id": end.episode_id, "trial": 1}
    lost = MINT.signal(
        said(Scene("The neighbours come running.", Status.LOST)), **place, issuer="w", candidate_digest=other.digest
    )
    strange = MINT.signal(said(LOOKED), **place, issuer="w", candidate_digest="strange")
    more = [Artifact(digest=other.digest, kind="candidate", body=other.to_bytes()), lost]
    more += [Artifact(digest="strange", kind="other", body=b"no candidate"), strange]
    await store.append(*records[:-1], *more, TrialEnd(**place, verdict=Verdict.FAIL))
    task = (await store.experience("", "porch-0")).task
    assert sorted(task[place_of(LOOKED)]) == ["kick door", "lift mat"]
    assert task[place_of(Porch().reset(0))]["look"][0].times == 1


async def test_it_can_be_made_again_and_belongs_to_its_namespace(url: str) -> None:
    store, other = SqlStore(url), SqlStore(url, namespace="other")
    await store.append(*played(porch(), ["look", "kick door"]), *played(porch(), ["look", "lift mat", "unlock door"]))
    before = await store.experience("doors", "porch-0")
    await rebuild_lessons(store)
    assert await store.experience("doors", "porch-0") == before != Experience()
    assert (await other.experience("doors", "porch-0")).is_empty
    few = await store.run_read(lambda session: experience(session, "", "doors", "porch-0", most=2))
    newest = {action for actions in few.family.values() for action in actions}
    assert len(newest) == 2 and newest <= {"look", "lift mat", "unlock door"}, "what was seen last is kept"
    await store.aclose()
    await other.aclose()


async def test_many_writers_lose_nothing(url: str) -> None:
    stores = [SqlStore(url) for _ in range(4)]
    ways = (["look", "kick door"], ["lift mat", "unlock door"], ["look", "look", "lift mat", "unlock door"])
    await asyncio.gather(*(s.append(*played(porch(n % 2), ways[n % 3])) for n in range(6) for s in stores))
    told = await stores[0].experience("doors", "porch-0")
    begin = [told.family[place_of(Porch().reset(seed))] for seed in (0, 1)]
    assert sum(f.trials for actions in begin for ways in actions.values() for f in ways) == 24
    assert sum(f.won for actions in begin for ways in actions.values() for f in ways) == 16
    for store in stores:
        await store.aclose()


def test_a_damaged_body_is_told() -> None:
    with pytest.raises(StorageError, match="can't be read"):
        Experience.from_bytes(b"[]")
    assert Experience.from_bytes(Experience().to_bytes()).is_empty
