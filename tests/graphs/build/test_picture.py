"""The picture is drawn from what was declared: roles, gates and ways out."""

from __future__ import annotations

from guessing import Check, Guesser, Noter, loop

from groundwire.graphs.build._picture import as_mermaid


def test_gates_are_dotted_a_pass_is_named_and_every_node_tells_its_role() -> None:
    drawn = as_mermaid(loop(Guesser([]), Check(), Noter()))
    assert drawn == (
        "flowchart LR\n"
        "  start((start))\n"
        '  n0("reflect · critic")\n'
        '  n1["test · tool"]\n'
        '  n2(["write · actor"])\n'
        "  end_((end))\n"
        "  start --> n2\n"
        "  n2 --> n1\n"
        '  n1 -. "refine: a sealed FAIL" .-> n0\n'
        "  n0 --> n2\n"
        '  n1 -- "pass, or stop" --> end_\n'
    )


def test_a_name_can_not_leave_its_label() -> None:
    graph = loop(Guesser([]), Check())
    graph.add_tool('a"] --> n0', Check(("x",))).confirm("test", by='a"] --> n0')
    drawn = as_mermaid(graph)
    assert '["a#quot;] --> n0 · tool"]' in drawn
    assert '-- "pass" -->' in drawn
