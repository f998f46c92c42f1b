"""What is left out of the verdict, and why: by a comment in the source, or because a baseline knows it already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from groundwire_audit._errors import AuditError
from groundwire_audit._report import NOWHERE, AuditReport, Finding, GraphReport, Level, Loop, SourcePlace
from groundwire_audit._rules import OF_VERDICT, RULES

BASELINE = "groundwire-audit-baseline/1"
Ignores = Mapping[SourcePlace, tuple[tuple[str, ...], str]]
"""Line → the rules that a comment there leaves out, and its reason."""


def without_ignored(report: AuditReport, ignores: Ignores) -> AuditReport:
    """The report with what comments leave out marked as such; comments without a reason, and unused ones, are findings.

    Args:
        report: as it was judged.
        ignores: the comments.
    """
    used: set[SourcePlace] = set()

    def reason(rule: str, places: Iterable[SourcePlace]) -> str:
        for place in places:
            line = replace(place, column=0)
            rules, said = ignores.get(line, ((), ""))
            if rule in rules:
                used.add(line)
                if said:
                    return said
        return ""

    def loop(graph: GraphReport, one: Loop) -> Loop:
        rule = OF_VERDICT.get(one.verdict, "") if one.level is not Level.NONE else ""
        said = reason(rule, (one.place, *(s.place for s in one.steps), graph.place)) if rule else ""
        return replace(one, suppressed=said, level=Level.NONE) if said else one

    def kept(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(f for f in findings if not reason(f.rule, (f.place,)))

    graphs = tuple(
        replace(g, loops=tuple(loop(g, x) for x in g.loops), findings=kept(g.findings)) for g in report.graphs
    )
    findings = [*kept(report.findings)]
    for place, (rules, said) in ignores.items():
        unheard = [r for r in rules if r not in RULES]
        if not said:
            what = f"Write why:  # groundwire: ignore[{', '.join(rules)}] REASON"
            findings.append(Finding("ignore-without-reason", what, place))
        elif unheard or place not in used:
            what = f"There is no rule {unheard[0]!r}." if unheard else f"Nothing of {', '.join(rules)} is here."
            findings.append(Finding("unused-ignore", what, place, Level.NOTE))
    return replace(report, graphs=graphs, findings=tuple(findings))


# A baseline: what was there when it was written, by what it is and not by its line.


def fingerprint(graph: GraphReport | None, found: Loop | Finding) -> str:
    """The same for the same loop or finding as long as its file, graph and nodes are called the same."""
    if isinstance(found, Loop):
        parts = [OF_VERDICT.get(found.verdict, ""), found.path, found.kind]
    else:
        parts = [found.rule, found.message]
    place = found.place if found.place != NOWHERE or graph is None else graph.place
    text = "\0".join([place.file, str(place.cell), graph.name if graph is not None else "", *parts])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _all(report: AuditReport) -> Iterable[tuple[GraphReport | None, Loop | Finding]]:
    for graph in report.graphs:
        yield from ((graph, x) for x in graph.loops if x.level is not Level.NONE)
        yield from ((graph, f) for f in graph.findings)
    yield from ((None, f) for f in report.findings)


def as_baseline(report: AuditReport) -> str:
    """The text of a baseline file that knows all that is in the report; one line a finding, so that it merges well."""
    known = {
        fingerprint(g, x): f"{x.place.file}: {OF_VERDICT[x.verdict]}: {x.path}"
        if isinstance(x, Loop)
        else f"{x.place.file}: {x.rule}"
        for g, x in _all(report)
    }
    ordered = dict(sorted(known.items(), key=lambda i: (i[1], i[0])))
    return json.dumps({"schema": BASELINE, "known": ordered}, indent=1, ensure_ascii=False) + "\n"


def read_baseline(path: Path) -> frozenset[str]:
    """What a baseline file knows.

    Raises:
        AuditError: it can't be read, or is none.
    """
    try:
        body: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise AuditError(
            f"{path} can't be read as a baseline: {error}.", do="Write one with --write-baseline"
        ) from error
    known: Any = cast("dict[str, Any]", body).get("known") if isinstance(body, dict) else None
    if (
        not isinstance(body, dict)
        or cast("dict[str, Any]", body).get("schema") != BASELINE
        or not isinstance(known, dict)
    ):
        raise AuditError(f"{path} is no baseline of this program.", do="Write one with --write-baseline")
    return frozenset(str(k) for k in cast("dict[str, Any]", known))


def with_known(report: AuditReport, known: frozenset[str]) -> AuditReport:
    """The report with what a baseline knows marked as known."""
    graphs = tuple(
        replace(
            g,
            loops=tuple(replace(x, known=x.level is not Level.NONE and fingerprint(g, x) in known) for x in g.loops),
            findings=tuple(replace(f, known=fingerprint(g, f) in known) for f in g.findings),
        )
        for g in report.graphs
    )
    findings = tuple(replace(f, known=fingerprint(None, f) in known) for f in report.findings)
    return replace(report, graphs=graphs, findings=findings)
