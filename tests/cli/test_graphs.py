"""`groundwire graphs` says what a person needs to choose a graph."""

from __future__ import annotations

import json
from typing import Any

from cli import groundwire

from groundwire.graphs.library._catalogue import NAMES, card


def test_all_graphs_are_listed() -> None:
    ran = groundwire("graphs", "--json")
    assert ran.code == 0
    listing: list[dict[str, Any]] = json.loads(ran.out)
    assert [one["name"] for one in listing] == list(NAMES)
    for one in listing:
        assert one["origins"] or not one["grounded"]
        assert one["drawing"].strip() and one["call"].startswith(f"{one['name']}(") and one["cost"]
    listed = groundwire("graphs")
    assert listed.code == 0 and all(name in listed.out for name in NAMES)


def test_one_graph_is_shown_with_its_drawing() -> None:
    ran = groundwire("graphs", "preflight")
    assert ran.code == 0
    for part in (
        "──veto (refine)──►",
        card("preflight").does.split(",")[0],
        "arXiv 2506.04614",
        "other_model",
        "not when",
    ):
        assert part in ran.out
    assert "preflight(actor, toolbox, check, reviewer, person=…" in " ".join(ran.out.split())


def test_an_unknown_graph_is_a_usage_error() -> None:
    ran = groundwire("graphs", "prefligth")
    assert ran.code == 2 and "no graph 'prefligth'" in ran.err and "preflight" in ran.err


def test_the_list_can_be_read_at_80_columns() -> None:
    lines = groundwire("graphs", env={"COLUMNS": "80"}).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 3 * len(NAMES), "most take one line or two"
