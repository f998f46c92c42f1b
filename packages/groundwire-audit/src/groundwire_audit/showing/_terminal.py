"""What an audit found, as text for a terminal; what comes from outside goes through `plain` first."""

from __future__ import annotations

import os
import sys
import unicodedata
from typing import Any

from groundwire_audit._report import AuditReport, Finding, GraphReport, Grounding, Level, Loop, Mode
from groundwire_audit._rules import change_for, rule_of

MARKS = {
    Grounding.UNGROUNDED: ("✗", "bold red"),
    Grounding.PARTLY: ("~", "yellow"),
    Grounding.TOOL_LOOP: ("~", "cyan"),
    Grounding.UNKNOWN: ("?", "magenta"),
    Grounding.WORKLIST: ("✓", "dim"),
    Grounding.GROUNDED: ("✓", "green"),
}
HOW = {
    Mode.SOURCE: "read from the source; nothing was imported",
    Mode.IMPORT: "imported in a process of its own",
    Mode.OBJECT: "handed over as an object",
}
CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}
"""SGR parameters, ECMA-48 8.3.117."""
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plain(text: str, *, limit: int = 200) -> str:
    """One line that can't move the cursor, recolour or reorder the terminal.

    Args:
        text: anything, also names and messages out of the audited source.
        limit: characters kept.
    """
    shown = (" " if c in "\n\r\t" else "�" if unicodedata.category(c) in HIDDEN else c for c in text[: limit * 4])
    line = " ".join("".join(shown).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def show(report: AuditReport, traced: dict[str, Any] | None) -> None:
    """Prints each loop, what else was noticed, and a sum.

    Args:
        report: the audit.
        traced: a trace of real runs, as `TraceReport.as_data` gives it, or None.
    """
    plain_ones = [g for g in report.graphs if not g.loops and not g.findings]
    for graph in report.graphs:
        if graph not in plain_ones:
            _show_graph(graph, alone=len(report.graphs) - len(plain_ones) == 1)
    if plain_ones:
        names = plain(", ".join(g.name for g in plain_ones), limit=160)
        _line((f"{_plural(len(plain_ones), 'graph')} without a loop: {names}", "dim"))
    for finding in report.findings:
        _show_finding(finding)
    if traced is not None:
        _show_trace(traced)
    for note in report.notes:
        _line((f"  {plain(note, limit=400)}", "dim"))
    _line(_summary(report))


def _line(*parts: tuple[str, str]) -> None:
    """Prints texts, each with its style, as one line."""
    styled = _has_styles()
    sys.stdout.write("".join(_styled(text, style) if styled else text for text, style in parts) + "\n")


def _has_styles() -> bool:
    """True on a terminal; NO_COLOR (no-color.org) and FORCE_COLOR have the last word."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in {"", "dumb", "unknown"}


def _styled(text: str, style: str) -> str:
    codes = ";".join(str(CODES[word]) for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def _show_graph(graph: GraphReport, *, alone: bool) -> None:
    if not alone:
        where = f"{plain(str(graph.place))}: " if str(graph.place) else ""
        _line((f"{where}{plain(graph.name)}", "bold"))
    for loop in graph.loops:
        _show_loop(loop)
    for finding in graph.findings:
        _show_finding(finding)


def _show_loop(loop: Loop) -> None:
    """One line: where, the rule or verdict, the way round, why, what ends it, and the smallest change."""
    mark, style = MARKS[loop.verdict]
    if loop.verdict is Grounding.UNGROUNDED and loop.level is Level.NOTE:
        mark, style = "~", "dim"
    broken = loop.level is not Level.NONE
    said = rule_of(loop) if broken else str(loop.verdict).replace("_", " ")
    more = [loop.kind, loop.cap, *(f"declared, not proved: {d}" for d in loop.declared)] if broken else []
    more += [] if broken else [f"declared, not proved: {d}" for d in loop.declared]
    notes = f" [{plain(' · '.join(m for m in more if m), limit=300)}]" if any(more) else ""
    notes += "".join(f"; {plain(n, limit=300)}" for n in loop.notes)
    notes += f"; left out: {plain(loop.suppressed, limit=200)}" if loop.suppressed else ""
    notes += "; known" if loop.known else ""
    change = f"; change: {plain(said_change, limit=400)}" if broken and (said_change := change_for(loop)) else ""
    _line(
        (f"{plain(str(loop.place))}: " if str(loop.place) else "", ""),
        (f"{mark} ", style),
        (f"{said}: ", style if broken else "dim"),
        (plain(loop.path, limit=200), "bold" if loop.level is Level.ERROR else ""),
        (f": {plain(loop.why, limit=300)}", ""),
        (f"{notes}{change}", "dim"),
    )


def _show_finding(finding: Finding) -> None:
    where = f"{plain(str(finding.place))}: " if str(finding.place) else ""
    known = "; known" if finding.known else ""
    style = "dim" if finding.level is Level.NOTE else "yellow"
    _line((where, ""), ("! ", style), (f"{finding.rule}: {plain(finding.message, limit=400)}{known}", style))


def _show_trace(traced: dict[str, Any]) -> None:
    _line((f"trace of {_plural(int(traced['runs']), 'run')}", "bold"))
    foreseen = {tuple(s) for s in traced["foreseen"]}
    for source, target in traced["undeclared"]:
        read = "   (the source shows it)" if (source, target) in foreseen else ""
        _line((f"! {plain(source)} → {plain(target)}   taken, declared nowhere{read}", "yellow"))
    for source, target in traced["never_taken"]:
        _line((f"  {plain(source)} → {plain(target)}   declared, never taken", "dim"))
    if traced["error"]:
        _line((f"! a run ended early: {plain(traced['error'], limit=300)}", "red"))


def _summary(report: AuditReport) -> tuple[str, str]:
    if not report.graphs:
        return "no LangGraph graph was found: nothing was audited", "bold yellow"
    counts = [f"{report.count(v)} {v.replace('_', ' ')}" for v in Grounding if report.count(v)]
    modes = ", ".join(dict.fromkeys(HOW[g.mode] for g in report.graphs))
    bad = any(x.level is Level.ERROR for x in report.loops)
    counts += [f"{left} left out by a comment"] if (left := sum(bool(x.suppressed) for x in report.loops)) else []
    counts += [f"{known} known"] if (known := sum(x.known for x in report.loops)) else []
    total = f"{_plural(len(report.loops), 'loop')} in {_plural(len(report.graphs), 'graph')}"
    said = f"{total}: {', '.join(counts)}" if counts else total
    return f"{said}   ({modes})", "bold red" if bad else "bold"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
