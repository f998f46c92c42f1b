"""Plain functions as actors and critics: what they may give, and what is met where it is made."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from groundwire import ActorContext, Candidate, CriticContext, FeedbackGraph, Task, Verdict
from groundwire.agents.programs._plain_functions import FunctionActor, FunctionCritic
from groundwire.core import Reflection
from groundwire.core._errors import CandidateError, ConfigError, TaskError
from groundwire.core._traits import ActorTraits, Needs

if TYPE_CHECKING:
    from conftest import Scene

TASK = Task.of("Two files.", files={"a.md": "", "b.md": "old", "test_a.py": "…"})


async def proposed(scene: Scene, said: Any, task: Task = TASK, n: int = 9) -> Sequence[Candidate]:
    return await FunctionActor(lambda context: said).propose(scene.context(task=task), n)


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ({"a.md": "new"}, [{"a.md": b"new"}]),
        ({"a.md": b"\xff", "b.md": None}, [{"a.md": b"\xff", "b.md": None}]),
        ([{"a.md": "1"}, {"a.md": "2"}], [{"a.md": b"1"}, {"a.md": b"2"}]),
        (({"c.md": "more"}, None), [{"c.md": b"more"}]),
        (Candidate(TASK.tree.digest, {"a.md": b"own"}), [{"a.md": b"own"}]),
        ({"a.md": "\ud800"}, [{"a.md": b"\xed\xa0\x80"}]),
        (None, []),
        ([], []),
    ],
)
async def test_what_a_function_may_propose(scene: Scene, said: Any, changes: list[Any]) -> None:
    assert [c.changes for c in await proposed(scene, said)] == changes


async def test_a_text_goes_to_the_one_file_there_is(scene: Scene) -> None:
    (candidate,) = await proposed(scene, "hello", Task.of("Greet."))
    assert candidate.changes == {"answer.txt": b"hello"}
    with pytest.raises(TaskError, match="lets a candidate edit 2 files"):
        await proposed(scene, "hello")


@pytest.mark.parametrize("said", [7, {"a.md": 7}, {7: "x"}, [["a.md"]], object()])
async def test_what_is_no_proposal(scene: Scene, said: Any) -> None:
    with pytest.raises(CandidateError, match="is no proposal"):
        await proposed(scene, said)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\n.md", ".git/config", "test_a.py", "setup.py"])
async def test_a_path_is_held_to_what_the_task_allows(scene: Scene, path: str) -> None:
    with pytest.raises(CandidateError):
        await proposed(scene, {path: "x"})


async def test_no_more_than_was_asked_for(scene: Scene) -> None:
    assert len(await proposed(scene, [{"a.md": str(n)} for n in range(5)], n=2)) == 2


async def test_one_that_is_not_async_runs_in_a_thread_and_an_async_one_does_not(scene: Scene) -> None:
    where: list[bool] = []

    def sync(context: ActorContext) -> None:
        where.append(threading.current_thread() is threading.main_thread())

    async def later(context: ActorContext) -> None:
        sync(context)

    class Later:
        async def __call__(self, context: ActorContext) -> None:
            sync(context)

    def gives_later(context: ActorContext) -> Awaitable[None]:
        return later(context)

    functions: tuple[Any, ...] = (sync, later, Later(), gives_later)
    for function in functions:
        await FunctionActor(function).propose(scene.context(), 1)
    assert where == [False, True, True, True]


async def test_traits_of_a_function_are_the_actor_s(scene: Scene) -> None:
    def write(context: ActorContext) -> str:
        return ""

    write.traits = ActorTraits(needs=Needs(lessons=7))  # pyright: ignore[reportFunctionMemberAccess]
    assert FunctionActor(write).traits.needs.lessons == 7
    assert FunctionActor(lambda context: "").traits == ActorTraits()


async def test_a_critic_gives_a_text_or_a_reflection(scene: Scene) -> None:
    task = scene.task()
    context = scene.critic_context(scene.judged(scene.base(task)), task)

    def blame(context: CriticContext) -> str:
        return f"{len(context.failing.signal.evidence.failed())} failed"

    assert await FunctionCritic(blame).reflect(context) == Reflection("1 failed", by="blame")
    whole = Reflection("as it is", by="me")
    assert await FunctionCritic(lambda context: whole).reflect(context) is whole
    with pytest.raises(CandidateError, match="gave None"):
        await FunctionCritic(lambda context: None).reflect(context)  # pyright: ignore[reportArgumentType, reportUnknownLambdaType]


@pytest.mark.parametrize("function", [lambda: "x", lambda a, b: "x"])  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
def test_a_function_of_other_arguments_is_met_where_it_is_made(function: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"takes? .*positional|missing|too many"):
        FunctionActor(function)
    with pytest.raises(ConfigError, match=r"def critic\(context\)"):
        FunctionCritic(function)


def test_functions_make_a_whole_loop_and_its_critic_is_heard() -> None:
    heard: list[str] = []

    def write(context: ActorContext) -> str:
        heard.append(context.reflection.text if context.reflection else "")
        return "a" * len(heard)

    async def long_enough(candidate: Candidate) -> str:
        return "" if len(candidate.text) == 3 else f"{3 - len(candidate.text)} letters are missing"

    def advise(context: CriticContext) -> str:
        return context.failing.signal.evidence.cases[0].message

    result = FeedbackGraph.loop(write, long_enough, critic=advise).compile().run(Task.of("Three letters."))
    assert (result.verdict, result.trials, result.reflections) == (Verdict.PASS, 3, 2)
    assert heard == ["", "2 letters are missing", "1 letters are missing"]
