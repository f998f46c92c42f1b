"""Loops in which a model's word meets what came from outside, or what is out of sight."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import written

from groundwire_audit._discover import audit_path

RESEARCH = """
import importlib, requests
class S(TypedDict):
    question: str
    notes: str
    enough: bool
def search(state):
    found = {asked}
    return {{"notes": state["notes"] + {kept}}}
def judge(state):
    said = llm.invoke(state["question"] + state["notes"]).content
    return {{"enough": {test}}}
g = StateGraph(S)
g.add_node("search", search)
g.add_node("judge", judge)
g.add_edge(START, "search")
g.add_edge("search", "judge")
g.add_conditional_edges("judge", lambda s: END if s["enough"] else "search", ["search", END])
graph = g.compile()
"""
ELSEWHERE = 'registry_of_plugins.pick("x").ainvoke(state["question"])'
OUTSIDE = 'requests.get("https://example.org").text'


def verdicts(source: str, folder: Path) -> dict[str, str]:
    """Way round → verdict."""
    return {x.path: str(x.verdict) for x in audit_path(written(source, folder)).loops}


@pytest.mark.parametrize(
    ("asked", "kept", "test", "wanted"),
    [
        (OUTSIDE, f"found + {ELSEWHERE}", '"yes" in said + state["notes"]', "partly"),
        (OUTSIDE, "found", f"said == {ELSEWHERE}", "partly"),
        (ELSEWHERE, "found", '"yes" in said + state["notes"]', "unknown"),
        (OUTSIDE, "found", f'{ELSEWHERE} == "yes"', "unknown"),
    ],
)
def test_what_is_out_of_sight_changes_nothing_where_a_model_decides_and_something_outside_is_asked(
    asked: str, kept: str, test: str, wanted: str, tmp_path: Path
) -> None:
    assert verdicts(RESEARCH.format(asked=asked, kept=kept, test=test), tmp_path) == {"search → judge → search": wanted}
