"""What an audit found, as one HTML page: each loop with its way round, what decides it, its lines, and the picture.

Everything that comes from the source is escaped; no script runs in it and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from groundwire_audit._report import AuditReport, GraphReport, Grounding, Level, Loop, SourcePlace
from groundwire_audit._rules import change_for, rule_of
from groundwire_audit.showing._pictures import as_svg
from groundwire_audit.showing._terminal import plain

AROUND = 6
"""Lines that are shown before and after the one that a finding stands at."""
LINE_CHARS = 200
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
:root { color-scheme: light dark; --line: #c9ced6; --quiet: #59616b; --mark: #fff3bf; --bad: #a31621; --odd: #7a5b00; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a414b; --quiet: #a3abb6; --mark: #4a3f12; --bad: #ff9a9f; --odd: #e6cf7a; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 0 auto; padding: 12px 20px; }
body { overflow-wrap: anywhere; }
section { border-left: 3px solid var(--line); padding-left: 14px; margin: 22px 0; }
pre { border: 1px solid var(--line); padding: 6px; overflow-x: auto; font-size: 13px; }
mark { background: var(--mark); color: inherit; display: inline-block; min-width: 100%; }
.quiet { color: var(--quiet); } .error { color: var(--bad); } .warning { color: var(--odd); }
figure { overflow-x: auto; margin: 12px 0; } svg { max-width: none; }
"""


def as_page(report: AuditReport) -> str:
    """One document.

    Args:
        report: what was found.
    """
    title = f"groundwire audit {plain(report.target, limit=200)}"
    counts = ", ".join(f"{report.count(v)} {str(v).replace('_', ' ')}" for v in Grounding if report.count(v))
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
            f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{len(report.loops)} loops in {len(report.graphs)} graphs: {escape(counts)}</p>",
            f'<figure tabindex="0">{as_svg(report)}</figure>' if report.graphs else "",
            *(part for graph in report.graphs for part in _graph(graph)),
            *_findings(report),
            *(f'<p class="quiet">{escape(plain(note, limit=400))}</p>' for note in report.notes),
            "</body>\n</html>\n",
        ]
    )


def _graph(graph: GraphReport) -> Iterator[str]:
    if graph.loops:
        yield f"<h2>{escape(plain(graph.name, limit=200))}</h2>"
    for loop in graph.loops:
        yield _loop(loop)


def _loop(loop: Loop) -> str:
    change = change_for(loop)
    verdict = str(loop.verdict).replace("_", " ") + (" (known)" if loop.known else "")
    rule, place = escape(plain(rule_of(loop), limit=80)), escape(plain(str(loop.place), limit=300))
    lines = [
        '<section class="loop">',
        f'<h3><span class="{_class(loop.level)}">{escape(verdict)}</span> {escape(plain(loop.path, limit=400))}</h3>',
        f'<p class="quiet"><code>{rule}</code> {place}</p>',
        f"<p>{escape(plain(loop.why, limit=900))}</p>",
        f"<p>Smallest change: {escape(plain(change, limit=600))}</p>" if change else "",
        _source(loop.place),
        "</section>",
    ]
    return "\n".join(line for line in lines if line)


def _findings(report: AuditReport) -> Iterator[str]:
    found = [finding for finding in report.all_findings() if finding.level is not Level.NONE]
    if found:
        yield "<h2>Wiring</h2>"
    for finding in found:
        yield (
            f'<section>\n<h3 class="{_class(finding.level)}">{escape(plain(finding.rule, limit=80))}</h3>\n'
            f"<p>{escape(plain(finding.message, limit=900))}</p>\n"
            f'<p class="quiet">{escape(plain(str(finding.place), limit=300))}</p>{_source(finding.place)}\n</section>'
        )


def _class(level: Level) -> str:
    return {Level.ERROR: "error", Level.WARNING: "warning"}.get(level, "quiet")


def _source(place: SourcePlace) -> str:
    """The lines around a place, where its file can still be read and is one that has lines."""
    if not place.file or not place.line or place.cell:
        return ""
    try:
        lines = Path(place.file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    first, last = max(1, place.line - AROUND), min(len(lines), place.line + AROUND)
    shown: list[str] = []
    for number in range(first, last + 1):
        said = escape(f"{number:5}  {_visible(lines[number - 1][:LINE_CHARS])}")
        shown.append(f"<mark>{said}</mark>" if number == place.line else said)
    return f'<pre tabindex="0">{chr(10).join(shown)}</pre>' if shown else ""


def _visible(line: str) -> str:
    return "".join(c if c == "\t" or c.isprintable() else "�" for c in line)
