"""Options of graphs: what is declared once is a flag, a row of a table, and a check."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from cli import groundwire

from groundwire.cli._suite import Suite
from groundwire.cli.graph_options._declared import OPTIONS
from groundwire.cli.graph_options._flags import checked_options, every_flag, example, options_of
from groundwire.cli.graph_options._making import Making
from groundwire.core._candidates import Tree
from groundwire.core._errors import ConfigError
from groundwire.core._tasks import Task

if TYPE_CHECKING:
    from groundwire.cli._parts import GraphParts

QUESTION = ("--ask", "How much is 6 times 7?", "--expect", "42", "--model", "scripted:none.jsonl")


def test_a_flag_that_several_graphs_have_is_one_flag() -> None:
    flags = set(every_flag().__dataclass_fields__)
    assert flags == {option.name for graph in OPTIONS for option in options_of(graph)}
    for graph in OPTIONS:
        assert all(option.help and option.kind for option in options_of(graph))


@pytest.mark.parametrize(
    ("graph", "given", "said"),
    [
        ("sets", {"mode": "online"}, "sets has no option --mode"),
        ("confident_vote", {"mode": "loud"}, "--mode loud"),
        ("confident_vote", {"samples": 0}, "--samples 0 is out of range"),
        ("confident_vote", {"consensus": 1.5}, "--consensus 1.5 is out of range"),
    ],
)
def test_what_is_no_option_of_a_graph_is_refused(graph: str, given: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        checked_options(graph, given)
    assert caught.value.do


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("sets", *QUESTION, "--mode", "online"), "sets has no option --mode"),
        (("confident_vote",), "Nothing says what is worked on"),
        (("confident_vote", "--ask", "What?"), "needs an answer that it is judged by"),
        (("confident_vote", "--world", "maze", *QUESTION), "several things do"),
        (("tool_recovery", "--world", "maze"), "neither acts in a world nor writes actions"),
        (("parallel_refine", *QUESTION[:4]), "asks a model, and none is named"),
    ],
)
def test_the_program_says_what_is_wrong_before_anything_is_written(
    asked: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    (tmp_path / "none.jsonl").write_text('"x"\n')
    ran = groundwire("run", *asked, "--db", f"sqlite:///{tmp_path}/l.db", cwd=tmp_path)
    assert ran.code == 2 and said in ran.err, ran.err


@pytest.mark.parametrize(
    ("graph", "lacks"),
    [
        ("tool_recovery", "--tools"),
        ("preflight", "--tools"),
        ("search_judge", "--corpus"),
        ("round_table", "--seat"),
        ("refined_best_of_n", "--judge"),
        ("side_by_side_judge", "--judge"),
        ("verified_steps", "--rules"),
    ],
)
def test_a_graph_that_lacks_a_part_says_which_option_brings_it(graph: str, lacks: str, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text('"x"\n')
    ran = groundwire("run", graph, *QUESTION, "--db", f"sqlite:///{tmp_path}/l.db", cwd=tmp_path)
    assert ran.code == 2 and lacks in ran.err, ran.err


def test_examples_are_printed_and_told_to_programs() -> None:
    shown = groundwire("graphs", "search_judge")
    assert example("search_judge") in shown.out and "--relevance words, meaning" in shown.out
    told = json.loads(groundwire("graphs", "search_judge", "--json").out)
    assert told["command"] == example("search_judge") and shlex.split(told["command"])[:3] == [
        "groundwire",
        "run",
        "search_judge",
    ]
    assert {option["flag"] for option in told["options"]} >= {"--corpus", "--turns"}


def test_a_ledger_of_an_earlier_version_has_no_options_and_is_still_read() -> None:
    old: dict[str, Any] = {
        "graph": "code_repair",
        "settings": {},
        "limit": None,
        "shard": "1/1",
        "select": "best",
        "workers": None,
        "control": False,
        "ungrounded": False,
        "source": {
            "kind": "world",
            "paths": [],
            "name": "maze",
            "repos": None,
            "split": "",
            "seeds": 2,
            "first_seed": 0,
        },
    }
    suite = Suite.from_data(old, {})
    assert (suite.graph_options, suite.oracle, suite.source.in_one_go, suite.source.expect) == ({}, False, False, ())


def test_a_run_with_options_goes_on_and_verifies_and_its_question_has_an_id_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "model.jsonl"
    script.write_text('"so\\n\\nANSWER: 42"\n' * 3)
    db = ("--db", f"sqlite:///{tmp_path}/l.db")
    question = ("--ask", "How much is 6 times 7?", "--expect", "42", "--model", f"scripted:{script}")
    ran = groundwire("run", "confident_vote", *question, "--samples", "3", *db, "--json", cwd=tmp_path)
    (episode,) = [one for one in map(json.loads, ran.out.splitlines()) if one["type"] == "episode"]
    assert ran.code == 0 and episode["task_id"].startswith("question-"), ran.err
    again = groundwire("resume", episode["run_id"], *db)
    assert again.code == 0 and "1 verified" in again.out, (
        "its options and its key are in the ledger, so nothing is asked"
    )
    assert groundwire("verify", episode["run_id"], *db).code == 0
    other = groundwire("run", "sets", "--ask", "How much is 6 times 8?", *question[2:], *db, "--json", cwd=tmp_path)
    assert episode["task_id"] not in other.out


@pytest.mark.parametrize(("flag", "value"), [("--expect", "42"), ("--won-if", "terminated")])
def test_a_flag_that_says_nothing_here_is_refused(flag: str, value: str, tmp_path: Path) -> None:
    ran = groundwire("run", "code_repair", str(tmp_path), flag, value)
    assert ran.code == 2 and f"{flag} says nothing without" in ran.err


def test_a_run_of_any_graph_of_the_library_replays_from_its_ledger(tmp_path: Path) -> None:
    script = tmp_path / "model.jsonl"
    script.write_text('"so\\n\\nANSWER: 42"\n' * 3)
    db = ("--db", f"sqlite:///{tmp_path}/l.db")
    question = ("--ask", "How much is 6 times 7?", "--expect", "42", "--model", f"scripted:{script}")
    ran = groundwire("run", "confident_vote", *question, "--samples", "3", *db, "--json", cwd=tmp_path)
    acted = groundwire("run", "episodic", "--world", "maze", "--trials", "2", *db, "--json", cwd=tmp_path)
    for out in (ran.out, acted.out):
        run_id = json.loads(out.splitlines()[0])["run_id"]
        replayed = groundwire("replay", run_id, "--verify", *db)
        assert replayed.code == 0 and "records the same" in replayed.out, replayed.err


def test_where_a_program_is_all_that_may_be_edited_the_flag_that_makes_it_the_answer_is_named() -> None:
    task = Task(id="even", tree=Tree({"even.py": b""}), editable=("even.py",))
    made = Making("step_beam", OPTIONS["step_beam"](), cast("GraphParts", None), task)
    with pytest.raises(ConfigError) as refused:
        made.path_or_fail()
    assert refused.value.do == "A program is no answer unless you say so:  --answer even.py"
    assert Making("step_beam", OPTIONS["step_beam"](answer="even.py"), made.parts, task).path_or_fail() == "even.py"
