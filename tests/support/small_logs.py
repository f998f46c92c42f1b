"""Small logs in the forms of the published ones, written for the tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

__all__ = ["lay_out_worlds", "questions", "write_intercode", "write_ldb", "write_programs"]

HARD, LUCKY = " Look under the mat.", " The key turns left."


def lay_out_worlds(folder: Path) -> Path:
    """Three environments: one is won at once, one after a reflection, one never; the base run wins only the first."""
    folder.mkdir()
    runs: dict[str, list[list[tuple[list[str], bool]]]] = {
        "reflexion": [
            [([], True), ([HARD], False), ([HARD], False)],
            [([], True), ([HARD], True), ([HARD, LUCKY], False)],
            [([], True), ([HARD], True), ([HARD, LUCKY, HARD], False)],
        ],
        "base": [[([], True), ([HARD], False), ([HARD], False)]] * 2,
    }
    for run, trials in runs.items():
        for number, rows in enumerate(trials):
            named = [
                {"name": f"env_{at}", "memory": memory, "is_success": won} for at, (memory, won) in enumerate(rows)
            ]
            (folder / f"{run}_trial_{number}.json").write_text(json.dumps(named))
    return folder


def questions(*, reflects: bool) -> str:
    """Two trials of two questions: the first is right at once, the second after a reflection."""
    right = "Question: Who built it?\nThought 1: I know.\nAction 1: Finish[Ada]\nObservation 1: Answer is CORRECT\n"
    wrong = (
        "Question: Where is it?\nThought 1: I search.\nAction 1: Search[it]\nObservation 1: It is far.\nVery far.\n"
        "Thought 2: So far.\nAction 2: Finish[far]\nObservation 2: Answer is INCORRECT\n"
    )
    again = wrong.replace("Finish[far]", "Finish[Ulm]").replace("INCORRECT", "CORRECT")
    if reflects:
        again = again.replace("Thought 1", "Reflections:\n- I should name the town.\nThought 1", 1)
    gold = ["Correct answer: Ada\n\n", "Correct answer: Ulm\n\n"]
    first = _trial(1, [right + gold[0]], [wrong + gold[1]])
    won = [right + gold[0], *([again + gold[1]] if reflects else [])]
    return first + _trial(2, won, [] if reflects else [wrong + gold[1]])


def _trial(number: int, correct: list[str], incorrect: list[str]) -> str:
    rule = "#" * 40
    summary = f"Trial summary: Correct: {len(correct)}, Incorrect: {len(incorrect)}, Halted: 0"
    head = f"\n{rule}\nBEGIN TRIAL {number}\n{summary}\n{rule}\n"
    sections: list[tuple[str, list[str]]] = [("CORRECT", correct), ("INCORRECT", incorrect), ("HALTED", [])]
    return head + "".join(f"{'-' * 14} BEGIN {name} AGENTS {'-' * 13}\n\n{''.join(rows)}" for name, rows in sections)


def write_ldb(file: Path) -> Path:
    """Two tasks: one is solved by its second program, one passes its visible assert and is wrong."""
    common: dict[str, Any] = {"entry_point": "f", "given_tests": ["assert f(1) == 2"], "is_passing": True}
    test = "def check(candidate):\n    assert candidate(2) == 3\n"
    prompt = 'def f(x):\n    """One more."""\n'
    rows: list[dict[str, Any]] = [
        {
            "task_id": "HumanEval/0",
            "implementations": [f"{prompt}    return x\n", f"{prompt}    return x + 1\n"],
            "test_feedback": [["assert f(1) == 2 # Real Execution Output: 1"], []],
            "is_solved": True,
        },
        {
            "task_id": "HumanEval/1",
            "implementations": [f"{prompt}    return 2\n"],
            "test_feedback": [[]],
            "is_solved": False,
        },
    ]
    common |= {"prompt": prompt, "test": test, "generated_test": ["assert f(1) == 2"]}
    lines = [json.dumps({**common, **row}) for row in rows]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    return file


def write_programs(file: Path, *, reflections: list[list[str]], solved: list[bool]) -> Path:
    """A Reflexion log of programs, a task for each entry."""
    prompt = 'def f(x):\n    """One more."""\n'
    rows = [
        {
            "task_id": f"HumanEval/{number}",
            "prompt": prompt,
            "entry_point": "f",
            "test": "def check(candidate):\n    assert candidate(2) == 3\n",
            "solution": "    return x + 1\n",
            "reflections": texts,
            "is_solved": won,
        }
        for number, (texts, won) in enumerate(zip(reflections, solved, strict=True))
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def write_intercode(file: Path, rewards: list[list[float]]) -> Path:
    """An episode for each row of rewards."""
    episodes = {
        str(number): {
            "environment": "ic_sql",
            "task_id": str(number),
            "query": "How many?",
            "turn_history": {
                "actions": [f"SELECT {turn}" for turn in range(len(row))],
                "observations": [[[turn]] if turn else "Error" for turn in range(len(row))],
                "rewards": row,
                "valid_action": [True] * len(row),
            },
            "summary": {},
        }
        for number, row in enumerate(rewards)
    }
    file.write_text(json.dumps(episodes))
    return file
