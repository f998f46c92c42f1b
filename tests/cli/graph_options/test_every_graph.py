"""The command that `groundwire graphs NAME` prints, run as it stands but for its model: a sealed PASS, and a FAIL."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cli import BUGGY, groundwire, lay_out
from graph_pages import PAGES, section

from groundwire.cli.graph_options._declared import OPTIONS
from groundwire.cli.graph_options._flags import example
from groundwire.core._records import EpisodeEnd, StopReason
from groundwire.core._signals import Signal, Verdict
from groundwire.graphs.library._catalogue import NAMES, card
from groundwire.memory import SqlStore

MANY = 80
"""Replies of a model that says one thing: more than any of these graphs asks for."""


def said(answer: str) -> str:
    return f"First, it is {answer}.\n\nCONFIDENCE: 0.9\nANSWER: {answer}"


def answered(answer: str) -> str:
    return json.dumps({"answer": answer})


def called(tool: str, **arguments: str) -> str:
    return json.dumps({"tool": tool, "arguments": arguments})


@dataclass(frozen=True)
class Played:
    """How an example is played.

    Args:
        right: what the model says where it comes to a PASS; the last is said again and again.
        wrong: the same for a FAIL.
        more: further options; `wrong_more`: those of the FAIL alone.
        other: what the second model says.
        reasons: how it may end that is no PASS.
    """

    right: Sequence[str] = (said("408"),)
    wrong: Sequence[str] = (said("407"),)
    more: Sequence[str] = ()
    wrong_more: Sequence[str] = ()
    other: Sequence[str] = (said("408"),)
    reasons: frozenset[StopReason] = field(default_factory=lambda: frozenset({StopReason.HIDDEN_FAILED}))


FIX = "FILE: shop/price.py\n```python\ndef total(prices):\n    return sum(prices)\n```\n"
NORTH, SOUTH = called("count_bolts", store="north"), called("count_bolts", store="south")
THROWN = called("throw_away", store="north")
FOUND = called("search", query="Velmar lighthouse built year")
SOLUTION = "(11 - 8) * 10 - 6"
FILE = "FILE: answer.txt\n```\n{}\n```\n"
ENDED = frozenset({StopReason.BUDGET_TRIALS, StopReason.STUCK, StopReason.BUDGET_REFINEMENTS, StopReason.EXHAUSTED})
MOVE = "Thought: so.\nAction: {}"
PLAYED = {
    "code_repair": Played((FIX,), (FIX.replace("prices)\n`", "prices) + 1\n`"),), reasons=ENDED),
    "episodic": Played(wrong_more=("--trials", "1"), reasons=ENDED),
    "tool_recovery": Played(
        (called("count_bolts", store="east"), NORTH, SOUTH, answered("42")), (NORTH, answered("20"))
    ),
    "preflight": Played(
        (THROWN, NORTH, SOUTH, answered("42")),
        (THROWN, NORTH, answered("20")),
        other=(json.dumps({"ruling": "veto", "why": "bolts are kept"}),),
    ),
    "search_judge": Played((FOUND, answered("1873")), (FOUND, answered("Gull Rock"))),
    "plan_ahead": Played(wrong_more=("--world", "game24", "--trials", "1"), reasons=ENDED),
    "verified_steps": Played((SOLUTION,), ("11 + 100",), reasons=ENDED),
    "step_beam": Played((SOLUTION,), ("11 - 8", "3 * 6", "18 + 1"), reasons=ENDED),
    "correction_memory": Played(
        (FILE.format("eight"), FILE.format("408")),
        (FILE.format("eight"),),
        more=("--corrections-from", "said.jsonl"),
        wrong_more=("--trials", "1"),
        reasons=ENDED,
    ),
    "perturb_vote": Played((said("B"),), (said("none"),)),
    "refined_best_of_n": Played(other=(json.dumps({"first_bad": 0}),)),
    "trajectory_factory": Played(
        (MOVE.format("11 - 8"), MOVE.format("24"), MOVE.format(SOLUTION)), (MOVE.format("1 + 1"),), reasons=ENDED
    ),
}
SAID = '"Write digits."\n""\n'
"""A person's corrections, in their order."""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("right", [True, False], ids=["pass", "fail"])
def test_its_example_runs_and_ends_by_what_was_seen(name: str, right: bool, tmp_path: Path) -> None:
    played = PLAYED.get(name, Played())
    files: dict[str, Path] = {}
    for who, texts in (("model", played.right if right else played.wrong), ("other", played.other)):
        lines = [*texts, *[texts[-1]] * MANY]
        files[who] = tmp_path / f"{who}.jsonl"
        files[who].write_text("".join(json.dumps(text) + "\n" for text in lines))
    project = lay_out(tmp_path / "project", {**BUGGY, "conftest.py": "", "said.jsonl": SAID})
    more = (*played.more, *(() if right else played.wrong_more))
    command = shlex.split(example(name, model=f"scripted:{files['model']}", other=f"scripted:{files['other']}"))
    db = f"sqlite:///{tmp_path}/ledger.db"
    ran = groundwire(*command[1:], *more, "--db", db, "--json", "--at-once", "1", cwd=project)
    told = [json.loads(line) for line in ran.out.splitlines()]
    ends = [one for one in told if one["type"] == "episode"]
    assert ends, ran.err
    print(name, right, ran.code, [(e["stop_reason"], e["verdict"], e["hidden"], e["detail"], e["error"]) for e in ends])
    signals, reasons, grounded = asyncio.run(sealed(tmp_path / "ledger.db", ends[0]["run_id"]))
    assert grounded is card(name).grounded
    if right:
        assert (ran.code, set(reasons)) == (0, {StopReason.VERIFIED})
        assert signals[-1].verdict is Verdict.PASS
    else:
        assert ran.code in (1, 4) and set(reasons) <= {*played.reasons, StopReason.VERIFIED}, reasons
        assert Verdict.FAIL in {signal.verdict for signal in signals} and set(reasons) != {StopReason.VERIFIED}


async def sealed(db: Path, run_id: str) -> tuple[list[Signal], list[StopReason], bool]:
    """All signals of a run, how its episodes ended, and whether its graph is grounded."""
    async with aclosing(SqlStore(f"sqlite:///{db}")) as store:
        (run,) = await store.runs(prefix=run_id)
        records = [r for e in await store.episodes(run_id) for r in await store.records(e.id)]
        ends = [r.stop_reason for r in records if isinstance(r, EpisodeEnd)]
        return [r for r in records if isinstance(r, Signal)], ends, bool(json.loads(run.config)["grounded"])


def test_one_model_at_the_whole_table_is_a_control_and_one_that_judges_itself_is_refused(tmp_path: Path) -> None:
    (script := tmp_path / "model.jsonl").write_text(f"{json.dumps(said('408'))}\n" * MANY)
    model = f"scripted:{script}"
    ask = (
        "--ask",
        "How much is 17 times 24?",
        "--expect",
        "408",
        "--model",
        model,
        "--db",
        f"sqlite:///{tmp_path}/l.db",
    )
    table = groundwire("run", "round_table", *ask, "--seat", model, "--same-model", "--json")
    assert table.code == 0, table.err
    run_id = json.loads(table.out.splitlines()[0])["run_id"]
    assert not asyncio.run(sealed(tmp_path / "l.db", run_id))[2]
    judged = groundwire("run", "side_by_side_judge", *ask, "--judge", model)
    assert judged.code == 2 and "judge its own answers" in judged.err and "--judge" in judged.err


def test_every_graph_of_the_library_declares_its_options() -> None:
    assert set(OPTIONS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_its_page_shows_the_command_that_is_run_here_and_every_option(name: str) -> None:
    wrong = "python tests/support/graph_pages.py  writes it"
    assert section(name) in (PAGES / f"{name}.md").read_text(), wrong
