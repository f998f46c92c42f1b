"""The SARIF log has the shape that version 2.1.0 asks for, whatever nodes and files are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from audit_cases import CASES, written

from groundwire_audit._discover import audit_path
from groundwire_audit._report import AuditReport, Finding, GraphReport, Grounding, Level, Loop, Mode, SourcePlace
from groundwire_audit._rules import RULES
from groundwire_audit.showing._sarif import as_sarif

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "additionalProperties": False,
                    # RFC 3986: no spaces, no raw non-ASCII, nothing that ends the reference
                    "properties": {"uri": {"type": "string", "pattern": "^[A-Za-z0-9._~:/?#\\[\\]@!$&'()*+,;=%-]+$"}},
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        }
    },
}
# the parts of the OASIS schema sarif-2.1.0 (errata 01) that a log of ours uses
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "additionalProperties": False,
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "shortDescription": TEXT,
                                                "help": TEXT,
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": TEXT,
                                "locations": {"type": "array", "items": LOCATION},
                                "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]},
                                "suppressions": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["kind"],
                                        "properties": {
                                            "kind": {"enum": ["inSource", "external"]},
                                            "justification": {"type": "string"},
                                        },
                                    },
                                },
                                "properties": {"type": "object"},
                            },
                        },
                    },
                },
            },
        },
    },
}


def log_of(report: AuditReport) -> dict[str, Any]:
    """The log, after it was checked."""
    log = json.loads(json.dumps(as_sarif(report, "1.2.3")))
    jsonschema.Draft202012Validator(SARIF).validate(log)  # pyright: ignore[reportUnknownMemberType] # untyped in jsonschema
    for result in log["runs"][0]["results"]:
        if "ruleIndex" in result:
            assert log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return log


@pytest.mark.parametrize("name", CASES)
def test_each_case_gives_a_valid_log(name: str, tmp_path: Path) -> None:
    report = audit_path(written(CASES[name], tmp_path))
    results = log_of(report)["runs"][0]["results"]
    assert len(results) == sum(x.level is not Level.NONE for x in report.loops) + len(list(report.all_findings()))


def test_an_ungrounded_loop_is_an_error_on_its_line(tmp_path: Path) -> None:
    report = audit_path(written(CASES["1 write and critique, no map, no cap"], tmp_path))
    (result,) = log_of(report)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("ungrounded-loop", "error")
    assert "write → critique → write" in result["message"]["text"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == report.loops[0].place.line


@pytest.mark.parametrize("file", ["a b/ü#1?.py", "/abs/päth/x.py", "%2e%2e/x.py", "a\nb.py"])
def test_file_names_become_references(file: str) -> None:
    loop = Loop(Grounding.PARTLY, "k", ("a\x1b[31m", '"<b>'), "why", Level.WARNING, place=SourcePlace(file, 3))
    (result,) = log_of(AuditReport("t", (GraphReport("g", Mode.SOURCE, loops=(loop,)),)))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///") == file.startswith("/")


def test_a_notebook_is_located_by_file_and_the_cell_is_said() -> None:
    loop = Loop(Grounding.UNKNOWN, "k", ("a",), "why", Level.WARNING, place=SourcePlace("n.ipynb", 2, 7))
    (result,) = log_of(AuditReport("t", (GraphReport("g", Mode.SOURCE, loops=(loop,)),)))["runs"][0]["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]
    assert "(cell 7, line 2)" in result["message"]["text"]


@pytest.mark.parametrize("rule", [*RULES, "made-up-by-a-stranger"])
def test_each_finding_has_its_rule(rule: str) -> None:
    (result,) = log_of(AuditReport("t", findings=(Finding(rule, "said", SourcePlace("f.py", 1)),)))["runs"][0][
        "results"
    ]
    assert result["ruleId"] == rule
