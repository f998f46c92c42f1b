"""Greedy first, samples after a FAIL; answers that are of no use are asked for again, a bounded number of times."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.agents.patching._function_writer import CALLS, GREEDY, SAMPLED, FunctionWriter
from groundwire.core._errors import ConfigError, ModelRejected, ModelReplyInvalid, TaskError
from groundwire.models import ScriptedBackend

STUB = {"m.py": 'def double(n):\n    """Return twice a number.\n\n    >>> double(2)\n    4\n    """\n    pass\n'}
RIGHT = "\n    return n * 2\n"


async def test_the_first_answer_is_the_likeliest_and_is_begun_for_the_model(scene: Any) -> None:
    backend = ScriptedBackend([RIGHT])
    (candidate,) = await FunctionWriter(backend).propose(scene.context(scene.task(STUB)), 4)
    (request,) = backend.requests
    asked = "Write a Python function `double(n)`. Return twice a number. For example, `double(2)` gives `4`."
    assert (request.n, request.temperature) == (1, 0.0)
    assert [m.content for m in request.messages] == [asked, "```python\ndef double(n):"]
    assert candidate.edits == (GREEDY,)
    assert (candidate.changes["m.py"] or b"").endswith(b'    """\n    return n * 2\n')


async def test_after_a_fail_it_samples_with_other_seeds_and_keeps_what_is_new(scene: Any) -> None:
    backend = ScriptedBackend([RIGHT, "\n    return n\n", RIGHT, ""])
    task = scene.task(STUB)
    proposed = await FunctionWriter(backend, samples=4).propose(scene.context(task, trial=2), 8)
    assert [c.edits for c in proposed] == [(SAMPLED,)] * 2
    assert (backend.requests[0].n, backend.requests[0].temperature) == (4, 0.8)
    again = ScriptedBackend([RIGHT, "\n    return 2 * n\n"])
    tried = frozenset(c.digest for c in proposed)
    (new,) = await FunctionWriter(again, samples=1).propose(scene.context(task, trial=3, tried=tried), 8)
    assert b"2 * n" in (new.changes["m.py"] or b"")
    seeds = {r.seed for r in (*backend.requests, *again.requests)}
    assert len(seeds) == 3


async def test_answers_of_no_use_are_asked_for_again_and_then_given_up(scene: Any) -> None:
    context = scene.context(scene.task(STUB))
    backend = ScriptedBackend([ModelReplyInvalid("empty"), "nothing", RIGHT])
    (candidate,) = await FunctionWriter(backend, samples=1).propose(context, 1)
    assert candidate.edits == (SAMPLED,)
    useless = ScriptedBackend(lambda _request: "\n(")
    assert await FunctionWriter(useless, samples=1).propose(context, 1) == ()
    assert len(useless.requests) == CALLS


async def test_what_the_actor_does_not_hide(scene: Any) -> None:
    with pytest.raises(ModelRejected):
        await FunctionWriter(ScriptedBackend([])).propose(scene.context(scene.task(STUB)), 1)
    with pytest.raises(TaskError):
        await FunctionWriter(ScriptedBackend([RIGHT])).propose(scene.context(), 1)
    with pytest.raises(ConfigError):
        FunctionWriter(ScriptedBackend([]), samples=0)
