"""What an audit found, as annotations of a GitHub workflow and as a table in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from groundwire_audit._report import AuditReport, Grounding, Level, Loop, SourcePlace
from groundwire_audit._rules import change_for, rule_of
from groundwire_audit.showing._terminal import plain

COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def as_github(report: AuditReport) -> str:
    """Workflow commands, one a finding: GitHub shows them at their lines."""
    return "".join(f"{line}\n" for line in _commands(report))


def _commands(report: AuditReport) -> Iterator[str]:
    for graph in report.graphs:
        for loop in graph.loops:
            if loop.level is not Level.NONE and not loop.known:
                yield _command(loop.level, loop.place, rule_of(loop), _said(loop))
    for finding in report.all_findings():
        if finding.level is not Level.NONE and not finding.known:
            yield _command(finding.level, finding.place, finding.rule, finding.message)


def _said(loop: Loop) -> str:
    change = change_for(loop)
    return f"{loop.path}: {loop.why}" + (f". Smallest change: {change}" if change else "")


def _command(level: Level, place: SourcePlace, rule: str, said: str) -> str:
    where = [f"file={_property(place.file)}"] if place.file else []
    if not place.cell and place.line:
        where += [f"line={place.line}", *([f"col={place.column}"] if place.column else [])]
    cell = f" (cell {place.cell}, line {place.line})" if place.cell else ""
    options = ",".join([*where, f"title={_property(rule)}"])
    return f"::{COMMANDS[level]} {options}::{_data(plain(said + cell, limit=900))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_markdown(report: AuditReport) -> str:
    """A table for a comment or summary; what comes from the source is text there, never markup."""
    rows = [
        (str(x.place), rule_of(x), x.path, x.why, change_for(x))
        for g in report.graphs
        for x in g.loops
        if x.level is not Level.NONE
    ]
    rows += [(str(f.place), f.rule, "", f.message, "") for f in report.all_findings()]
    counts = ", ".join(f"{report.count(v)} {str(v).replace('_', ' ')}" for v in Grounding if report.count(v))
    loops, graphs = len(report.loops), len(report.graphs)
    head = f"**groundwire audit**: {loops} loop{'s' * (loops != 1)} in {graphs} graph{'s' * (graphs != 1)}"
    lines = [f"{head}: {counts}" if counts else head]
    if rows:
        lines += ["", "| where | rule | loop | why | smallest change |", "|---|---|---|---|---|"]
        lines += [f"| {' | '.join(_cell(c) for c in row)} |" for row in rows]
    lines += ["", *(f"{_cell(n)}  " for n in report.notes)] if report.notes else []
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    shown = plain(text, limit=400)
    return "".join(f"&#{ord(c)};" if c in MARKUP else c for c in shown)


MARKUP = frozenset("|<>&*_`[]\\~#@!$")
