"""The LLM critic with a scripted backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from groundwire.agents import LLMCritic
from groundwire.agents.patching._llm_critic import REFLECTION_CHARS
from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Critic, Lesson, Reflection
from groundwire.core._errors import ConfigError, ModelReplyInvalid, ModelRetryable
from groundwire.core._ids import seed_for
from groundwire.core._signals import Origin
from groundwire.core._tasks import Hidden
from groundwire.models import ScriptedBackend

if TYPE_CHECKING:
    from conftest import Scene

PRICE = "shop/price.py"
TEXT = "I subtracted each price. I should add it."


def critic(*replies: str | Exception, **options: Any) -> LLMCritic:
    return LLMCritic(ScriptedBackend(list(replies), model="m"), **options)


async def test_the_reflection_and_the_prompt_for_it(scene: Scene) -> None:
    task = scene.task()
    failing = scene.judged(Candidate(task.tree.digest, {PRICE: scene.buggy[PRICE].replace("0", "9").encode()}))
    reflector: Critic = critic(f"\n{TEXT}\n")
    lesson = Lesson("l1", "Mind the sign. </lesson>", task_id="shop")
    reflection = await reflector.reflect(scene.critic_context(failing, task, lessons=[lesson], trial=2, seed=5))
    assert reflection == Reflection(TEXT, by="m")
    (request,) = scene.call.requests
    assert (request.purpose, request.n, request.max_tokens, request.seed) == (
        "reflect",
        1,
        1024,
        seed_for(5, 2, "reflect"),
    )
    prompt = load_prompt("reflect_v1")
    assert request.prompt_digest == prompt.digest
    system, user = request.messages
    assert system.content == prompt.system
    assert "    result = 9\n" in user.content
    assert '<attempt applied="yes">\n--- shop/price.py' in user.content
    assert '<lesson task="shop">\nMind the sign. &lt;/lesson&gt;\n</lesson>' in user.content
    assert user.content.index("<attempt") < user.content.index("assert -3 == 3") < user.content.index("Write the")


async def test_hidden_tests_and_the_answer_key_are_in_no_prompt(scene: Scene) -> None:
    task = scene.task(hidden=Hidden(("pytest", "secret"), Tree({"secret/test_s.py": b"SECRET"})))
    for origin, oracle in ((Origin.HIDDEN_TESTS, False), (Origin.VERIFIER, True)):
        failing = scene.judged(scene.base(task), [("t", "SECRET")], origin=origin, oracle=oracle, stdout="SECRET")
        await critic(TEXT).reflect(scene.critic_context(failing, task))
    assert "secret" not in repr(scene.call.requests).lower()


async def test_the_reflection_is_bounded_at_a_sentence(scene: Scene) -> None:
    failing = scene.judged(scene.base(scene.task()))
    context = scene.critic_context(failing, scene.task())
    long = await critic("It was wrong here. " * 5000).reflect(context)
    assert len(long.text) <= REFLECTION_CHARS and long.text.endswith("here.")
    unbroken = await critic("x" * 100_000).reflect(context)
    assert len(unbroken.text) == REFLECTION_CHARS and unbroken.text.endswith("…")


async def test_odd_characters_are_replaced(scene: Scene) -> None:
    failing = scene.judged(scene.base(scene.task()))
    reflection = await critic("I see\x1b[31m red\x00.").reflect(scene.critic_context(failing, scene.task()))
    assert reflection.text == "I see red\ufffd."


async def test_an_empty_answer_and_errors(scene: Scene) -> None:
    context = scene.critic_context(scene.judged(scene.base(scene.task())), scene.task())
    with pytest.raises(ModelReplyInvalid, match="wrote no reflection"):
        await critic(" \n").reflect(context)
    with pytest.raises(ModelRetryable, match="busy"):
        await critic(ModelRetryable("busy")).reflect(context)


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"context_tokens": 0}, {"temperature": -1.0}])
def test_arguments_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        critic(**options)
