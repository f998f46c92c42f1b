"""Mathematics and choices: sets whose key is a number, a formula or a letter."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field

from groundwire.benchmarks.answers._questions import (
    ASKS_LETTER,
    LETTERS,
    PublishedQuestion,
    QuestionSet,
    choices,
    file_of,
    last_boxed,
    number_in,
    shuffled,
)
from groundwire.core._errors import RecordingError
from groundwire.logs._rows import LogRow

DO = "Check that it is the published file."


class Gsm8kRow(LogRow):
    """The key stands behind the `####` of the solution."""

    question_text: str = Field(alias="question", min_length=1)
    answer: str

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`."""
        _, mark, key = self.answer.rpartition("####")
        if not mark or not key.strip():
            raise RecordingError(f"{where}: its answer has no ####.", do=DO)
        return PublishedQuestion(str(number), self.question_text, (key.strip(),))


class MathRow(LogRow):
    """A problem a row, or a file each. The key: the column `answer` where there is one, else the last `\\boxed{…}`."""

    problem: str = Field(min_length=1)
    solution: str = ""
    answer: str = ""
    type: str = ""
    subject: str = ""
    unique_id: str = ""

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`."""
        key = self.answer.strip() or last_boxed(self.solution)
        if not key:
            raise RecordingError(f"{where}: there is no answer and nothing boxed.", do=DO)
        path = file_of(where)
        of_file = f"{path.parent.name}/{path.stem}" if path.stem.isdecimal() else ""
        own = self.unique_id.removesuffix(".json") or of_file
        return PublishedQuestion(own or str(number), self.problem, (key,), split=self.subject or self.type or "test")


class ContestRow(LogRow):
    """AIME and AMC: one problem, one number. The columns' names differ from one publisher to the next."""

    problem: str = ""
    capital_problem: str = Field("", alias="Problem")
    question_text: str = Field("", alias="question")
    answer: str | int | float | None = None
    capital_answer: str | int | float | None = Field(None, alias="Answer")
    id: str | int | None = None
    capital_id: str | int | None = Field(None, alias="ID")

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`."""
        text = self.problem or self.capital_problem or self.question_text
        key = self.answer if self.answer is not None else self.capital_answer
        if not text or key is None:
            raise RecordingError(f"{where}: a problem or its answer is missing.", do=DO)
        own = self.id if self.id is not None else self.capital_id
        return PublishedQuestion(str(number if own is None else own), text, (number_in(key),))


class OlympiadRow(LogRow):
    """Open questions in words alone: proofs, and what needs its picture, can't be judged by a key and are left out."""

    id: str | int
    question_text: str = Field(alias="question", min_length=1)
    final_answer: list[str] | None = None
    context: str | None = None
    modality: str | None = None
    image_1: Any = None
    unit: str | None = None
    subfield: str | None = None

    def question(self, number: int, where: str) -> PublishedQuestion | None:
        """See `AsksOne`."""
        has_picture = self.image_1 is not None or (self.modality or "").casefold() == "multimodal"
        if not self.final_answer or has_picture:
            return None
        text = "\n\n".join(part for part in ((self.context or "").strip(), self.question_text) if part)
        if self.unit:
            text += f"\n\nGive it in {self.unit.strip().strip('$')}, without the unit."
        key = ", ".join(one.strip().strip("$") for one in self.final_answer)
        return PublishedQuestion(str(self.id), text, (key,), split=self.subfield or "test")


class GpqaRow(LogRow):
    """One right answer and three wrong ones, put in an order that the question's own text decides."""

    text: str = Field(alias="Question", min_length=1)
    right: str = Field(alias="Correct Answer", min_length=1)
    wrong_1: str = Field(alias="Incorrect Answer 1")
    wrong_2: str = Field(alias="Incorrect Answer 2")
    wrong_3: str = Field(alias="Incorrect Answer 3")
    record: str = Field("", alias="Record ID")
    domain: str = Field("", alias="High-level domain")

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`."""
        options = (self.right, self.wrong_1, self.wrong_2, self.wrong_3)
        order = shuffled(options, self.text)
        asked = choices(self.text, [options[place] for place in order])
        key = LETTERS[order.index(0)]
        return PublishedQuestion(
            self.record or str(number), asked, (key,), asks=ASKS_LETTER, split=self.domain or "test"
        )


class MmluRow(LogRow):
    """A question, four options and a letter, in files without a header, one a subject."""

    text: str = Field(alias="question", min_length=1)
    a: str = Field(alias="A")
    b: str = Field(alias="B")
    c: str = Field(alias="C")
    d: str = Field(alias="D")
    answer: str = Field(pattern=r"^\s*[A-D]\s*$")

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`."""
        row = where.rpartition(" ")[2]
        subject = file_of(where).name.partition(".")[0]
        subject = re.sub("_(?:test|dev|val)$", "", subject)
        asked = choices(self.text, (self.a, self.b, self.c, self.d))
        return PublishedQuestion(f"{subject}/{row}", asked, (self.answer.strip(),), asks=ASKS_LETTER, split=subject)


class _Choice(LogRow):
    label: str = Field(pattern=r"^[A-Z]$")
    text: str


class _Stem(LogRow):
    stem: str = Field(min_length=1)
    choices: list[_Choice]


class CommonsenseRow(LogRow):
    """A stem, five options and the letter of one; the published test file has no letters, and can't be judged."""

    id: str
    asked: _Stem = Field(alias="question")
    letter: str = Field("", alias="answerKey")

    def question(self, number: int, where: str) -> PublishedQuestion | None:
        """See `AsksOne`."""
        options = sorted(self.asked.choices, key=lambda one: one.label)
        if not self.letter:
            return None
        if [one.label for one in options] != list(LETTERS[: len(options)]) or self.letter not in LETTERS:
            raise RecordingError(f"{where}: its options are not A, B, C …", do=DO)
        asked = choices(self.asked.stem, [one.text for one in options])
        return PublishedQuestion(self.id, asked, (self.letter,), asks=ASKS_LETTER)


class ProcessRow(LogRow):
    """A solution in steps, and the index of the first wrong one; -1 where all hold (ProcessBench, arXiv 2412.06559)."""

    id: str
    problem: str = Field(min_length=1)
    steps: list[str]
    label: int = Field(ge=-1)

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`. The split says which of the two accuracies an item counts for."""
        if self.label >= len(self.steps):
            raise RecordingError(f"{where}: its label is beyond its steps.", do=DO)
        steps = "\n\n".join(f'<step index="{place}">\n{step.strip()}\n</step>' for place, step in enumerate(self.steps))
        asks = (
            "Say which step is the first that is wrong: write its index alone into answer.txt, or -1 if none is."
            " An index counts from 0."
        )
        text = f"A problem, and a solution in steps.\n\n{self.problem.strip()}\n\n{steps}"
        split = "right" if self.label == -1 else "wrong"
        return PublishedQuestion(self.id, text, (str(self.label),), asks=asks, split=split)


MMLU_COLUMNS = ("question", "A", "B", "C", "D", "answer")
EXACT = (
    QuestionSet(
        "gsm8k",
        ("test.jsonl", "gsm8k*.jsonl", "test*.parquet"),
        "https://github.com/openai/grade-school-math",
        Gsm8kRow,
    ),
    QuestionSet(
        "math",
        ("[0-9]*.json", "test*.parquet"),
        "https://github.com/hendrycks/math (MATH.tar, its folder test)",
        MathRow,
    ),
    QuestionSet(
        "math-500", ("test.jsonl", "math500.jsonl"), "https://huggingface.co/datasets/HuggingFaceH4/MATH-500", MathRow
    ),
    QuestionSet(
        "aime",
        ("aime*.json*", "test.jsonl", "*.parquet"),
        "https://huggingface.co/datasets/AI-MO/aimo-validation-aime",
        ContestRow,
    ),
    QuestionSet(
        "amc",
        ("amc*.json*", "test.jsonl", "*.parquet"),
        "https://huggingface.co/datasets/AI-MO/aimo-validation-amc",
        ContestRow,
    ),
    QuestionSet(
        "olympiadbench", ("OE_TO_*.json", "*.parquet"), "https://github.com/OpenBMB/OlympiadBench", OlympiadRow
    ),
    QuestionSet(
        "gpqa", ("gpqa_diamond.csv", "gpqa_main.csv"), "https://github.com/idavidrein/gpqa (dataset.zip)", GpqaRow
    ),
    QuestionSet(
        "mmlu",
        ("*_test.csv", "*_val.csv", "*_dev.csv"),
        "https://github.com/hendrycks/test (data.tar)",
        MmluRow,
        MMLU_COLUMNS,
    ),
    QuestionSet(
        "commonsenseqa",
        ("dev_rand_split.jsonl", "train_rand_split.jsonl"),
        "https://www.tau-nlp.org/commonsenseqa",
        CommonsenseRow,
    ),
    QuestionSet(
        "processbench",
        ("gsm8k.json", "math.json", "olympiadbench.json", "omnimath.json"),
        "https://huggingface.co/datasets/Qwen/ProcessBench",
        ProcessRow,
    ),
)
