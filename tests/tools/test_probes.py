"""Probes: calls that no test makes, always the same ones."""

from __future__ import annotations

import ast
from typing import Any

from groundwire.tools._visible_calls import MAX_CHARS, probes_of

FILES = {
    "mod.py": "def f(x, y):\n    return x\ndef g(s):\n    return s\n",
    "tests/test_mod.py": (
        "from mod import f, g\n"
        "def test_f():\n    assert f(3, [1, 2]) == 4\n    assert f(5, []) == 6\n"
        "def test_g():\n    assert g('abc') == 'ABC'\n"
    ),
}


def test_probes_vary_the_arguments_of_the_tests(bench: Any) -> None:
    probes = probes_of(bench.task(FILES))
    assert len(probes) == 100
    texts = [p.call for p in probes]
    assert len(set(texts)) == 100
    assert not {"f(3, [1, 2])", "f(5, [])", "g('abc')"} & set(texts)
    assert {t[0] for t in texts} == {"f", "g"}
    for text in texts:
        ast.parse(text, mode="eval")
    first = next(p for p in probes if p.call.startswith("g"))
    assert (first.path, first.imports, first.wanted) == (
        "tests/test_mod.py", ("from mod import f, g",), frozenset({"str"}),
    )  # fmt: skip


def test_the_same_task_gives_the_same_probes(bench: Any) -> None:
    assert probes_of(bench.task(FILES)) == probes_of(bench.task(FILES))


def test_few_can_be_asked_for(bench: Any) -> None:
    assert len(probes_of(bench.task(FILES), most=7)) == 7


def test_without_calls_there_are_none(bench: Any) -> None:
    assert probes_of(bench.task({"mod.py": "def f():\n    pass\n", "test_mod.py": "from mod import f\n"})) == ()


def test_long_calls_are_left_out(bench: Any) -> None:
    test = f"from mod import g\ndef test_g():\n    assert g({'a' * 2 * MAX_CHARS!r})\n"
    probes = probes_of(bench.task({**FILES, "tests/test_mod.py": test}))
    assert all(len(p.call) <= MAX_CHARS for p in probes)
