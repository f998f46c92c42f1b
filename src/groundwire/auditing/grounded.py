"""`assert_grounded`: for a project's own tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundwire.auditing.report import Level, Loop, Report, Verdict

__all__ = ["assert_grounded"]


def assert_grounded(
    graph: object, *, roles: Mapping[str, str] | None = None, strict: bool = False, allow: Iterable[str] = ()
) -> Report:
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
    from groundwire.auditing.live.graphs import audit_object

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
    return strict and loop.verdict in {Verdict.UNGROUNDED, Verdict.PARTLY, Verdict.UNKNOWN}
