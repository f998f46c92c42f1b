"""Open questions: words that are compared as the sets' own scorers do, some with the passages that hold them."""

from __future__ import annotations

from pydantic import Field

from groundwire.benchmarks.answers._questions import ASKS_WORDS, PublishedQuestion, QuestionSet
from groundwire.benchmarks.answers._rows import strings_in
from groundwire.core._errors import RecordingError
from groundwire.logs._rows import LogRow

DO = "Check that it is the published file."


def _asked(
    id: str, text: str, answers: tuple[str, ...], passages: tuple[str, ...] = (), split: str = "test"
) -> PublishedQuestion:
    kept = tuple(dict.fromkeys(one for one in answers if one.strip()))
    return PublishedQuestion(id, text, kept, "words", ASKS_WORDS, split, passages)


class MultiHopRow(LogRow):
    """HotpotQA (arXiv 1809.09600) and 2WikiMultihopQA (arXiv 2011.01060): a question, and paragraphs in sentences."""

    id: str = Field(alias="_id")
    text: str = Field(alias="question", min_length=1)
    answer: str = ""
    type: str = "test"
    context: list[list[str | list[str]]] = Field(default_factory=list[list[str | list[str]]])
    """Of each paragraph its title and its sentences."""

    def question(self, number: int, where: str) -> PublishedQuestion | None:
        """See `AsksOne`. The published test files have no answers, and can't be judged."""
        if not self.answer:
            return None
        passages = tuple(
            ": ".join(one if isinstance(one, str) else " ".join(one) for one in part) for part in self.context
        )
        return _asked(self.id, self.text, (self.answer,), passages, self.type)


class _Paragraph(LogRow):
    title: str
    paragraph_text: str


class MusiqueRow(LogRow):
    """MuSiQue (arXiv 2108.00573): its answerable questions; the others have no answer to be compared."""

    id: str
    text: str = Field(alias="question", min_length=1)
    answer: str = ""
    answer_aliases: list[str] = Field(default_factory=list)
    answerable: bool = True
    paragraphs: list[_Paragraph] = Field(default_factory=list[_Paragraph])

    def question(self, number: int, where: str) -> PublishedQuestion | None:
        """See `AsksOne`."""
        if not self.answer or not self.answerable:
            return None
        passages = tuple(f"{one.title}: {one.paragraph_text}" for one in self.paragraphs)
        hops = self.id.partition("hop")[0]
        split = f"{hops}hop" if hops.isdecimal() else "test"
        return _asked(self.id, self.text, (self.answer, *self.answer_aliases), passages, split)


class BamboogleRow(LogRow):
    """Bamboogle (arXiv 2210.03350): two columns."""

    text: str = Field(alias="Question", min_length=1)
    answer: str = Field(alias="Answer", min_length=1)

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`."""
        return _asked(str(number), self.text, (self.answer,))


class NaturalRow(LogRow):
    """NQ-Open (arXiv 1906.00300): a question, and all answers that count."""

    text: str = Field(alias="question", min_length=1)
    answer: list[str] = Field(min_length=1)

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`."""
        return _asked(str(number), self.text, tuple(self.answer))


class _TriviaAnswer(LogRow):
    value: str = Field(alias="Value")
    aliases: list[str] = Field(alias="Aliases", default_factory=list)


class TriviaRow(LogRow):
    """TriviaQA (arXiv 1705.03551): an answer with its aliases; the published test files have none."""

    id: str = Field(alias="QuestionId")
    text: str = Field(alias="Question", min_length=1)
    answer: _TriviaAnswer | None = Field(None, alias="Answer")

    def question(self, number: int, where: str) -> PublishedQuestion | None:
        """See `AsksOne`."""
        if self.answer is None:
            return None
        return _asked(self.id, self.text, (self.answer.value, *self.answer.aliases))


class PopRow(LogRow):
    """PopQA (arXiv 2212.10511): possible answers as a JSON list in one column."""

    id: str | int
    text: str = Field(alias="question", min_length=1)
    possible_answers: str
    prop: str = "test"

    def question(self, number: int, where: str) -> PublishedQuestion:
        """See `AsksOne`."""
        answers = strings_in(self.possible_answers, where)
        if not answers:
            raise RecordingError(f"{where}: it has no answer.", do=DO)
        return _asked(str(self.id), self.text, tuple(answers), split=self.prop)


OPEN = (
    QuestionSet(
        "hotpotqa",
        ("hotpot_dev_distractor_v1.json", "hotpot_dev_fullwiki_v1.json"),
        "https://hotpotqa.github.io",
        MultiHopRow,
    ),
    QuestionSet(
        "2wiki", ("dev.json", "train.json"), "https://github.com/Alab-NII/2wikimultihop (data_ids)", MultiHopRow
    ),
    QuestionSet(
        "musique",
        ("musique_ans_v1.0_dev.jsonl", "musique_full_v1.0_dev.jsonl"),
        "https://github.com/StonyBrookNLP/musique",
        MusiqueRow,
    ),
    QuestionSet(
        "bamboogle",
        ("bamboogle.csv", "Bamboogle Prerelease - Sheet1.csv"),
        "https://github.com/ofirpress/self-ask (linked there)",
        BamboogleRow,
    ),
    QuestionSet(
        "nq",
        ("NQ-open.dev.jsonl", "NQ-open.efficientqa.dev.1.1.jsonl"),
        "https://github.com/google-research-datasets/natural-questions (nq_open)",
        NaturalRow,
    ),
    QuestionSet(
        "triviaqa",
        (
            "verified-web-dev.json",
            "verified-wikipedia-dev.json",
            "web-dev.json",
            "wikipedia-dev.json",
            "unfiltered-web-dev.json",
        ),
        "https://nlp.cs.washington.edu/triviaqa",
        TriviaRow,
    ),
    QuestionSet("popqa", ("popQA.tsv",), "https://github.com/AlexTMallen/adaptive-retrieval (data)", PopRow),
)
