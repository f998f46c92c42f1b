"""What is known of one node once it was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from groundwire.auditing.conditions import Formula
from groundwire.auditing.declared_graph import Graph
from groundwire.auditing.nodes.updates import Write
from groundwire.auditing.reading.frames import Effect, SeenLoop
from groundwire.auditing.taints import Kind
from groundwire.auditing.values import Value

__all__ = ["Facts", "Jump"]


@dataclass(frozen=True)
class Jump:
    """A jump out of a node. `target`: a node's name as a value; `when`: reads the state from before the node ran."""

    target: Value
    when: Formula
    to_parent: bool = False
    asked: frozenset[Effect] = frozenset()


@dataclass
class Facts:
    """What reading a node found.

    Args:
        effects: all that may be asked.
        asked: what is asked on every way through.
        writes: state keys; `*` where the keys are not known.
        jumps: jumps by `Command`.
        loops: loops in its source that hold a model call.
        nested: graphs that run inside.
        declared: the role that was declared for it, or empty.
        runs_tools: it runs the tools that a model asked for.
    """

    effects: tuple[Effect, ...] = ()
    asked: frozenset[Effect] = frozenset()
    writes: dict[str, Write] = field(default_factory=dict[str, Write])
    jumps: list[Jump] = field(default_factory=list[Jump])
    reads: frozenset[str] = frozenset()
    loops: tuple[SeenLoop, ...] = ()
    nested: tuple[Graph, ...] = ()
    declared: str = ""
    runs_tools: bool = False
    leaves: bool = False
    """It always hands over to the graph around it."""
    notes: tuple[str, ...] = ()

    def has(self, kind: Kind) -> bool:
        """True if something of this kind may be asked."""
        return any(e.kind is kind for e in self.effects)

    def surely(self, kind: Kind) -> bool:
        """True if something of this kind is asked on every way through."""
        return any(e.kind is kind for e in self.asked)
