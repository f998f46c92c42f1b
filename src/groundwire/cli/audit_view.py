"""Prints what an audit found."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.auditing.report import Finding, GraphReport, Level, Loop, Mode, Report, Verdict
from groundwire.cli.text import plain, plural

__all__ = ["show"]

MARKS = {
    Verdict.UNGROUNDED: ("✗", "bold red"),
    Verdict.PARTLY: ("~", "yellow"),
    Verdict.TOOL_LOOP: ("~", "cyan"),
    Verdict.UNKNOWN: ("?", "magenta"),
    Verdict.WORKLIST: ("✓", "dim"),
    Verdict.GROUNDED: ("✓", "green"),
}
HOW = {
    Mode.SOURCE: "read from the source; nothing was imported",
    Mode.IMPORT: "imported in a process of its own",
    Mode.OBJECT: "handed over as an object",
}


def show(report: Report, traced: dict[str, Any] | None) -> None:
    """Prints each loop, what else was noticed, and a sum.

    Args:
        report: the audit.
        traced: a trace of real runs, as `TraceReport.as_data` gives it, or None.
    """
    console = Console(highlight=False)
    for graph in report.graphs:
        _show_graph(console, graph, alone=len(report.graphs) == 1)
    for finding in report.findings:
        _show_finding(console, finding)
    if traced is not None:
        _show_trace(console, traced)
    for note in report.notes:
        console.print(Text(f"  {plain(note, limit=400)}", style="dim"), soft_wrap=True)
    console.print(_summary(report), soft_wrap=True)


def _show_graph(console: Console, graph: GraphReport, *, alone: bool) -> None:
    if not alone or not graph.loops:
        where = f"  ({plain(str(graph.place))})" if str(graph.place) else ""
        none = "" if graph.loops else "  no loop"
        console.print(Text(f"{plain(graph.name)}{where}{none}", style="bold"), soft_wrap=True)
    width = min(60, max((len(plain(x.path)) for x in graph.loops), default=0))
    for loop in graph.loops:
        _show_loop(console, loop, width)
    for finding in graph.findings:
        _show_finding(console, finding)


def _show_loop(console: Console, loop: Loop, width: int) -> None:
    mark, style = MARKS[loop.verdict]
    if loop.verdict is Verdict.UNGROUNDED and loop.level is Level.NOTE:
        mark, style = "~", "dim"
    line = Text(f"{mark} ", style=style)
    line.append(plain(loop.path, limit=200).ljust(width), style="bold" if loop.level is Level.ERROR else "")
    line.append(f"   {plain(loop.why, limit=300)}")
    if str(loop.place):
        line.append(f"   ({plain(str(loop.place))})", style="dim")
    console.print(line, soft_wrap=True)
    more = [
        str(loop.verdict).replace("_", " "),
        loop.kind,
        loop.cap,
        *(f"declared, not proved: {d}" for d in loop.declared),
    ]
    if loop.verdict not in {Verdict.GROUNDED, Verdict.WORKLIST, Verdict.TOOL_LOOP} or loop.declared:
        console.print(Text(f"    {plain(' · '.join(m for m in more if m), limit=300)}", style="dim"), soft_wrap=True)
    for note in loop.notes:
        console.print(Text(f"    {plain(note, limit=300)}", style="dim"), soft_wrap=True)


def _show_finding(console: Console, finding: Finding) -> None:
    style = "dim" if finding.level is Level.NOTE else "yellow"
    where = f"   ({plain(str(finding.place))})" if str(finding.place) else ""
    console.print(Text(f"! {plain(finding.message, limit=400)}{where}", style=style), soft_wrap=True)


def _show_trace(console: Console, traced: dict[str, Any]) -> None:
    console.print(Text(f"trace of {plural(int(traced['runs']), 'run')}", style="bold"))
    foreseen = {tuple(s) for s in traced["foreseen"]}
    for source, target in traced["undeclared"]:
        read = "   (the source shows it)" if (source, target) in foreseen else ""
        console.print(
            Text(f"! {plain(source)} → {plain(target)}   taken, declared nowhere{read}", style="yellow"), soft_wrap=True
        )
    for source, target in traced["never_taken"]:
        console.print(Text(f"  {plain(source)} → {plain(target)}   declared, never taken", style="dim"), soft_wrap=True)
    if traced["error"]:
        console.print(Text(f"! a run ended early: {plain(traced['error'], limit=300)}", style="red"), soft_wrap=True)


def _summary(report: Report) -> Text:
    if not report.graphs:
        return Text("no LangGraph graph was found: nothing was audited", style="bold yellow")
    counts = [f"{report.count(v)} {v.replace('_', ' ')}" for v in Verdict if report.count(v)]
    modes = ", ".join(dict.fromkeys(HOW[g.mode] for g in report.graphs))
    bad = any(x.level is Level.ERROR for x in report.loops)
    total = f"{plural(len(report.loops), 'loop')} in {plural(len(report.graphs), 'graph')}"
    said = f"{total}: {', '.join(counts)}" if counts else total
    return Text(f"{said}   ({modes})", style="bold red" if bad else "bold")
