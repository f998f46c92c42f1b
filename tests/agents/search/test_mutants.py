"""Mutants of a patch: only its own lines, each another program, spread over the lines."""

from __future__ import annotations

import ast

from groundwire.agents.search._mutants import changed_lines, drops_clause, mutants_of
from groundwire.core._candidates import Candidate, Tree

BEFORE = "def f(x, y):\n    a = x + y\n    if x < y:\n        return a\n    return a - 1\n"
AFTER = "def f(x, y):\n    a = x * y\n    if x < y:\n        return a\n    return a - 2\n"
BASE = Tree({"mod.py": BEFORE.encode()})
PATCH = Candidate(BASE.digest, {"mod.py": AFTER.encode(), "notes.txt": b"x", "gone.py": None})


def test_the_lines_that_a_candidate_wrote_are_known() -> None:
    assert changed_lines(BASE, PATCH) == {"mod.py": {2, 5}}


def test_lines_are_counted_as_python_counts_them() -> None:
    strange = "# a\f\x1c\u2028b\r\n" * 3
    base = Tree({"mod.py": (strange + BEFORE + strange).encode()})
    patch = Candidate(base.digest, {"mod.py": (strange + AFTER + strange).encode()})
    assert changed_lines(base, patch) == {"mod.py": {5, 8}}
    again = Candidate(base.digest, {"mod.py": (strange + BEFORE + strange * 2).encode()})
    assert changed_lines(base, again) == {"mod.py": {12, 13, 14}}


def test_only_these_lines_are_mutated() -> None:
    mutants = mutants_of(BASE, PATCH, 50)
    assert len(mutants) > 3
    kept = AFTER.splitlines()
    for mutant in mutants:
        lines = (mutant.changes["mod.py"] or b"").decode().splitlines()
        assert [line for line in lines if line in (kept[0], *kept[2:4])] == [kept[0], *kept[2:4]]
        assert lines != kept
        ast.parse("\n".join(lines))
    assert len({m.digest for m in mutants}) == len(mutants)


def test_few_mutants_are_spread_over_the_lines() -> None:
    first, second = mutants_of(BASE, PATCH, 2)
    assert {m.note.split(" ")[0] for m in (first, second)} == {"mod.py:2", "mod.py:5"}


def test_there_are_none_of_what_is_no_python() -> None:
    assert mutants_of(BASE, Candidate(BASE.digest, {"notes.txt": b"x"}), 5) == ()
    broken = Candidate(BASE.digest, {"mod.py": b"def f(:\n"})
    assert list(mutants_of(BASE, broken, 5)) == []


def test_a_line_that_only_calls_something_has_mutants_too() -> None:
    base = Tree({"mod.py": b"def f(new, old):\n    new.setdefault(old)\n    return new\n"})
    patch = Candidate(base.digest, {"mod.py": b"def f(new, old):\n    new.update(old)\n    return new\n"})
    mutants = mutants_of(base, patch, 50)
    assert len(mutants) >= 3
    assert mutants[0].edits == ("stmt.delete",), "those of mutation testing come first"
    assert base.files["mod.py"] not in {m.changes["mod.py"] for m in mutants}, "what was there before is known to fail"


def test_a_clause_is_left_out_first() -> None:
    base = Tree({"mod.py": b"def f(a, b):\n    return (b.split() or b), max(a, 3)\n"})
    patch = Candidate(base.digest, {"mod.py": b"def f(a, b):\n    return (a.split() or b), max(a, 3)\n"})
    mutants = mutants_of(base, patch, 8)
    dropped = [(m.changes["mod.py"] or b"").decode().splitlines()[1].strip() for m in mutants if drops_clause(m)]
    assert dropped == ["return (b), max(a, 3)", "return (a.split()), max(a, 3)"] or sorted(dropped) == sorted(
        ["return a.split(), max(a, 3)", "return b, max(a, 3)"]
    )
    assert [drops_clause(m) for m in mutants] == [True, True] + [False] * (len(mutants) - 2)
    assert len(mutants) > 4
    assert [drops_clause(m) for m in mutants_of(base, patch, 3)] == [True, False, False], "half of them at most"
