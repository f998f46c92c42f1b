"""Object mode: what a graph declared to its builder is read; nothing of it is called."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, TypedDict

import pytest
from audit_cases import CASES, imported, written
from langgraph.graph import END, START
from langgraph.graph import StateGraph as TypedStateGraph

from groundwire_audit import Grounding, Mode, audit

CALLED: list[str] = []
StateGraph: Any = TypedStateGraph  # its methods are only partly typed


class State(TypedDict):
    draft: str
    good: bool


class Hostile:
    """Runs something as soon as anybody looks at it; LangGraph itself looks while it wires."""

    def __getattribute__(self, name: str) -> Any:
        CALLED.append(name)
        return object.__getattribute__(self, name)

    @property
    def llm(self) -> list[str]:
        CALLED.append("property")
        return CALLED

    def __call__(self, state: State) -> dict[str, Any]:
        CALLED.append("call")
        return {"draft": self.llm[0]}


def write(state: State) -> dict[str, Any]:
    CALLED.append("write")
    return {"draft": "x"}


def route(state: State) -> str:
    CALLED.append("route")
    return "write" if state["good"] else END


def built(action: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("write", write)
    graph.add_node("other", action)
    graph.add_edge(START, "write")
    graph.add_edge("write", "other")
    graph.add_conditional_edges("other", route, ["write", END])
    return graph


@pytest.mark.parametrize("action", [Hostile(), functools.partial(write), write])
def test_no_node_router_or_property_runs(action: Any) -> None:
    app = built(action).compile()
    CALLED.clear()
    report = audit(app)
    assert report.graphs[0].nodes == ("write", "other")
    assert report.graphs[0].mode is Mode.OBJECT
    assert [c for c in CALLED if c != "__class__"] == []


def test_builder_and_compiled_graph_get_the_same_verdict(tmp_path: Path) -> None:
    module = imported(written(CASES["1 write and critique, no map, no cap"], tmp_path))
    first, second = audit(module.g), audit(module.graph)
    assert [(x.path, x.verdict) for x in first.loops] == [(x.path, x.verdict) for x in second.loops]
    assert first.loops[0].verdict is Grounding.UNGROUNDED


@pytest.mark.parametrize("thing", [3, "graph", None, object(), StateGraph, Hostile()])
def test_anything_else_is_a_type_error(thing: object) -> None:
    with pytest.raises(TypeError, match="is no graph"):
        audit(thing)


def test_roles_are_shown_as_declared() -> None:
    report = audit(built(write), roles={"other": "human", "absent": "tool"})
    (loop,) = report.loops
    assert (loop.verdict, loop.declared) == (Grounding.GROUNDED, ("other (human)",))
    assert [f.rule for f in report.findings] == ["unused-role"]


class Pretender:
    """Says of itself, as only groundwire's graphs can, that its gates are enforced."""

    def __gated_wiring__(self) -> Any:
        CALLED.append("wiring")
        return self


def test_what_only_says_that_it_enforces_gates_is_not_believed() -> None:
    CALLED.clear()
    with pytest.raises(TypeError, match="is no graph"):
        audit(Pretender())
    assert CALLED == []
