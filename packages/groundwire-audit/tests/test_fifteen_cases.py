"""The fifteen graphs of the audit notes, each with the verdict it must get: from the source, and from the object."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import CASES, imported, written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import AuditReport, Loop
from groundwire_audit.live._graphs import audit_object

Expected = dict[str, tuple[str, str, str]]

VERDICTS: dict[str, Expected] = {
    "1 write and critique, no map, no cap": {
        "write → critique → write": ("ungrounded", "model's judgement", "recursion limit only")
    },
    "2 the same with a counter": {"write → critique → write": ("ungrounded", "model's judgement", "capped 3")},
    "3 exit status": {"write → run → write": ("grounded", "executed code", "recursion limit only")},
    "4 tool loop": {"agent → tools → agent": ("tool_loop", "tools", "recursion limit only")},
    "5 no-op tool": {"agent → tools → agent": ("ungrounded", "no outside tool", "recursion limit only")},
    "6 search then judge": {
        "search → summarise → judge → search": ("partly", "outside, not deciding", "capped 2"),
    },
    "7 grader in the router": {
        "generate → generate": ("ungrounded", "model's judgement", "recursion limit only"),
        "retrieve → generate → retrieve": ("partly", "outside, not deciding", "recursion limit only"),
    },
    "8 human behind a flag": {"planner → human → planner": ("partly", "human, optional", "recursion limit only")},
    "8b human without the flag": {"planner → human → planner": ("grounded", "human", "recursion limit only")},
    "9 pause before a node that does nothing": {
        "write → review → write": ("grounded", "human", "recursion limit only")
    },
    "10 undeclared goto": {"supervisor → ? → supervisor": ("unknown", "undeclared targets", "")},
    "10b declared goto": {
        "supervisor → files → supervisor": ("partly", "outside, not deciding", "recursion limit only"),
        "supervisor → sql → supervisor": ("partly", "outside, not deciding", "recursion limit only"),
    },
    "11 graph held in self": {
        "polish/write → polish/critique → polish/write": ("ungrounded", "model's judgement", "recursion limit only")
    },
    "12 functional": {"graph ⟲": ("ungrounded", "model's judgement", "no cap")},
    "13 pending items": {"work → work": ("worklist", "items", "items")},
    "14 five booleans": {"answer → judge → answer": ("ungrounded", "model's judgement", "recursion limit only")},
    "15 validation error": {"extract → validate → extract": ("grounded", "form only", "capped 3")},
}


def told(report: AuditReport) -> Expected:
    return {x.path: (str(x.verdict), x.kind, x.cap) for x in report.loops}


@pytest.mark.parametrize("name", CASES)
def test_from_the_source(name: str, tmp_path: Path) -> None:
    assert told(audit_path(written(CASES[name], tmp_path))) == VERDICTS[name]


@pytest.mark.parametrize("name", CASES)
def test_from_the_object(name: str, tmp_path: Path) -> None:
    module = imported(written(CASES[name], tmp_path))
    assert told(audit_object(module.graph)) == VERDICTS[name]


def loop(name: str, folder: Path) -> Loop:
    return audit_path(written(CASES[name], folder)).loops[0]


def test_the_flag_that_skips_the_person_is_named(tmp_path: Path) -> None:
    assert "not (state['auto_accept'])" in loop("8 human behind a flag", tmp_path).why


def test_the_deciding_edge_is_named_with_its_line(tmp_path: Path) -> None:
    found = loop("1 write and critique, no map, no cap", tmp_path)
    source = written(CASES["1 write and critique, no map, no cap"], tmp_path).read_text().splitlines()
    assert "add_conditional_edges" in source[found.place.line - 1]
    assert found.why.endswith("state['approved'] ← a model (Chat)")
