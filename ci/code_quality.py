"""Turns SARIF into a Code Quality report as GitLab shows it beside a merge request.

    python code_quality.py audit.sarif > gl-code-quality-report.json

Format: https://docs.gitlab.com/ci/testing/code_quality/ (description, check_name, fingerprint, severity, location).
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

SEVERITIES = {"error": "major", "warning": "minor", "note": "info", "none": "info"}


def findings(sarif: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of all runs.

    Args:
        sarif: a SARIF 2.1.0 log.
    """
    found: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    runs: list[Any] = sarif.get("runs", [])
    for run in runs:
        for result in run.get("results", []):
            locations: list[Any] = result.get("locations") or [{}]
            place: Any = locations[0].get("physicalLocation", {})
            path: str = place.get("artifactLocation", {}).get("uri", "")
            rule: str = result.get("ruleId", "")
            text: str = result.get("message", {}).get("text", "")
            # without the line, so that a finding that only moves stays the same one
            same = f"{path}\0{rule}\0{text}"
            seen[same] = seen.get(same, 0) + 1
            found.append(
                {
                    "description": text,
                    "check_name": rule,
                    "fingerprint": hashlib.sha256(f"{same}\0{seen[same]}".encode()).hexdigest(),
                    "severity": SEVERITIES.get(result.get("level", "warning"), "minor"),
                    "location": {"path": path, "lines": {"begin": place.get("region", {}).get("startLine", 1)}},
                }
            )
    return found


if __name__ == "__main__":
    json.dump(findings(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))), sys.stdout, indent=1)
    sys.stdout.write("\n")
