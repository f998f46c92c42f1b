"""Who wrote which part of a prompt."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._prompt_text import data, fenced, tagged
from groundwire.training._trajectories import Author, Span
from groundwire.training._turns import Known, spans_by_known_texts, spans_by_tags

PIECES = st.sampled_from(
    ["<task>", "</task>", "<evidence verdict='fail'>", "</evidence>", "```\n", "a < b\n", "x", "\n"]
)


def told(content: str, spans: tuple[Span, ...]) -> dict[str, tuple[str, str]]:
    texts = {content[s.start : s.end].strip(): (s.author.value, s.what) for s in spans}
    return {text: who for text, who in texts.items() if text}


def test_tags_nested_tags_and_fences() -> None:
    world = tagged("step", data("action", "go <north>") + "\nA wall.")
    file = tagged("file", fenced('print("<reflection>mine</reflection>")\n'), path="a.py")
    content = f"{data('task', 'Get out.')}\n{file}\n{world}\n{data('unheard_of', 'x')}\nAnswer now."
    spans = spans_by_tags(content, files=Author.HUMAN)

    def wrote(text: str) -> tuple[str, str]:
        place = content.index(text)
        return next((s.author.value, s.what) for s in spans if s.start <= place < s.end)

    assert wrote("Get out.") == ("human", "task")
    assert wrote("go &lt;north&gt;") == ("model", "action")
    assert wrote("A wall.") == ("env", "step")
    assert wrote("x\n</unheard_of>") == ("model", "unheard_of"), "what is not known is not trusted"
    assert wrote("mine</reflection>") == ("human", "file"), "no tag inside a fence"
    assert ("model", "file") in told(content, spans_by_tags(content, files=Author.MODEL)).values()


def test_texts_of_the_ledger_in_somebody_elses_prompt() -> None:
    known = [
        Known("assert 1 < 2 failed", Author.ENV, "evidence"),
        Known("I forgot the carry.", Author.MODEL, "reflection"),
    ]
    content = "Try again.\nassert 1 &lt; 2 failed\nI forgot the carry.\nGo."
    by = told(content, spans_by_known_texts(content, known))
    assert by == {
        "Try again.": ("human", "prompt"),
        "assert 1 &lt; 2 failed": ("env", "evidence"),
        "I forgot the carry.": ("model", "reflection"),
        "Go.": ("human", "prompt"),
    }


@given(
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(st.sampled_from(["a < b\nxx<task>", "</evidence>x"]), max_size=2),
)
def test_spans_cover_every_message_without_gap_or_overlap(content: str, texts: list[str]) -> None:
    known = [Known(text, Author.MODEL, "said") for text in texts]
    for spans in (spans_by_tags(content, files=Author.MODEL), spans_by_known_texts(content, known)):
        assert "".join(content[s.start : s.end] for s in spans) == content
        assert all(a.end == b.start and a.start < a.end for a, b in pairwise(spans))
