"""Agents that a framework asks again where a function finds fault with their reply.

Output validators of pydantic-ai, guardrails of CrewAI's tasks, `Refine` and `BestOfN` of DSPy: two nodes each, the one
who writes and the check, and what the check rests on opens the way back.
"""

from __future__ import annotations

import ast

from groundwire_audit._report import SourcePlace
from groundwire_audit.reading._conditions import Formula, Taint, TaintKind, Taints, Test, join, negate, when
from groundwire_audit.reading._frames import Arguments, Frame, deep, truth
from groundwire_audit.reading._graph import (
    END,
    START,
    DeclaredBranch,
    DeclaredEdge,
    DeclaredGraph,
    DeclaredNode,
    GraphValue,
)
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    NONE,
    Const,
    External,
    FunctionValue,
    Handle,
    Items,
    ModelValue,
    Scope,
    Value,
    data,
    external,
)

SAID: Taints = frozenset({Taint(TaintKind.MODEL, "text", "the reply")})


def validate(reader: Reader, graph: DeclaredGraph, function: Value, place: SourcePlace) -> None:
    """`@agent.output_validator`: asked again where it raises.

    Args:
        reader: follows the function.
        graph: the agent.
        function: the validator.
        place: where it is given.
    """
    first = next(iter(graph.nodes))
    frame = Frame(reader.nowhere, Scope(), "validator", 1)
    reader.call(function, _reply(function), ast.Pass(), frame)
    fault = when(Test(join(frame.risks) or SAID, text="the validator raises ModelRetry"))
    _add_check(graph, first, "validator", _asks(frame), fault, place)


def _reply(function: Value) -> Arguments:
    """The reply is the last argument; before it may come the run's context."""
    taken = function.thing.node.args.args if isinstance(function.thing, FunctionValue) else []
    return Arguments([data()] * max(len(taken) - 1, 0) + [data(SAID)])


def _asks(seen: Frame) -> Value:
    """What the check asks, once it was followed."""

    def run(name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
        frame.absorb(seen.effects, seen.asked)
        return NONE

    return Value(Handle({}, run))


def _add_check(graph: DeclaredGraph, writer: str, name: str, action: Value, fault: Formula, place: SourcePlace) -> None:
    graph.nodes[name] = DeclaredNode(name, action, place)
    graph.edges.append(DeclaredEdge(writer, name, place))
    ways = {writer: fault, END: negate(fault)}
    graph.branches.append(DeclaredBranch(name, NONE, {n: n for n in ways}, place, opens=ways))


def _checked(frame: Frame, writer: str, check: str, seen: Frame, fault: Formula, place: SourcePlace) -> DeclaredGraph:
    graph = DeclaredGraph(frame.name, place, kind="agent", compiled=True, ends="limit of tries only")
    graph.nodes[writer] = DeclaredNode(writer, Value(ModelValue("model")), place)
    graph.edges.append(DeclaredEdge(START, writer, place))
    _add_check(graph, writer, check, _asks(seen), fault, place)
    return graph


def task(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`Task(guardrail=f)`: f gives `(True, …)` or `(False, why)`; a guardrail in words is asked of a model."""
    guardrail = given.named.get("guardrail")
    several = given.named.get("guardrails")
    listed = several.thing.items if several is not None and isinstance(several.thing, Items) else []
    for check in [guardrail] if guardrail is not None and guardrail.thing != Const(None) else listed:
        seen = Frame(reader.nowhere, Scope(), "guardrail", 1)
        fault = _found_wanting(reader, check, seen)
        reader.graphs.append(_checked(frame, "task", "guardrail", seen, fault, frame.module.place(node)))
    return external("crewai.Task()", frozenset({Taint(TaintKind.FIXED)}))


def _found_wanting(reader: Reader, check: Value, seen: Frame) -> Formula:
    in_words = isinstance(check.thing, External) and check.thing.path.endswith("Guardrail()")
    if not in_words and not isinstance(check.thing, Const):
        result = reader.call(check, Arguments([data(SAID)]), ast.Pass(), seen)
        if isinstance(result.thing, Items) and result.thing.items:
            return negate(truth(result.thing.items[0], "its guardrail"))
        return when(Test(deep(result), text="its guardrail", constant=True))
    return when(Test(SAID, text="a model finds that its guardrail does not hold", constant=True))


def refine(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`Refine(module=…, N=3, reward_fn=f, threshold=1.0)`: again until the reward is high enough."""
    reward = given.get(2, "reward_fn")
    seen = Frame(reader.nowhere, Scope(), "reward", 1)
    rests = SAID
    if reward is not None:
        result = reader.call(reward, Arguments([data(), data(SAID)]), ast.Pass(), seen)
        rests = deep(result)
    fault = when(Test(rests, text="the reward is too low", op="<"))
    graph = _checked(frame, "module", "reward", seen, fault, frame.module.place(node))
    reader.graphs.append(graph)
    return Value(GraphValue(graph))
