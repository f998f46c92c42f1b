"""Functions without a body: which are found, and what a reply makes of them."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.agents.patching._stubs import Stub, find_stub
from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError
from groundwire.core._tasks import Task

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
        ("import math\n\ndef double(n): return n * 2\n", "    return n * 2\n"),
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


TWICE = "    return twice(n)\n"
HELPER = "def twice(n):\n    return n * FACTOR\n"


@pytest.mark.parametrize(
    ("reply", "body", "below"),
    [
        # the stub as it was given, and then the function
        (f"def double(n):\n{DOC}\n\ndef double(n):\n{DOC}    return n * 2\n", "    return n * 2\n", ""),
        # what it uses, written behind it, before it, or in a reply that goes on
        (f"def double(n):\n{TWICE}\n{HELPER}\nFACTOR = 2\n", TWICE, f"{HELPER}FACTOR = 2\n"),
        (f"FACTOR = 2\n\n{HELPER}\ndef double(n):\n{TWICE}", TWICE, f"FACTOR = 2\n{HELPER}"),
        (f"\n{TWICE}\n{HELPER}\nFACTOR = 2\n```\nIt doubles.", TWICE, f"{HELPER}FACTOR = 2\n"),
        (
            f"Here.\n\nfrom cmath import pi\n\ndef double(n):\n{TWICE}\ndef twice(n):\n    return n * pi\n\nDone.",
            TWICE,
            "from cmath import pi\ndef twice(n):\n    return n * pi\n",
        ),
        # what it does not use: tries, and a name that is its own
        (
            "def double(n):\n    y = n * 2\n    return y\n\ny = double(2)\nprint(y)\nassert y == 4\n",
            "    y = n * 2\n    return y\n",
            "",
        ),
        (
            "import math\nimport os\n\ndef double(n):\n    return int(math.fsum([n, n]))\n",
            "    return int(math.fsum([n, n]))\n",
            "",
        ),
        # other indentation, and a comment above the first statement
        (
            "def double(n):\n  # twice\n  if n:\n    return n * 2\n  return 0\n",
            "    # twice\n    if n:\n      return n * 2\n    return 0\n",
            "",
        ),
        # blanks that were lost on the way
        ("return n * 2", "    return n * 2\n", ""),
        (
            "for _ in range(1):\n        n += n\n    return n\n",
            "    for _ in range(1):\n        n += n\n    return n\n",
            "",
        ),
        ("    if n:\n        return n * 2\n    return 0\n", "    if n:\n        return n * 2\n    return 0\n", ""),
    ],
)
def test_a_function_written_anew_is_read_with_what_it_uses(reply: str, body: str, below: str) -> None:
    filled = stub_of(STUB_FOUND).filled(reply)
    assert filled == STUB_FOUND.replace("    raise NotImplementedError\n", f"{body}\n\n{below}" if below else body)


def test_a_function_whose_arguments_were_renamed_keeps_them_with_the_types_of_the_stub() -> None:
    filled = stub_of(STUB_FOUND).filled("def double(number, /, by=2):\n    return number * by\n")
    assert filled == STUB_FOUND.replace("double(n: int)", "double(number: int, /, by=2)").replace(
        "    raise NotImplementedError\n", "    return number * by\n"
    )


def test_arguments_may_be_renamed_where_a_comment_stands_behind_the_signature() -> None:
    filled = stub_of(f"def double(n):  # later\n{DOC}").filled("def double(number):\n    return number * 2\n")
    assert filled == f"def double(number):\n{DOC}    return number * 2\n"


@pytest.mark.parametrize("margin", ["\t", "  ", "        "])
def test_a_body_is_indented_as_its_stub_is(margin: str) -> None:
    stub = stub_of(f'def double(n):\n{margin}"""Twice."""\n{margin}pass\n')
    wanted = f'def double(n):\n{margin}"""Twice."""\n{margin}m = n\n{margin}return m * 2\n'
    assert stub.filled("def double(n):\n    m = n\n    return m * 2\n") == wanted


def test_a_string_of_many_lines_is_kept_in_a_body_that_is_indented_anew() -> None:
    filled = stub_of(STUB_FOUND).filled('def double(n):\n  text = """\na\n"""\n  return text\n')
    assert filled is not None
    assert '    text = """\na\n"""\n    return text\n' in filled


def test_names_that_are_given_together_are_found() -> None:
    filled = stub_of(STUB_FOUND).filled("LOW, (HIGH, *_) = 1, (2, 3)\ndef double(n):\n    return n * HIGH\n")
    assert filled is not None
    assert "LOW, (HIGH, *_) = 1, (2, 3)" in filled


@pytest.mark.parametrize(
    "reply",
    [
        "def double(n):\n    pass\n",
        f"def double(n):\n{DOC}",
        "nothing",
        "\n    ...\n",
        "def triple(n):\n    return n * 3\n",
        "def double(m=" + "-" * 2000 + "1):\n    return m\n",
    ],
)
def test_a_function_that_does_nothing_is_none(reply: str) -> None:
    assert stub_of(STUB_FOUND).filled(reply) is None
