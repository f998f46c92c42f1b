"""Jumps: what a node or router returns to say where it leads. They must be declared, and are held to that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType, MethodType, UnionType
from typing import Any, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from langgraph.graph import END, StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, Send

from groundwire.graphs.sight import look

__all__ = ["Jump", "annotated_jumps", "jumps_in", "mentions_jump"]


class Jump(NamedTuple):
    """One step that a node asks for.

    Args:
        target: node name, or END.
        graph: "" for the node's own graph; else the name that LangGraph gives to another one.
    """

    target: str
    graph: str = ""


def mentions_jump(function: object) -> bool:
    """True if the function, or what it calls of the same project, names `Command` or `Send`.

    What can't be read is caught when it happens.
    """
    sight = look(function, stop_at=(Pregel, StateGraph))
    seen = any(value is Command or value is Send for value in sight.values)
    annotation = getattr(function, "__annotations__", {}).get("return", "")
    return seen or bool(sight.unresolved & {"Command", "Send"}) or "Command" in str(annotation)


def annotated_jumps(function: object) -> tuple[str, ...]:
    """Where a function says that it leads: the names in its annotation `-> Command[Literal["a", "b"]]`."""
    called: Any = function if isinstance(function, (FunctionType, MethodType)) else type(function).__call__
    try:
        returned = get_type_hints(called).get("return")
    except (NameError, TypeError):
        return ()
    whole = get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)
    commands = [part for part in whole if get_origin(part) is Command]
    return tuple(name for command in commands for literal in get_args(command) for name in get_args(literal))


def jumps_in(result: Any) -> Iterable[Jump]:
    """Every jump in what a node returned, END left out: ending is always allowed."""
    return (jump for jump in _jumps(result, "") if jump.target != END)


def _jumps(result: Any, graph: str) -> Iterable[Jump]:
    if isinstance(result, Send):
        yield Jump(result.node, graph)
    elif isinstance(result, Command):
        command = cast("Command[Any]", result)
        yield from _named(command.goto, command.graph or "")
    elif isinstance(result, (list, tuple)):
        for item in cast("Iterable[Any]", result):
            yield from _jumps(item, graph)


def _named(goto: Any, graph: str) -> Iterable[Jump]:
    if isinstance(goto, str):
        yield Jump(goto, graph)
    elif isinstance(goto, Send):
        yield Jump(goto.node, graph)
    elif isinstance(goto, Iterable) and not isinstance(goto, Mapping):
        for item in cast("Iterable[Any]", goto):
            yield from _named(item, graph)
