"""Published questions from the command line: what a set counts, a judge that is graded, and correction compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli import groundwire

from groundwire.cli._scores import SetScores, TaskScore, set_scores

QUESTIONS = [{"question": f"How much is 6 times {n}?", "answer": f"so\n#### {6 * n}"} for n in (7, 8, 9)]
STEPS = [
    {"id": "a", "problem": "2+2+2?", "steps": ["2+2=5", "5+2=7"], "label": 0},
    {"id": "b", "problem": "1+1+1?", "steps": ["1+1=2", "2+1=4"], "label": 1},
    {"id": "c", "problem": "2+2?", "steps": ["2+2=4"], "label": -1},
]
HOP = {
    "_id": "h1", "question": "Who built the Velmar lighthouse?", "answer": "the harbour guild", "type": "bridge",
    "context": [["Lighthouse", ["The Velmar lighthouse was built by the harbour guild."]], ["Sea", ["Wet."]]],
}  # fmt: skip


def said(answer: str) -> str:
    return f"I think.\n\nANSWER: {answer}"


def script(folder: Path, *texts: str, name: str = "model") -> str:
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(text) + "\n" for text in texts))
    return f"scripted:{file}"


def last(out: str, kind: str) -> dict[str, Any]:
    return [one for one in map(json.loads, out.splitlines()) if one["type"] == kind][-1]


def rows(folder: Path, name: str, found: list[Any]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in found) if name.endswith("l") else json.dumps(found))
    return path


def test_a_set_is_counted_as_it_is_published(tmp_path: Path) -> None:
    data = rows(tmp_path, "test.jsonl", QUESTIONS)
    model = script(tmp_path, said("42"), said("48"), said("13"))
    asked = ("--graph", "blind_resampling", "--model", model, "--at-once", "1", "--db", f"sqlite:///{tmp_path}/l.db")
    ran = groundwire("bench", "gsm8k", "--data", data, *asked, "--json")
    assert ran.code == 1, ran.err
    scores = last(ran.out, "summary")["scores"]
    assert (scores["right"], scores["of"], scores["accuracy"]) == (2, 3, pytest.approx(2 / 3))
    assert scores["judge"] is None and scores["f1_of_words"] is None


def test_the_key_steers_only_where_it_is_asked_to_and_then_every_signal_says_so(tmp_path: Path) -> None:
    data = rows(tmp_path, "test.jsonl", QUESTIONS[:1])
    both = [said("41"), said("42")]
    asked = ("bench", "gsm8k", "--data", data, "--graph", "blind_resampling", "--at-once", "1", "--json")
    blind = groundwire(*asked, "--model", script(tmp_path, *both), "--db", f"sqlite:///{tmp_path}/l.db")
    assert last(blind.out, "episode")["stop_reason"] == "hidden_failed"
    fed = groundwire(*asked, "--oracle", "--model", script(tmp_path, *both), "--db", f"sqlite:///{tmp_path}/m.db")
    assert (last(fed.out, "episode")["stop_reason"], last(fed.out, "episode")["trials"]) == ("verified", 2), fed.err
    run_id = last(fed.out, "episode")["run_id"]
    assert "oracle" in groundwire("show", run_id, "--db", f"sqlite:///{tmp_path}/m.db").out.lower()


def test_open_questions_are_searched_in_their_own_passages_and_scored_by_words(tmp_path: Path) -> None:
    data = rows(tmp_path, "hotpot_dev_distractor_v1.json", [HOP])
    found = json.dumps({"tool": "search", "arguments": {"query": "Velmar lighthouse built"}})
    model = script(tmp_path, found, json.dumps({"answer": "harbour guild"}))
    asked = ("--graph", "search_judge", "--model", model, "--db", f"sqlite:///{tmp_path}/l.db", "--json")
    ran = groundwire("bench", "hotpotqa", "--data", data, *asked)
    assert ran.code == 0, ran.out + ran.err
    scores = last(ran.out, "summary")["scores"]
    assert (scores["accuracy"], scores["f1_of_words"]) == (1, 1)


def test_a_judge_is_graded_first_and_refused_where_it_is_too_weak(tmp_path: Path) -> None:
    db = ("--db", f"sqlite:///{tmp_path}/l.db", "--at-once", "1", "--json")
    data = rows(tmp_path, "gsm8k.json", STEPS)
    judge = script(tmp_path, said("0"), said("0"), said("-1"), "STEP: none", name="judge")
    graded = groundwire("bench", "processbench", "--data", data, "--graph", "blind_resampling", "--model", judge, *db)
    found = last(graded.out, "summary")["scores"]["judge"]
    assert (found["accuracy_on_wrong"], found["accuracy_on_right"]) == (0.5, 1) and found["f1"] == pytest.approx(2 / 3)
    run_id = last(graded.out, "episode")["run_id"]
    asked = (
        "run",
        "refined_best_of_n",
        "--ask",
        "How much is 6 times 7?",
        "--expect",
        "42",
        "--samples",
        "1",
        "--judge",
    )
    author = script(tmp_path, said("42"))
    # the judge of this run says again what its file begins with, which names no step
    good = groundwire(*asked, judge, "--judge-run", run_id, "--model", author, *db)
    assert last(good.out, "episode")["stop_reason"] == "verified", good.err
    weak = groundwire(*asked, judge, "--judge-run", run_id, "--least-f1", "0.7", "--model", author, *db)
    assert weak.code == 2 and "F1 of 0.667, and 0.700 is asked for" in weak.err
    other = groundwire(*asked, author, "--judge-run", run_id, "--model", judge, *db)
    assert other.code == 2 and "does not grade" in other.err


def test_correction_from_inside_and_from_outside_side_by_side(tmp_path: Path) -> None:
    data = rows(tmp_path, "test.jsonl", QUESTIONS[:2])
    # each arm asks from the beginning; the file is what the external arm reads, the last line what the others do
    written = ["42", "1", "It is too small.", "48", *["1"] * 8]
    stated = ["42", "1", "40", "40", "41", *["1"] * 7]
    pairs = zip(written, stated, strict=True)
    model = script(tmp_path, *(f"FILE: answer.txt\n```\n{a}\n```\n\nANSWER: {b}" for a, b in pairs))
    asked = ("correctbench", "gsm8k", "--data", data, "--at-once", "1", "--model", model)
    ran = groundwire(*asked, "--db", f"sqlite:///{tmp_path}/l.db", "--json")
    assert ran.code == 0, ran.err
    told = last(ran.out, "correctbench")
    assert {name: arm["right"] for name, arm in told["arms"].items()} == {"plain": 1, "intrinsic": 0, "external": 2}
    for one, (arm, against, better, worse) in zip(
        told["compared"],
        [("intrinsic", "plain", 0, 1), ("external", "plain", 1, 0), ("external", "intrinsic", 2, 0)],
        strict=True,
    ):
        assert (one["arm"], one["against"], one["better"], one["worse"]) == (arm, against, better, worse)
        assert one["low"] <= one["difference"] <= one["high"] and one["tasks"] == 2
    shown = groundwire(*asked, "--db", f"sqlite:///{tmp_path}/m.db")
    assert "code_repair (oracle)" in shown.out and "external against intrinsic: +100.0 points" in shown.out


def test_scores_of_nothing_are_none() -> None:
    assert set_scores([]) == SetScores(0, 0) and SetScores(0, 0).accuracy is None
    assert SetScores(0, 0).sentence() == "no answer was judged"
    broken = TaskScore("a", "wrong", None, None, 1.0, 5)
    assert set_scores([broken], judges=True) == SetScores(0, 0)


def test_a_question_has_its_ungrounded_control_too(tmp_path: Path) -> None:
    data = rows(tmp_path, "test.jsonl", QUESTIONS[:1])
    model = script(tmp_path, *[said("42"), "It is wrong.", said("41")] * 8)
    asked = ("--graph", "confident_vote", "--samples", "1", "--ungrounded", "--model", model, "--at-once", "1")
    ran = groundwire("bench", "gsm8k", "--data", data, *asked, "--db", f"sqlite:///{tmp_path}/l.db", "--json")
    arms = {one["arm"]: one["verified"] for one in last(ran.out, "summary")["arms"]}
    assert arms == {"main": 1, "self_refine": 0}, ran.err
