"""The report: its JSON form goes there and back, and its exit code is what CI hangs on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_cases import CASES, written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import AuditReport, Finding, GraphReport, Grounding, Level, Loop, Mode


def report(*loops: tuple[Grounding, Level], findings: tuple[Finding, ...] = ()) -> AuditReport:
    made = tuple(Loop(v, "k", ("a",), "why", level) for v, level in loops)
    return AuditReport("t", (GraphReport("g", Mode.SOURCE, loops=made, findings=findings),))


@pytest.mark.parametrize(
    ("found", "code", "strict"),
    [
        (report(), 0, 0),
        (
            report(
                (Grounding.GROUNDED, Level.NONE), (Grounding.TOOL_LOOP, Level.NONE), (Grounding.WORKLIST, Level.NONE)
            ),
            0,
            0,
        ),
        (report((Grounding.GROUNDED, Level.NOTE)), 0, 0),
        (report((Grounding.PARTLY, Level.WARNING)), 0, 1),
        (report((Grounding.UNGROUNDED, Level.NOTE)), 0, 1),
        (report((Grounding.UNGROUNDED, Level.ERROR)), 1, 1),
        (report((Grounding.UNKNOWN, Level.WARNING)), 3, 1),
        (report((Grounding.UNKNOWN, Level.WARNING), (Grounding.UNGROUNDED, Level.ERROR)), 1, 1),
        (report(findings=(Finding("dead-node", "x"),)), 0, 1),
        (report(findings=(Finding("old-api", "x", level=Level.NOTE),)), 0, 0),
        (report(findings=(Finding("too-complex", "x"),)), 3, 1),
        (report(findings=(Finding("too-many-loops", "x"),)), 3, 1),
        (report(findings=(Finding("audit-failed", "x"),)), 3, 1),
        (AuditReport("t"), 3, 3),
    ],
)
def test_exit_codes(found: AuditReport, code: int, strict: int) -> None:
    assert (found.exit_code(), found.exit_code(strict=True)) == (code, strict)


@pytest.mark.parametrize("name", CASES)
def test_the_json_form_goes_there_and_back(name: str, tmp_path: Path) -> None:
    found = audit_path(written(CASES[name], tmp_path))
    data = json.loads(json.dumps(found.as_data()))
    assert AuditReport.from_data(data) == found
    assert data["schema"] == "groundwire-audit/1"
    assert sum(data["counts"].values()) == len(found.loops)
    assert [x["path"] for g in data["graphs"] for x in g["loops"]] == [x.path for g in found.graphs for x in g.loops]


@pytest.mark.parametrize(
    "data",
    [{}, {"target": "t"}, {"target": "t", "graphs": 3, "findings": [], "notes": []},
     {"target": "t", "graphs": [None], "findings": [], "notes": []},
     {"target": "t", "graphs": [], "findings": [{"rule": "r", "message": "m", "level": "loud"}], "notes": []}],
)  # fmt: skip
def test_another_form_is_a_value_error(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not a report|not a valid"):
        AuditReport.from_data(data)
