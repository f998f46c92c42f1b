"""Greedy first, samples after a FAIL; answers that are of no use are asked for again, a bounded number of times."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.agents.patching._function_writer import CALLS, GREEDY, SAMPLED, FunctionWriter, Stub, find_stub
from groundwire.core._candidates import Tree
from groundwire.core._errors import ConfigError, ModelRejected, ModelReplyInvalid, TaskError
from groundwire.core._tasks import Task
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
    backend = ScriptedBackend([ModelReplyInvalid("empty"), "nothing", "\n(", RIGHT])
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


# Functions without a body: which are found, and what a reply makes of them.


DOC = '    """Return twice a number.\n\n    >>> double(2)\n    4\n    """\n'
STUB_FOUND = f"import math\n\n\ndef double(n: int) -> int:\n{DOC}    raise NotImplementedError\n\n\nx = 1\n"


def stub_of(text: str) -> Stub:
    return find_stub(Task(id="t", tree=Tree({"m.py": text.encode()})))


def test_what_a_stub_says() -> None:
    stub = stub_of(STUB_FOUND)
    assert (stub.path, stub.signature) == ("m.py", "def double(n: int) -> int:")
    assert stub.description() == "Return twice a number."
    assert stub.examples() == [("double(2)", "4")]


@pytest.mark.parametrize(
    "body",
    ["    pass\n", "    ...\n", "", "    raise NotImplementedError('later')\n", "    raise NotImplementedError\n"],
)
def test_bodies_that_do_nothing(body: str) -> None:
    assert stub_of(f"def double(n):\n{DOC}{body}").signature == "def double(n):"


@pytest.mark.parametrize(
    "text",
    [
        f"def double(n):\n{DOC}    return n\n",
        "def double(n):\n    pass\n",
        'def double(n): "doc"\n',
        "def (:\n",
        "x = 1\n",
    ],
)
def test_what_is_no_stub(text: str) -> None:
    with pytest.raises(TaskError, match="has no function to write"):
        stub_of(text)


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        ("\n    return n * 2\n\nprint(double(2))", "    return n * 2\n"),
        (" return n * 2", "    return n * 2\n"),
        ('\n    """Mine."""\n\n    return n * 2\n', "    return n * 2\n"),
        ("\n    y = n * 2\n    return (y +\n", "    y = n * 2\n"),
        ("\n    if n:\n        return 2\n    else:\n", "    if n:\n        return 2\n"),
        ("def double(n: int) -> int:\n    return n * 2\n", "    return n * 2\n"),
        (
            "Sure!\n\n```python\ndef double(n):\n    return n * 2\n\nprint(double(2))\n```\nIt doubles.",
            "    return n * 2\n",
        ),
        (f"```python\ndef double(n, by={{1: 2}}):\n{DOC}    return n * 2\n", "    return n * 2\n"),
        ("import math\n\ndef double(n): return n * 2\n", "    import math\n    return n * 2\n"),
        ("\n    return n * 2\n\ndef double(n):\n    return 1\n", "    return n * 2\n"),
        ("\r\n    return n * 2\r\n\r\nif __name__ == '__main__':\r\n    print(double(2))\r\n", "    return n * 2\n"),
    ],
)
def test_a_reply_becomes_the_body(reply: str, body: str) -> None:
    filled = stub_of(STUB_FOUND).filled(reply)
    assert filled == STUB_FOUND.replace("    raise NotImplementedError\n", body)


@pytest.mark.parametrize("reply", ["", "\n", "\nno indentation", "\n    (((", "\n    \x00"])
def test_replies_without_a_body(reply: str) -> None:
    assert stub_of(STUB_FOUND).filled(reply) is None


@given(st.text())
@example('\n    """\n')
@example("\n    return '\\d'")
@example("\n    x = 1\\\n")
def test_whatever_a_model_says_is_a_module_that_parses_or_nothing(reply: str) -> None:
    filled = stub_of(STUB_FOUND).filled(reply)
    if filled is not None:
        assert filled.startswith(STUB_FOUND.partition("    raise")[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape that Python does not know is the model's affair
            module = ast.parse(filled)
        assert [getattr(node, "name", "") for node in module.body[:2]] == ["", "double"]
