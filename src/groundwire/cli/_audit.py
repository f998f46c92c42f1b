"""`groundwire audit`: which loops of a LangGraph graph nothing outside the model decides."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire import __version__
from groundwire.auditing import roles
from groundwire.auditing.report import Finding, GraphReport, Level, Loop, Mode, Report, Verdict
from groundwire.auditing.showing.mermaid import as_mermaid
from groundwire.auditing.showing.sarif import as_sarif
from groundwire.auditing.showing.svg import as_svg
from groundwire.cli._text import plural
from groundwire.core._errors import ConfigError
from groundwire.core._text import plain

# Prints what an audit found.

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
        return Text("no LangGraph graph was found, so nothing was audited", style="bold yellow")
    counts = [f"{report.count(v)} {v.replace('_', ' ')}" for v in Verdict if report.count(v)]
    modes = ", ".join(dict.fromkeys(HOW[g.mode] for g in report.graphs))
    bad = any(x.level is Level.ERROR for x in report.loops)
    total = f"{plural(len(report.loops), 'loop')} in {plural(len(report.graphs), 'graph')}"
    said = f"{total}: {', '.join(counts)}" if counts else total
    return Text(f"{said}   ({modes})", style="bold red" if bad else "bold")


# `groundwire audit`: reads what was named, in this process or in a sandbox, and says what was found.

DOTTED = re.compile(r"^[A-Za-z_][\w]*(\.[A-Za-z_][\w]*)*$")


@dataclass(frozen=True)
class AuditRequest:
    """The command's arguments."""

    target: str
    call: bool = False
    source: bool = False
    import_: bool = False
    role: Sequence[str] = ()
    roles: Path | None = None
    as_json: bool = False
    sarif: Path | None = None
    mermaid: bool = False
    svg: Path | None = None
    strict: bool = False
    trace: str | None = None
    timeout_s: float = 60.0
    python: Path | None = None
    sandbox: str | None = None
    env: Sequence[str] = ()


@dataclass(frozen=True)
class Target:
    """What is audited: a path, or a module to import; with a name inside it."""

    path: Path | None = None
    module: str = ""
    name: str = ""
    roles: dict[str, str] = field(default_factory=dict[str, str])


def run_audit(asked: AuditRequest) -> int:
    """Audits and prints.

    Returns:
        The exit code: 0, 1 ungrounded, 3 unknown.

    Raises:
        ConfigError: the target or a role can't be read.
    """
    target = _target(asked)
    report = _audited(asked, target)
    traced = _traced(asked, target) if asked.trace else None
    if asked.sarif is not None:
        _write(asked.sarif, json.dumps(as_sarif(report, __version__), indent=2) + "\n")
    if asked.svg is not None:
        _write(asked.svg, as_svg(report))
    code = report.exit_code(strict=asked.strict)
    if asked.as_json:
        body = {**report.as_data(), "exit_code": code, **({"trace": traced} if traced is not None else {})}
        sys.stdout.write(json.dumps(body, indent=2) + "\n")
    elif asked.mermaid:
        sys.stdout.write(as_mermaid(report))
    else:
        show(report, traced)
    return code


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}.", do="Name another file.") from error


def _target(asked: AuditRequest) -> Target:
    said = asked.target
    path, name = Path(said), ""
    if not path.exists():
        left, sign, right = said.rpartition(":")
        if sign and left and Path(left).exists():
            path, name = Path(left), right
        elif sign and DOTTED.match(left) and DOTTED.match(right):
            return Target(module=left, name=right, roles=_roles(asked, Path.cwd()))
        elif DOTTED.match(said) and not sign and _source_of(said) is not None:
            return Target(module=said, roles=_roles(asked, Path.cwd()))
        else:
            raise ConfigError(
                f"{said} is neither a file, a folder nor module:graph.",
                do="Give  my_agent.py,  my_agent.py:graph,  a folder,  a notebook  or  package.module:graph",
            )
    if name and not DOTTED.match(name):
        raise ConfigError(f"{name!r} can't be the name of a graph.", do="Write  my_agent.py:graph")
    if path.is_file() and path.suffix not in {".py", ".ipynb"}:
        raise ConfigError(
            f"{path} is neither a Python file nor a notebook.", do="Give a .py or .ipynb file, or a folder."
        )
    return Target(path=path, name=name, roles=_roles(asked, path))


def _roles(asked: AuditRequest, start: Path) -> dict[str, str]:
    """Roles of the project, then those of the file, then those of the flags: the later ones win."""
    declared = roles.from_project(start)
    if asked.roles is not None:
        declared |= roles.read_file(asked.roles)
    return declared | roles.from_flags(asked.role)


def _source_of(module: str) -> Path | None:
    """The file of a module beside the current folder, found without importing it."""
    for root in (Path.cwd(), Path.cwd() / "src"):
        path = root.joinpath(*module.split("."))
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


def _audited(asked: AuditRequest, target: Target) -> Report:
    if asked.source and (asked.import_ or asked.call):
        raise ConfigError("--source imports nothing, so it goes with neither --import nor --call.", do="Leave one out.")
    if target.path is not None and not (asked.import_ or asked.call):
        return _from_source(target.path, target, asked)
    if target.module and asked.source:
        path = _source_of(target.module)
        if path is None:
            raise ConfigError(f"The source of {target.module} is not below this folder.", do="Leave --source out.")
        return _from_source(path, target, asked)
    return _by_import(asked, target)


def _from_source(path: Path, target: Target, asked: AuditRequest) -> Report:
    from groundwire.auditing.source.discover import audit_path

    return audit_path(path, wanted=target.name, roles=target.roles, target=asked.target)


def _by_import(asked: AuditRequest, target: Target) -> Report:
    """Imports the target; where that fails, its source still tells something."""
    from groundwire.auditing.live.guarded import ImportFailed, audit_imported

    try:
        report, guard = audit_imported(_job(asked, target))
    except ImportFailed as failed:
        path = target.path or _source_of(target.module)
        if failed.stage == "target" or path is None or path.is_dir():
            raise ConfigError(f"{asked.target} can't be audited: {_said(failed)}.", do=_cure(failed)) from failed
        read = _from_source(path, target, asked)
        note = f"the import failed ({_said(failed)}); audited from the source instead"
        finding = Finding("import-failed", f"{_said(failed)}. {_cure(failed)}.", level=Level.NOTE)
        return replace(read, findings=(*read.findings, finding), notes=(*read.notes, note))
    return replace(report, target=asked.target, notes=(*report.notes, guard))


def _said(failed: Exception) -> str:
    return str(failed).rstrip(". ")


def _cure(failed: Exception) -> str:
    if "--call" in str(failed) or "Name the graph" in str(failed):
        return "Change the target as the message says"
    return "Pass what it needs with --env NAME, allow more time with --timeout, or name --sandbox subprocess"


def _job(asked: AuditRequest, target: Target) -> Any:
    from groundwire.auditing.live.guarded import ImportJob

    root, file = Path.cwd(), ""
    if target.path is not None:
        if target.path.is_dir() or target.path.suffix != ".py":
            raise ConfigError(f"{target.path} can't be imported.", do="Give a .py file, or leave --import out.")
        here = target.path.resolve()
        root = root if here.is_relative_to(root) else here.parent
        file = here.relative_to(root).as_posix()
    return ImportJob(
        module=target.module,
        file=file,
        name=target.name,
        call=asked.call,
        root=root,
        roles=target.roles,
        target=asked.target,
        timeout_s=asked.timeout_s,
        python=asked.python,
        sandbox=asked.sandbox,
        env=asked.env,
    )


def _traced(asked: AuditRequest, target: Target) -> dict[str, Any]:
    from groundwire.auditing.live.guarded import ImportFailed, trace_imported

    assert asked.trace is not None
    try:
        return trace_imported(_job(asked, target), asked.trace)
    except ImportFailed as failed:
        raise ConfigError(
            f"The run of {asked.target} can't be followed: {_said(failed)}.", do=_cure(failed)
        ) from failed
