"""episodic: Reflexion in environments, with the acceptance tests of its rows (methods 23, 25, 26)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from dying import dies_and_goes_on
from pages import check_page
from worlds import Porch, Quiz, Trouble

from groundwire import Budget, EpisodeResult, NoVerdict, Origin, StopReason, Task, Verdict
from groundwire.agents.worlds import EpisodeCritic, ReActActor, StepsCritic
from groundwire.agents.worlds._acting import Remembers
from groundwire.core._contexts import CriticContext, Reflection
from groundwire.core._environments import actions_in, environment_task
from groundwire.core._models import Request
from groundwire.core._records import Admission, ReflectionRecord, Store
from groundwire.core._signals import Signal
from groundwire.graphs.library._episodic import QUESTIONS, episodic
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.models import ScriptedBackend

KEY = "The key is under the mat."
PORCH = environment_task(Porch(), id="porch", prompt="Get in.", family="doors")


def knows_or_kicks(request: Request) -> str:
    """Wins if, and only if, the prompt says where the key is; else it kicks the door."""
    asked = request.messages[-1].content
    if KEY not in asked:
        return "Thought: it is locked.\nAction: kick door"
    return "Thought: now.\nAction: " + ("unlock door" if "You find a key." in asked else "lift mat")


class Played:
    """One run: what it came to, what the models were asked, and the ledger."""

    def __init__(self, actor: ScriptedBackend, critic: ScriptedBackend, result: EpisodeResult, records: Any) -> None:
        self.actor, self.critic, self.result, self.records = actor, critic, result, records

    def all_of(self, kind: type[Any]) -> list[Any]:
        return [r for r in self.records if isinstance(r, kind)]

    @property
    def edges(self) -> list[str]:
        return [a.edge for a in self.all_of(Admission) if a.admitted]

    def prompts(self) -> list[str]:
        return [request.messages[-1].content for request in self.actor.requests]


async def play(
    answers: Callable[[Request], str] | Sequence[str],
    thoughts: Sequence[str],
    *,
    task: Task = PORCH,
    make: Callable[[], Any] = Porch,
    store: Store | None = None,
    trials: int = 10,
    remembers: Remembers = "reflections",
    **options: Any,
) -> Played:
    store = store or InMemoryStore()
    actor, critic = ScriptedBackend(answers), ScriptedBackend(thoughts)
    graph = episodic(ReActActor(actor, remembers=remembers), EpisodeCritic(critic), make, **options)
    result = await graph.compile(store=store, budget=Budget(trials=trials)).arun(task)
    return Played(actor, critic, result, await store.records(result.episode_id))


async def test_it_fails_on_monday_and_wins_on_tuesday_with_the_reason_on_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'lessons.db'}"
    async with aclosing(SqlStore(url)) as store:
        monday = await play(knows_or_kicks, [KEY], store=store)
    assert (monday.result.stop_reason, monday.result.trials) == (StopReason.VERIFIED, 2)
    assert monday.edges == ["refine", "advance"], "nothing is reflected on after the win"
    assert [KEY in prompt for prompt in monday.prompts()] == [False, True, True]
    (asked,) = monday.critic.requests
    assert 'action="kick door"' in asked.messages[-1].content and "neighbours" in asked.messages[-1].content
    (reflection,) = monday.all_of(ReflectionRecord)
    failed = next(s for s in monday.all_of(Signal) if s.verdict is Verdict.FAIL)
    assert (reflection.text, reflection.signal_id, failed.origin) == (KEY, failed.id, Origin.ENVIRONMENT)
    assert monday.result.best is not None
    assert actions_in(monday.result.best.candidate) == ("lift mat", "unlock door")

    async with aclosing(SqlStore(url)) as store:  # nothing of Monday is left but the file
        tuesday = await play(knows_or_kicks, [], store=store)
    assert (tuesday.result.stop_reason, tuesday.result.trials) == (StopReason.VERIFIED, 1)
    assert [KEY in prompt for prompt in tuesday.prompts()] == [True, True]
    assert (tuesday.critic.requests, tuesday.edges) == ([], ["advance"])


async def test_the_prompt_holds_the_last_omega_reflections_and_sql_all_of_them_verbatim(tmp_path: Path) -> None:
    thoughts = [
        f"Thought <{n}>: the {tool} did not help." for n, tool in enumerate(("boot", "fist", "rope", "saw", "axe"))
    ]
    async with aclosing(SqlStore(f"sqlite:///{tmp_path / 'lessons.db'}")) as store:
        failed = await play(knows_or_kicks, thoughts, store=store, trials=6)
        again = await play(knows_or_kicks, [], store=store, trials=1)
        kept = await store.recall("porch", "doors", window=10)
    assert (failed.edges, failed.result.stop_reason) == (["refine"] * 5, StopReason.BUDGET_TRIALS)
    (prompt,) = again.prompts()
    assert [n for n in range(5) if f"&lt;{n}&gt;" in prompt] == [2, 3, 4]
    assert sorted(lesson.text for lesson in kept) == thoughts


@pytest.mark.parametrize(
    ("remembers", "told", "replayed"),
    [("nothing", False, False), ("reflections", True, False), ("last_attempt", False, True), ("both", True, True)],
)
async def test_what_a_new_trial_is_told_can_be_chosen(remembers: Remembers, told: bool, replayed: bool) -> None:
    played = await play(["Action: look", "Action: kick door", "Action: kick door"], ["Look up."], trials=2,
                        remembers=remembers)  # fmt: skip
    prompt = played.prompts()[2]
    assert ("Look up." in prompt) is told
    assert ("<attempt>" in prompt and 'action="look"' in prompt) is replayed
    assert 'action="look"' in played.prompts()[1] and "<attempt>" not in played.prompts()[1]


async def test_a_trial_that_goes_in_circles_is_reflected_on_and_begun_anew() -> None:
    played = await play(["Action: look"] * 4 + ["Action: lift mat", "Action: unlock door"], ["Looking is not enough."])
    assert played.edges == ["advance"] * 3 + ["refine", "advance"]
    stuck = [s for s in played.all_of(Signal) if s.verdict is Verdict.FAIL]
    assert [s.evidence.detail.split(":")[0] for s in stuck] == ["stuck"]
    assert "stuck: same_step" in played.critic.requests[0].messages[-1].content
    assert played.result.stop_reason is StopReason.VERIFIED


async def test_too_many_actions_are_inefficient() -> None:
    played = await play(["Action: look", "Action: lift mat"] * 4, ["Hurry."], actions=3, trials=1)
    (failed,) = (s for s in played.all_of(Signal) if s.verdict is Verdict.FAIL)
    assert "inefficient: more than 3 actions" in failed.evidence.detail
    assert played.result.stop_reason is StopReason.BUDGET_TRIALS


QUIZ = environment_task(Quiz(), id="quiz")


async def test_an_answer_key_is_flagged_and_shows_nothing_but_its_verdict() -> None:
    played = await play(["Action: finish rome", "Action: finish paris"], ["Not that."], task=QUIZ, make=Quiz)
    assert (played.result.stop_reason, played.result.oracle) == (StopReason.VERIFIED, True)
    asked = played.critic.requests[0].messages[-1].content
    assert '<evidence verdict="fail" origin="environment">\n\n</evidence>' in asked


async def test_with_the_key_hidden_no_refine_edge_is_taken() -> None:
    played = await play(["Action: france", "Action: finish rome"], [], task=QUIZ, make=lambda: Quiz(key=None))
    assert (played.edges, played.critic.requests, played.result.oracle) == (["advance"], [], False)
    assert (played.result.stop_reason, played.result.verdict) == (StopReason.NO_VERDICT, Verdict.NONE)
    assert NoVerdict.REPORT_MISSING in played.result.detail


async def test_a_question_is_given_up_after_three_failed_retries_and_a_trial_after_six_actions() -> None:
    wrong = [f"Action: finish {city}" for city in ("rome", "bonn", "oslo", "bern", "riga")]
    graph = episodic(ReActActor(ScriptedBackend(wrong)), StepsCritic(), Quiz, **QUESTIONS.of_trial)
    given_up = await graph.compile(rules=QUESTIONS.rules).arun(QUIZ)
    assert (given_up.trials, given_up.stop_reason) == (4, StopReason.BUDGET_REFINEMENTS)
    asking = episodic(ReActActor(ScriptedBackend([f"Action: {n}" for n in range(9)])), StepsCritic(), Quiz,
                      **QUESTIONS.of_trial)  # fmt: skip
    long = await asking.compile(rules=QUESTIONS.rules, budget=Budget(trials=1)).arun(QUIZ)
    assert "lost" not in long.detail and "after 7 actions" in long.detail


async def test_an_empty_answer_is_asked_for_again_warmer() -> None:
    played = await play(["Hm.", "Action: lift mat", "unlock door"], [])
    assert [request.temperature for request in played.actor.requests] == [0.0, 0.15, 0.0]
    assert played.result.stop_reason is StopReason.VERIFIED, "a hint alone is an action too"


async def test_it_replays_from_the_ledger_alone() -> None:
    store = InMemoryStore()
    app = episodic(ReActActor(ScriptedBackend(knows_or_kicks)), StepsCritic(), Porch).compile(
        store=store, budget=Budget(trials=3)
    )
    result = await app.arun(PORCH)
    assert result.stop_reason is StopReason.BUDGET_TRIALS
    replayed = await app.areplay(PORCH, run_id=result.run_id, episode_id=result.episode_id)
    assert (replayed.difference, replayed.is_whole) == (None, True)
    (first, *_) = [r for r in await store.records(result.episode_id) if isinstance(r, ReflectionRecord)]
    assert first.text == "lost after 1 action: kick door. The last thing seen: The neighbours come running."


async def test_a_world_that_breaks_teaches_nothing() -> None:
    task = environment_task(Trouble(), id="trouble")
    played = await play(["Action: fine", "Action: crash"], [], task=task, make=Trouble)
    assert (played.edges, played.critic.requests, played.result.stop_reason) == (["advance"], [], StopReason.NO_VERDICT)
    looks = [s.reason for s in played.all_of(Signal)]
    assert looks == [NoVerdict.GO_ON, *[NoVerdict.RUNNER_CRASHED] * 2], "looked at again once, in a new world"
    assert "OSError" in played.result.detail


async def test_another_process_goes_on_in_the_middle_of_a_trial_and_pays_for_nothing_twice() -> None:
    backend, store = ScriptedBackend(["look", "lift mat", "unlock door"]), InMemoryStore()
    app = episodic(ReActActor(backend), StepsCritic(), Porch).compile(store=store)
    seen: list[object] = []

    def second_look(record: object) -> bool:
        seen.extend([record] * isinstance(record, Signal))
        return len(seen) == 2

    result = await dies_and_goes_on(app, PORCH, second_look)
    assert (result.stop_reason, len(backend.requests)) == (StopReason.VERIFIED, 3)
    assert result.best is not None
    assert actions_in(result.best.candidate) == ("look", "lift mat", "unlock door")


async def test_many_episodes_in_one_world_at_once_do_not_meet() -> None:
    told = episodic(ReActActor(ScriptedBackend(knows_or_kicks)), Keyed(), Porch).compile(budget=Budget(trials=2))
    results = await told.abatch([PORCH, PORCH, environment_task(Porch(), id="other", seed=9)] * 3, at_once=9)
    assert {result.stop_reason for result in results} == {StopReason.VERIFIED}


class Keyed:
    """A critic that knows where the key is."""

    async def reflect(self, context: CriticContext) -> Reflection:
        return Reflection(KEY)


def test_its_page_shows_this_graph() -> None:
    check_page("episodic", episodic(ReActActor(ScriptedBackend([])), StepsCritic(), Porch))
