"""SARIF 2.1.0 (OASIS), for code scanning."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from groundwire_audit._report import AuditReport, Finding, GraphReport, Level, Loop, SourcePlace
from groundwire_audit._rules import OF_VERDICT, RULES, change_for

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(report: AuditReport, version: str) -> dict[str, Any]:
    """The log: a result for each loop and finding that is more than fine.

    Args:
        report: the audit.
        version: of groundwire-audit.
    """
    results = [_loop(g, x) for g in report.graphs for x in g.loops if x.level is not Level.NONE or x.suppressed]
    results += [_finding(f) for f in report.all_findings()]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "groundwire audit", "version": version, "rules": _rules()}},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }


def _rules() -> list[dict[str, Any]]:
    return [
        {"id": rule, "shortDescription": {"text": text}, "help": {"text": f"See docs/audit-rules/{rule}.md"}}
        for rule, text in RULES.items()
    ]


def _result(rule: str, level: Level, text: str, place: SourcePlace) -> dict[str, Any]:
    result: dict[str, Any] = {"ruleId": rule, "level": str(level), "message": {"text": text}}
    if rule in RULES:  # the report of an import comes from the imported module's process, and may name any
        result["ruleIndex"] = list(RULES).index(rule)
    if place.file:
        column = {"startColumn": place.column} if place.column else {}
        region = {"region": {"startLine": max(1, place.line), **column}} if not place.cell else {}
        location: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}, **region}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _uri(file: str) -> str:
    return f"file://{quote(file)}" if file.startswith("/") else quote(file)


def _loop(graph: GraphReport, loop: Loop) -> dict[str, Any]:
    cell = f" (cell {loop.place.cell}, line {loop.place.line})" if loop.place.cell else ""
    change = f" Smallest change: {said}." if (said := change_for(loop)) else ""
    text = f"{graph.name}: {loop.path}: {loop.verdict}, {loop.kind}. {loop.why}. {loop.cap or 'no cap'}{cell}.{change}"
    result = _result(OF_VERDICT.get(loop.verdict, "form-only-loop"), loop.level, text, loop.place)
    if loop.suppressed:
        result["suppressions"] = [{"kind": "inSource", "justification": loop.suppressed}]
    if loop.known:
        result["baselineState"] = "unchanged"
    result["properties"] = {"verdict": str(loop.verdict), "path": loop.path, "mode": str(graph.mode)}
    return result


def _finding(finding: Finding) -> dict[str, Any]:
    return _result(finding.rule, finding.level, finding.message, finding.place)
