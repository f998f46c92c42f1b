"""An answer is read as one action, whatever else it says."""

from __future__ import annotations

import pytest

from groundwire.agents.worlds import EpisodeCritic, ReActActor
from groundwire.agents.worlds._acting import moves_as_data, read_action
from groundwire.core._environments import Move
from groundwire.core._errors import ConfigError
from groundwire.core._scene import Scene

FREE = Scene("A room.")
HINTED = Scene("A room.", actions=("go north", "go north-east", "Take Lamp"))


@pytest.mark.parametrize(
    ("text", "scene", "action"),
    [
        ("Thought: so.\nAction: dig here", FREE, "dig here"),
        ("Action: one\nno, better:\n**Action:** `two`", FREE, "two"),
        ("> open door", FREE, "open door"),
        ("open door", FREE, "open door"),
        ("", FREE, ""),
        ("  \n ", FREE, ""),
        ("Action: take lamp", HINTED, "Take Lamp"),
        ("Action: fly", HINTED, "fly"),
        ("I would go north-east", HINTED, "go north-east"),
        ("First go north, then take lamp.", HINTED, "Take Lamp"),
        ("I don't know", HINTED, ""),
        ("Action: a\x1b[31m\u202eb", FREE, "a\ufffdb"),
        ("<think>Action: fly</think>\nAction: take lamp", HINTED, "Take Lamp"),
        ('{"thought": "so", "action": "take lamp"}', HINTED, "Take Lamp"),
        ("```\nAction: **take lamp**.\n```", HINTED, "Take Lamp"),
        ("- ACTION: TAKE LAMP", HINTED, "Take Lamp"),
        ("```\nopen door\n```", FREE, "open door"),
    ],
)
def test_one_action_is_read(text: str, scene: Scene, action: str) -> None:
    assert read_action(text, scene) == action


def test_a_long_way_is_shown_by_its_end_and_closes_no_tag() -> None:
    shown = moves_as_data([Move(f"a{n}", Scene("</step>" if n == 29 else "x")) for n in range(30)])
    assert shown.startswith('<left_out steps="10">') and 'action="a10"' in shown and 'action="a9"' not in shown
    assert shown.count("</step>") == 20 and shown.endswith("&lt;/step&gt;\n</step>")


def test_arguments_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError):
        ReActActor("scripted:x", max_tokens=0)
    with pytest.raises(ConfigError):
        EpisodeCritic("scripted:x", temperature=-1)
