"""Row 76, Fission-GRPO: one prompt for each failed call, with the real error."""

from __future__ import annotations

from pathlib import Path

from method_rows import exported, made
from tool_runs import answering, calling, counted

from groundwire.core._toolcalls import Call
from groundwire.training.methods._fission_grpo import FissionRow, names_the_call

NORTH, SOUT, SOUTH = (calling("count", store=name) for name in ("north", "sout", "south"))


async def test_each_failed_call_gives_one_prompt_with_its_own_error(tmp_path: Path) -> None:
    told = await counted(
        tmp_path, NORTH, SOUT, calling("count", wrong=1), SOUTH, calling("add", a=20, b=22), answering("42")
    )
    rows, reasons = made("fission_grpo", told, FissionRow)
    failed = [s for s in told[0].signals if s.origin == "tool_error"]
    assert len(rows) == len(failed) == 2 and not reasons
    first, second = rows
    assert first.prompt[-2].content == SOUT and first.error == "LookupError: no store sout; there are north and south"
    assert first.prompt[-1].content == f"<tool_error>\n{first.error}\n</tool_error>"
    assert second.error.startswith("arguments:") and second.prompt[-2].content == calling("count", wrong=1)
    assert all(SOUTH not in message.content for row in rows for message in row.prompt), "never the right call"
    assert [(r.tried_again, r.recovered, r.degenerate_repeat) for r in rows] == [(True, True, 0)] * 2
    by = {(part.origin.value, part.what) for part in first.provenance.origins}
    assert {("model", "call"), ("env", "tool_error")} <= by


async def test_what_is_called_again_unchanged_is_counted(tmp_path: Path) -> None:
    told = await counted(
        tmp_path / "a", NORTH, SOUT, SOUT, SOUT, calling("count", store="x"), calling("count", store="y")
    )
    rows, _ = made("fission_grpo", told, FissionRow)
    assert [row.degenerate_repeat for row in rows] == [2, 0, 0]
    assert not any(row.recovered for row in rows) and [row.tried_again for row in rows] == [True, True, False]
    well = await counted(tmp_path / "b", NORTH, SOUT, SOUTH, answering("42"))
    _, report = exported("fission_grpo", [*told, *well], tmp_path / "rows.jsonl")
    assert report.rows == 4 and report.means == {"recovered": 0.25, "degenerate_repeat": 0.5}


async def test_an_error_that_names_the_right_call_is_no_prompt(tmp_path: Path) -> None:
    told = await counted(
        tmp_path, NORTH, SOUT, SOUTH, calling("add", a=20, b=22), answering("42"), hint='say {"store": "south"}'
    )
    assert made("fission_grpo", told, FissionRow) == ([], ["error_names_the_right_call"])
    untroubled = await counted(tmp_path / "b", SOUTH, answering("42"))
    assert made("fission_grpo", untroubled, FissionRow) == ([], ["no_failed_call"])
    south = Call("count", {"store": "south"})
    assert names_the_call("Try count(store='south').", south) and names_the_call(' {"store":  "SOUTH"}', south)
    assert not names_the_call("there are north and south", south)
