"""Live objects of LangChain and LangGraph, by the name of their class."""

from __future__ import annotations

import types
from typing import cast

from groundwire.auditing.live.names import is_library, path_of, raw
from groundwire.auditing.reading.reader_protocol import Lifter
from groundwire.auditing.values import Chain, Table, Tool, ToolNode, Value, external

__all__ = ["of_library"]


def of_library(thing: object, line: list[str], short: set[str], lifter: Lifter) -> Value | None:
    """Runnables, tools and tasks of LangChain and LangGraph, by the name of their class."""
    lift = lifter.lift
    if not any(c.startswith(("langchain", "langgraph")) for c in line):
        return None
    if "ToolNode" in short:
        tools = raw(thing, "_tools_by_name") or raw(thing, "tools_by_name")
        if not isinstance(tools, dict):
            return Value(ToolNode(None))
        return Value(ToolNode(tuple(lift(t) for t in cast("dict[str, object]", tools).values())))
    if "BaseTool" in short:
        return _tool(thing, lifter)
    if "RunnableSequence" in short:
        middle = raw(thing, "middle")
        steps = [
            raw(thing, "first"),
            *(cast("list[object]", middle) if isinstance(middle, list) else []),
            raw(thing, "last"),
        ]
        return Value(Chain(tuple(lift(s) for s in steps)))
    if "RunnableParallel" in short:
        held = raw(thing, "steps__")
        return (
            Value(Table({k: lift(v) for k, v in cast("dict[object, object]", held).items()}))
            if isinstance(held, dict)
            else None
        )
    if short & {"RunnableLambda", "RunnableCallable", "_TaskFunction", "RunnableGenerator"}:
        function = raw(thing, "func") or raw(thing, "afunc") or raw(thing, "_transform")
        return lift(function) if function is not None else None
    if "RunnableWithFallbacks" in short:
        return lift(raw(thing, "runnable"))
    if short & {"RunnableConfigurableFields", "RunnableConfigurableAlternatives", "DynamicRunnable"}:
        return lift(raw(thing, "default"))
    return None


def _tool(thing: object, lifter: Lifter) -> Value:
    label = str(raw(thing, "name") or type(thing).__name__)
    function = raw(thing, "func") or raw(thing, "coroutine")
    if function is not None:
        return Value(Tool(label, lifter.lift(function)))
    if is_library(type(thing).__module__):
        return Value(Tool(label, external(f"{path_of(type(thing))}()")))
    run = vars(type(thing)).get("_run") or vars(type(thing)).get("_arun")
    if isinstance(run, types.FunctionType):
        return Value(Tool(label, lifter.lift(types.MethodType(run, thing))))
    return Value(Tool(label))
