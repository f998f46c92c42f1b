"""Small projects of several files, repaired end to end: real pytest, the real sandbox, the real graph."""

from __future__ import annotations

import pytest

from groundwire.agents import RuleCritic, SearchActor
from groundwire.core._candidates import Tree
from groundwire.core._records import StopReason
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import Verdict
from groundwire.core._tasks import Hidden, Task
from groundwire.graphs import Budget
from groundwire.graphs.library._code_repair import code_repair
from groundwire.tools import HiddenTests, Pytest

pytestmark = pytest.mark.slow

LIBRARY = {
    "library/__init__.py": "",
    "library/books.py": (
        "class Book:\n    def __init__(self, title, copies):\n"
        "        self.title = title\n        self.copies = copies\n\n"
        "    def available(self):\n        return self.copies > 0\n"
    ),
    "library/loans.py": (
        "from library.books import Book\n\n\ndef lend(book: Book, wanted: int) -> bool:\n"
        "    if not book.available() or wanted >= book.copies:\n        return False\n"
        "    book.copies -= wanted\n    return True\n"
    ),
    "tests/test_loans.py": (
        "from library.books import Book\nfrom library.loans import lend\n\n\n"
        "def test_some():\n    book = Book('a', 3)\n    assert lend(book, 2)\n    assert book.copies == 1\n\n\n"
        "def test_all():\n    assert lend(Book('a', 3), 3)\n\n\n"
        "def test_too_many():\n    assert not lend(Book('a', 3), 4)\n\n\n"
        "def test_none_left():\n    assert not lend(Book('a', 0), 0)\n"
    ),
}
LIBRARY_CHECK = (
    "from library.books import Book\nfrom library.loans import lend\n\n\n"
    "def test_last():\n    assert lend(Book('a', 1), 1)\n"
)

TEXT = {
    "words/__init__.py": "from words.count import histogram\n",
    "words/clean.py": "def clean(text):\n    return [w.strip('.,!') for w in text.split()]\n",
    "words/count.py": (
        "from words.clean import clean\n\n\ndef histogram(text):\n    counts = {}\n    for word in clean(text):\n"
        "        counts[word] = counts.get(word, 1) + 1\n    return counts\n"
    ),
    "tests/test_count.py": (
        "from words import histogram\n\n\ndef test_one():\n    assert histogram('a.') == {'a': 1}\n\n\n"
        "def test_two():\n    assert histogram('a b, a!') == {'a': 2, 'b': 1}\n\n\n"
        "def test_none():\n    assert histogram('') == {}\n"
    ),
}
TEXT_CHECK = "from words import histogram\n\n\ndef test_three():\n    assert histogram('x x x') == {'x': 3}\n"

SHAPES = {
    "shapes/area.py": "def area(width, height):\n    return width * height\n",
    "shapes/pick.py": (
        "from shapes.area import area\n\n\ndef largest(sizes):\n    best = None\n    for size in sizes:\n"
        "        if best is None or area(*size) > area(*best):\n            best = size\n        return best\n"
    ),
    "tests/test_pick.py": (
        "from shapes.pick import largest\n\n\ndef test_first():\n    assert largest([(2, 2), (1, 1)]) == (2, 2)\n\n\n"
        "def test_later():\n    assert largest([(1, 1), (3, 1), (2, 2)]) == (2, 2)\n\n\n"
        "def test_nothing():\n    assert largest([]) is None\n"
    ),
}
SHAPES_CHECK = (
    "from shapes.pick import largest\n\n\ndef test_last():\n    assert largest([(1, 1), (2, 1), (9, 9)]) == (9, 9)\n"
)

TWO = {
    "prices/tax.py": "RATE = 20\n\n\ndef tax(net):\n    return net * RATE // 10\n",
    "prices/total.py": (
        "from prices.tax import tax\n\n\ndef total(nets):\n    return sum(net + tax(net) for net in nets)\n\n\n"
        "def cheapest(nets):\n    return max(nets)\n"
    ),
    "tests/test_total.py": (
        "from prices.tax import tax\nfrom prices.total import cheapest, total\n\n\n"
        "def test_tax():\n    assert tax(50) == 10\n    assert tax(100) == 20\n\n\n"
        "def test_total():\n    assert total([100, 200]) == 360\n\n\n"
        "def test_cheapest():\n    assert cheapest([3, 1, 2]) == 1\n"
    ),
}
TWO_CHECK = (
    "from prices.total import cheapest, total\n\n\ndef test_both():\n    assert total([cheapest([10, 5])]) == 6\n"
)

PROJECTS = {
    "a boundary in the second file": (LIBRARY, LIBRARY_CHECK, "library/loans.py"),
    "a wrong first value": (TEXT, TEXT_CHECK, "words/count.py"),
    "a return inside the loop": (SHAPES, SHAPES_CHECK, "shapes/pick.py"),
    "two bugs in two files": (TWO, TWO_CHECK, "prices/total.py"),
}


@pytest.mark.parametrize("name", PROJECTS)
async def test_repairs(name: str) -> None:
    files, check, touched = PROJECTS[name]
    task = Task(
        id=name,
        tree=Tree({path: text.encode() for path, text in {"conftest.py": "", **files}.items()}),
        command=("pytest", "-q", "tests"),
        hidden=Hidden(("pytest", "-q", "hidden"), Tree({"hidden/test_hidden.py": check.encode()})),
        limits=Limits(wall_s=20),
    )
    graph = code_repair(SearchActor(), RuleCritic(), Pytest(), HiddenTests(), width=60)
    result = await graph.compile(budget=Budget(trials=25)).arun(task)
    assert result.stop_reason is StopReason.VERIFIED, result.detail
    assert result.verdict is Verdict.PASS
    assert result.best is not None
    assert touched in result.best.candidate.changes
    for path, content in result.best.candidate.changes.items():
        old, new = files[path].splitlines(), (content or b"").decode().splitlines()
        assert sum(a != b for a, b in zip(old, new, strict=False)) <= 2, "the patch is minimal"
