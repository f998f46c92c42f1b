"""The way that an episode took through its graph: one lane a part, one step after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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


def way_of(records: Sequence[Record]) -> Way:
    """Reads the way off an episode's records."""
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
    return Way([name.partition(":")[2] or name for name in names], steps, said_plainly(said))


def said_plainly(edges: Sequence[tuple[str, str, int]]) -> Sequence[tuple[str, str, int]]:
    """Edges by the names that are shown."""
    return [(start.partition(":")[2] or start, end.partition(":")[2] or end, count) for start, end, count in edges]


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
