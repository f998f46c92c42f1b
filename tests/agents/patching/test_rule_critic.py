"""The rule critic: everything it says is in the signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents import RuleCritic
from groundwire.agents.patching._rule_critic import effects_of
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import CriticContext, Judged
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.core._tasks import Task

TASK = Task(id="t", tree=Tree({"shop/price.py": b"x = 1\n", "tests/test_a.py": b""}))


async def no_model(backend: Backend, request: Request) -> Completion:
    raise AssertionError("a rule needs no model")


async def reflect(*cases: CaseOutcome, note: str = "", partial: bool = False) -> str:
    candidate = Candidate(TASK.tree.digest, {"shop/price.py": b"x = 2\n"} if note else {}, note=note)
    seen = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=Evidence(cases=cases), partial=partial)
    signal = Mint("r", b"k" * 32).signal(
        seen, episode_id="e", trial=1, issuer="test", candidate_digest=candidate.digest
    )
    context = CriticContext(task=TASK, failing=Judged(candidate, signal), tree=TASK.tree, call=no_model)
    return (await RuleCritic().reflect(context)).text


def case(name: str, message: str, result: CaseResult = CaseResult.FAILED) -> CaseOutcome:
    return CaseOutcome(id=f"tests/test_a.py::{name}", result=result, message=message)


async def test_expected_against_got_places_and_what_was_tried() -> None:
    text = await reflect(
        case("test_sum", "shop/price.py:12: in total\ntests/test_a.py:3: AssertionError\nassert 2 == 3"),
        case("test_ok", "", CaseResult.PASSED),
        note="shop/price.py:12 < → <=",
    )
    assert text == (
        "1 of 2 cases fail; test_sum expected 3 but got 2; the failures pass through shop/price.py:12; "
        "this was not enough: shop/price.py:12 < → <=."
    )


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("E   ZeroDivisionError: division by zero", "test_x raised ZeroDivisionError: division by zero"),
        ("did not finish: wall_s", "test_x: did not finish: wall_s"),
        ("", "test_x failed"),
    ],
)
async def test_exceptions_and_other_messages(message: str, said: str) -> None:
    assert said in await reflect(case("test_x", message))


async def test_values_are_told_and_not_the_source_of_the_assertion() -> None:
    message = "KeyError: '0'\n  tests/test_a.py:7 in test_a: assert seconds(\"90s\") == 90\n  shop/price.py:8 in f: x"
    assert "test_a raised KeyError: '0'" in await reflect(case("test_a", message))


async def test_many_failures_are_counted_and_an_early_end_is_said() -> None:
    text = await reflect(*(case(f"test_{i}", "") for i in range(9)), partial=True)
    assert "5 more fail" in text
    assert "other cases may fail too" in text
    assert "without naming a case" in await reflect()


@given(st.text(max_size=300), st.text(max_size=300))
async def test_any_message_gives_one_bounded_text(name: str, message: str) -> None:
    text = await reflect(case(name, message))
    assert len(text) < 1200
    assert text == await reflect(case(name, message))


# What each change did to single cases, and how the rule critic says it.


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


async def reflect_on_effects(scene: Scene, episode: Episode, *judged: Judged) -> str:
    context = scene.critic_context(judged[-1], episode.task, judged=judged)
    return (await RuleCritic().reflect(context)).text


async def test_the_critic_says_which_edits_helped_and_which_broke(scene: Scene, episode: Episode) -> None:
    text = await reflect_on_effects(
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
    text = await reflect_on_effects(scene, episode, *judged)
    assert text.count("before, ") == 6
    assert len(text) < 2000 and "\x1b" not in text


async def test_without_earlier_evidence_nothing_is_said_of_it(scene: Scene, episode: Episode) -> None:
    base = episode.base("test_a")
    assert "before" not in await reflect_on_effects(scene, episode, base)
    assert "fixed" not in await reflect_on_effects(scene, episode, base)
