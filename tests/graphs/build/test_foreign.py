"""Plain LangGraph graphs inside a feedback graph: seen whole, or refused until declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

import pytest
from guessing import Check, Guesser, answer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

from groundwire import FeedbackGraph, UngroundedLoopError
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import GraphError
from groundwire.graphs.build._expansion import builder_of, expand, held_graphs
from groundwire.graphs.build._proof import EXIT, Edge, Role, ungrounded_cycles


class Notes(TypedDict):
    text: str


def keep(state: Any) -> dict[str, Any]:
    return {}


def builder(*edges: tuple[str, str], nodes: Sequence[str] = ("plan", "critique")) -> Any:
    made: Any = StateGraph(Notes)
    for name in nodes:
        made.add_node(name, keep)
    for source, target in edges:
        made.add_edge(source, target)
    return made


def with_team(team: Any, **options: Any) -> FeedbackGraph:
    graph = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check())
    graph.add_node("team", team, **options)
    return graph.add_edge("write", "team").add_edge("team", "test").refine("test", to="write")


LOOP = [(START, "plan"), ("plan", "critique"), ("critique", "plan"), ("critique", END)]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loop_inside_a_graph_is_seen(compiled: bool) -> None:
    team = builder(*LOOP)
    with pytest.raises(UngroundedLoopError, match="team/plan → team/critique → team/plan can repeat"):
        with_team(team.compile() if compiled else team).compile()


def test_a_loop_of_nodes_declared_pure_is_no_loop_of_a_model() -> None:
    with_team(builder(*LOOP), roles={"plan": "pure", "critique": "pure"}).compile()


def test_a_node_that_touches_the_world_interrupts_a_loop_beside_it() -> None:
    with_team(builder(*LOOP), roles={"critique": "world"}).compile()


def test_a_loop_through_a_graph_and_back_is_seen() -> None:
    graph = with_team(builder((START, "plan"), ("plan", "critique")))
    graph.add_edge("team", "write")
    with pytest.raises(UngroundedLoopError) as caught:
        graph.compile()
    assert caught.value.cycle == ("write", "team", "team/plan", "team/critique", "write")


def test_a_graph_in_a_graph_is_seen() -> None:
    middle = builder((START, "plan"), ("plan", "critique"), nodes=("plan",))
    middle.add_node("critique", builder(*LOOP).compile())
    with pytest.raises(UngroundedLoopError, match="team/critique/plan → team/critique/critique → team/critique/plan"):
        with_team(middle, roles={"plan": "pure"}).compile()
    quiet = {"plan": "pure", "critique/plan": "pure", "critique/critique": "pure"}
    with_team(middle, roles=quiet).compile()


def test_a_graph_that_a_node_of_a_graph_calls_is_seen() -> None:
    inner = builder(*LOOP).compile(name="helper")

    async def calls(state: Any) -> Any:
        return await inner.ainvoke(state)

    team = builder((START, "plan"), nodes=())
    team.add_node("plan", calls)
    with pytest.raises(UngroundedLoopError, match="team/plan/helper/plan → team/plan/helper/critique"):
        with_team(team).compile()


def test_an_error_handler_is_a_way_on() -> None:
    team = builder((START, "plan"), nodes=())

    def mend(state: Any) -> Command[Literal["plan"]]:
        return Command(goto="plan")

    team.add_node("plan", keep, error_handler=mend)
    with pytest.raises(
        UngroundedLoopError, match="team/__error_handler__plan → team/plan → team/__error_handler__plan can"
    ):
        with_team(team).compile()


def route_anywhere(state: Any):  # type: ignore[no-untyped-def]
    return "plan"


def route_one(state: Any) -> Literal["plan", "__end__"]:
    return "__end__"


def route_named(state: Any) -> str:
    return END


def route_many(state: Any) -> list[str]:
    return []


def test_a_router_that_may_lead_anywhere_must_be_given_a_map() -> None:
    team = builder((START, "plan"), ("plan", "critique"))
    team.add_conditional_edges("critique", route_anywhere)
    with pytest.raises(GraphError, match="The router route_anywhere of team/critique may lead anywhere"):
        with_team(team).compile()


UNANNOTATED: Callable[[Any], Any] = lambda state: END  # noqa: E731


@pytest.mark.parametrize(
    ("router", "several"), [(route_one, False), (route_named, False), (route_many, True), (UNANNOTATED, True)]
)
def test_only_an_annotation_says_that_a_router_chooses_one_way(router: Any, several: bool) -> None:
    """Beside a loop a model runs each round if the router may choose both ways."""
    team = builder((START, "poll"), nodes=("poll", "plan"))
    team.add_conditional_edges("poll", router, ["poll", "plan", END])
    graph = with_team(team, roles={"poll": "pure"})
    if several:
        with pytest.raises(UngroundedLoopError, match="Each round also runs team/poll → team/plan"):
            graph.compile()
    else:
        graph.compile()


def test_the_role_of_a_node_holds_for_its_routers_and_that_of_the_entry_must_be_declared() -> None:
    team = builder(("plan", "critique"), ("critique", END))
    team.add_conditional_edges(START, route_one, ["plan", "critique"])
    assert expand("team", team, roles={}).roles["team"] is Role.UNKNOWN
    assert expand("team", team, roles={START: "pure"}).roles["team"] is Role.PURE
    assert expand("team", builder(*LOOP), roles={}).roles["team"] is Role.PURE


def jumping(**options: Any) -> Any:
    def jump(state: Any) -> Any:
        return Command(goto="plan")

    made = builder((START, "plan"), ("plan", "critique"), nodes=("plan",))
    made.add_node("critique", jump, **options)
    return made


def test_a_jump_must_be_declared_to_langgraph() -> None:
    with pytest.raises(GraphError, match="team/critique may return Command or Send to undeclared nodes"):
        with_team(jumping()).compile()
    with pytest.raises(UngroundedLoopError, match="team/plan → team/critique → team/plan"):
        with_team(jumping(destinations=("plan",))).compile()


def test_a_declared_command_in_the_annotation_counts() -> None:
    def jump(state: Any) -> Command[Literal["plan"]]:
        return Command(goto="plan")

    team = builder((START, "plan"), ("plan", "critique"), nodes=("plan",))
    team.add_node("critique", jump)
    with pytest.raises(UngroundedLoopError, match="team/plan → team/critique → team/plan"):
        with_team(team).compile()


def leaver(state: Any) -> Any:
    return Command(goto="write", graph=Command.PARENT)


def test_a_jump_to_the_graph_around_must_be_declared_there() -> None:
    team = builder((START, "plan"), nodes=())
    team.add_node("plan", leaver)
    with pytest.raises(GraphError, match="team/plan may return Command or Send to undeclared nodes"):
        with_team(team).compile()
    with pytest.raises(UngroundedLoopError, match="write → team → team/plan → write"):
        with_team(team, destinations=["write"]).compile()
    with_team(team, destinations=["test"]).compile()


def test_a_jump_from_a_graph_in_a_graph_leads_to_the_middle_one() -> None:
    inner = builder((START, "out"), nodes=())
    inner.add_node("out", leaver)
    middle = builder((START, "write"), ("write", "deep"), nodes=("write",))
    middle.add_node("deep", inner.compile(), destinations=("write",))
    with pytest.raises(UngroundedLoopError, match="team/write → team/deep → team/deep/out → team/write"):
        with_team(middle).compile()


@pytest.mark.parametrize("roles", [{"nobody": "pure"}, {"plan": "actor"}, {"plan": "nonsense"}])
def test_a_role_that_can_not_be_declared_is_named(roles: dict[str, str]) -> None:
    with pytest.raises(GraphError, match=r"can't be declared\.\n  Nodes: plan, critique; roles: pure, unknown, world"):
        with_team(builder(*LOOP), roles=roles).compile()


def test_joins_and_implicit_ends_are_spelt_out() -> None:
    team = builder((START, "plan"), (START, "critique"), nodes=("plan", "critique", "merge", "late"))
    team.add_edge(["plan", "critique"], "merge")
    team.add_conditional_edges("merge", route_one, ["late"])
    pieces = expand("t", team, roles={})
    (join,) = pieces.joins
    assert (join.sources, join.target) == ({"t/plan", "t/critique"}, "t/merge")
    assert Edge("t/late", f"t{EXIT}") in pieces.edges
    assert not any(e.source in ("t/plan", "t/critique", "t/merge") and e.target == f"t{EXIT}" for e in pieces.edges)


def test_what_sends_is_seen() -> None:
    def scatter(state: Any) -> list[Send]:
        return [Send("plan", {}), Send("plan", {})]

    team = builder(("plan", "critique"), ("critique", END))
    team.add_conditional_edges(START, scatter, ["plan"])
    (edge,) = [e for e in expand("t", team, roles={}).edges if e.source == "t"]
    assert (edge.target, edge.fan_out) == ("t/plan", True)


class Holder:
    """A part of any kind that asks a graph of its own."""

    def __init__(self, graph: Any) -> None:
        self.graphs = {"helpers": [graph]}

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        await self.graphs["helpers"][0].ainvoke({"text": ""})
        return [answer(context.task, "right")]

    async def reflect(self, context: object) -> None: ...

    async def judge(self, *given: object) -> None: ...


@pytest.mark.parametrize("kind", ["actor", "critic", "tool", "node"])
def test_a_graph_that_a_part_holds_is_seen(kind: str) -> None:
    holder: Any = Holder(builder(*LOOP).compile(name="helper"))
    graph = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check())
    graph.add_edge("write", "test").refine("test", to="write")
    match kind:
        case "actor":
            graph = FeedbackGraph().add_actor("mine", holder)
        case "critic":
            graph.add_critic("mine", holder)
        case "tool":
            graph.add_tool("mine", holder)
        case _:
            graph.add_node("mine", lambda state: holder.propose(state, 1))
    with pytest.raises(UngroundedLoopError, match="mine/helper/plan → mine/helper/critique → mine/helper/plan"):
        graph.compile()


def test_the_nodes_of_a_graph_that_is_called_can_be_declared() -> None:
    inner = builder(*LOOP).compile(name="helper")
    quiet = {"helper/plan": "pure", "helper/critique": "pure"}
    graph = FeedbackGraph().add_actor("write", Holder(inner), roles=quiet).add_tool("test", Check())
    graph.add_edge("write", "test").refine("test", to="write").compile()
    named = FeedbackGraph().add_actor("write", Holder(inner), graphs={"h": inner}, roles={"h/plan": "world"})
    named.add_tool("test", Check()).add_edge("write", "test").refine("test", to="write").compile()
    assert "write/h/plan" in named.wiring().roles
    assert "write/helper/plan" not in named.wiring().roles


def test_graphs_of_the_same_name_are_told_apart() -> None:
    class Two:
        def __init__(self) -> None:
            self.one, self.other = builder(*LOOP).compile(name="g"), builder(*LOOP).compile(name="g")

        async def judge(self, *given: object) -> None: ...

    graph = FeedbackGraph().add_tool("test", Two()).set_entry("test")  # pyright: ignore[reportArgumentType]
    assert {"test/g/plan", "test/g-2/plan"} <= graph.wiring().roles.keys()


def test_a_model_in_a_graph_that_a_looping_tool_holds_runs_in_each_round() -> None:
    straight = builder((START, "plan"), ("plan", "critique")).compile(name="helper")
    graph = FeedbackGraph().add_tool("poll", Holder(straight)).set_entry("poll")  # pyright: ignore[reportArgumentType]
    graph.add_node("wait", keep, role="pure").add_edge("poll", "wait")
    graph.add_conditional_edges("wait", lambda state: "poll", ["poll", END], role="pure")
    with pytest.raises(UngroundedLoopError, match="Each round also runs poll → poll/helper → poll/helper/plan"):
        graph.compile()


def test_a_feedback_app_that_an_actor_runs_has_proved_itself() -> None:
    inner = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check())
    app = inner.add_edge("write", "test").refine("test", to="write").compile()
    assert held_graphs(Holder(app), stop_at=(type(app),)) == []
    outer = FeedbackGraph().add_actor("write", Holder(app)).add_tool("test", Check())
    outer.add_edge("write", "test").refine("test", to="write").compile()


def test_what_has_no_builder_is_a_function_like_another() -> None:
    assert builder_of(keep) is None
    assert builder_of(builder(*LOOP)) is not None
    assert ungrounded_cycles(FeedbackGraph().add_actor("a", Guesser([])).wiring()) == []
