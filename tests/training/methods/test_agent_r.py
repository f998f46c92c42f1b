"""Row 61, Agent-R: a bad beginning, a turn-round, and the good way on."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from method_rows import made
from recorded_runs import trajectories
from worlds import Porch

from groundwire.agents.worlds import ReActActor
from groundwire.agents.worlds._acting import StepsCritic
from groundwire.cli._export import ExportRequest, run_export
from groundwire.cli._import_logs import import_logs
from groundwire.core._environments import environment_task
from groundwire.core._errors import ConfigError
from groundwire.graphs.library._episodic import episodic
from groundwire.models import ScriptedBackend
from groundwire.training.methods._agent_r import THOUGHTS, AgentRRow, Splice, spliced, worth


async def test_a_walk_that_was_lost_is_turned_round(tmp_path: Path) -> None:
    says = ["Action: look", "Action: look", "Action: kick door"]
    says += ["Action: look", "Action: look", "Action: lift mat", "Action: unlock door"]
    graph = episodic(ReActActor(ScriptedBackend(says)), StepsCritic(), Porch)
    told = await trajectories(tmp_path, graph, environment_task(Porch(), id="porch"))
    (row,), reasons = made("agent_r", told, AgentRRow)
    assert not reasons and (row.shared_steps, row.bad_steps, row.good_steps) == (2, 3, 2)
    own = [
        (m.content, learned) for m, learned in zip(row.messages, row.loss_mask, strict=True) if m.role == "assistant"
    ]
    assert [learned for _, learned in own] == [False] * 3 + [True] * 3
    assert [text for text, _ in own[:3]] == says[:3] and own[3][0] in THOUGHTS and [t for t, _ in own[4:]] == says[5:]
    assert not any(learned for m, learned in zip(row.messages, row.loss_mask, strict=True) if m.role != "assistant")
    shown = [m.content for m in row.messages if m.role == "user"]
    assert shown[-3:] == ["You see a door and a mat.", "You find a key.", "The door opens."]
    assert (row.good_value, row.bad_value, row.resumes) == (1.0, 0.0, False), "the neighbours are there now"
    roles = [m.role for m in row.messages if m.role != "system"]
    assert all(a != b for a, b in pairwise(roles)), "they take turns, as chat templates want it"
    for part in row.provenance.origins:
        assert part.end <= len(row.messages[int(part.part[9:-1])].content)
    lost = [t.model_copy(update={"trials": tuple(trial for trial in t.trials if trial.number < 2)}) for t in told]
    assert made("agent_r", lost, AgentRRow) == ([], ["no_good_walk_beside_it"])


def test_a_tree_with_two_leaves() -> None:
    good, bad = (("a", "b", "c", "d"), 1.0), (("a", "b", "x", "y", "z"), 0.2)
    places = worth([good, bad])
    assert (places["a", "b"], places["a", "b", "x"]) == (0.6, 0.2)
    assert spliced(good, bad, places) == Splice(shared=2, bad=3)
    assert spliced(good, bad, places, alpha=0.1, refused=[5]) == Splice(shared=2, bad=5), "worth enough until refused"
    assert spliced(good, bad, places, beta=0.8) is None and spliced(good, bad, places, alpha=1.0) is None
    assert spliced(good, (good[0][:2], 0.0), worth([good])) is None, "it went no way of its own"
    with pytest.raises(ConfigError):
        spliced(good, bad, places, alpha=2.0)


def test_walks_of_a_published_log_with_rewards_between(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def episode(actions: list[str], rewards: list[float]) -> dict[str, object]:
        turns = {"actions": actions, "observations": [f"saw {a}" for a in actions], "rewards": rewards}
        return {"environment": "ic_sql", "task_id": "7", "query": "How many?", "turn_history": turns}

    good, bad = episode(["a", "b", "c", "d"], [0, 0, 0.1, 1]), episode(["a", "b", "x", "y"], [0, 0, 0, 0.2])
    near = episode(["a", "q", "r"], [0, 0, 0.45])
    log = tmp_path / "sql_gpt4_10turns.json"
    log.write_text(json.dumps({"0": good, "1": bad, "2": near}))
    flags = {"db": f"sqlite:///{tmp_path / 'ledger.db'}"}
    import_logs([log], flags, only=[], trials=0, again=False, as_json=True)
    (run,) = [json.loads(line)["run_id"] for line in capsys.readouterr().out.splitlines()]
    out = tmp_path / "rows.jsonl"
    assert run_export(ExportRequest(runs=[run], form="agent_r", out=out, as_json=True), flags) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["bad_steps"], r["shared_steps"], r["bad_value"], r["good_value"]) for r in rows] == [
        (3, 2, 0.2, 1.0),
        (2, 1, 0.45, 1.0),
    ]
    assert [m["content"] for m in rows[0]["messages"] if m["role"] == "assistant"][4:] == ["c", "d"]
    assert all(row["provenance"]["imported"] and row["provenance"]["oracle"] for row in rows)
