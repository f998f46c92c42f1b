"""Which names and expressions can stand at a place."""

from __future__ import annotations

import pytest

from groundwire.agents.search import _vocabulary
from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._examples import read_examples
from groundwire.agents.search._source import Site, parse_source

CODE = """LIMIT = 10

def helper(n, m=1):
    return n

class Box:
    def put(self, item, count):
        self.items.append(item)
        return count

def f(words, limit):
    total = 0
    for index, word in enumerate(words):
        size = len(word)
        if size > limit:
            total += size
        late = 1
    pairs = [(a, b) for a, b in total if a]
    key = lambda v: v
    early, (x, *y) = 1, (2, 3)
    out.append(1)
    return total
"""
TESTS = b"assert f(['a'], 3) == 4\nBox().put('a', 2)\n"


def scene() -> EditContext:
    source = parse_source("m.py", CODE.encode())
    assert source is not None
    return EditContext(source, read_examples([TESTS]))


def place(s: EditContext, text: str, line: int) -> Site:
    return next(x for x in s.source.expressions if s.source.text(x) == text and x.line == line)


def visible(s: EditContext, text: str, line: int) -> dict[str, str]:
    return {v.name: v.kind for v in s.visible(place(s, text, line))}


def test_variables_and_their_kinds() -> None:
    found = visible(scene(), "total", 22)
    assert found == {
        "words": "list/str", "limit": "int", "total": "int", "index": "int", "word": "str", "size": "int",
        "late": "int", "pairs": "list/tuple", "key": "function", "early": "int", "x": "int", "y": "", "LIMIT": "int",
    }  # fmt: skip


def test_the_nearest_binding_comes_first() -> None:
    assert next(iter(visible(scene(), "total", 22))) in ("x", "y")


def test_what_is_bound_later_in_a_loop_can_be_seen_by_its_next_round() -> None:
    assert "late" in visible(scene(), "limit", 15)
    assert "pairs" not in visible(scene(), "limit", 15)


def test_names_of_a_comprehension_and_a_lambda_stay_inside() -> None:
    s = scene()
    assert {"a", "b"} <= visible(s, "a", 18).keys()
    assert "a" not in visible(s, "total", 22)
    assert "v" in visible(s, "v", 19)


def test_self_is_no_argument() -> None:
    found = visible(scene(), "count", 9)
    assert found["item"] == "str"
    assert found["count"] == "int"
    assert "self" not in found


def test_functions_of_the_file() -> None:
    found = {c.name: (c.least, c.most, c.kind) for c in scene().callables}
    assert found == {"helper": (1, 2, ""), "put": (3, 3, ""), "f": (2, 2, "int")}


def test_a_returned_value_is_wanted_as_the_tests_compare_it() -> None:
    s = scene()
    assert s.wanted(place(s, "total", 22)) == "int"


def test_donors_of_the_function_come_first() -> None:
    s = scene()
    texts = [d.text for d in s.donors_at(place(s, "total", 22))]
    assert texts.index("len(word)") < texts.index("LIMIT") if "LIMIT" in texts else "len(word)" in texts
    assert len(set(texts)) == len(texts)


def test_vocabulary() -> None:
    words = scene().vocabulary
    assert set(words.numbers) >= {10, 0, 1, 2, 3, 4}
    assert words.strings() == ("a",)
    assert words.attributes == {"append": True, "items": False}


def test_of_many_texts_those_alike_come_and_few_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of tables holds thousands, each at a place where others could stand: comparing all took minutes."""
    table = ", ".join(f"'{letter}{number}'" for number in range(300) for letter in "bcdefgh")
    source = parse_source("m.py", f"T = ({table}, 'Kelvin', 'klvin')\nU = 'kelvin'\n".encode())
    assert source is not None
    compared: list[str] = []
    likeness = _vocabulary._likeness  # pyright: ignore[reportPrivateUsage]

    def watched(text: str, other: str) -> float:
        compared.append(text)
        return likeness(text, other)

    monkeypatch.setattr(_vocabulary, "_likeness", watched)
    words = EditContext(source, read_examples([])).vocabulary
    for _ in range(3):
        assert words.strings("kelvin")[:2] in {("Kelvin", "kelvin"), ("kelvin", "Kelvin")}
    assert "klvin" in words.strings("kelvin")
    assert len(compared) < 200
