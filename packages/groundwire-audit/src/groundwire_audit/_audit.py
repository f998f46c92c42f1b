"""`audit` and `assert_grounded`: an audit of a graph that is at hand, of a file, or of a real run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundwire_audit._errors import AuditError

if TYPE_CHECKING:
    from groundwire_audit._report import AuditReport
    from groundwire_audit.live._tracing import TraceReport
from collections.abc import Iterable

from groundwire_audit._report import AuditReport, Grounding, Level, Loop

# `audit`: audits a graph that is at hand, a file, or a real run.


class Auditor:
    """Says of each loop of a LangGraph graph whether something outside the model decides that it goes round.

    `audit(graph)` looks at an object, `audit.source(path)` at a file, folder or notebook without importing it, and
    `audit.trace(app, inputs)` follows a real run.
    """

    def __call__(self, graph: object, *, roles: Mapping[str, str] | None = None) -> AuditReport:
        """Audits a builder, compiled graph, functional flow or FeedbackGraph; nothing of it is run.

        Args:
            graph: the object.
            roles: node or tool → `actor`, `critic`, `model`, `tool`, `world`, `human` or `pure`; shown as declared.

        Raises:
            TypeError: it is no graph.
        """
        from groundwire_audit.live._graphs import audit_object

        return audit_object(graph, roles=roles)

    def source(self, path: Path | str, *, name: str = "", roles: Mapping[str, str] | None = None) -> AuditReport:
        """Audits from the source alone; neither LangGraph nor the target is imported.

        Args:
            path: a Python file, notebook or folder.
            name: only the graph of this name: a variable, or the function or class that makes it.
            roles: as above.

        Raises:
            AuditError: there is no such path.
        """
        from groundwire_audit._discover import audit_path

        where = Path(path)
        if not where.exists():
            raise AuditError(f"{where} does not exist.", do="Give a Python file, a notebook or a folder.")
        return audit_path(where, wanted=name, roles=roles)

    def trace(self, app: Any, inputs: Any, *, config: Mapping[str, Any] | None = None) -> TraceReport:
        """Runs a compiled graph and compares its steps with what was declared. This runs nodes, models and tools.

        Args:
            app: the compiled graph.
            inputs: one input, or a list of them.
            config: passed on to each run.

        Raises:
            TypeError: it is no compiled graph.
        """
        from groundwire_audit.live._tracing import trace

        return trace(app, inputs, config=config)


audit = Auditor()

# `assert_grounded`: for a project's own tests.


def assert_grounded(
    graph: object, *, roles: Mapping[str, str] | None = None, strict: bool = False, allow: Iterable[str] = ()
) -> AuditReport:
    """Fails the test if a loop of the graph is ungrounded.

    Args:
        graph: a LangGraph builder or compiled graph, a functional flow, or a FeedbackGraph. Nothing of it is run.
        roles: node or tool → `actor`, `critic`, `tool`, `human`, `pure`; taken as declared.
        strict: loops that can't be seen, that are only partly grounded, and fixed rounds fail too.
        allow: paths of loops that are known and accepted, as they are printed: `pro → con → pro`.

    Returns:
        The report.

    Raises:
        AssertionError: names each loop, what decides it, and the line on which it is wired.
        TypeError: it is no graph.
    """
    __tracebackhide__ = True
    from groundwire_audit.live._graphs import audit_object

    report = audit_object(graph, roles=roles)
    accepted = set(allow)
    bad = [x for x in report.loops if x.path not in accepted and _fails(x, strict=strict)]
    if bad:
        lines = [f"  {x.path}: {x.verdict}: {x.why}{f' ({x.place})' if str(x.place) else ''}" for x in bad]
        count = "1 loop is" if len(bad) == 1 else f"{len(bad)} loops are"
        raise AssertionError("\n".join([f"{count} not grounded:", *lines]))
    return report


def _fails(loop: Loop, *, strict: bool) -> bool:
    if loop.level is Level.ERROR:
        return True
    return strict and loop.verdict in {Grounding.UNGROUNDED, Grounding.PARTLY, Grounding.UNKNOWN}
