"""Follows a real run: which steps it took, which of them nobody declared, and which were never taken."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from groundwire_audit.judging._wiring import WiredGraph, wire
from groundwire_audit.live._graphs import read_graph
from groundwire_audit.reading._graph import END, START, DeclaredGraph
from groundwire_audit.reading._modules import ModuleFinder
from groundwire_audit.reading._source_reader import SourceReader

MAX_EVENTS = 100_000
RECURSION = 250
"""Supersteps of a run; LangGraph's own default is in the thousands."""
TracedStep = tuple[str, str]


@dataclass(frozen=True)
class TraceReport:
    """What a run did, beside what was declared.

    Args:
        undeclared: steps taken that neither an edge, a map, an annotation nor `destinations` names; where several nodes
            ran before, each of them may have caused it, joined by `|`.
        foreseen: those of them that reading the source had found.
        never_taken: declared steps that no run took.
        taken: declared steps that were taken.
        runs: how many inputs were followed.
        error: what ended a run, if something did.
    """

    undeclared: tuple[TracedStep, ...] = ()
    foreseen: tuple[TracedStep, ...] = ()
    never_taken: tuple[TracedStep, ...] = ()
    taken: tuple[TracedStep, ...] = ()
    runs: int = 0
    error: str = ""

    def as_data(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


def trace(
    app: Any, inputs: Any, *, config: Mapping[str, Any] | None = None, max_events: int = MAX_EVENTS
) -> TraceReport:
    """Runs a compiled graph and follows its events. This does run its nodes, models and tools.

    Args:
        app: the compiled graph.
        inputs: one input, or a list of them.
        config: passed on to each run; `recursion_limit` is 250 unless it says otherwise.
        max_events: a run is left after so many.

    Raises:
        TypeError: it is no compiled graph.
    """
    reader = SourceReader(ModuleFinder([Path.cwd(), Path.cwd() / "src"], Path.cwd()))
    graph = read_graph(reader, app)
    if graph is None or not graph.compiled or graph.kind == "functional":
        raise TypeError(f"{type(app).__name__} is no compiled graph whose steps can be followed")
    many = cast("list[Any]", inputs if isinstance(inputs, list) else [inputs])
    steps: list[TracedStep] = []
    error, runs = "", 0
    for one in many:
        runs += 1
        events, error = _run(app, one, {"recursion_limit": RECURSION, **(config or {})}, max_events)
        steps += follow_events(events, declared_steps(graph), finished=not error)
    return _compared(steps, graph, wire(reader, graph), runs, error)


def _run(app: Any, one: Any, config: dict[str, Any], max_events: int) -> tuple[list[Mapping[str, Any]], str]:
    """The events of one run, and what ended it early; nodes that are only async are run in a loop of their own."""
    events: list[Mapping[str, Any]] = []

    async def follow() -> None:
        async for event in app.astream(one, config, stream_mode="debug"):
            events.append(event)
            if len(events) >= max_events:
                return

    try:
        for event in app.stream(one, config, stream_mode="debug"):
            events.append(event)
            if len(events) >= max_events:
                break
    except TypeError as problem:
        if "synchronous" not in str(problem):
            return events, f"TypeError: {str(problem)[:300]}"
        events.clear()
        try:
            asyncio.run(follow())
        except Exception as later:
            return events, f"{type(later).__name__}: {str(later)[:300]}"
    except Exception as problem:  # a stranger's node may raise anything; what it did until then counts
        return events, f"{type(problem).__name__}: {str(problem)[:300]}"
    return events, ""


def declared_steps(graph: DeclaredGraph) -> set[TracedStep]:
    """Steps that are named by an edge, a map, an annotation or `destinations`."""
    steps = {(e.source, e.target) for e in graph.edges}
    steps |= {(b.source, target) for b in graph.branches for target in (b.ends or {}).values()}
    return steps | {(n.name, target) for n in graph.nodes.values() for target in n.destinations or ()}


def follow_events(
    events: Iterable[Mapping[str, Any]], declared: set[TracedStep], *, finished: bool = True
) -> list[TracedStep]:
    """The steps behind debug events: each task with the one before it that led there.

    An event names a task and its superstep, not where it was sent from. A task is put down to the tasks of the
    superstep before that have a declared step to it, else to a joined one further back, else to all of the superstep
    before.
    """
    by_step: dict[int, list[str]] = {}
    for event in events:
        if event.get("type") == "task":
            by_step.setdefault(int(event["step"]), []).append(str(event["payload"]["name"]))
    found: list[TracedStep] = []
    before: list[str] = [START]
    earlier: set[str] = set()
    for number in sorted(by_step):
        tasks = list(dict.fromkeys(by_step[number]))
        steps = [step for name in tasks for step in _sources(name, before, earlier, declared)]
        found += steps
        led = {one for source, _ in steps for one in source.split("|")}
        found += [(name, END) for name in before if name != START and name not in led and (name, END) in declared]
        earlier |= set(before)
        before = tasks
    if finished:
        found += [(name, END) for name in before if (name, END) in declared]
    return found


def _sources(name: str, before: Sequence[str], earlier: set[str], declared: set[TracedStep]) -> list[TracedStep]:
    near = [(b, name) for b in before if (b, name) in declared]
    if near:
        return near
    joined = [(b, name) for b in sorted(earlier) if (b, name) in declared and b != START]
    if joined:
        return joined
    return [("|".join(before), name)]


def _compared(
    steps: Sequence[TracedStep], graph: DeclaredGraph, wiring: WiredGraph, runs: int, error: str
) -> TraceReport:
    declared = declared_steps(graph)
    taken = list(dict.fromkeys(s for s in steps if s in declared))
    undeclared = list(dict.fromkeys(s for s in steps if s not in declared))
    foreseen = [(s, t) for s, t in undeclared if any((one, t) in wiring.edges for one in s.split("|"))]
    never = sorted(declared - set(taken))
    return TraceReport(tuple(undeclared), tuple(foreseen), tuple(never), tuple(taken), runs, error)
