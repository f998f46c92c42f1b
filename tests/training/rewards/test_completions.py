"""What is read out of completions: the forms that models answer in, whatever they were asked for."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire import Task, Tree
from groundwire.agents.patching._edit_blocks import MAX_ANSWER_CHARS
from groundwire.logs._functions import function_task
from groundwire.training.rewards._completions import begun_by, read_completion, text_of

HEAD = """from typing import List


def total(xs: List[int]) -> int:
    '''Their sum.

    >>> total([1])
    1
    '''
"""
FUNCTION = function_task("sum", HEAD, "total", visible=["assert total([1]) == 1"], hidden="def check(f):\n    pass\n")
PLAIN = function_task(
    "say", '"""Write say().\nassert say() == 1\n"""\n', "say", visible=["assert say() == 1"], hidden=""
)
WHOLE = "def total(xs: List[int]) -> int:\n    return sum(xs)\n"
FIXED = b"from typing import List\ndef total(xs: List[int]) -> int:\n    return sum(xs)\n"


@pytest.mark.parametrize(
    "said",
    [
        WHOLE,
        f"```python\n{WHOLE}```",
        f"Sure! Here it is:\n\n```py\n{WHOLE}```\nIt adds them.",
        f"<think>\n```python\ndef total(xs): return 0\n```\n</think>\n```\n{WHOLE}```",
        f"First try:\n```python\ndef total(xs):\n    return 0\n```\nBetter:\n```python\n{WHOLE}```",
        f"```python\n{WHOLE}```\nUse it so:\n```python\nprint(total([1]))\n```",
        f"```python\n{WHOLE}```\n```bash\npython solution.py\n```",
        f"```python\r\n{WHOLE}```".replace("\n", "\r\n").replace("\r\r", "\r"),
        f"```python\n{WHOLE}\nprint(total(",
    ],
)
def test_a_program_is_found_with_what_its_file_imports(said: str) -> None:
    read = read_completion(said, FUNCTION)
    assert (read.candidate.changes, read.problem) == ({"solution.py": FIXED}, "")


def test_the_rest_of_a_function_that_the_prompt_has_begun() -> None:
    prompt = [{"role": "user", "content": "Write it."}, {"role": "assistant", "content": f"```python\n{HEAD}"}]
    read = read_completion("    return sum(xs)\n```\nDone.", FUNCTION, begun=begun_by(prompt))
    assert b"return sum(xs)" in (read.candidate.changes["solution.py"] or b"")
    bare = read_completion("    return sum(xs)\n\nprint(total([2]))", FUNCTION)
    assert (bare.candidate.changes["solution.py"] or b"").endswith(b"    '''\n    return sum(xs)\n")


def test_edits_and_whole_files() -> None:
    tree = Tree({"a.py": b"x = 1\n", "b.py": b"y = 1\n"})
    task = Task("two", tree=tree, command=("pytest",))
    edit = "FILE: b.py\n<<<<<<< SEARCH\ny = 1\n=======\ny = 2\n>>>>>>> REPLACE\n"
    assert read_completion(edit, task).candidate.changes == {"b.py": b"y = 2\n"}
    assert "SEARCH" in (wrong := read_completion(edit.replace("y = 1", "y = 7"), task)).problem or wrong.problem
    assert wrong.candidate.is_base
    assert "several" in read_completion("x = 2", task).problem or "files" in read_completion("x = 2", task).problem


@pytest.mark.parametrize(
    "said",
    [
        "", " \n", "I can't do that.", "```python\n```", "\x00\ud800", "def other():\n    pass",
        "x" * (MAX_ANSWER_CHARS + 1),
        "```" * 5000, "(" * 100_000, "FILE: ../../etc/passwd\n```\nx\n```\n",
        "FILE: tests/test_visible.py\n```\nimport os\n```\n",
    ],
)  # fmt: skip
def test_what_holds_no_program_changes_nothing_and_says_why(said: str) -> None:
    read = read_completion(said, FUNCTION)
    assert read.candidate.is_base and read.problem


def test_where_no_function_is_begun_any_program_will_do() -> None:
    assert read_completion("say = lambda: 1", PLAIN).candidate.changes == {"solution.py": b"say = lambda: 1\n"}
    assert read_completion("It is simple.", PLAIN).candidate.is_base


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("a", "a"),
        ([{"role": "assistant", "content": "a"}], "a"),
        ([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], "ab"),
        ({"content": "a"}, "a"),
        (None, None), ([], None), (3, None), ([{"role": "assistant"}], None), (b"a", None), ([None], None),
    ],
)  # fmt: skip
def test_texts_and_chat_messages(given: Any, text: str | None) -> None:
    assert text_of(given) == text


def test_only_an_answer_that_was_begun_is_gone_on_from() -> None:
    assert begun_by("def f():") == "" and begun_by([{"role": "user", "content": "x"}]) == "" and begun_by([]) == ""
