"""SARIF 2.1.0 (OASIS), for code scanning."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from groundwire_audit._report import AuditReport, Finding, GraphReport, Level, Loop, SourcePlace

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RULES = {
    "ungrounded-loop": "A loop can go round with nothing outside the model having said anything.",
    "partly-grounded-loop": "Something outside is asked in the loop, and a model or a counter decides.",
    "unknown-loop": "What decides the loop can't be seen; declare it.",
    "form-only-loop": "Only the form of the reply is checked, and nothing caps the loop.",
    "unknown-target": "A router or jump names a node that does not exist.",
    "unknown-node": "An edge names a node that does not exist.",
    "label-not-in-map": "A router returns a label that its map does not hold.",
    "undeclared-jump": "A node jumps to where its annotation does not lead.",
    "dead-node": "No path from the start reaches the node.",
    "no-exit": "Nothing leads out of the loop.",
    "old-api": "The graph uses an interface that LangGraph has given up.",
    "too-complex": "Too large to follow.",
    "too-many-loops": "More ways round than can be listed; not all were judged.",
    "syntax-error": "Not Python that can be read.",
    "unreadable-file": "The file can't be read.",
    "file-too-large": "The file is larger than what is read.",
    "audit-failed": "The audit itself broke; nothing is said of this graph.",
    "import-failed": "The target could not be imported.",
    "unused-role": "A role was declared for a node or tool that is not there.",
}
OF_VERDICT = {
    "ungrounded": "ungrounded-loop",
    "partly": "partly-grounded-loop",
    "unknown": "unknown-loop",
    "grounded": "form-only-loop",
}


def as_sarif(report: AuditReport, version: str) -> dict[str, Any]:
    """The log: a result for each loop and finding that is more than fine.

    Args:
        report: the audit.
        version: of groundwire-audit.
    """
    results = [_loop(g, x) for g in report.graphs for x in g.loops if x.level is not Level.NONE]
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
    return [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]


def _result(rule: str, level: Level, text: str, place: SourcePlace) -> dict[str, Any]:
    result: dict[str, Any] = {"ruleId": rule, "level": str(level), "message": {"text": text}}
    if rule in RULES:  # the report of an import comes from the imported module's process, and may name any
        result["ruleIndex"] = list(RULES).index(rule)
    if place.file:
        region = {"region": {"startLine": max(1, place.line)}} if not place.cell else {}
        location: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}, **region}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _uri(file: str) -> str:
    return f"file://{quote(file)}" if file.startswith("/") else quote(file)


def _loop(graph: GraphReport, loop: Loop) -> dict[str, Any]:
    cell = f" (cell {loop.place.cell}, line {loop.place.line})" if loop.place.cell else ""
    text = f"{graph.name}: {loop.path}: {loop.verdict}, {loop.kind}. {loop.why}. {loop.cap or 'no cap'}{cell}"
    result = _result(OF_VERDICT.get(loop.verdict, "form-only-loop"), loop.level, text, loop.place)
    result["properties"] = {"verdict": str(loop.verdict), "path": loop.path, "mode": str(graph.mode)}
    return result


def _finding(finding: Finding) -> dict[str, Any]:
    return _result(finding.rule, finding.level, finding.message, finding.place)
