"""Many samples of one call, each judged by every test there is, and counted; what of them is trained on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import pytest
from recorded_runs import ledger_at

from groundwire import Budget, FeedbackGraph, Task, Tree, Verdict
from groundwire.agents.width._answers import FunctionBody
from groundwire.agents.width._many_samples import ManySamples, NamedFunction
from groundwire.benchmarks._function_tasks import assert_task
from groundwire.core._contexts import ActorContext
from groundwire.core._models import Backend, Completion, Request, made_of_samples, samples_in
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import Isolation, Origin
from groundwire.core._tasks import Hidden
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests, tool_for
from groundwire.tools._every_test import EveryTest
from groundwire.training import Trajectory, trajectories_of
from groundwire.training.improving._keeping import KeepingRules, kept_of
from groundwire.training.improving._samples import CountedSample, TaskSamples, diversity, samples_of
from groundwire.training.methods._repair_from_evidence import evidence_shown
from groundwire.training.rewards._repairing import wrong_attempts

STUB = b'def add(a, b):\n    """Adds."""\n    raise NotImplementedError\n'
ANSWERS = (
    "\n    return a + b\n",
    "\n    return b + a  # either way\n",
    "\n    return a - b\n",
    "I would rather not.",
    "\n    return a +  b\n",
    "\n    return 3\n",
)
"""Right, right, wrong, no answer, the first one again in another layout, and what only the visible test takes."""
COMMAND = ("python", "-S", "-m", "unittest")


def module_of(*asserts: str) -> bytes:
    body = "".join(f"        {one}\n" for one in asserts)
    return (
        f"import unittest\nfrom solution import add\nclass T(unittest.TestCase):\n    def test(self):\n{body}".encode()
    )


def adding(name: str, *, hidden: bool) -> Task:
    files = {"solution.py": STUB, "tests/test_visible.py": module_of("assert add(1, 2) == 3")}
    more = Hidden((*COMMAND, "hidden.test_h"), Tree({"hidden/test_h.py": module_of("assert add(5, 7) == 12")}))
    return Task(
        id=name,
        prompt="Write add.",
        tree=Tree(files),
        command=(*COMMAND, "tests.test_visible"),
        editable=("solution.py",),
        hidden=more if hidden else None,
    )


async def sampled(folder: Path, task: Task, *, opinions: Mapping[str, str] | None = None) -> list[Trajectory]:
    """One episode, out of its ledger."""
    said = iter(ANSWERS)

    def answer(request: Request) -> str:
        if not request.purpose.startswith("judge_own"):
            return next(said)
        assert opinions is not None
        return next(word for text, word in opinions.items() if text in request.messages[-1].content)

    actor = ManySamples(ScriptedBackend(answer, continues=True), FunctionBody(), opinions=opinions is not None)
    graph = FeedbackGraph(name="samples")
    graph.add_actor("write", actor, width=len(ANSWERS))
    graph.add_tool("judge", EveryTest(tool_for(task.command), HiddenTests() if task.hidden else None))
    graph.add_edge("write", "judge")
    async with aclosing(ledger_at(folder)) as store:
        app = graph.compile(store=store, budget=Budget(trials=1))
        result = await app.arun(task)
        replayed = await app.areplay(task, run_id=result.run_id, episode_id=result.episode_id)
        assert replayed.difference is None
        (run,) = await store.runs(limit=1)
        return [one async for one in trajectories_of(store, [run])]


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[bool, list[Trajectory]]:
    """By whether the task has hidden tests; judged in the real sandbox, once for all tests here."""
    found: dict[bool, list[Trajectory]] = {}
    with pytest.MonkeyPatch.context() as patched:
        for hidden in (False, True):
            folder = tmp_path_factory.mktemp("samples")
            for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
                patched.setenv(variable, str(folder / variable))
            asked = {"a + b": "Yes.", "b + a": "no", "a - b": "yes", "a +  b": "Yes.", "return 3": "maybe"}
            task = adding(f"add-{hidden}", hidden=hidden)
            found[hidden] = asyncio.run(sampled(folder, task, opinions=asked if hidden else None))
    return found


def test_every_sample_is_judged_behind_one_that_passes_and_by_hidden_tests_where_there_are_some(
    episodes: Mapping[bool, list[Trajectory]],
) -> None:
    for hidden, told in episodes.items():
        attempts = list(told[0].attempts)
        assert [a.note for a in attempts] == [
            "made of samples 0, 4", "made of sample 1", "made of sample 2", "made of sample 5"
        ]  # fmt: skip
        assert [a.reward for a in attempts] == [1.0, 1.0, 0.0, 0.0 if hidden else 1.0]
        passing = Origin.HIDDEN_TESTS if hidden else Origin.TESTS
        assert [[s.origin for s in a.signals] for a in attempts] == [[passing], [passing], [Origin.TESTS], [passing]]
        passed = [s for a in attempts for s in a.signals if a.reward == 1.0]
        assert {s.isolation for s in passed} == {Isolation.TWO_BOXES}


def test_what_visible_tests_say_of_a_sample_may_be_told_where_there_are_hidden_ones_too(
    episodes: Mapping[bool, list[Trajectory]],
) -> None:
    (told,) = episodes[True]
    _, _, refuted, only_hidden = told.attempts
    assert "assert add(1, 2) == 3" in evidence_shown(refuted) and evidence_shown(only_hidden) == ""
    assert [one.with_evidence[-1].content.count("assert add(1, 2) == 3") for one in wrong_attempts(episodes[True])] == [
        1
    ]
    text = told.model_dump_json()
    assert "test_visible" in text and "test_h" not in text and "add(5, 7)" not in text
    (trial,) = (one for one in told.trials if one.number == 1)
    assert trial.verdict is Verdict.NONE, (
        "of the others only hidden tests have spoken, and these are no trial's outcome"
    )


def test_samples_are_counted_each_and_the_one_without_an_answer_is_not_right(
    episodes: Mapping[bool, list[Trajectory]],
) -> None:
    samples, tasks = samples_of(episodes[False])
    (task,) = tasks.values()
    assert (task.samples, task.right, task.unjudged) == (6, 4, 1)
    assert sorted(task.programs.values()) == [1, 1, 1, 2] and len(task.right_programs) == 3
    assert len(samples) == 5 and len({one.key for one in samples}) == 4
    assert diversity(tasks.values()) == 4 / 5


def test_a_models_word_on_its_own_samples_is_in_the_ledger_and_moves_no_verdict(
    episodes: Mapping[bool, list[Trajectory]],
) -> None:
    samples, _ = samples_of(episodes[True])
    by_text = {one.answer.turn.answer.strip(): (one.right, one.approved) for one in samples}
    assert by_text["return a + b"] == (True, True) and by_text["return b + a  # either way"] == (True, False)
    assert by_text["return a - b"] == (False, True) and by_text["return 3"] == (False, False)


async def nobody(backend: Backend, request: Request) -> Completion:
    raise AssertionError("a question asks nobody")


def texts(samples: list[CountedSample], turns: set[str]) -> set[str]:
    return {one.answer.turn.answer.strip() for one in samples if one.answer.turn.id in turns}


def test_what_is_kept_is_each_right_solution_once_and_few_of_an_easy_task(
    episodes: Mapping[bool, list[Trajectory]],
) -> None:
    samples = list(samples_of(episodes[True])[0])
    kept = kept_of(samples, KeepingRules())
    assert texts(samples, kept.turns) == {"return a + b", "return b + a  # either way"}
    assert kept.left_out == {"failed": 2, "same_solution": 1}
    assert kept_of(samples, KeepingRules()).turns == kept.turns, "the same ones each time"
    few = kept_of(samples, KeepingRules(per_task=1))
    assert len(few.turns) == 1 and few.left_out["enough_of_task"] == 1
    easy = kept_of(samples, KeepingRules(easy=0.5))
    assert len(easy.turns) == 1 and easy.left_out["easy_task"] == 1


def test_a_control_has_as_many_rows_as_the_verified_arm_and_none_that_it_does_not_stand_for(
    episodes: Mapping[bool, list[Trajectory]],
) -> None:
    samples = list(samples_of(episodes[True])[0])
    failed = kept_of(samples, KeepingRules(arm="failed"))
    assert texts(samples, failed.turns) == {"return a - b", "return 3"} and failed.wanted == 2
    judged = kept_of(samples, KeepingRules(arm="model-judged"))
    assert texts(samples, judged.turns) == {"return a + b", "return a - b"}
    blind = [kept_of(samples, KeepingRules(arm="unverified", seed=seed)) for seed in range(6)]
    assert {len(one.turns) for one in blind} == {2}
    assert len({frozenset(one.turns) for one in blind}) > 1, "drawn by lot"
    both = kept_of(samples, KeepingRules(with_failed=True))
    assert texts(samples, both.turns) >= {"return a - b", "return 3"} and len(both.turns) == 4


def test_a_task_that_only_names_its_function_is_asked_with_the_function_begun() -> None:
    task = assert_task(
        "MBPP/1", 'Say "both" numbers.', "add", setup="", visible=["assert add(1, 2) == 3"],
        hidden="def check(candidate):\n    pass\n", limits=Limits(),
    )  # fmt: skip
    context = ActorContext(task=task, tree=task.tree, call=nobody)
    asking = NamedFunction()
    question = asking.question(context)
    assert (
        question.messages[-1].content == "```python\ndef add("
        and "assert add(1, 2) == 3" in question.messages[0].content
    )
    answer = asking.read("a, b):\n    return a + b\n\nprint(add(1,", context)
    assert answer is not None
    (program,) = answer.candidate.changes.values()
    assert program is not None and program.endswith(b"def add(a, b):\n    return a + b\n\n")
    again = asking.read("a, b):  # sum\n    return a+b\n```\nDone.", context)
    assert again is not None and again.key == answer.key and asking.read("a b c", context) is None


def test_no_task_without_two_samples_says_how_much_answers_differ() -> None:
    assert diversity([TaskSamples("one", samples=1, programs={"a": 1})]) is None


@pytest.mark.parametrize(
    "note", ["", "made of sample", "made of samples 1,2", "made of sample 1; rm", "made of sample -1"]
)
def test_a_note_of_another_kind_names_no_samples(note: str) -> None:
    assert samples_in(note) == ()
    assert samples_in(made_of_samples([3])) == (3,) and samples_in(made_of_samples([0, 11])) == (0, 11)
