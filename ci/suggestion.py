"""Turns what `groundwire repair --json` printed into a suggestion that people read: Markdown, on standard output.

python suggestion.py repair.json > suggestion.md
"""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

MOST_PATCH_CHARS = 60_000
"""A comment or a summary takes about as much."""


def inert(text: object) -> str:
    """One line in which nothing is markup, and nothing moves a terminal."""
    line = " ".join(str(text).split())[:500]
    line = "".join("�" if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn") else c for c in line)
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+!|@" else c for c in line)


def fenced(text: str) -> str:
    """A code block that its own text can't end."""
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}diff\n{text.rstrip()}\n{fence}"


def suggestion(said: dict[str, Any]) -> str:
    """The Markdown.

    Args:
        said: what `groundwire repair --json` printed.
    """
    if "stop_reason" not in said:
        error = said["error"]
        return f"## groundwire: no suggestion\n\n{inert(error['what'])} {inert(error['do'])}\n"
    if said["stop_reason"] == "already_passing":
        return "## groundwire: nothing to repair\n\nThe tests pass as they are.\n"
    if said["stop_reason"] != "verified" or not said["patch"]:
        why = f"{inert(said['stop_reason'])}: {inert(said['detail'])}"
        return f"## groundwire: no suggestion\n\n{why}\n\n{said['judged']} candidates were judged.\n"
    tests: Any = said["tests"] or {"passed": 0, "cases": 0}
    forgeable = "" if said["unforgeable"] else " Tests and code ran in one process, so this is not unforgeable."
    strength: Any = said.get("test_strength") or {}
    weak = " The tests notice few changes of these lines: read it with care." if strength.get("weak") else ""
    patch: str = said["patch"] if said["patch_encoding"] == "utf-8" else ""
    shown = fenced(patch) if patch and len(patch) <= MOST_PATCH_CHARS else "The patch is in the artifact."
    return (
        f"## groundwire: a suggestion\n\nWith this patch {tests['passed']} of {tests['cases']} tests pass; it was"
        f" judged in a sandbox, and nothing was pushed.{forgeable}{weak}\n\n{shown}\n\n"
        f"Apply it: `git apply fix.patch` · run `{inert(said['run_id'])}`\n"
    )


def main() -> None:
    """Reads the file that is named; of an empty one it says so."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")
    try:
        said = json.loads(text)
    except ValueError:
        said = {"error": {"what": "groundwire repair printed no JSON.", "do": "Look at the job's log."}}
    sys.stdout.buffer.write(suggestion(said).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
