"""What a node that runs the tools of a model asks and writes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from groundwire.auditing.conditions import Test, when
from groundwire.auditing.declared_graph import Node
from groundwire.auditing.nodes.facts import Facts, Jump
from groundwire.auditing.nodes.updates import Write
from groundwire.auditing.reading.frames import Effect
from groundwire.auditing.reading.tools import ToolKind, inspect_tool
from groundwire.auditing.taints import Kind, Taint, Taints, world
from groundwire.auditing.values import ToolNode

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader

__all__ = ["of_tools"]

ASK = frozenset({Taint(Kind.ASK)})


def of_tools(reader: Reader, node: ToolNode, where: Node) -> Facts:
    """Facts of the node, from what each of its tools does."""
    if node.tools is None:
        effect = Effect(Kind.UNKNOWN, node.why or "its tools are not in sight", "tools", where.place)
        unseen: Taints = frozenset({Taint(Kind.UNKNOWN, effect.detail)})
        return Facts((effect,), frozenset({effect}), {"messages": Write(unseen, unseen)}, runs_tools=True)
    seen = [inspect_tool(reader, t) for t in node.tools]
    effects: list[Effect] = []
    for tool in seen:
        label = f"{tool.label}: {tool.why}" if tool.label else tool.why
        match tool.kind:
            case ToolKind.WORLD:
                effects.append(Effect(Kind.WORLD, "tool", label, where.place, declared=tool.declared))
            case ToolKind.HUMAN:
                effects.append(Effect(Kind.HUMAN, "", label, where.place, declared=tool.declared))
            case ToolKind.UNKNOWN:
                effects.append(Effect(Kind.UNKNOWN, tool.why, tool.label, where.place))
            case ToolKind.MODEL:
                effects.append(Effect(Kind.MODEL, "", label, where.place))
            case _:
                pass
    outside = any(e.kind in {Kind.WORLD, Kind.HUMAN} for e in effects)
    unseen_too = any(e.kind is Kind.UNKNOWN for e in effects)
    echo = frozenset({Taint(Kind.MODEL, "fields", "what the model passed to the tool")})
    said = (
        world("tool", where.name)
        if outside
        else frozenset({Taint(Kind.UNKNOWN, "what its tools do")})
        if unseen_too
        else echo
    )
    jumps = [
        Jump(j.goto, when(Test(ASK, text="the model calls the tool")), j.to_parent)
        for t in seen
        for j in t.jumps
        if j.goto
    ]
    notes = tuple(f"{t.label}: {t.why}" for t in seen if t.kind is ToolKind.NOTHING)
    write = Write(said, said)
    asked = frozenset(e for e in effects if e.kind is not Kind.HUMAN)
    leaves = bool(seen) and all(t.kind is ToolKind.HANDOFF and all(j.to_parent for j in t.jumps) for t in seen)
    writes = {"messages": write, **({"*": replace(write, always=False)} if jumps else {})}
    return Facts(tuple(effects), asked, writes, jumps, runs_tools=True, leaves=leaves, notes=notes)
