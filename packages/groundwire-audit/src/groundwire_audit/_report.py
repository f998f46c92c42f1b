"""What an audit found. `as_data` is the documented JSON form; its shape is kept from version to version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

# Where in the source something stands.


@dataclass(frozen=True, order=True)
class SourcePlace:
    """A line of a file.

    Args:
        file: path as it was given, with forward slashes; empty: not known.
        line: 1-based; 0: not known.
        cell: 1-based cell of a notebook; 0: not a notebook. `line` then counts within the cell.
        column: 1-based, in characters; 0: not known.
    """

    file: str = ""
    line: int = 0
    cell: int = 0
    column: int = 0

    def __str__(self) -> str:
        cell = f"#cell{self.cell}" if self.cell else ""
        column = f":{self.column}" if self.column else ""
        return f"{self.file}{cell}:{self.line}{column}" if self.file else ""


NOWHERE = SourcePlace()

# What an audit found. `as_data` is the documented JSON form; its shape is kept from version to version.

SCHEMA = "groundwire-audit/1"


class Grounding(StrEnum):
    """What is true of one loop."""

    UNGROUNDED = "ungrounded"
    """It can go round with nothing outside the model having said anything."""
    PARTLY = "partly"
    """Something outside is asked on the way, and a model or a counter decides."""
    UNKNOWN = "unknown"
    """Can't be seen; declare it."""
    TOOL_LOOP = "tool_loop"
    """Goes on only through an executed tool; the model asks and ends."""
    WORKLIST = "worklist"
    """Works through items, or holds no model; no correction."""
    GROUNDED = "grounded"
    """Goes round only when something outside said so."""


class Level(StrEnum):
    """How loudly it is said."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NONE = "none"


class Mode(StrEnum):
    """How the graph was seen."""

    SOURCE = "source"
    """Its source was read; nothing was imported."""
    IMPORT = "import"
    """Its module was imported in a process of its own."""
    OBJECT = "object"
    """It was handed over as an object."""


@dataclass(frozen=True)
class LoopStep:
    """One edge of a loop: from `node` to the next. `decided_by`: what opens it, in words; empty: always taken."""

    node: str
    decided_by: str = ""
    place: SourcePlace = NOWHERE


@dataclass(frozen=True)
class Loop:
    """One loop.

    Args:
        verdict: see `Verdict`.
        kind: what grounds or decides it, in few words: `executed code`, `fixed rounds` …
        nodes: node names in order, the first not repeated; a graph inside a node is written `outer/inner`.
        why: one sentence.
        level: how loudly it is said.
        cap: what ends it at the latest: `capped 3`, `capped`, `recursion limit only` …
        steps: each edge with what decides it.
        place: where its deciding edge is wired.
        inside: it is a loop in the source of the (only) node.
        declared: nodes whose role was declared and not proved.
        notes: further remarks.
        outside: what outside was seen on the way, as `node: what`.
        suppressed: the reason that a comment gives for leaving it out; its level is then none.
        known: a baseline has it already.
        compiled: it is a graph's that `compile()` makes, where a person can be put in between.
        unseen: of an unknown loop the node that asks what is not in sight, where it is one.
    """

    verdict: Grounding
    kind: str
    nodes: tuple[str, ...]
    why: str
    level: Level = Level.NONE
    cap: str = ""
    steps: tuple[LoopStep, ...] = ()
    place: SourcePlace = NOWHERE
    inside: bool = False
    declared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    suppressed: str = ""
    known: bool = False
    compiled: bool = True
    unseen: str = ""

    @property
    def path(self) -> str:
        """`write → critique → write`."""
        if self.inside:
            return f"{self.nodes[0]} ⟲"
        return " → ".join((*self.nodes, self.nodes[0]))


@dataclass(frozen=True)
class Finding:
    """Something else that was noticed. `rule`: its name in SARIF and JSON; `known`: a baseline has it already."""

    rule: str
    message: str
    place: SourcePlace = NOWHERE
    level: Level = Level.WARNING
    known: bool = False


@dataclass(frozen=True)
class GraphReport:
    """One graph. `edges`: source, target and verdict of the worst loop through it, for pictures; `compiled`: where."""

    name: str
    mode: Mode
    place: SourcePlace = NOWHERE
    nodes: tuple[str, ...] = ()
    edges: tuple[tuple[str, str, str], ...] = ()
    loops: tuple[Loop, ...] = ()
    findings: tuple[Finding, ...] = ()
    compiled: SourcePlace = NOWHERE


@dataclass(frozen=True)
class AuditReport:
    """All of an audit.

    Args:
        target: what was asked for.
        graphs: each graph that was found.
        findings: about files rather than graphs.
        notes: how it was done, where that matters.
    """

    target: str
    graphs: tuple[GraphReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def loops(self) -> list[Loop]:
        """All loops, the worst first."""
        order = list(Grounding)
        return sorted((x for g in self.graphs for x in g.loops), key=lambda x: order.index(x.verdict))

    def count(self, verdict: Grounding) -> int:
        """How many loops have it."""
        return sum(x.verdict is verdict for x in self.loops)

    def exit_code(self, *, strict: bool = False, only_new: bool = False) -> int:
        """0 nothing ungrounded; 1 ungrounded; 3 something can't be seen, or nothing was found to audit.

        Args:
            strict: what can't be seen, fixed rounds and every warning count as 1 too.
            only_new: what a baseline knows does not count.
        """
        loops = [x for x in self.loops if not x.suppressed and not (only_new and x.known)]
        findings = [f for f in self.all_findings() if not (only_new and f.known)]
        levels = {x.level for x in loops} | {f.level for f in findings}
        doubtful = any(x.verdict is Grounding.UNKNOWN for x in loops) or any(f.rule in DOUBT for f in findings)
        fixed_rounds = any(x.verdict is Grounding.UNGROUNDED for x in loops)
        if Level.ERROR in levels or (strict and (doubtful or Level.WARNING in levels or fixed_rounds)):
            return 1
        return 3 if doubtful or not self.graphs else 0

    def all_findings(self) -> Iterable[Finding]:
        """Those about files and those about graphs."""
        yield from self.findings
        for graph in self.graphs:
            yield from graph.findings

    def as_data(self) -> dict[str, Any]:
        """The JSON form; see docs/audit.md."""
        body: dict[str, Any] = {"schema": SCHEMA, **asdict(self)}
        for graph, shown in zip(self.graphs, body["graphs"], strict=True):
            for loop, data in zip(graph.loops, shown["loops"], strict=True):
                data["path"] = loop.path
        body["counts"] = {str(v): self.count(v) for v in Grounding}
        body["exit_code"] = self.exit_code()
        return body

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> AuditReport:
        """Reads `as_data` back.

        Raises:
            ValueError: it is not of that form.
        """
        try:
            return cls(
                target=str(data["target"]),
                graphs=tuple(_graph(g) for g in data["graphs"]),
                findings=tuple(_finding(f) for f in data["findings"]),
                notes=tuple(str(n) for n in data["notes"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a report: {error!r}") from error


def failed(what: str, error: Exception, place: SourcePlace) -> Finding:
    """What is said where the audit itself breaks on somebody's source: one graph is lost, the others are not."""
    said = f"The audit broke on {what} ({type(error).__name__}: {str(error)[:200]}); please report it."
    return Finding("audit-failed", said, place)


DOUBT = frozenset(
    {
        "unreadable-file",
        "syntax-error",
        "newer-syntax",
        "undefined-router",
        "file-too-large",
        "too-complex",
        "too-many-loops",
        "import-failed",
        "audit-failed",
    }
)
"""Rules of findings after which not all was seen."""


def _place(data: Mapping[str, Any]) -> SourcePlace:
    return SourcePlace(str(data["file"]), int(data["line"]), int(data["cell"]), int(data.get("column", 0)))


def _finding(data: Mapping[str, Any]) -> Finding:
    level = Level(data["level"])
    return Finding(str(data["rule"]), str(data["message"]), _place(data["place"]), level, bool(data.get("known")))


def _loop(data: Mapping[str, Any]) -> Loop:
    return Loop(
        verdict=Grounding(data["verdict"]),
        kind=str(data["kind"]),
        nodes=tuple(str(n) for n in data["nodes"]),
        why=str(data["why"]),
        level=Level(data["level"]),
        cap=str(data["cap"]),
        steps=tuple(LoopStep(str(s["node"]), str(s["decided_by"]), _place(s["place"])) for s in data["steps"]),
        place=_place(data["place"]),
        inside=bool(data["inside"]),
        declared=tuple(str(n) for n in data["declared"]),
        notes=tuple(str(n) for n in data["notes"]),
        outside=tuple(str(n) for n in data["outside"]),
        suppressed=str(data.get("suppressed", "")),
        known=bool(data.get("known")),
        compiled=bool(data.get("compiled", True)),
        unseen=str(data.get("unseen", "")),
    )


def _graph(data: Mapping[str, Any]) -> GraphReport:
    return GraphReport(
        name=str(data["name"]),
        mode=Mode(data["mode"]),
        place=_place(data["place"]),
        nodes=tuple(str(n) for n in data["nodes"]),
        edges=tuple((str(a), str(b), str(v)) for a, b, v in data["edges"]),
        loops=tuple(_loop(x) for x in data["loops"]),
        findings=tuple(_finding(f) for f in data["findings"]),
        compiled=_place(data["compiled"]) if "compiled" in data else NOWHERE,
    )
