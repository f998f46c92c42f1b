"""The proof equals a brute-force check over random graphs, and names the cycle and the cure."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import GraphError, UngroundedLoopError
from groundwire.graphs.proof import END, MAY_HOLD_A_MODEL, START, Edge, Role, Wiring, prove, ungrounded_cycles

NODES = ["a", "b", "c", "d", "e"]


@st.composite
def wirings(draw: st.DrawFn) -> Wiring:
    names = NODES[: draw(st.integers(1, 5))]
    roles = {n: draw(st.sampled_from(Role)) for n in names}
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from([*names, END])), max_size=12, unique=True))
    edges = [Edge(a, b, gate=draw(st.sampled_from(["", "", "refine", "advance"]))) for a, b in pairs]
    return Wiring(roles, [Edge(START, names[0]), *edges])


def brute_force(wiring: Wiring) -> bool:
    """Walks every simple path: can a node that may hold a model come back to itself without a gate?"""

    def comes_back(start: str, node: str, seen: frozenset[str]) -> bool:
        for edge in wiring.edges:
            if edge.source == node and not edge.gate and edge.target != END:
                if edge.target == start:
                    return True
                if edge.target not in seen and comes_back(start, edge.target, seen | {edge.target}):
                    return True
        return False

    return any(
        comes_back(name, name, frozenset({name})) for name, role in wiring.roles.items() if role in MAY_HOLD_A_MODEL
    )


@given(wirings())
def test_the_verdict_equals_brute_force(wiring: Wiring) -> None:
    assert bool(ungrounded_cycles(wiring)) == brute_force(wiring)


@given(wirings())
def test_each_named_cycle_is_real_and_ungated(wiring: Wiring) -> None:
    for cycle in ungrounded_cycles(wiring):
        assert cycle[0] == cycle[-1]
        assert len(set(cycle[:-1])) == len(cycle) - 1
        for a, b in pairwise(cycle):
            assert Edge(a, b) in wiring.edges
        assert any(wiring.roles[n] in MAY_HOLD_A_MODEL for n in cycle)


@given(wirings())
def test_gating_every_edge_grounds_any_graph(wiring: Wiring) -> None:
    gated = [Edge(e.source, e.target, gate="refine") if e.source != START else e for e in wiring.edges]
    assert ungrounded_cycles(Wiring(wiring.roles, gated)) == []


def wired(*edges: str, **roles: Role) -> Wiring:
    parsed = [Edge(*e.split(">")) for e in edges]
    return Wiring(roles, parsed)


def test_the_error_names_the_cycle_and_the_line_to_write() -> None:
    wiring = wired(
        f"{START}>write", "write>reflect", "reflect>write", "write>test", f"test>{END}",
        write=Role.ACTOR, reflect=Role.CRITIC, test=Role.TOOL,
    )  # fmt: skip
    with pytest.raises(UngroundedLoopError) as caught:
        prove(wiring)
    assert caught.value.cycle == ("write", "reflect", "write")
    assert str(caught.value) == (
        "write → reflect → write can repeat without any outside check.\n"
        '  Gate one of its edges:  graph.refine("test", via="reflect", to="write")'
    )


def test_without_a_tool_the_cure_adds_one() -> None:
    with pytest.raises(UngroundedLoopError, match=r'graph\.add_tool\("test", Pytest\(\)\)'):
        prove(wired(f"{START}>write", "write>write", write=Role.ACTOR))


def test_a_cycle_through_an_unknown_node_asks_for_its_role() -> None:
    with pytest.raises(UngroundedLoopError, match='role="pure"'):
        prove(wired(f"{START}>f", "f>f", f"f>{END}", f=Role.UNKNOWN))


def test_tools_and_pure_nodes_may_loop_if_they_can_end() -> None:
    wiring = wired(f"{START}>t", "t>p", "p>t", f"t>{END}", t=Role.TOOL, p=Role.PURE)
    prove(wiring)
    assert ungrounded_cycles(wiring) == []


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (("a>b", f"b>{END}"), "No path from the entry reaches c"),
        (("a>b", "a>c", f"c>{END}", "b>b"), "b can never reach the end"),
        (("a>nowhere",), "names 'nowhere', which is not a node"),
    ],
)
def test_dead_endless_and_unknown_nodes_are_errors(edges: tuple[str, ...], message: str) -> None:
    roles = {"a": Role.ACTOR, "b": Role.TOOL, "c": Role.TOOL}
    with pytest.raises(GraphError, match=message):
        prove(Wiring(roles, [Edge(START, "a"), *(Edge(*e.split(">")) for e in edges)]))
