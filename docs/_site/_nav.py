"""The order of the pages. What is named here and is not there is left out; what is there and not named comes last."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

Entry: TypeAlias = "str | tuple[str, Entries]"
Entries: TypeAlias = "tuple[Entry, ...]"

PAGES: Entries = (
    "index.md",
    (
        "Start",
        (
            "quickstart.md",
            "first-five-minutes.md",
            (
                "Tutorials",
                (
                    "tutorials/repair-a-project.md",
                    "tutorials/your-own-check.md",
                    "tutorials/an-agent-in-a-world.md",
                    "tutorials/does-correction-help.md",
                    "tutorials/train-on-what-was-verified.md",
                ),
            ),
            ("Coming from", ("coming-from/*.md",)),
            ("Examples", ("examples/index.md", "examples/*.md")),
            "gallery.md",
        ),
    ),
    (
        "Guides",
        (
            ("Tasks and parts", ("short-forms.md", "tasks.md", "actors.md", "tools.md", "models.md", "memory.md")),
            ("Worlds", ("environments.md", "worlds.md", "learning.md")),
            ("Running", ("budgets.md", "replay.md", "scale.md", "telemetry.md", "logs.md")),
            (
                "Measuring",
                (
                    "evaluation-running.md",
                    "evaluation.md",
                    "methods.md",
                    ("Measured", ("results/index.md", "results/*.md")),
                ),
            ),
            ("Training", ("training.md", "training-methods.md", "training-filters.md")),
            ("Auditing", ("audit.md", "audit-*.md", ("Rules", ("audit-rules/*.md",)))),
        ),
    ),
    ("Concepts", ("concepts.md", "grounding.md", "signals.md", "security.md")),
    ("Graphs", ("graphs/index.md", "graphs/*.md")),
    (
        "Reference",
        ("reference/index.md", ("Python", ("reference/python/*.md",)), ("Commands", ("reference/cli/*.md",))),
    ),
)


def nav_of(pages: Collection[str]) -> list[Any]:
    """MkDocs' `nav` over the pages that are there.

    Args:
        pages: their paths below the docs folder.
    """
    left = sorted(pages)
    named = set(_names(PAGES))
    entries = _taken(PAGES, left, named)
    if left:
        entries.append({"More": list(left)})
    return entries


def _names(entries: Entries) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            yield from _names(entry[1])


def _taken(entries: Entries, left: list[str], named: Collection[str]) -> list[Any]:
    taken: list[Any] = []
    for entry in entries:
        if not isinstance(entry, str):
            inner = _taken(entry[1], left, named)
            if inner:
                taken.append({entry[0]: inner})
            continue
        # a page that is named has its place there, whatever pattern fits it too
        for page in [p for p in left if p == entry or (fnmatchcase(p, entry) and p not in named)]:
            if "*" not in entry or page.count("/") == entry.count("/"):
                left.remove(page)
                taken.append(page)
    return taken
