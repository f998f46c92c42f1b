"""What a model is told that it does: by the user, by the task's kind, and as before where neither says anything."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from groundwire import FeedbackGraph, Task, Verdict
from groundwire.agents import LLMActor, LLMCritic, ReActActor, StepWriter, TextAnswer, ToolActor
from groundwire.agents.patching._edit_blocks import WholeFile
from groundwire.agents.patching._reply_format import DO_THE_TASK, read_text
from groundwire.agents.prompting._templates import load_prompt
from groundwire.core import Backend, Request, StepRules
from groundwire.core._errors import CandidateError, Contradiction
from groundwire.core._traits import BackendTraits
from groundwire.models import ScriptedBackend
from groundwire.tools import world

if TYPE_CHECKING:
    from conftest import Scene

HAIKU = Task.of("A haiku about the sea.")
MINE = "You are a poet of few words.\n\nYou never rhyme. $task stays."


class Structured(ScriptedBackend):
    traits = BackendTraits(structured=True)


async def asked(scene: Scene, actor: LLMActor, task: Task | None = None) -> Request:
    await actor.propose(scene.context(task=task), 1)
    return scene.call.requests[-1]


async def test_a_task_of_a_prompt_is_answered_with_a_text_and_hears_nothing_of_repair(scene: Scene) -> None:
    request = await asked(scene, LLMActor(ScriptedBackend(["Waves."])), HAIKU)
    system = request.messages[0].content
    assert system.startswith(f"{DO_THE_TASK}\n\nWhat the tags hold:")
    assert "repair" not in system and "programmer" not in system
    assert request.prompt_digest == load_prompt("write_text_v1").digest
    assert "May be edited: answer.txt" in request.messages[1].content


async def test_a_project_is_repaired_by_the_prompts_of_before(scene: Scene) -> None:
    fix = "FILE: shop/price.py\n```\nx = 1\n```\n"
    request = await asked(scene, LLMActor(ScriptedBackend([fix]), answer="edits"))
    assert request.prompt_digest == load_prompt("repair_edits_v2").digest
    assert request.messages[0].content == load_prompt("repair_edits_v2").system


@pytest.mark.parametrize("task", [HAIKU, None], ids=["write", "repair"])
@pytest.mark.parametrize("form", ["edits", "whole", "schema"])
async def test_instructions_open_every_form(scene: Scene, form: Any, task: Task | None) -> None:
    task = task or scene.task()
    path = "answer.txt" if task is HAIKU else "shop/price.py"
    old = "" if task is HAIKU else "    result = 0\\n"
    edit = f'{{"path": "{path}", "search": "{old}", "replace": "x\\n"}}'
    reply = f'{{"cause": "", "edits": [{edit}]}}' if form == "schema" else f"FILE: {path}\n```\nx\n```\n"
    if form == "schema" and task is HAIKU:
        task = Task.of("A haiku about the sea.", files={"old.txt": "old"})  # a file that is there is not made anew
    await asked(scene, LLMActor(Structured([reply]), instructions=f"\n{MINE}\n", answer=form), task)
    request = scene.call.requests[-1]
    assert request.messages[0].content.startswith(f"{MINE}\n\nWhat the tags hold:")
    digest = load_prompt(f"write_{form}_v1").digest
    assert request.prompt_digest == hashlib.sha256(f"{digest} {MINE}".encode()).hexdigest()


async def test_a_critic_is_told_so_too(scene: Scene) -> None:
    for task, given, opening in (
        (scene.task(), "", "You are the programmer whose change has just failed its tests."),
        (scene.task(), MINE, f"{MINE}\n\nYour answer has just failed a check"),
        (HAIKU, "", f"{DO_THE_TASK}\n\nYour answer has just failed a check"),
    ):
        critic = LLMCritic(ScriptedBackend(["Too long."]), instructions=given)
        await critic.reflect(scene.critic_context(scene.judged(scene.base(task)), task))
        assert scene.call.requests[-1].messages[0].content.startswith(opening)


REPLIES = {"act_v1": "Thought.\nACTION: up", "use_tools_v1": '{"answer": "x"}', "write_steps_v1": "x"}


def sibling(name: str, instructions: str) -> tuple[Any, Task]:
    backend = ScriptedBackend(lambda request: REPLIES[name])
    if name == "act_v1":
        return ReActActor(backend, instructions=instructions), world("sokoban").task(seed=0)
    if name == "use_tools_v1":
        return ToolActor(backend, (), instructions=instructions), HAIKU
    return StepWriter(backend, StepRules(check=lambda steps: ""), instructions=instructions), HAIKU


@pytest.mark.parametrize("name", REPLIES)
async def test_siblings_take_them_before_their_own_words(scene: Scene, name: str) -> None:
    digests: list[str] = []
    for given in ("", MINE):
        actor, task = sibling(name, given)
        await actor.propose(scene.context(task=task, failing=None, best=None), 1)
        request = scene.call.requests[-1]
        digests.append(request.prompt_digest)
        system = request.messages[0].content
        assert system.startswith(given) and system.removeprefix(given).strip()[:60] == load_prompt(name).system[:60]
    assert digests[0] == load_prompt(name).digest != digests[1]


def test_text_answers_take_them_too(scene: Scene) -> None:
    plain = TextAnswer().question(scene.context(task=HAIKU))
    mine = TextAnswer(instructions=MINE).question(scene.context(task=HAIKU))
    assert mine.messages[0].content == f"{MINE}\n\n{plain.messages[0].content}"
    assert plain.prompt_digest == load_prompt("answer_text_v1").digest != mine.prompt_digest


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Waves.", "Waves.\n"),
        ("Waves.\r\nFoam.\n\n", "Waves.\nFoam.\n"),
        ('```json\n{"a": 1}\n```', '{"a": 1}\n'),
        ('Here is the JSON:\n\n```json\n{"a": 1}\n```\n', '{"a": 1}\n'),
        ("FILE: a.md\n```\nWaves.\n```", "Waves.\n"),
        ("**FILE: `a.md`**\nWaves.", "Waves.\n"),
        ("FILE: other.md\nWaves.", "FILE: other.md\nWaves.\n"),
        ("# Use\n\n```\nls\n```\n\nThat is all.", "# Use\n\n```\nls\n```\n\nThat is all.\n"),
        ("```\nls\n```\nand\n```\npwd\n```", "```\nls\n```\nand\n```\npwd\n```\n"),
        ("~~~\na\n```\nb\n~~~", "a\n```\nb\n"),
        ("Answer:", "Answer:\n"),
        ("```\nnever closed", "```\nnever closed\n"),
        ("    indented\n  code", "indented\n  code\n"),
    ],
)
def test_a_text_is_taken_as_it_is_but_for_what_models_put_around_it(reply: str, text: str) -> None:
    assert read_text(reply, "a.md") == (WholeFile("a.md", text),)


FRAMED = "```sql\nSELECT 1;\n```"


@pytest.mark.parametrize(
    ("reply", "path", "text"),
    [
        (f"Sure! Here is the query:\n\n{FRAMED}\n\nLet me know if you need more.", "answer.txt", "SELECT 1;\n"),
        (
            f"You can use a constant. Then it is easy.\n\n{FRAMED}\n\nIt gives 1.\n\nThat is **all**.",
            "q.sql",
            "SELECT 1;\n",
        ),
        (f"{FRAMED}\n\nIt gives 1.", "q.sql", "SELECT 1;\n"),
        ("```sql\nSELECT 1;\n", "q.sql", "SELECT 1;\n"),
        (f"One way:\n{FRAMED}\nAnother:\n{FRAMED}", "q.sql", f"One way:\n{FRAMED}\nAnother:\n{FRAMED}\n"),
        (
            f"A query is a question.\n\n{FRAMED}\n\nIt gives 1.",
            "answer.txt",
            f"A query is a question.\n\n{FRAMED}\n\nIt gives 1.\n",
        ),
    ],
)
def test_of_a_program_or_data_the_one_fence_is_taken_and_of_prose_only_what_was_announced(
    reply: str, path: str, text: str
) -> None:
    assert read_text(reply, path) == (WholeFile(path, text),)


@pytest.mark.parametrize("reply", ["", " \n ", "```\n```", "FILE: a.md\n"])
def test_an_empty_text_is_sent_back(reply: str) -> None:
    with pytest.raises(CandidateError, match="empty"):
        read_text(reply, "a.md")


async def test_a_text_may_say_that_the_check_contradicts_the_task(scene: Scene) -> None:
    actor = LLMActor(
        ScriptedBackend(["CONTRADICTION: test_some\nOne asks for three, the other for four."]), may_contradict=True
    )
    task = Task.of("x", files={"a.md": ""})
    with pytest.raises(Contradiction, match="three"):
        await actor.propose(scene.context(task=task), 1)


def nothing(backend: Backend) -> None:
    """No critic."""


@pytest.mark.parametrize("make", [nothing, LLMCritic], ids=["alone", "critic"])
def test_a_loop_of_text_goes_round_until_the_check_holds(make: Callable[[Any], Any]) -> None:
    backend = ScriptedBackend(
        ["```\nWaves and waves.\n```", "Say less.", "Waves."] if make is LLMCritic else ["Waves and waves.", "Waves."]
    )
    app = FeedbackGraph.loop(LLMActor(backend), lambda c: len(c.text.split()) == 1, critic=make(backend)).compile()
    result = app.run(HAIKU)
    assert (result.verdict, result.trials) == (Verdict.PASS, 2)
    assert result.best and result.best.candidate.text == "Waves.\n"
    last = backend.requests[-1].messages[1].content
    assert "Waves and waves." in last and 'verdict="fail"' in last
