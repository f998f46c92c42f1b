"""The parts of a model's text: JSON as models write it, fences as they leave them, values behind a label in any dress.

What is cut off is never completed, and hostile texts come to an end.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._reply_parts import fenced_blocks, json_in, labelled, objects_in

LOOSE = {
    '{"a": 1}': {"a": 1},
    'Sure:\n```json\n{"a": 1,}\n```\nDone.': {"a": 1},
    "{'a': 'it is', 'b': None, 'c': True}": {"a": "it is", "b": None, "c": True},
    '{a: "x", // why\n  b: [1, 2,], /* more */ c: -1.5e2}': {"a": "x", "b": [1, 2], "c": -150.0},
    '{"code": "def f():\n\treturn 1\n"}': {"code": "def f():\n\treturn 1\n"},
    '{"code": """print("x")\n"""}': {"code": 'print("x")\n'},
    '{"pattern": "\\d+\\."}': {"pattern": "\\d+\\."},
    "{“a”: “b”}": {"a": "b"},
    '{"a": {"b": {\'c\': "\\u00e9\\n"}}}': {"a": {"b": {"c": "é\n"}}},
    '{\n  "a": 1, # a note\n  "b": 2\n}': {"a": 1, "b": 2},
}
NONE = (
    '{"a": "cut off', '{"a": [1, 2', '{"edits": [{"path": "a.py"}, {"path": "b', "{'whole': {'a': 1}, 'cut': ",
    '{"a" 1}', '{"a": NaN}', "{1, 2}", "\\frac{1}{2}", "{x: x > 0}", 'f"{width:8}"', "{name}", "{{",
    '{"a": 1 "b": 2}', "{'a': b}",
)  # fmt: skip


@pytest.mark.parametrize("text", LOOSE)
def test_an_object_is_read_as_models_write_it(text: str) -> None:
    assert objects_in(text) == [LOOSE[text]]
    assert json.loads(json_in(f"Here: {text} That is it.")) == LOOSE[text]


@pytest.mark.parametrize("text", NONE)
def test_what_is_cut_off_or_is_no_object_is_not_completed(text: str) -> None:
    assert objects_in(text) == [] and json_in(text) == text


def test_objects_come_in_order_and_several_that_differ_are_no_answer() -> None:
    text = '{"a": 1} then {\'a\': 2} and {"a": 1}'
    assert objects_in(text) == [{"a": 1}, {"a": 2}, {"a": 1}]
    assert json_in(text) == text and json.loads(json_in('{"a": 1}\n{"a": 1}')) == {"a": 1}
    assert json_in(" [1, 2]\n") == " [1, 2]\n", "JSON is left as it is"


VERDICTS = (
    "VERDICT: wrong", "**Verdict:** wrong", "**VERDICT: wrong**", "- Verdict: `wrong`", "### Verdict = wrong",
    "1. VERDICT: wrong", "> **Verdict**: wrong", "Verdict:\nwrong", "Verdict:\n\n```text\nwrong\n```\nSo.",
    "Verdict：wrong", "VERDICT: [wrong]", "| Verdict: wrong |", "<verdict>wrong</verdict>",
    "<Verdict>\nwrong\n</Verdict>",
    '{"verdict": "wrong"}', "{'verdict': 'wrong', 'why': 'no'}", '```json\n{\n  "verdict": "wrong",\n}\n```',
    '"verdict": "wrong"', "All in all.\r\nVERDICT: wrong\r\n",
)  # fmt: skip


@pytest.mark.parametrize("text", VERDICTS)
def test_a_value_behind_its_label_is_bare_in_every_dress(text: str) -> None:
    assert set(labelled(text, "verdict")) == {"wrong"}


def test_values_come_in_order_and_prose_is_none() -> None:
    assert labelled("BEST: 1\n<best>2</best>\n{'best': 3}", "best") == ["1", "2", "3"]
    assert labelled('{"best": [1], "best_of": 2}', "best") == [], "what is no text or number is no value"
    assert labelled("the verdict: wrong\nmy best: 2", "verdict", "best") == []


def test_fences_are_read_as_models_leave_them() -> None:
    def read(text: str) -> list[tuple[str, str, bool]]:
        return [(block.name, block.text, block.is_closed) for block in fenced_blocks(text)]

    assert read("Sure:\r\n```Python\r\nx = 1\r\n```\r\nDone.") == [("python", "x = 1\n", True)]
    assert read("- first\n  ~~~py\n  x = 1\n\n    y\n  ~~~") == [("py", "x = 1\n\n  y\n", True)]
    assert read("````\n```\nx\n```\n````") == [("", "```\nx\n```\n", True)]
    assert read("```python\nx = 1\n") == [("python", "x = 1\n", False)]
    assert read("```python\nx = 1\n\n```python\ny\n```") == [("python", "x = 1\n\n", False), ("python", "y\n", True)]
    assert read("```markdown\n# Use\n```sh\nls\n```") == [("markdown", "# Use\n```sh\nls\n", True)]
    assert read("no `code` here, ``` nor there") == [] == read("```")
    (block,) = fenced_blocks("a\n\n```\nb\n```\nc")
    assert block.lines == (2, 5)


HOSTILE = (
    '{"a":' * 900 + "1" + "}" * 900 + " it is",
    "{" * 200_000, '{"a":' * 60_000, "{a: '" * 50_000, "{'" * 60_000, "{/*" * 60_000,
    '{"a": ' + "#" * 200_000, "```\n" * 60_000,
    "verdict:" * 50_000, "<verdict>" * 40_000, "\n" * 50_000 + "verdict:" + "\n" * 90_000,
    '{a: """' * 30_000, "{a: 1, " * 40_000,
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12].strip())
def test_a_hostile_text_comes_to_an_end(text: str) -> None:
    assert (
        isinstance(json_in(text), str)
        and isinstance(objects_in(text), list)
        and isinstance(labelled(text, "verdict"), list)
    )
    assert len(fenced_blocks(text)) <= 256


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab\"'\n\\", max_size=4), st.lists, max_leaves=6
    )
)
def test_what_json_and_python_write_is_read_back(value: object) -> None:
    for written in (json.dumps({"k": value}), json.dumps({"k": value}, indent=1), repr({"k": value})):
        assert objects_in(f"It is {written}.") == [{"k": value}], written
