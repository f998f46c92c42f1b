"""One function body while it is being followed."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from groundwire.auditing.conditions import ALWAYS, Formula, all_of
from groundwire.auditing.declared_graph import Graph
from groundwire.auditing.places import NOWHERE, Place
from groundwire.auditing.taints import Kind, Taints
from groundwire.auditing.values import Module, Scope, Value

__all__ = ["Effect", "Frame", "Returned", "SeenLoop"]


@dataclass(frozen=True)
class Effect:
    """Something that is asked on the way.

    Args:
        kind: MODEL, WORLD, HUMAN or UNKNOWN.
        detail: of WORLD: exec, search, http, sql, file, env or tool; of UNKNOWN: why.
        what: the call.
        place: where.
        guard: the condition under which it is reached, in words; empty: always.
        declared: the tool whose declared role says so, with the role; empty: it was read.
    """

    kind: Kind
    detail: str = ""
    what: str = ""
    place: Place = NOWHERE
    guard: str = ""
    declared: str = ""


@dataclass(frozen=True)
class Returned:
    """One way out of a function: its value, when it is taken, and what was surely asked before."""

    value: Value
    when: Formula
    asked: frozenset[Effect]
    place: Place = NOWHERE


@dataclass(frozen=True)
class SeenLoop:
    """A loop in the source that holds a model call.

    Args:
        place: its first line.
        again: when it goes round once more.
        effects: what is asked inside.
        items: it goes over given items.
    """

    place: Place
    again: Formula
    effects: tuple[Effect, ...]
    asked: frozenset[Effect]
    items: bool = False


@dataclass
class LoopFrame:
    """The innermost loop: where its body's conditions begin, and the ways in which it goes on."""

    base: int
    goes_on: list[Formula] = field(default_factory=list[Formula])
    leaves: bool = False


@dataclass
class Frame:
    """State of following one function body.

    Args:
        module: the file it stands in.
        scope: its names.
        name: the function.
        conditions: what must hold to reach the current statement.
        asked: effects that surely came before the current statement.
        risks: what an exception on the way would rest on.
    """

    module: Module
    scope: Scope
    name: str = ""
    depth: int = 0
    conditions: list[Formula] = field(default_factory=list[Formula])
    returned: list[Returned] = field(default_factory=list[Returned])
    yielded: list[Value] = field(default_factory=list[Value])
    effects: dict[Effect, None] = field(default_factory=dict[Effect, None])
    asked: set[Effect] = field(default_factory=set[Effect])
    risks: set[Taints] = field(default_factory=set[Taints])
    loops: list[SeenLoop] = field(default_factory=list[SeenLoop])
    loop_stack: list[LoopFrame] = field(default_factory=list[LoopFrame])
    nested: list[Graph] = field(default_factory=list[Graph])
    globals: set[str] = field(default_factory=set[str])
    of_class: bool = False
    """It is the body of a class, whose names its methods do not see."""

    def here(self) -> Formula:
        """When the current statement is reached."""
        return all_of(self.conditions)

    def add(self, effect: Effect) -> None:
        """Something is asked here."""
        guard = guard_text(self.conditions) if not effect.guard else effect.guard
        kept = replace(effect, guard=guard)
        self.effects.setdefault(kept)
        self.asked.add(kept)

    def absorb(self, effects: Iterable[Effect], asked: Iterable[Effect]) -> None:
        """What a called function asked."""
        guard = guard_text(self.conditions)
        surely = set(asked)
        for effect in effects:
            kept = effect if effect.guard else replace(effect, guard=guard)
            self.effects.setdefault(kept)
            if effect in surely:
                self.asked.add(kept)

    @contextmanager
    def under(self, condition: Formula) -> Generator[None]:
        """Statements that are only reached under a condition."""
        with self.inside():
            if condition != ALWAYS:
                self.conditions.append(condition)
            yield

    @contextmanager
    def inside(self) -> Generator[None]:
        """A part of the body: its conditions and loops end with it, also where it can't be followed to its end."""
        conditions, loops = len(self.conditions), len(self.loop_stack)
        try:
            yield
        finally:
            del self.conditions[conditions:]
            del self.loop_stack[loops:]

    @contextmanager
    def apart(self) -> Generator[None]:
        """A part whose effects are collected by themselves, in `effects` and `asked`; they are the body's as well."""
        effects, asked = self.effects, self.asked
        self.effects, self.asked = {}, set()
        try:
            yield
        finally:
            self.effects = {**effects, **self.effects}
            self.asked = asked

    @contextmanager
    def risking(self) -> Generator[set[Taints]]:
        """A part whose exceptions are caught: what they rest on is in the set that is given, and not in `risks`."""
        outer, self.risks = self.risks, set()
        try:
            yield self.risks
        finally:
            self.risks = outer


def guard_text(conditions: Iterable[Formula]) -> str:
    """The conditions in words, the innermost first, or empty."""
    for formula in reversed(list(conditions)):
        if formula.literal is not None and formula.literal[0].text:
            test, holds = formula.literal
            return test.text if holds else f"not ({test.text})"
        texts = [p.literal[0].text for p in formula.parts if p.literal is not None and p.literal[0].text]
        if texts:
            return " … ".join(texts[:2])
    return ""
