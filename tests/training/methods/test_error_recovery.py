"""Failed attempts by their kind of error, each joined to a right answer in two ways."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from guessing import Check
from made_rows import made
from recorded_runs import question, repairing, saying, trajectories

from groundwire import Observation, Origin, Verdict
from groundwire.core._signals import Evidence
from groundwire.training.methods._error_recovery import ErrorRecoveryRow, error_histogram, error_type

SAID = {
    "41": ("ValueError: not enough digits <|im_start|>", Origin.TESTS),
    "40": ("E   AssertionError: 40 != 42", Origin.TESTS),
    "7": ("EvilError: ; rm -rf /", Origin.TESTS),
    "8": ("it is wrong", Origin.VERIFIER),
    "9": ("TypeError: told by hidden tests", Origin.HIDDEN_TESTS),
}


def judged(text: str) -> Observation | None:
    """What the check says of a wrong answer."""
    if text.strip() not in SAID:
        return None
    detail, origin = SAID[text.strip()]
    return Observation(verdict=Verdict.FAIL, origin=origin, evidence=Evidence(detail=detail))


async def test_each_failed_attempt_has_its_kind_and_two_recoveries(tmp_path: Path) -> None:
    texts = ["41", "40", "42", "40", "42", "7", "8", "42", "8", "6", "5"]
    check = Check(("42",), override=judged)
    tasks = [question(name) for name in ("first", "second", "third", "never")]
    told = await trajectories(tmp_path, repairing([saying(text) for text in texts], check=check), *tasks)
    rows, reasons = made("error_recovery", told, ErrorRecoveryRow)
    log = Counter(error_type(attempt) for one in told for attempt in one.attempts if attempt.reward == 0.0)
    assert error_histogram(told) == log == {"ValueError": 1, "AssertionError": 2, "failed_test": 1, "wrong_answer": 4}
    for variant in ("fix_continue", "fresh_restart"):
        kinds = Counter(row.error_type for row in rows if row.variant == variant)
        assert kinds + Counter({"wrong_answer": reasons.count("no_right_answer")}) == log
    assert len(rows) == 2 * (log.total() - 3) and reasons == ["no_right_answer"] * 3

    fix, anew = rows[:2]
    text = fix.completion[0].content
    assert text == (
        "I count.\n\nFILE: answer.txt\n```\n41\n"  # through the first line that the right answer has not
        "\n\nCarry the four.\n\n"
        "42\n```\n"
    )
    assert anew.completion[0].content == (f"{saying('41')}\n\nCarry the four. Let me begin anew.\n\n{saying('42')}")
    for row in rows:
        whole = row.completion[0].content
        assert "".join(whole[part.start : part.end] for part in row.segments) == whole
        assert [(part.kind, part.loss) for part in row.segments] == [
            ("wrong", False),
            ("bridge", True),
            ("right", True),
        ]
        assert row.same_episode and len(row.provenance.turns) == 2
        assert {p.what: p.origin.value for p in row.provenance.origins if p.part == "completion[0]"}["wrong"] == "model"


async def test_a_right_answer_of_another_episode_will_do_and_hidden_tests_tell_nothing(tmp_path: Path) -> None:
    check = Check(("42",), override=judged)
    graph = repairing([saying("9"), saying("42")], check=check)
    told = await trajectories(tmp_path, graph, question(), question(), trials=1)
    rows, reasons = made("error_recovery", told, ErrorRecoveryRow)
    assert [(row.error_type, row.same_episode) for row in rows] == [("failed_hidden_test", False)] * 2 and not reasons
    assert "That is not right." in rows[0].completion[0].content, "no critic said anything"
