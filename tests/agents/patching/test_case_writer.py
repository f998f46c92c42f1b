"""The model that writes test cases: what it is shown, and what it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from groundwire.agents import LLMCaseWriter
from groundwire.core._candidates import Tree
from groundwire.core._contexts import WriterContext
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_for
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._tasks import Hidden
from groundwire.models import ScriptedBackend

if TYPE_CHECKING:
    from conftest import Scene


async def call(backend: Backend, request: Request) -> Completion:
    return await backend.complete(request)


async def test_it_is_shown_the_task_and_the_files_and_nothing_hidden(scene: Scene) -> None:
    backend = ScriptedBackend(["```python\nfrom shop import total\nassert total([1]) == 1\n```"])
    hidden = Hidden(("pytest", "secret"), Tree({"secret/test_h.py": b"assert total([9]) == 9\n"}))
    task = replace(scene.task(), hidden=hidden)
    written = await LLMCaseWriter(backend).write(WriterContext(task, call, seed=7), 4)
    assert len(written.cases) == 1
    requests: list[Any] = list(backend.requests)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    (request,) = requests
    text = "\n".join(m.content for m in request.messages)
    assert task.prompt in text
    assert "Write up to 4 tests." in text
    assert "shop/price.py" in text
    assert "secret" not in text
    assert "total([9])" not in text
    assert (request.purpose, request.seed, request.n) == ("write_tests", seed_for(7, 0, "write_tests"), 1)
    assert request.prompt_digest


async def test_an_answer_without_a_test_is_no_error(scene: Scene) -> None:
    written = await LLMCaseWriter(ScriptedBackend(["I can't."])).write(WriterContext(scene.task(), call), 4)
    assert written.cases == ()
    assert written.by


@pytest.mark.parametrize("wrong", [{"max_tokens": 0}, {"context_tokens": 0}, {"temperature": -1}])
def test_arguments_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="out of range"):
        LLMCaseWriter(ScriptedBackend(["x"]), **wrong)
