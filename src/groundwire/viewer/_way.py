"""The way that an episode took through its graph: one lane a part, one step after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundwire.core._records import Admission, CandidateRecord, EpisodeEnd, Record, ReflectionRecord
from groundwire.core._signals import Origin, Signal

MOST_STEPS = 80
"""Steps that are drawn; a longer way is drawn from its beginning and its end."""
GATE, CRITIC, END = "gate", "critic", "end"


@dataclass(frozen=True)
class WayStep:
    """A step of the way.

    Args:
        lane: number of the part that took it.
        label: what it came to.
        kind: `propose`, `pass`, `fail`, `none`, `open`, `refused`, `reflect` or `end`; `gap` for what is left out.
        trial: its trial.
        count: how many alike it stands for, one right after the other.
    """

    lane: int
    label: str
    kind: str
    trial: int
    count: int = 1


@dataclass(frozen=True)
class Way:
    """A way.

    Args:
        lanes: names of the parts that were met, in the order of the loop.
        steps: the steps.
        edges: (from, to, how often), the commonest first.
    """

    lanes: Sequence[str]
    steps: Sequence[WayStep]
    edges: Sequence[tuple[str, str, int]]


def way_of(records: Sequence[Record], *, critic: str = CRITIC) -> Way:
    """Reads the way off an episode's records.

    Args:
        records: the episode's, in the order of writing.
        critic: the name of the graph's critic, if it has but one.
    """
    met = list(_met(records))
    order = ["actor", "tool", GATE, CRITIC, END]
    names = sorted({name for name, _, _, _ in met}, key=lambda name: order.index(_group(name)))
    steps: list[WayStep] = []
    edges: Counter[tuple[str, str]] = Counter()
    for number, (name, label, kind, trial) in enumerate(met):
        if number:
            edges[met[number - 1][0], name] += 1
        last = steps[-1] if steps else None
        if last and (last.lane, last.kind, last.trial) == (names.index(name), kind, trial):
            steps[-1] = replace(last, count=last.count + 1)
        else:
            steps.append(WayStep(names.index(name), label, kind, trial))
    if len(steps) > MOST_STEPS:
        half = MOST_STEPS // 2
        left_out = len(steps) - 2 * half
        gap = WayStep(0, f"{left_out} steps", "gap", steps[half].trial)
        steps = [*steps[:half], gap, *steps[-half:]]
    # what one candidate after the other met is one arrow there and one back
    said = [(start, end, count) for (start, end), count in edges.most_common() if start != end]

    def shown(name: str) -> str:
        return critic if name == CRITIC else name.partition(":")[2] or name

    return Way([shown(name) for name in names], steps, [(shown(start), shown(end), n) for start, end, n in said])


# the graph as it was declared, with how often each of its ways was gone

GAP_X = 150


@dataclass(frozen=True)
class Node:
    """A part of a graph in a drawing.

    Args:
        name: its name.
        kind: `actor`, `tool`, `critic`, `gate` or `end`.
        x: centre, in pixels.
    """

    name: str
    kind: str
    x: int


@dataclass(frozen=True)
class Arc:
    """An edge in a drawing.

    Args:
        label: what is said beside it.
        is_gate: True where only a signal opens it.
        start: where it begins.
        end: where it ends.
        height: how far it bends from the line of nodes; below it where negative.
    """

    label: str
    is_gate: bool
    start: int
    end: int
    height: int


@dataclass(frozen=True)
class Drawing:
    """A graph on one line: edges that go on bend above it, those that go back below.

    Args:
        nodes: the parts.
        arcs: the edges.
        width: in pixels.
        depth: pixels below the line.
        top: pixels above it.
    """

    nodes: Sequence[Node]
    arcs: Sequence[Arc]
    width: int
    top: int
    depth: int


def drawing_of(config: Mapping[str, Any], way: Way | None = None) -> Drawing | None:
    """Draws a run's graph.

    Args:
        config: what was asked for, which names the nodes and the gates.
        way: the way of an episode through it; without one the gates alone are drawn.

    Returns:
        None where the configuration names no nodes: an imported run.
    """
    declared: Mapping[str, str] = config.get("nodes") or {}
    if not declared:
        return None
    kinds = {**declared, **({GATE: "gate", END: "end"} if way else {})}
    order = ["actor", "tool", "gate", "critic", "end"]
    walked = [_bare(lane) for lane in way.lanes] if way else []
    places = {kind: number for number, kind in enumerate(order)}
    names = sorted(kinds, key=lambda name: (places.get(kinds[name], 1), name not in walked))
    at = {name: 70 + GAP_X * number for number, name in enumerate(names)}
    if way:
        edges = [(_bare(start), _bare(end), f"{count}×", start == GATE) for start, end, count in way.edges]
    else:
        edges = [(start, end, edge, True) for edge, start, end in config.get("gates") or ()]
    known = [edge for edge in edges if edge[0] in at and edge[1] in at]
    arcs = [Arc(label, gate, at[start], at[end], _height(at[start], at[end])) for start, end, label, gate in known]
    return Drawing(
        nodes=[Node(name, kinds[name], at[name]) for name in names],
        arcs=arcs,
        width=140 + GAP_X * (len(names) - 1),
        top=max((arc.height for arc in arcs if arc.height > 0), default=0) + 30,
        depth=max((-arc.height for arc in arcs if arc.height < 0), default=0) + 30,
    )


def _bare(lane: str) -> str:
    """A lane's name without what is said of it."""
    return lane.removesuffix(" (hidden)")


def _height(start: int, end: int) -> int:
    return (1 if end >= start else -1) * (24 + abs(end - start) // 6)


def _group(name: str) -> str:
    kind = name.partition(":")[0]
    return kind if kind in ("actor", "tool") else name


def _met(records: Sequence[Record]) -> Iterator[tuple[str, str, str, int]]:
    """(part, label, kind, trial) of each record that is a step."""
    for record in records:
        match record:
            case CandidateRecord():
                yield f"actor:{record.actor or 'actor'}", "proposes", "propose", record.trial
            case Signal(origin=Origin.RULE):
                yield "tool:rule", record.evidence.detail, "none", record.trial
            case Signal():
                hidden = " (hidden)" if record.origin is Origin.HIDDEN_TESTS else ""
                yield f"tool:{record.issuer}{hidden}", str(record.verdict), str(record.verdict), record.trial
            case Admission():
                kind = "open" if record.admitted else "refused"
                yield GATE, record.edge if record.admitted else record.reason, kind, record.trial
            case ReflectionRecord():
                yield CRITIC, "reflects", "reflect", record.trial
            case EpisodeEnd():
                yield END, str(record.stop_reason), "end", -1
            case _:
                continue
