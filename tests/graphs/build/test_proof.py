"""The proof equals brute force over random wirings, and names what is wrong with the line that cures it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from brute_force import repeats_in_simulation, runs_without_end
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._errors import GraphError, UngroundedLoopError
from groundwire.graphs.build._proof import (
    END,
    EXIT,
    MAY_HOLD_A_MODEL,
    ROUTER,
    START,
    Edge,
    Join,
    Role,
    Wiring,
    prove,
    ungrounded_cycles,
    ungrounded_side_runs,
)

NODES = ["a", "b", "c", "d", "e"]


@st.composite
def wirings(draw: st.DrawFn, *, joins: bool = False) -> Wiring:
    names = NODES[: draw(st.integers(1, 5))]
    roles = {n: draw(st.sampled_from(Role)) for n in names}
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from([*names, END])), max_size=10, unique=True))
    edges = [
        Edge(
            source,
            target,
            gate=draw(st.sampled_from(["", "", "refine", "advance"])),
            choice=choice,
            fan_out=not choice and draw(st.booleans()),
        )
        for source, target in pairs
        for choice in [draw(st.sampled_from(["", "x", "x", "y"]))]
    ]
    waiting: list[Join] = []
    if joins and len(names) > 1:
        sources = st.frozensets(st.sampled_from(names), min_size=2, max_size=3)
        waiting = draw(st.lists(st.builds(Join, sources, st.sampled_from(names)), max_size=2, unique=True))
    return Wiring(roles, [Edge(START, names[0]), *edges], waiting)


@given(wirings())
def test_the_verdict_equals_brute_force(wiring: Wiring) -> None:
    bad = {n for n, role in wiring.roles.items() if role in MAY_HOLD_A_MODEL and runs_without_end(wiring, n)}
    on_cycles = {n for cycle in ungrounded_cycles(wiring) for n in cycle}
    beside = {run.path[-1] for run in ungrounded_side_runs(wiring)}
    assert bool(on_cycles | beside) == bool(bad)
    assert bad <= on_cycles | beside


@given(wirings(joins=True))
def test_what_repeats_when_supersteps_are_played_is_never_proved(wiring: Wiring) -> None:
    models = [n for n, role in wiring.roles.items() if role in MAY_HOLD_A_MODEL]
    if any(repeats_in_simulation(wiring, n) for n in models):
        assert ungrounded_cycles(wiring) or ungrounded_side_runs(wiring)


@given(wirings(joins=True))
def test_each_named_cycle_is_real_and_ungated(wiring: Wiring) -> None:
    steps = {(e.source, e.target) for e in wiring.edges if not e.gate}
    steps |= {(s, j.target) for j in wiring.joins for s in j.sources}
    runs = ungrounded_side_runs(wiring)
    for cycle in (*ungrounded_cycles(wiring), *(run.cycle for run in runs)):
        assert cycle[0] == cycle[-1]
        assert len(set(cycle[:-1])) == len(cycle) - 1
        assert set(pairwise(cycle)) <= steps
    for cycle in ungrounded_cycles(wiring):
        assert any(wiring.roles[n] in MAY_HOLD_A_MODEL for n in cycle)
    for run in runs:
        assert run.path[0] == run.cycle[0]
        assert set(pairwise(run.path)) <= steps
        assert wiring.roles[run.path[-1]] in MAY_HOLD_A_MODEL


@given(wirings(joins=True))
def test_gating_every_edge_grounds_any_graph(wiring: Wiring) -> None:
    gated = [Edge(e.source, e.target, gate="refine") if e.source != START else e for e in wiring.edges]
    assert ungrounded_cycles(Wiring(wiring.roles, gated)) == []
    assert ungrounded_side_runs(Wiring(wiring.roles, gated)) == []


@given(wirings(joins=True))
def test_cycles_come_shortest_first_and_once(wiring: Wiring) -> None:
    cycles = ungrounded_cycles(wiring)
    assert [len(c) for c in cycles] == sorted(len(c) for c in cycles)
    assert len({frozenset(c) for c in cycles}) == len(cycles)


def wired(*edges: str | Edge | Join, **roles: Role) -> Wiring:
    """`a>b` is an edge, `a>b|c` two alternatives, `a+b>c` a join."""
    found: list[Edge] = []
    joins: list[Join] = []
    for item in edges:
        if isinstance(item, Edge):
            found.append(item)
        elif isinstance(item, Join):
            joins.append(item)
        else:
            source, target = item.split(">")
            if "+" in source:
                joins.append(Join(frozenset(source.split("+")), target))
            else:
                several = target.split("|")
                found += [Edge(source, t, choice="router" if len(several) > 1 else "") for t in several]
    return Wiring(roles, found, joins)


ACTOR, CRITIC, TOOL, PURE, UNKNOWN, WORLD = (
    Role.ACTOR,
    Role.CRITIC,
    Role.TOOL,
    Role.PURE,
    Role.UNKNOWN,
    Role.WORLD,
)


def text_of(wiring: Wiring) -> str:
    with pytest.raises(GraphError) as caught:
        prove(wiring)
    return str(caught.value)


def test_the_error_names_the_cycle_and_the_line_to_write() -> None:
    wiring = wired(
        f"{START}>write", "write>reflect", "reflect>write", "write>test", f"test>{END}",
        write=ACTOR, reflect=CRITIC, test=TOOL,
    )  # fmt: skip
    with pytest.raises(UngroundedLoopError) as caught:
        prove(wiring)
    assert (caught.value.cycle, caught.value.beside) == (("write", "reflect", "write"), ())
    assert str(caught.value) == (
        "write → reflect → write can repeat without any outside check.\n"
        '  Gate one of its edges:  graph.refine("test", via="reflect", to="write")'
    )


@pytest.mark.parametrize(
    ("wiring", "line"),
    [
        (
            wired(f"{START}>write", "write>write", write=ACTOR),
            'graph.add_tool("test", Pytest()); graph.add_edge("write", "test"); graph.refine("test", to="write")',
        ),
        (
            wired("write>judge", "judge>write", f"{START}>write", other=TOOL, write=ACTOR, judge=TOOL),
            'Gate one of its edges:  graph.refine("judge", to="write")',
        ),
        (
            wired(
                f"{START}>baseline",
                "baseline>write",
                "write>reflect",
                "reflect>write",
                "write>test",
                baseline=TOOL,
                write=ACTOR,
                reflect=CRITIC,
                test=TOOL,
            ),
            'Gate one of its edges:  graph.refine("test", via="reflect", to="write")',
        ),
        (
            wired("think>think", f"{START}>think", "write>check", other=PURE, think=CRITIC, write=ACTOR, check=TOOL),
            'Gate one of its edges:  graph.refine("check", via="think", to="write")',
        ),
        (
            wired("think>think", f"{START}>think", think=CRITIC),
            'graph.add_edge("write", "test"); graph.refine("test", via="think", to="write")',
        ),
        (
            wired("f>f", f"{START}>f", f=UNKNOWN, write=ACTOR),
            'If f calls no model, say so:  graph.add_node("f", …, role="pure")',
        ),
        (
            wired("f>g", "g>f", f"{START}>f", f=UNKNOWN, g=ACTOR),
            'graph.refine("test", to="g")',
        ),
        (
            wired("f>g", "g>f", f"{START}>f", f=UNKNOWN, g=CRITIC),
            'via="g", to="write")',
        ),
        (
            Wiring(
                {"poll": PURE, f"poll/{ROUTER}": UNKNOWN},
                [Edge(START, "poll"), Edge("poll", f"poll/{ROUTER}"), Edge(f"poll/{ROUTER}", "poll")],
            ),
            'If the router of poll calls no model, say so:  graph.add_conditional_edges("poll", …, role="pure")',
        ),
        (
            Wiring(
                {"team": PURE, "team/plan": UNKNOWN, f"team{EXIT}": PURE},
                [Edge(START, "team"), Edge("team", "team/plan"), Edge("team/plan", "team/plan")],
            ),
            "A plain LangGraph graph has no gate: build this loop as a FeedbackGraph; or, if plan calls no model,"
            ' say so:  roles={"plan": "pure"}',
        ),
    ],
)
def test_each_kind_of_loop_has_its_cure(wiring: Wiring, line: str) -> None:
    assert text_of(wiring).endswith(line)


def test_the_places_where_nested_graphs_end_are_not_named() -> None:
    wiring = wired(
        f"{START}>write", "write>team", f"team>team{EXIT}", f"team{EXIT}>write",
        write=ACTOR, team=PURE, **{f"team{EXIT}": PURE},
    )  # fmt: skip
    assert text_of(wiring).startswith("write → team → write can repeat")


def test_tools_and_pure_nodes_may_loop_if_they_can_end() -> None:
    prove(wired(f"{START}>t", "t>p", f"p>t|{END}", t=TOOL, p=PURE))


def test_what_touches_the_world_interrupts_loops_of_undeclared_nodes_only() -> None:
    edges = (f"{START}>agent", f"agent>tools|{END}", "tools>agent")
    prove(wired(*edges, agent=UNKNOWN, tools=WORLD))
    assert text_of(wired(*edges, agent=ACTOR, tools=WORLD)).startswith("agent → tools → agent can repeat")
    around = wired(*edges, "agent>plan", "plan>agent", agent=UNKNOWN, tools=WORLD, plan=PURE)
    assert text_of(around).startswith("agent → plan → agent can repeat")


def test_a_model_beside_a_loop_runs_in_each_round() -> None:
    wiring = wired(
        f"{START}>poll", "poll>wait", "wait>poll", "poll>ask", f"ask>{END}", poll=TOOL, wait=PURE, ask=UNKNOWN
    )
    with pytest.raises(UngroundedLoopError) as caught:
        prove(wiring)
    assert (caught.value.cycle, caught.value.beside) == (("poll", "wait", "poll"), ("poll", "ask"))
    assert str(caught.value) == (
        "poll → wait → poll can repeat without any outside check. Each round also runs poll → ask.\n"
        '  If ask calls no model, say so:  graph.add_node("ask", …, role="pure")'
    )


def test_a_model_behind_the_way_out_of_a_loop_runs_once() -> None:
    prove(wired(f"{START}>poll", "poll>wait", "wait>poll|ask", f"ask>{END}", poll=TOOL, wait=PURE, ask=UNKNOWN))


def test_several_packets_can_leave_a_loop_and_go_on_with_it() -> None:
    split = Edge("poll", "wait", fan_out=True)
    wiring = wired(f"{START}>poll", split, "wait>poll|ask", f"ask>{END}", poll=TOOL, wait=PURE, ask=UNKNOWN)
    assert text_of(wiring).startswith(
        "poll → wait → poll can repeat without any outside check. Each round also runs poll → wait → ask."
    )


def test_a_loop_to_itself_with_a_model_beside_it() -> None:
    wiring = wired(f"{START}>poll", "poll>poll", "poll>ask", f"ask>{END}", poll=TOOL, ask=CRITIC)
    assert text_of(wiring).startswith(
        "poll → poll can repeat without any outside check. Each round also runs poll → ask."
    )


def test_a_join_repeats_only_if_all_that_it_waits_for_does() -> None:
    once = wired(
        f"{START}>begin", "begin>left", "begin>right", "left+right>write", f"write>left|{END}",
        begin=PURE, left=PURE, right=PURE, write=UNKNOWN,
    )  # fmt: skip
    prove(once)
    both = wired(
        f"{START}>begin", "begin>left", "begin>right", "left+right>write", "write>left", f"write>right|{END}",
        begin=PURE, left=PURE, right=PURE, write=UNKNOWN,
    )  # fmt: skip
    assert text_of(both).startswith("write → left → write can repeat")


def test_a_join_of_two_endless_loops_repeats() -> None:
    wiring = wired(
        f"{START}>a", "a>a2", "a2>a", f"{START}>b", "b>b2", "b2>b", "a+b>write", f"write>{END}",
        a=PURE, a2=PURE, b=PURE, b2=PURE, write=ACTOR,
    )  # fmt: skip
    (run,) = ungrounded_side_runs(wiring)
    assert run.path[-1] == "write"


def test_a_join_of_what_lies_far_beside_a_loop_repeats() -> None:
    wiring = wired(
        f"{START}>p", "p>q", "q>p", "p>x", "x>y", "p>z", "y+z>write", f"write>{END}",
        p=PURE, q=PURE, x=PURE, y=PURE, z=PURE, write=ACTOR,
    )  # fmt: skip
    (run,) = ungrounded_side_runs(wiring)
    assert run.path[-1] == "write"


def test_a_join_of_one_node_with_itself_is_a_cycle() -> None:
    wiring = wired(f"{START}>write", Join(frozenset({"write"}), "write"), write=ACTOR)
    assert ungrounded_cycles(wiring) == [("write", "write")]


def test_of_cycles_the_shortest_comes_first_whatever_its_name() -> None:
    wiring = wired(f"{START}>a", "a>b", "b>a", "b>z", "z>z", a=ACTOR, b=PURE, z=CRITIC)
    assert ungrounded_cycles(wiring) == [("z", "z"), ("a", "b", "a")]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (("a>b", f"b>{END}"), "No path from the entry reaches c.\n  Wire an edge to it, or remove the node."),
        (("a>b|c", f"c>{END}"), "b can never reach the end.\n  Wire an edge to END, or judge with a tool that stops."),
        (
            ("a>b|c", f"c>{END}", "b>b"),
            "b → b has no way out: it can never reach the end.\n"
            '  Give one of its nodes a way:  graph.add_conditional_edges("b", …, ["b", END])',
        ),
        (
            ("a>b|c", "b>c", "c>b"),
            "b → c → b has no way out: it can never reach the end.\n"
            '  Give one of its nodes a way:  graph.add_conditional_edges("b", …, ["c", END])',
        ),
        (("a>nowhere",), "The edge a → nowhere names 'nowhere', which is not a node.\n  Nodes are: a, b, c."),
        (("nowhere>a",), "The edge nowhere → a names 'nowhere', which is not a node.\n  Nodes are: a, b, c."),
        (("a+nowhere>b",), "The edge nowhere → b names 'nowhere', which is not a node.\n  Nodes are: a, b, c."),
        (
            ("a+c>b", f"b>{END}", f"a>{END}"),
            "b waits for c, which no path from the entry reaches.\n"
            "  Wire an edge to c, or let b wait for the others only.",
        ),
    ],
)
def test_dead_endless_and_unknown_nodes_are_errors(edges: tuple[str, ...], message: str) -> None:
    assert text_of(wired(f"{START}>a", *edges, a=ACTOR, b=TOOL, c=TOOL)) == message


def test_a_join_of_reached_nodes_reaches_what_lies_behind_it() -> None:
    prove(wired(f"{START}>a", "a>b", "a>c", "b+c>d", f"d>{END}", a=PURE, b=PURE, c=PURE, d=PURE))


def test_of_several_dead_nodes_each_is_named_but_not_what_is_inside_them() -> None:
    wiring = wired(f"{START}>a", f"a>{END}", a=PURE, c=PURE, b=PURE)
    inside = Wiring({**wiring.roles, "b/in": UNKNOWN, f"b{EXIT}": PURE}, wiring.edges)
    assert text_of(inside).startswith("No path from the entry reaches b, c.")


def test_of_several_missing_sources_each_is_named() -> None:
    wiring = wired(f"{START}>a", f"a>{END}", "a+b+c>d", f"d>{END}", "c>b", "b>c", a=PURE, b=TOOL, c=TOOL, d=PURE)
    assert text_of(wiring).startswith(
        "d waits for b, c, which no path from the entry reaches.\n  Wire an edge to b, c,"
    )


def test_a_join_that_is_dead_as_a_whole_is_a_dead_node() -> None:
    wiring = wired(
        f"{START}>a", f"a>{END}", "b+c>d", f"d>{END}", f"b>{END}", f"c>{END}", a=PURE, b=PURE, c=PURE, d=PURE
    )
    assert text_of(wiring).startswith("No path from the entry reaches b, c, d.")


def test_a_join_behind_a_join_is_reached() -> None:
    prove(
        wired(
            f"{START}>a",
            "a>b",
            "a>c",
            "b+c>d",
            "a+d>e",
            f"e>{END}",
            a=PURE,
            b=PURE,
            c=PURE,
            d=PURE,
            e=PURE,
        )
    )


def test_of_several_nodes_without_a_way_on_each_is_named() -> None:
    wiring = wired(f"{START}>a", "a>b", "a>c", "a>d", f"d>{END}", a=PURE, b=PURE, c=PURE, d=PURE)
    assert text_of(wiring).startswith("b, c can never reach the end.")


def test_only_the_last_of_those_without_a_way_on_is_named() -> None:
    wiring = wired(f"{START}>a", "a>b", f"a>{END}", "b>c", a=PURE, b=PURE, c=PURE)
    assert text_of(wiring).startswith("c can never reach the end.")


def test_the_shortest_of_several_side_runs_is_named_with_the_tool_that_it_passes() -> None:
    wiring = wired(
        f"{START}>long", "long>longer", "longer>long", "long>way", "way>ask", f"ask>{END}",
        "longer>poll", "poll>poll", "poll>ask",
        other=TOOL, long=PURE, longer=PURE, way=PURE, poll=TOOL, ask=CRITIC,
    )  # fmt: skip
    (run,) = ungrounded_side_runs(wiring)
    assert (run.cycle, run.path) == (("poll", "poll"), ("poll", "ask"))
    assert text_of(wiring).endswith('graph.refine("poll", via="ask", to="write")')


def test_the_shortest_side_run_is_named_where_it_was_found_first() -> None:
    wiring = wired(
        "poll>poll", "poll>ask", f"{START}>long", "long>longer", "longer>long", "long>way", "way>ask", f"ask>{END}",
        "longer>poll", poll=TOOL, long=PURE, longer=PURE, way=PURE, ask=CRITIC,
    )  # fmt: skip
    (run,) = ungrounded_side_runs(wiring)
    assert (run.cycle, run.path) == (("poll", "poll"), ("poll", "ask"))


def test_a_critic_alone_is_cured_with_the_graph_s_own_actor() -> None:
    wiring = wired(
        f"{START}>think", "think>think", "think>solve", "solve>check", f"check>{END}",
        think=CRITIC, solve=ACTOR, check=TOOL,
    )  # fmt: skip
    assert text_of(wiring).endswith('Gate one of its edges:  graph.refine("check", via="think", to="solve")')


def test_side_runs_come_shortest_first() -> None:
    wiring = wired(
        f"{START}>poll", "poll>poll", "poll>a", "a>far", f"far>{END}", "poll>near", f"near>{END}",
        poll=TOOL, far=UNKNOWN, near=UNKNOWN, a=PURE,
    )  # fmt: skip
    assert [run.path[-1] for run in ungrounded_side_runs(wiring)] == ["near", "far"]


def test_an_empty_graph_says_so() -> None:
    assert text_of(wired(f"{START}>a")).endswith("Nodes are: none yet.")


def test_a_gate_that_may_refuse_is_a_way_to_the_end() -> None:
    gate = Edge("test", "write", gate="refine", choice="exits")
    prove(wired(f"{START}>write", "write>test", gate, Edge("test", END, choice="exits"), write=ACTOR, test=TOOL))
