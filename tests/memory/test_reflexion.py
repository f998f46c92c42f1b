"""Episodes that learn: Reflexion (arXiv 2303.11366) and DROC (arXiv 2311.10678) in small, on each durable database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from guessing import ANSWER, Check, answer

from groundwire import Budget, FeedbackGraph, Task, Tree
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Needs, Reflection
from groundwire.core._records import ReflectionRecord, TrialRecord
from groundwire.memory import SqlStore
from groundwire.memory._lessons import Lessons

KEY = "The key is under the mat."


@dataclass
class Door:
    """An actor that opens only where its lessons say how."""

    needs: Needs = field(default_factory=lambda: Needs(lessons=3))
    given: list[list[str]] = field(default_factory=list[list[str]])

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        texts = [lesson.text for lesson in context.lessons]
        self.given.append(texts)
        word = "right" if any(KEY in text for text in texts) else f"try {len(self.given)}"
        return [answer(context.task, word)]


@dataclass
class Says:
    """A critic that says these, one after the other; the last one distilled from what a person said."""

    texts: Sequence[str]
    raw: str = ""
    said: int = 0

    async def reflect(self, context: CriticContext) -> Reflection:
        self.said += 1
        return Reflection(self.texts[self.said - 1], by="critic", raw=self.raw)


def graph_of(actor: Door, critic: Says) -> FeedbackGraph:
    graph = FeedbackGraph()
    graph.add_actor("write", actor).add_tool("test", Check()).add_critic("reflect", critic)
    return graph.add_edge("write", "test").refine("test", via="reflect", to="write")


def task_of(name: str, family: str = "doors") -> Task:
    return Task(id=name, family=family, tree=Tree({ANSWER: b"nothing"}))


async def run(url: str, name: str, critic: Says, *, trials: int = 6, family: str = "doors") -> tuple[Door, int, bool]:
    """A process of its own, as far as memory goes: the actor, how many trials it took, whether it got in."""
    store, actor = SqlStore(url), Door()
    app = graph_of(actor, critic).compile(store=store, budget=Budget(trials=trials))
    result = await app.arun(task_of(name, family))
    await store.aclose()
    return actor, result.trials, result.verdict == "pass"


async def test_what_failure_taught_helps_at_once_and_after_a_restart(url: str) -> None:
    actor, trials, solved = await run(url, "door", Says([KEY]))
    assert (trials, solved, actor.given) == (2, True, [[], [KEY]])
    actor, trials, solved = await run(url, "door", Says([]))
    assert (trials, solved, actor.given) == (1, True, [[KEY]]), "the first trial of a new run"


async def test_the_prompt_holds_the_last_of_them_and_the_ledger_all(url: str) -> None:
    thoughts = [
        f"thought number {n} is about the {word}" for n, word in enumerate(("lock", "hinge", "wall", "bell", "roof"))
    ]
    actor, trials, solved = await run(url, "door", Says(thoughts), trials=6)
    assert (trials, solved) == (6, False)
    assert actor.given[-1] == thoughts[:-4:-1], "the newest three"
    store = SqlStore(url)
    (found,) = await store.runs()
    (episode,) = await store.episodes(found.id)
    records = await store.records(episode.id)
    assert [r.text for r in records if isinstance(r, ReflectionRecord)] == thoughts
    given = [r.lessons for r in records if isinstance(r, TrialRecord)]
    assert [len(ids) for ids in given] == [0, 1, 2, 3, 3, 3]
    view = await Lessons(store).show(given[-1][0])
    assert [(recalled.trial, recalled.rank, recalled.why) for recalled in view.recalled] == [(6, 1, "task")]
    await store.aclose()


async def test_a_correction_of_a_person_is_told_once(url: str) -> None:
    """Interventions a task: 1, 0, 0; and none of it reaches an unrelated family."""
    raw = "no no, it's under the mat, look there first!"
    interventions: list[int] = []
    for name in ("front door", "back door", "side door"):
        critic = Says([KEY] * 3, raw=raw)
        _, _, solved = await run(url, name, critic)
        assert solved
        interventions.append(critic.said)
    assert interventions == [1, 0, 0]
    stranger, _, solved = await run(url, "window", Says(["Nothing is known of windows."]), trials=2, family="windows")
    assert not solved and not any(KEY in text for texts in stranger.given for text in texts)
    store = SqlStore(url)
    (lesson,) = await Lessons(store).list(family="doors")
    assert (lesson.reflection.text, lesson.reflection.raw) == (KEY, raw)
    await store.aclose()
