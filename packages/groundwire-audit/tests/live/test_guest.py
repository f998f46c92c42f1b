"""Which object of an imported module is audited, and what is said where it is no graph."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from audit_cases import CASES, imported, written

from groundwire_audit.live.guest import TargetRefused, find_graph

CRITIC = CASES["1 write and critique, no map, no cap"]
MAKERS = """
NUMBER = 3
class Holder:
    def __init__(self, held):
        self.held = held
def make():
    return graph
async def make_later():
    return g
def make_holder():
    return Holder(graph)
def make_nothing():
    return 3
def fail():
    raise AssertionError("called though nobody asked for it")
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    return imported(written(CRITIC + MAKERS, tmp_path))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "has no 'nowhere'. Graphs there: g, graph."),
        ("fail", "add --call"),
        ("S", "add --call"),
        ("NUMBER", "NUMBER is a int, not a graph"),
    ],
)
def test_a_name_that_is_no_graph_says_what_to_do(name: str, said: str, module: ModuleType) -> None:
    with pytest.raises(TargetRefused) as refused:
        find_graph(module, name, call=False)
    assert said in str(refused.value)


@pytest.mark.parametrize(("name", "found"), [("make", "graph"), ("make_later", "g"), ("make_holder", "graph")])
def test_a_function_is_called_where_that_is_asked_for(name: str, found: str, module: ModuleType) -> None:
    assert find_graph(module, name, call=True) is getattr(module, found)


def test_what_a_function_returns_must_be_a_graph(module: ModuleType) -> None:
    with pytest.raises(TargetRefused, match="returned a int, not a graph"):
        find_graph(module, "make_nothing", call=True)


def test_the_only_graph_needs_no_name_and_the_compiled_one_is_taken(module: ModuleType) -> None:
    assert find_graph(module, "", call=False) is module.graph
    vars(module)["second"] = module.g.compile()
    with pytest.raises(TargetRefused, match="Name the graph"):
        find_graph(module, "", call=False)
