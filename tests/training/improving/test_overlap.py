"""Nothing of an eval task is trained on: tasks that are the same, or nearly, and rows that hold their words."""

from __future__ import annotations

from groundwire import Task, Tree
from groundwire.training._schema import ChatMessage, Part, Provenance
from groundwire.training._trajectories import Author
from groundwire.training.forms._sft import SftRow
from groundwire.training.improving._overlap import RUN, EvalTexts, runs_in

FRAME = "import unittest\nfrom solution import f\nclass Sums(unittest.TestCase):\n    def test(self):\n"
SENTENCES = [
    "Return the longest word of a sentence that holds no vowel, or an empty text where every word of it has one.",
    "Count how many of the given intervals overlap with another one of the list, ends that touch left out of account.",
    "Turn a matrix by ninety degrees without a second matrix, and give back the one that was handed in for it.",
    "Say whether a text of brackets closes each of them in the order in which they were opened before the end.",
    "Give the number of ways in which a sum can be paid with coins of these values, each as often as you like.",
    "Find the first number of a list that stands there an odd number of times when all others are in pairs.",
]


def task(name: str, sentence: str, answer: int = 1) -> Task:
    files = {
        "solution.py": f'def f(x):\n    """{sentence}"""\n',
        "tests/test_f.py": f"{FRAME}        assert f(1) == {answer}\n",
    }
    return Task(id=name, prompt=sentence, tree=Tree({path: text.encode() for path, text in files.items()}))


def row_of_texts(asked: str, answered: str) -> SftRow:
    origins = (Part(part="prompt[0]", end=len(asked), origin=Author.HUMAN),)
    provenance = Provenance(
        runs=("r",), episodes=("e",), task="t", trials=(1,), seals="verified", origin=Author.ENV, origins=origins,
        model="m", model_revision="m", oracle=False, hidden=False, grounded=True,
    )  # fmt: skip
    return SftRow(
        provenance=provenance,
        prompt=(ChatMessage(role="user", content=asked),),
        completion=(ChatMessage(role="assistant", content=answered),),
        loss_mask=(False, True),
        reward=1.0,
        trial=1,
    )


def train(*more: Task) -> list[Task]:
    return [*(task(f"t{n}", sentence, n) for n, sentence in enumerate(SENTENCES[:4])), *more]


HELD = [task("held", SENTENCES[4], 40), task("other", SENTENCES[5], 50)]


def test_sets_that_share_nothing_but_the_frame_of_their_tests_do_not_overlap() -> None:
    assert not EvalTexts(train(), HELD).overlaps


def test_the_same_task_under_another_name_overlaps_and_so_does_one_in_almost_the_same_words() -> None:
    renamed = task("renamed", SENTENCES[4], 40)
    reworded = task("reworded", SENTENCES[5].replace("Find", "Tell"), 50)
    found = EvalTexts(train(renamed, reworded), HELD).overlaps
    assert [(one.task, one.of) for one in found] == [("renamed", "held"), ("reworded", "other")]
    assert found[0].share == 1.0 and 0.5 <= found[1].share < 1.0


def test_hidden_tests_of_an_eval_task_are_looked_for_too() -> None:
    texts = EvalTexts(train(), HELD)
    assert texts.held and set(texts.held.values()) == {"held", "other"}


def test_a_row_that_holds_a_run_of_an_eval_tasks_words_is_refused_in_whatever_column() -> None:
    texts = EvalTexts(train(), HELD)
    words = SENTENCES[4].split()
    fine = row_of_texts("Write f.", "def f(x):\n    return x\n")
    assert texts.refuses(fine) == ""
    assert texts.refuses(row_of_texts("Write f.", f"# {' '.join(words[: RUN + 2])}\n")) == "holds_eval_text"
    assert texts.refuses(row_of_texts(SENTENCES[4].upper(), "pass")) == "holds_eval_text", "case says nothing"
    assert texts.refuses(row_of_texts(" ".join(words[: RUN - 4]), "pass")) == "", "a shorter run turns up by chance"
    assert texts.refused == {"held": 2}


def test_a_text_shorter_than_a_run_is_one_run_and_an_empty_one_is_none() -> None:
    assert len(runs_in("return x")) == 1 and runs_in("  \n") == frozenset()
    assert runs_in("Return  x") == runs_in("return x")
