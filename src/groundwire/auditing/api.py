"""`groundwire.audit`: audits a graph that is at hand, a file, or a real run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundwire.core._errors import ConfigError

if TYPE_CHECKING:
    from groundwire.auditing.live.tracing import TraceReport
    from groundwire.auditing.report import Report

__all__ = ["Audit", "audit"]


class Audit:
    """Says of each loop of a LangGraph graph whether something outside the model decides that it goes round.

    `audit(graph)` looks at an object, `audit.source(path)` at a file, folder or notebook without importing it, and
    `audit.trace(app, inputs)` follows a real run.
    """

    def __call__(self, graph: object, *, roles: Mapping[str, str] | None = None) -> Report:
        """Audits a builder, compiled graph, functional flow or FeedbackGraph; nothing of it is run.

        Args:
            graph: the object.
            roles: node or tool → `actor`, `critic`, `model`, `tool`, `world`, `human` or `pure`; shown as declared.

        Raises:
            TypeError: it is no graph.
        """
        from groundwire.auditing.live.graphs import audit_object

        return audit_object(graph, roles=roles)

    def source(self, path: Path | str, *, name: str = "", roles: Mapping[str, str] | None = None) -> Report:
        """Audits from the source alone; neither LangGraph nor the target is imported.

        Args:
            path: a Python file, notebook or folder.
            name: only the graph of this name: a variable, or the function or class that makes it.
            roles: as above.

        Raises:
            ConfigError: there is no such path.
        """
        from groundwire.auditing.source.discover import audit_path

        where = Path(path)
        if not where.exists():
            raise ConfigError(f"{where} does not exist.", do="Give a Python file, a notebook or a folder.")
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
        from groundwire.auditing.live.tracing import trace

        return trace(app, inputs, config=config)


audit = Audit()
