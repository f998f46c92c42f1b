"""What was thought is told from what was answered, and an answer about such marks stays whole."""

from __future__ import annotations

from itertools import product

import pytest

from groundwire.agents.patching._edit_blocks import SearchReplace, WholeFile, render_answer
from groundwire.core._reasoning_text import split_thinking, thinking_spans, without_thinking

DRAFT = render_answer([SearchReplace("a.py", "x = 1\n", "x = 2\n")])
FINAL = render_answer([SearchReplace("a.py", "x = 1\n", "x = 3\n")])
PARSER = render_answer(
    [
        SearchReplace("p.py", "    start = text.find('<thinking>')\n", "    start = text.find('<think>')\n"),
        SearchReplace("p.md", "<think>\nnot closed\n", "<think>\nthis is now closed </think> and more\n"),
        WholeFile("q.py", 'END = "</think>"\nBOTH = "[THINK] </thinking> <reasoning>"\n</think>\n'),
    ]
)
PAIRS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<THINK>", "</THINK>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
]


@pytest.mark.parametrize(("opens", "closes"), PAIRS)
@pytest.mark.parametrize("answer", [FINAL, PARSER, "ANSWER: 4", '{"a": "<think>"}'])
def test_each_spelling_in_each_place(opens: str, closes: str, answer: str) -> None:
    assert split_thinking(f"{opens}\nHmm.\n{DRAFT}No.\n{closes}\n\n{answer}") == (f"Hmm.\n{DRAFT}No.", answer)
    assert split_thinking(f"{opens}{DRAFT}{closes}{answer}") == (DRAFT.strip(), answer), "without line ends"
    assert split_thinking(f"Hmm.\n{DRAFT}No.\n{closes}\n\n{answer}") == (f"Hmm.\n{DRAFT}No.", answer), "only closed"
    assert split_thinking(f"\n {opens}\nHmm.\n{DRAFT}") == (f"Hmm.\n{DRAFT}".strip(), ""), "never closed"
    assert split_thinking(f"{opens}{closes}\n\n{answer}") == ("", answer), "nothing thought"


def test_several_and_nested_and_interleaved() -> None:
    assert split_thinking(f"<think>a</think>\n<think>{DRAFT}</think>\n{FINAL}") == (f"a\n\n{DRAFT.strip()}", FINAL)
    assert split_thinking(f"<think>a <think>b</think> {DRAFT}</think>{FINAL}")[1] == FINAL
    assert split_thinking(f"<think>the mark <think> is odd\n{DRAFT}</think>{FINAL}")[1] == FINAL
    assert split_thinking(f"<think>the mark </think> is odd\n{DRAFT}</think>\n{FINAL}")[1] == FINAL
    assert split_thinking(f'<think>see "</think>" and `<think>`\n{DRAFT}</think>\n{FINAL}')[1] == FINAL
    assert without_thinking(f"Let me see.\n<think>\n{DRAFT}</think>\n{FINAL}") == f"Let me see.\n\n{FINAL}"
    assert without_thinking(f"Sure! <think>{DRAFT}</think>\n{FINAL}") == f"Sure! \n{FINAL}"
    assert without_thinking(f"{FINAL}\n<think>\nor else\n{DRAFT}") == f"{FINAL}\n", "a second thought that was cut off"
    assert without_thinking(f"<think>a</think>{FINAL}</think>\n") == f"{FINAL}</think>\n", "one mark too many"
    assert without_thinking(f"<think>a</thinking>{FINAL}") == FINAL
    assert without_thinking('<think>he said "no".</think>"yes"') == '"yes"'
    assert without_thinking("a</think>b<think>c") == "b", "the second one was cut off"


def test_a_draft_with_a_fence_that_never_ends() -> None:
    draft = "<think>\n```python\nx = 1\n</think>\n\nFILE: a.py\n```python\nx = 2\n```\n"
    assert without_thinking(draft) == "FILE: a.py\n```python\nx = 2\n```\n"
    plain = "<think>\n```\nx = 1\n</think>\n```\nx = 2\n```\n"
    assert without_thinking(plain) == "```\nx = 2\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        PARSER,
        f"I look for the marks.\n\n{PARSER}\nThat is all.",
        f"I fixed how <think> is read.\n\n{PARSER}",
        f"The marks `<think>` and `</think>` are read.\n\n{PARSER}",
        'The pattern r"<think>(.*?)</think>" is read.',
        'A "</think>" is kept.\n```python\nif "<think>" in text:\n    pass\n```\n',
        "~~~\n</think>\n~~~\n",
        '{"cause": "no </think> mark", "edits": [{"path": "p", "search": "<think>\\n", "replace": "x"}]}',
        '["</think>"]',
        "",
        "no marks at all, x < y and a</thin>",
    ],
)
def test_an_answer_about_marks_stays_whole(text: str) -> None:
    assert split_thinking(text) == ("", text)
    assert split_thinking(text.replace("\n", "\r\n")) == ("", text.replace("\n", "\r\n"))


def test_thought_and_then_an_answer_about_marks() -> None:
    for before in ("<think>\nThe string '</think>' matters.\n", "The string '</think>' matters.\n"):
        thought, answer = split_thinking(f"{before}{DRAFT}\n</think>\n\nI handle the </think> mark.\n{PARSER}")
        assert DRAFT.strip() in thought
        assert answer.endswith(PARSER)


EDIT = "<<<<<<< SEARCH\nx\n=======\n{}\n>>>>>>> REPLACE"
DRAFTS = ["{}", "```\n{}\n```", "```python\n{}\n```", EDIT, f"```\n{EDIT}\n```", "````\n```\n{}\n```\n````"]
UNENDED = ["```\n{}", "```python\n{}", "~~~\n{}", EDIT.rpartition("\n")[0], f"```\n{EDIT}"]


@pytest.mark.parametrize("opens", ["<think>\n", "<think>", ""])
@pytest.mark.parametrize(
    ("draft", "closes"),
    [
        *product([*DRAFTS, *UNENDED], ["\n</think>\n", "\n</think>\n\n"]),
        *product([*DRAFTS, "as `<think>` says, {}"], ["</think>\n\n"]),
    ],
)
@pytest.mark.parametrize("answer", [*DRAFTS, "Now:\n~~~\n{}\n~~~\nDone."])
def test_no_rejected_draft_is_read_as_the_answer(opens: str, draft: str, closes: str, answer: str) -> None:
    thought, said = split_thinking(opens + draft.format("rejected") + closes + answer.format("meant"))
    assert "rejected" in thought and said == answer.format("meant")


def test_spans_are_in_order_and_cover_no_answer_for_any_mixture() -> None:
    pieces = ["<think>", "</think>", "a", "```\n", "\n", "<<<<<<< SEARCH\n", ">>>>>>> REPLACE\n", "[/THINK]", '"']
    for parts in product(pieces, repeat=4):
        text = "".join(parts)
        spans = thinking_spans(text)
        flat = [place for span in spans for place in span]
        assert flat == sorted(flat) and all(0 <= a < b <= len(text) for a, b in spans)
        thought, answer = split_thinking(text)
        assert len(thought) + len(answer) <= len(text) + 2 * len(spans)


@pytest.mark.parametrize(
    "flood",
    [
        "<think>",
        "</think>",
        "<think></think>",
        "a </think> b",
        "a <think> b",
        "```x\n</think>",
        "<<<<<<< SEARCH\n<think>\n",
    ],
)
@pytest.mark.parametrize("before", ["", "</think>" + " " * 500_000])
def test_a_flood_of_marks_is_read(flood: str, before: str) -> None:
    text = before + flood * 20_000  # the square of that would never end
    thought, answer = split_thinking(text)
    assert len(thought) + len(answer) <= len(text)
