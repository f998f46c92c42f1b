"""Functions without a body: which are found, and what a reply makes of them."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.agents.patching._function_writer import Stub, find_stub
from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError
from groundwire.core._tasks import Task

DOC = '    """Return twice a number.\n\n    >>> double(2)\n    4\n    """\n'
STUB = f"import math\n\n\ndef double(n: int) -> int:\n{DOC}    raise NotImplementedError\n\n\nx = 1\n"


def stub_of(text: str) -> Stub:
    return find_stub(Task(id="t", tree=Tree({"m.py": text.encode()})))


def test_what_a_stub_says() -> None:
    stub = stub_of(STUB)
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
    ],
)
def test_a_reply_becomes_the_body(reply: str, body: str) -> None:
    filled = stub_of(STUB).filled(reply)
    assert filled == STUB.replace("    raise NotImplementedError\n", body)


@pytest.mark.parametrize("reply", ["", "\n", "\nno indentation", "\n    (((", "\n    \x00"])
def test_replies_without_a_body(reply: str) -> None:
    assert stub_of(STUB).filled(reply) is None


@given(st.text())
@example('\n    """\n')
@example("\n    return '\\d'")
@example("\n    x = 1\\\n")
def test_whatever_a_model_says_is_a_module_that_parses_or_nothing(reply: str) -> None:
    filled = stub_of(STUB).filled(reply)
    if filled is not None:
        assert filled.startswith(STUB.partition("    raise")[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape that Python does not know is the model's affair
            module = ast.parse(filled)
        assert [getattr(node, "name", "") for node in module.body[:2]] == ["", "double"]
