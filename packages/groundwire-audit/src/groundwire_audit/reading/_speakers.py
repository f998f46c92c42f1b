"""Agents that take part in a chat, of AutoGen, AG2 and Semantic Kernel: what each asks for one message."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from groundwire_audit._report import SourcePlace
from groundwire_audit.reading._conditions import NOTHING, Taint, TaintKind, Taints, world
from groundwire_audit.reading._frames import Arguments, Effect, Frame
from groundwire_audit.reading._graph import DeclaredGraph, GraphValue
from groundwire_audit.reading._graph_methods import run_graph
from groundwire_audit.reading._members import member
from groundwire_audit.reading._models import run_tool
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    Choice,
    Handle,
    Instance,
    Items,
    ModelValue,
    Scope,
    Value,
    data,
)

SAID: Taints = frozenset({Taint(TaintKind.MODEL, "text", "what an agent says")})
FIELDS: Taints = frozenset({Taint(TaintKind.MODEL, "fields")})
PRINTED = world("exec", "what the code did")
OWN_REPLIES = ("on_messages", "generate_reply", "on_messages_stream")
"""Methods by which a class of somebody's own makes its replies."""


@dataclass(eq=False)
class Speaker:
    """One who takes part in a chat.

    Args:
        reader: follows what it calls.
        name: its name.
        place: where it is made.
        model: the model that it asks, or empty.
        tools: functions that it runs where a model asks for them.
        hidden: why its tools are not known, or empty.
        executes: it runs the code that it is sent.
        person: `always` or `sometimes` a person replies, or empty.
        stops: functions that look at what it is sent, and end the chat.
        replies: how often it replies by itself at most.
        asks: others that it asks before it replies.
        team: a team that speaks for it.
        functions: functions that make its replies.
        unseen: why it can't be told what it does, or empty.
    """

    reader: Reader
    name: str
    place: SourcePlace
    model: str = ""
    tools: list[Value] = field(default_factory=list[Value])
    hidden: str = ""
    executes: bool = False
    person: str = ""
    stops: list[Value] = field(default_factory=list[Value])
    replies: int | None = None
    asks: list[Speaker] = field(default_factory=list["Speaker"])
    team: DeclaredGraph | None = None
    functions: list[Value] = field(default_factory=list[Value])
    unseen: str = ""

    @property
    def talks(self) -> bool:
        """A model is behind what it says, or may be."""
        return bool(self.model or self.asks or self.team is not None or self.functions or self.unseen)

    def says(self) -> Taints:
        """What its messages rest on."""
        found = SAID if self.model or self.asks or self.team is not None else NOTHING
        found |= PRINTED if self.executes and not self.model else NOTHING
        found |= frozenset({Taint(TaintKind.HUMAN, what=self.name)}) if self.person == "always" else NOTHING
        return found or SAID

    def speak(self, frame: Frame, node: ast.AST, *, surely: bool = True) -> Value:
        """Asks what it asks for one message.

        Args:
            frame: where it is asked.
            node: the call.
            surely: it is its turn, so that what it asks is asked.
        """
        if self.person:
            always = self.person == "always" and surely
            guard = "" if always else "it is its turn" if self.person == "always" else "the model says it is done"
            effect = Effect(TaintKind.HUMAN, "", self.name, self.place, guard=guard)
            if always:
                frame.add(effect)
            else:
                frame.effects.setdefault(effect)
        if self.executes:
            frame.add(Effect(TaintKind.WORLD, "exec", f"{self.name} runs the code", self.place))
        for tool in self.tools:
            run_tool(self.reader, "", tool, Arguments([data(FIELDS)]), node, frame)
        for why in filter(None, (self.hidden, self.unseen)):
            frame.add(Effect(TaintKind.UNKNOWN, why, self.name, self.place))
        if self.model:
            frame.add(Effect(TaintKind.MODEL, "", self.model, self.place))
        for other in self.asks:
            other.speak(frame, node, surely=surely)
        if self.team is not None:
            run_graph(self.reader, self.team, node, frame)
        messages = Value(Items("list", [], data(SAID)))
        for function in self.functions:
            self.reader.call(function, Arguments([messages, messages]), node, frame)
        return data(self.says())


@dataclass(frozen=True, slots=True, eq=False)
class SpeakerValue(Handle):
    """An agent that speaks in chats: its methods are in `method`."""

    speaker: Speaker


def speaker_of(reader: Reader, value: Value | None, place: SourcePlace) -> Speaker:
    """Who a value stands for; one whose making is not in sight can do anything."""
    match value.thing if value is not None else None:
        case SpeakerValue(speaker=speaker):
            return speaker
        case GraphValue(graph=graph):
            return Speaker(reader, min(graph.aliases, default=graph.name or "team"), place, team=graph)
        case Choice(options=choices) if any(isinstance(v.thing, SpeakerValue) for v, _ in choices):
            found = [v.thing.speaker for v, _ in choices if isinstance(v.thing, SpeakerValue)]
            if len({(s.executes, s.person, bool(s.model), bool(s.tools)) for s in found}) > 1:
                return Speaker(reader, found[0].name, place, unseen="which of several agents it is is not in sight")
            return found[0]
        case ModelValue(label=label):
            return Speaker(reader, label, place, model=label)
        case Instance(of=cls) if value is not None:
            own = next((n for n in OWN_REPLIES if member(cls, n) is not None), "")
            if not own:
                return Speaker(reader, cls.node.name, place, model="model")
            frame = Frame(cls.module, Scope(cls.scope), own, 1)
            return Speaker(reader, cls.node.name, place, functions=[reader.attribute(value, own, frame)])
        case _:
            return Speaker(reader, "agent", place, unseen="an agent of the chat is not in sight")


def speakers_of(reader: Reader, value: Value | None, place: SourcePlace) -> list[Speaker]:
    """Those of a list; where it is not all in sight, one more who can do anything."""
    if value is None or not isinstance(value.thing, Items):
        return [Speaker(reader, "agents", place, unseen="the agents of the chat are not in sight")]
    rest = [value.thing.rest] if value.thing.rest is not None else []
    return [speaker_of(reader, v, place) for v in (*value.thing.items, *rest)]
