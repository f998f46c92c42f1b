"""What each change did to single cases, and how the rule critic says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundwire.agents import RuleCritic
from groundwire.agents.patching._rule_critic import effects_of
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Judged
from groundwire.core._signals import Origin
from groundwire.core._tasks import Task

if TYPE_CHECKING:
    from conftest import Scene

NAMES = ("test_a", "test_b", "test_c", "test_d")


class Episode:
    """A task whose base fails some cases, and candidates that fail others."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.task: Task = scene.task()

    def base(self, *failing: str) -> Judged:
        return self._judged(self._scene.base(self.task), failing)

    def judged(self, note: str, *failing: str, ran: tuple[str, ...] = NAMES, origin: Origin = Origin.TESTS) -> Judged:
        made = Candidate(self.task.tree.digest, {"shop/price.py": note.encode()}, note=note)
        return self._judged(made, failing, ran, origin)

    def _judged(
        self,
        candidate: Candidate,
        failing: tuple[str, ...],
        ran: tuple[str, ...] = NAMES,
        origin: Origin = Origin.TESTS,
    ) -> Judged:
        return self._scene.judged(
            candidate,
            [(n, "assert 1 == 2") for n in failing],
            passed=[n for n in ran if n not in failing],
            origin=origin,
        )


@pytest.fixture
def episode(scene: Scene) -> Episode:
    return Episode(scene)


def told(judged: list[Judged]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(effect.candidate.note, effect.fixed, effect.broke) for effect in effects_of(judged).values()]


def test_fixed_and_broken_case_by_case(episode: Episode) -> None:
    judged = [
        episode.base("test_a", "test_b"),
        episode.judged("helps", "test_b"),
        episode.judged("nothing", "test_a", "test_b"),
        episode.judged("both", "test_b", "test_c"),
        episode.judged("breaks", "test_a", "test_b", "test_d"),
    ]
    assert told(judged) == [
        ("helps", ("test_a",), ()),
        ("both", ("test_a",), ("test_c",)),
        ("breaks", (), ("test_d",)),
    ]


def test_what_did_not_run_was_neither_fixed_nor_broken(episode: Episode) -> None:
    judged = [episode.base("test_a"), episode.judged("early", "test_b", ran=("test_b",))]
    assert told(judged) == [("early", (), ("test_b",))]


def test_nothing_is_learnt_without_the_base_or_from_hidden_tests(episode: Episode) -> None:
    assert effects_of([episode.judged("x", "test_a")]) == {}
    assert effects_of([]) == {}
    hidden = episode.judged("x", origin=Origin.HIDDEN_TESTS)
    assert effects_of([episode.base("test_a"), hidden]) == {}


async def reflect(scene: Scene, episode: Episode, *judged: Judged) -> str:
    context = scene.critic_context(judged[-1], episode.task, judged=judged)
    return (await RuleCritic().reflect(context)).text


async def test_the_critic_says_which_edits_helped_and_which_broke(scene: Scene, episode: Episode) -> None:
    text = await reflect(
        scene,
        episode,
        episode.base("test_a", "test_b", "test_c"),
        episode.judged("flip", "test_a", "test_b", "test_c", "test_d"),
        episode.judged("bound", "test_b", "test_c"),
        episode.judged("start", "test_a", "test_b", "test_c"),
        episode.judged("swap", "test_c", "test_d"),
    )
    assert "this was not enough: swap; it fixed test_a, test_b; it broke test_d; " in text
    assert text.endswith("before, bound fixed test_a; before, flip broke test_d.")
    assert "start" not in text, "it changed nothing for any case"


async def test_many_effects_stay_short(scene: Scene, episode: Episode) -> None:
    judged = [episode.base("test_a", "test_b")]
    judged += [episode.judged(f"{'helps' * 40}{i}", "test_b") for i in range(500)]
    judged += [episode.judged("breaks\x1b" * 40 + str(i), *NAMES) for i in range(500)]
    text = await reflect(scene, episode, *judged)
    assert text.count("before, ") == 6
    assert len(text) < 2000 and "\x1b" not in text


async def test_without_earlier_evidence_nothing_is_said_of_it(scene: Scene, episode: Episode) -> None:
    base = episode.base("test_a")
    assert "before" not in await reflect(scene, episode, base)
    assert "fixed" not in await reflect(scene, episode, base)
