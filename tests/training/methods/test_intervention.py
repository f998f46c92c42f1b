"""Row 45, InT: a beginning and one new step, with nothing after it."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

from method_rows import exported, made
from recorded_runs import ledger_at, read, run, trajectories
from tool_runs import answering, calling, counted
from worlds import Porch

from groundwire import Task, Tree
from groundwire.agents.worlds import ReActActor
from groundwire.agents.worlds._acting import StepsCritic
from groundwire.core._environments import environment_task
from groundwire.core._steps import StepRules
from groundwire.graphs.library._episodic import episodic
from groundwire.graphs.library._verified_steps import verified_steps
from groundwire.models import ScriptedBackend
from groundwire.training._schema import Options, Thresholds
from groundwire.training.methods._intervention import InterventionRow, continuation_pass

PROOF = Task(id="proof", prompt="Prove it.", tree=Tree({"answer.md": b""}), editable=("answer.md",))
RULES = StepRules(check=lambda steps: "a lie" if "lie" in steps[-1] else "")


async def test_a_line_that_was_refused_and_the_one_in_its_place(tmp_path: Path) -> None:
    says = ["one\nlie\nthree\n", "two\nlie again\n", "three\n"]
    told = await trajectories(tmp_path, verified_steps(ScriptedBackend(says), RULES), PROOF)
    rows, reasons = made("intervention", told, InterventionRow)
    (row,) = rows
    assert (row.prefix, row.bad_step, row.intervention, row.first_bad) == (("one\n",), "lie\n", "two\n", 2)
    assert row.messages[-1].content == "one\ntwo\n", "the prefix and the intervention, and nothing that followed"
    assert row.loss_mask == (False,) * (len(row.messages) - 1) + (True,)
    assert (row.continuations, row.continuation_pass, row.unit, row.basis) == (2, 0.5, "line", "refused")
    assert row.continuation_pass >= Thresholds().intervention_pass == 1 / 32
    asked = Options(thresholds=Thresholds.of(["intervention_pass=0.6"]))
    assert made("intervention", told, InterventionRow, asked)[1] == [
        "no_continuation_passed",
        "nothing_follows_it",
    ]
    assert reasons == ["nothing_follows_it"], "three ends the proof: that is the answer, and no step towards it"
    learned = [p for p in row.provenance.origins if p.part == f"messages[{len(row.messages) - 1}]"]
    assert [(p.start, p.end, p.what) for p in learned] == [(0, 4, "prefix"), (4, 8, "intervention")]

    written, report = exported("intervention", told, tmp_path / "rows.jsonl", gold={"proof": ["two"]})
    assert not written and report.rejected["holds_the_answer"] == 1
    written, report = exported("intervention", told, tmp_path / "all.jsonl", gold={"proof": ["twofold"]})
    assert len(written) == 1 and report.means == {"continuation_pass": 0.5}


async def test_a_step_in_a_world_and_one_that_led_nowhere(tmp_path: Path) -> None:
    lost = ["Action: look", "Action: unlock door", "Action: kick door"]
    won = ["Action: look", "Action: lift mat", "Action: look", "Action: unlock door"]
    again = ["Action: look", "Action: kick door"]
    task = environment_task(Porch(), id="porch")
    async with aclosing(ledger_at(tmp_path)) as store:
        runs = [
            await run(store, episodic(ReActActor(ScriptedBackend(says)), StepsCritic(), Porch), task, trials=1)
            for says in (lost, again, won)
        ]
    walks = await read(tmp_path, *runs)
    assert "too_few_continuations" in made("intervention", walks, InterventionRow)[1], "one that won may be luck"
    rows, reasons = made("intervention", walks, InterventionRow, Options(least_continuations=1))
    (row,) = rows
    assert (row.prefix, row.bad_step, row.intervention) == (("look",), "unlock door", "lift mat")
    assert row.basis == "outcomes", "it was lost two steps later, but nobody has won after this one"
    assert [m.content for m in row.messages if m.role == "assistant"] == ["Action: look", "Action: lift mat"]
    assert [learned for m, learned in zip(row.messages, row.loss_mask, strict=True) if m.role == "assistant"] == [
        True
    ] * 2
    assert row.messages[-2].content == "You see a door and a mat." and row.continuation_pass == 1.0
    assert "no_continuation_passed" in reasons, "unlock door without the key was gone on from, and lost"
    assert set(reasons) == {"no_continuation_passed", "nothing_follows_it"}


async def test_a_call_in_place_of_the_one_that_failed(tmp_path: Path) -> None:
    north, sout, south = (calling("count", store=name) for name in ("north", "sout", "south"))
    told = await counted(tmp_path, north, sout, south, calling("add", a=20, b=22), answering("42"))
    (row,), _ = made("intervention", told, InterventionRow, Options(least_continuations=1))
    assert [m.content for m in row.messages if m.role == "assistant"] == [north, south] and row.unit == "action"


def test_one_in_thirty_two_is_enough() -> None:
    paths = [(("a", "b", str(n)), n == 0) for n in range(32)] + [(("a", "b"), True), (("x", "b", "c"), True)]
    assert continuation_pass(paths, ("a", "b")) == (32, 1 / 32)
    assert continuation_pass(paths, ("a", "c")) == (0, 0.0)
