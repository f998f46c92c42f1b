"""Bugs planted in a project, and the edits that undo them."""

from __future__ import annotations

import pytest

from groundwire import Task, Tree
from groundwire.agents.patching._edit_apply import candidate_from
from groundwire.agents.patching._edit_blocks import parse_answer, render_answer
from groundwire.agents.search._planting import edit_between, plant_bugs

CODE = b"""def total(prices):
    result = 0
    for price in prices:
        if price > 0:
            result += price
    return result


def twice(n):
    return n * 2
"""
TREE = Tree({"a.py": CODE, "b.py": CODE.replace(b"twice", b"double"), "test_a.py": b"def test(): pass\n", "c.txt": b""})
TASK = Task("shop", tree=TREE, command=("pytest",))


def test_bugs_are_spread_over_files_and_lines_and_the_same_for_a_seed() -> None:
    bugs = plant_bugs(TASK, 12, seed=3)
    assert len(bugs) == len({bug.candidate.digest for bug in bugs}) == 12
    assert {bug.path for bug in bugs} == {"a.py", "b.py"} and len({(b.path, b.line) for b in bugs}) > 5
    assert bugs == plant_bugs(TASK, 12, seed=3) != plant_bugs(TASK, 12, seed=4)
    for bug in bugs:
        content = bug.candidate.changes[bug.path]
        assert list(bug.candidate.changes) == [bug.path] and content not in (None, TREE.files[bug.path])
        compile(content or b"", bug.path, "exec")


def test_fewer_are_made_where_there_are_no_more() -> None:
    small = Task("small", tree=Tree({"a.py": b"def f(a, b):\n    return a < b\n"}), command=("pytest",))
    assert 0 < len(plant_bugs(small, 1000)) < 50
    assert plant_bugs(Task("none", tree=Tree({"a.txt": b"x"}), command=("pytest",)), 5) == []


@pytest.mark.parametrize("bug", plant_bugs(TASK, 40, seed=1), ids=lambda bug: f"{bug.operator}-{bug.path}-{bug.line}")
def test_the_edit_that_undoes_a_bug_is_read_as_an_actor_s_answer(bug: object) -> None:
    from groundwire.agents.search._planting import PlantedBug

    assert isinstance(bug, PlantedBug)
    broken = bug.candidate.applied_to(TREE)
    edit = edit_between(bug.path, broken.files[bug.path].decode(), CODE_OF[bug.path])
    task = Task("broken", tree=broken, command=("pytest",))
    repair = candidate_from(parse_answer(render_answer([edit])), broken, task)
    assert repair.applied_to(broken).digest == TREE.digest


CODE_OF = {path: content.decode() for path, content in TREE.files.items()}


def test_as_many_lines_are_quoted_as_it_takes_to_be_found_once() -> None:
    now = "x = 1\n" * 20 + "y = 1\n" + "x = 1\n" * 20
    edit = edit_between("a.py", now, now.replace("y", "z"))
    assert now.count(edit.search) == 1 and edit.search.count("\n") == 5
    twice = "a\nb\nc\n" * 3
    edit = edit_between("a.py", twice, "a\nb\nc\na\nB\nc\na\nb\nc\n")
    assert twice.count(edit.search) == 1
