"""Reflexion's logs on HotpotQA, read from their text."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from published import published

from groundwire.core._errors import RecordingError
from groundwire.logs import Answered, Outcome, TrialSummary, read_hotpotqa
from groundwire.logs import _hotpotqa as hotpotqa

SEARCHING = """
########################################
BEGIN TRIAL 2
Trial summary: Correct: 1, Incorrect: 1, Halted: 1
#######################################
------------- BEGIN CORRECT AGENTS -------------

Question: Who?
Thought 1: I look.
Action 1: Search[Who]
Observation 1: A band,
of two lines.
Action 2: Finish[The Who]
Observation 2: Answer is CORRECT
Correct answer: The Who

------------- BEGIN INCORRECT AGENTS -----------

Question: When?You have attempted to answer following question before and failed. The following help.
Reflections:
- I should look,
and think.
- I should search first.
Action 1: Finish[1999]
Correct answer: 2001
Question: Next?
Action 1: Finish[a]
Action 2: Finish[b]
Correct answer:

------------- BEGIN HALTED AGENTS --------------

Question: Where?
Action 1: Search[Where]
Correct answer: There

"""
THINKING = """
########################################
BEGIN TRIAL 3
Trial summary: Correct: 0, Incorrect: 1
#######################################
------------- BEGIN CORRECT AGENTS -------------

------------- BEGIN INCORRECT AGENTS -----------

Context: A text.

More of it. Question: Why so?
Thought: Hm.
Action: Finish[Because]
Observation: Answer is INCORRECT
Reflections: I was wrong.
I was wrong again.
Correct answer: no reason
"""
CORRECT = {
    "react_base_5trials": [34, 34, 34, 34, 34],
    "react_reflexion_7trials": [32, 42, 48, 50, 51, 53, 53],
    "cot_context_last_trial_5trials": [62, 66, 66, 66, 66],
    "cot_context_reflexion_8trials": [61, 69, 69, 70, 72, 74, 75, 75],
    "cot_nocontext_base_5trials": [32, 33, 33, 33, 33],
    "cot_nocontext_last_trial_6trials": [32, 34, 35, 36, 37, 38],
    "cot_nocontext_reflexion_5trials": [32, 37, 40, 40, 40],
}


def read(path: Path, text: str) -> list[TrialSummary | Answered]:
    path.write_text(text)
    return list(read_hotpotqa(path))


def test_a_searching_agent_s_log(tmp_path: Path) -> None:
    summary, who, when, following, where = read(tmp_path / "log", SEARCHING)
    assert summary == TrialSummary(trial=2, correct=1, incorrect=1, halted=1)
    assert who == Answered(2, Outcome.CORRECT, "Who?", "The Who", "The Who", (), who.text)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]  # Answered
    assert isinstance(who, Answered) and who.text.startswith("Question: Who?") and "of two lines" in who.text
    assert isinstance(when, Answered) and when.question == "When?" and when.outcome is Outcome.INCORRECT
    assert when.reflections == ("I should look,\nand think.", "I should search first.")
    assert isinstance(following, Answered) and (following.answer, following.correct_answer) == ("b", "")
    assert isinstance(where, Answered) and (where.outcome, where.answer) == (Outcome.HALTED, "")


def test_a_thinking_agent_s_log(tmp_path: Path) -> None:
    summary, why = read(tmp_path / "log", THINKING)
    assert isinstance(summary, TrialSummary) and summary.halted is None
    assert isinstance(why, Answered) and (why.question, why.answer) == ("Why so?", "Because")
    assert why.reflections == ("I was wrong.", "I was wrong again.")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no trial begins"),
        ('{"name": "env_0"}\n', "log:1: .*text stands outside of a trial"),
        (SEARCHING.replace("Correct answer: The Who\n", ""), "log:16: a question of trial 2 ends without its line"),
        (SEARCHING[:-30], r"log:\d+: a question of trial 2 ends without its line"),
        (SEARCHING.replace("Question: Where?", "Where?"), "holds no line 'Question: …'"),
    ],
)
def test_what_is_damaged_is_named_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(RecordingError, match=problem):
        read(tmp_path / "log", text)


def test_the_text_of_one_question_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hotpotqa, "MAX_CHARS", 100)
    with pytest.raises(RecordingError, match="the text of one question is longer"):
        read(tmp_path / "log", SEARCHING)


def test_questions_come_one_at_a_time_before_a_damage(tmp_path: Path) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress((SEARCHING * 200).encode())[:-20])
    rows = read_hotpotqa(file)
    assert isinstance(next(rows), TrialSummary) and isinstance(next(rows), Answered)
    with pytest.raises(RecordingError, match="damaged after line"):
        list(rows)


@pytest.mark.parametrize(("name", "correct"), CORRECT.items())
def test_the_published_files_as_their_source_counts_them(name: str, correct: list[int]) -> None:
    rows = list(read_hotpotqa(published("reflexion_hotpotqa") / f"{name}.txt.gz"))
    summaries = [row for row in rows if isinstance(row, TrialSummary)]
    questions = [row for row in rows if isinstance(row, Answered)]
    assert [s.correct for s in summaries] == correct
    ended = Counter((q.trial, q.outcome) for q in questions)
    assert [ended[s.trial, Outcome.CORRECT] for s in summaries] == correct
    assert [ended[s.trial, Outcome.INCORRECT] for s in summaries] == [s.incorrect for s in summaries]
    assert len({q.question for q in questions}) == 100
    if name != "react_base_5trials":  # where a wrong answer in the last step is listed as halted, too
        assert [ended[s.trial, Outcome.HALTED] for s in summaries] == [s.halted or 0 for s in summaries]


def test_there_is_one_reflection_more_after_each_failed_trial() -> None:
    rows = read_hotpotqa(published("reflexion_hotpotqa") / "cot_nocontext_reflexion_5trials.txt.gz")
    wrong = [row for row in rows if isinstance(row, Answered) and row.outcome is Outcome.INCORRECT]
    assert all(len(row.reflections) == row.trial - 1 for row in wrong)
