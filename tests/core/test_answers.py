"""Answers as models write them: what is the same, what is not, where a text states one, and when it states none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._answers import (
    MAX_CHARS,
    NONE_SAID,
    REFUSED,
    TWO,
    answer_key,
    bare_answer,
    plain_answer,
    stated_answer,
)
from groundwire.core._candidates import Candidate

SAME = r"""
1/2                     | 0.5
\frac{1}{2}             | 1/2
\frac{1}{2}             | .5
\frac12                 | 0.5
\dfrac{1}{2}            | \tfrac12
\frac1{2}               | \frac{1}2
\frac{-1}{2}            | -1/2
\frac{1}{-2}            | -0.50
-\frac{1}{2}            | −½
1\frac{1}{2}            | 1 1/2
1½                      | 3/2
2/4                     | 1/2
\frac{10}{4}            | 2.5
\frac{\frac{1}{2}}{3}   | (1/2)/3
.5                      | 0.5
5.                      | 5
+3.50                   | 3.5
-0.5                    | -0.50
-0                      | 0
007                     | 7
1,000                   | 1000
1,000.0                 | 1000
1{,}000                 | 1000
1\,000                  | 1,000
12\,345\,678            | 12345678
1e3                     | 1000
1.5e3                   | 1500
1.5 \times 10^{3}       | 1500
1.5*10^3                | 1,500
2 × 10^{-3}             | 0.002
10^{6}                  | 1 million
3 million               | 3,000,000
2.5 thousand            | 2500
0.\overline{3}          | 1/3
0.1\overline{6}         | \frac{1}{6}
18 dollars              | 18
$18                     | 18
$18                     | 18 dollars
$18.00                  | \$18
US$18                   | 18 USD
-$5                     | -5
$1,250.50               | 1250.5
€18                     | 18 euros
£5                      | 5 GBP
18 apples               | 18
42 red apples           | 42
7 people.               | 7
18\text{ dollars}       | 18
18 (eighteen)           | 18
90^\circ                | 90 degrees
90^{\circ}              | 90°
50%                     | 50 percent
50\%                    | 50.0 %
12.5\%                  | 12.5 per cent
5 km                    | 5 kilometers
5 kilometres            | 5.0 km
10\text{ cm}            | 10 centimeters
10 \mathrm{cm}          | 10cm
3 hours                 | 3 hrs
5 m^2                   | 5 square meters
5\text{ m}^2            | 5 m²
60 mph                  | 60.0 MPH
20 seconds              | 20 sec
\boxed{18}              | 18
\boxed{1,000.0}.        | $1000$
$\boxed{\frac{3}{4}}$   | 0.75
\[ \boxed{18} \]        | 18
\( 18 \)                | 18
$$18$$                  | 18
#### 18                 | 18
Final Answer: 18        | 18
**Final Answer:** 18    | 18
The answer is 18.       | 18
The final answer is $18$. | 18
So the answer is: 18    | 18
18 is the answer.       | 18
Answer: 18              | 18
x = 5                   | 5
x=\frac{5}{2}           | 2.5
≈ 3.14                  | 3.14
**12**                  | 12
`12`                    | 12
"12"                    | 12
“Paris”                 | paris
__Paris__.              | Paris
* 42                    | 42
- Paris                 | Paris
- 42                    | -42
42 ✓                    | 42
{"answer": 42}          | 42
{"final_answer": "Paris"} | paris
<answer>42</answer>     | 42
(B)                     | b.
B)                      | (b)
[C]                     | c
Option D                | d
\text{(A)}              | A
\textbf{(E)}            | e
(12)                    | 12
PARIS                   | Paris
Paris!                  | paris
\text{Paris}            | Paris
New   York              | new york
O’Neil                  | O'Neil
U.S.                    | u.s
\{1,2\}                 | {2, 1}
(1, 2)                  | \left( 1, 2 \right)
(1/2, 3)                | (\frac{1}{2},3.0)
[0,1)                   | \left[0, 1\right)
1, 2                    | 1,2
(-\infty, 3]            | (−∞, 3]
2\sqrt{3}               | 2 * sqrt(3)
2√3                     | 2\sqrt3
\frac{\sqrt{3}}{2}      | sqrt(3)/2
\sqrt[3]{2}             | \sqrt[3]2
2\pi                    | 2π
2\cdot 3x               | 2*3x
x^{2}+1                 | x^2 + 1
x²+1                    | x^2+1
x^{10}                  | x^10
x \le 5                 | x <= 5
A \cup B                | a∪b
\pm 2                   | ±2
3:4                     | 3 : 4
5!                      | 5!.
"""

DIFFERENT = r"""
.5                      | 5
(1,2)                   | 12
(1,2)                   | (2,1)
1,2                     | 12
[0,1)                   | (0,1]
[0,1]                   | (0,1)
3!                      | 3
100                     | 1000
10.5                    | 105
1/2                     | 12
1/2                     | 2
1/3                     | 0.33
1/3                     | 0.3333
1 000 2                 | 10002
100 200                 | 100200
1,00                    | 100
1,0000                  | 10000
12,34                   | 1234
5                       | -5
a                       | -a
2^3                     | 23
x^2                     | x2
x^{10}                  | x^1 0
x_1                     | x1
10^3                    | 103
1e3                     | 13
5 km                    | 5 m
5 km                    | 5
5 minutes               | 5 hours
5 m                     | 5 m^2
18 cents                | 18 dollars
18 euros                | 18 dollars
18 pounds               | 18
50%                     | 50
50%                     | 0.5
20°C                    | 20°F
3 million               | 3
3 times                 | 3
3 (mod 7)               | 3
3 or 4                  | 3
3 and 4                 | 3
more than 3             | 3
not 3                   | 3
3:4                     | 3/4
3:00                    | 3
\sqrt{2}                | 2
\sqrt[3]{2}             | \sqrt{2}
2\sqrt{3}               | \sqrt{23}
\frac{1}{x}             | \frac{x}{1}
\frac{a+b}{c}           | a+\frac{b}{c}
\frac{1}{2}x            | \frac{1}{2x}
x+1                     | x-1
x<5                     | x>5
x \le 5                 | x < 5
x = 1, y = 2            | x = 2, y = 1
2x                      | x2
{1,2}                   | (1,2)
{1,2}                   | {1,2,3}
(1,2),(3,4)             | (1,2,3,4)
(1,(2,3))               | ((1,2),3)
((1))                   | ((1,1))
A                       | B
AB                      | A
(A)                     | (A, B)
new york                | newyork
New York                | York
cat                     | cats
yes                     | no
true                    | false
U.S.                    | us
C                       | C++
C#                      | C
-                       | +
\Delta                  | \delta
\alpha                  | \beta
\pi                     | \pi^2
2\pi                    | 2
\infty                  | -\infty
±2                      | 2
1\frac{1}{2}            | \frac{11}{2}
2/3                     | 3/2
0.1                     | 0.10001
1234567890123456789     | 1234567890123456780
10^{-3}                 | 10^{3}
0x10                    | 10
1/0                     | 0
5 pm                    | 5 am
1st                     | 1
"""


def pairs(table: str) -> list[tuple[str, str]]:
    found = [tuple(re.split(r"\s+\|\s+", line, maxsplit=1)) for line in table.strip().splitlines()]
    return [(one, other.strip()) for one, other in found]


def test_there_are_two_hundred_pairs() -> None:
    assert len(pairs(SAME)) + len(pairs(DIFFERENT)) >= 200


@pytest.mark.parametrize(("one", "other"), pairs(SAME))
def test_answers_that_say_the_same_have_one_form(one: str, other: str) -> None:
    assert plain_answer(one) == plain_answer(other) != ""


@pytest.mark.parametrize(("one", "other"), pairs(DIFFERENT))
def test_answers_that_differ_stay_apart(one: str, other: str) -> None:
    assert plain_answer(one) != plain_answer(other)


FORTY_TWO = [
    "ANSWER: 42", "**ANSWER:** 42", "**ANSWER: 42**", "answer: 42", "- ANSWER: 42", "1. ANSWER: 42", "> ANSWER: 42",
    "ANSWER: **42**.", "ANSWER: `42`", "ANSWER: \\boxed{42}", "ANSWER: $42$", "ANSWER:\n42", "ANSWER:\n```\n42\n```",
    "```\nANSWER: 42\n```", "ANSWER: 42\n\nI hope this helps!", "ANSWER: 42\nThis is because 6*7 is 42.",
    "ANSWER: 42 because 6*7 is that.", "ANSWER: 42. That is what it comes to.", "ANSWER: 42\nANSWER: 42.0",
    "<think>ANSWER: 41</think>\nANSWER: 42", "so ANSWER: 41?\n</think>ANSWER: 42", '{"answer": 42}',
    '```json\n{"answer": "42"}\n```', 'Here it is: {"reason": "6*7", "answer": 42}', "<answer>42</answer>",
    "6*7\n#### 42",
    "So $$\\boxed{42}$$", "Thus the answer is 42.", "The final answer is $\\boxed{42}$. I hope it is correct.",
    "Final Answer: 42", "## Final answer\n\n42", "**Final Answer**\n42",
    "The correct answer is: **42**, since 6*7 is 42",
    "Answer: Let us see what six times seven comes to, step by step.\n6*7 = 42\n\nANSWER: 42",
    "Answer: We multiply six by seven, as the task says, so the answer is 42.",
    "ANSWER: \\boxed{42} = \\boxed{42.0}",
    "Answer: 6 a day\nAnswer: 7 days\n\nFinal Answer: 42",
    "{'answer': 42}", '{answer: "42",}', '{"answer": "\\boxed{42}"}', '{"answer": "\\frac{84}{2}"}', '"answer": "42"',
    "<Answer> 42 </Answer>", "<final_answer>42</final_answer>", "&lt;answer&gt;42&lt;/answer&gt;", "ANSWER: ~~41~~ 42",
    "ANSWER: 42<|im_end|>", "ANSWER: 42</s>\n", "Respuesta: 42", "La respuesta final es 42.", "Réponse : 42",
    "**Antwort:** 42", "Die Antwort ist 42.", "答案：42", "最终答案是 **42**。", "答え：42", "Ответ: 42",
    "It might be \\boxed{41}.\n\nANSWER: 42", "ANSWER: the answer alone\n\nANSWER: 42", "Answer: x = 42",
]  # fmt: skip


@pytest.mark.parametrize("text", FORTY_TWO)
def test_a_stated_answer_is_found_bare_in_whatever_form(text: str) -> None:
    found = stated_answer(text)
    assert plain_answer(found.answer) == "42" and not found.problem
    assert found.answer in ("42", "42.0", "x = 42", "\\frac{84}{2}"), "what is handed in has no markup"


@pytest.mark.parametrize(
    ("text", "problem"),
    [("ANSWER: 41\nANSWER: 42", TWO), ("ANSWER: 41\nAnswer: 42", TWO), ("\\boxed{41} and \\boxed{42}", TWO),
     ("ANSWER: 41 or 42", TWO),
     ("ANSWER: B or C", TWO), ("#### 41\n#### 42", TWO), ('{"answer": 1} {"answer": 2}', TWO),
     ("ANSWER: \\boxed{1} \\boxed{2}", TWO), ("The answer is 41. No, the answer is 42.", TWO),
     ("I'm sorry, but I can't help with that.", REFUSED), ("ANSWER: I don't know", REFUSED),
     ("ANSWER: I cannot answer that.", REFUSED), ("As an AI, I have no opinion.", REFUSED),
     ("", NONE_SAID), ("no mark", NONE_SAID), ("ANSWER:", NONE_SAID), ("ANSWER: ", NONE_SAID), ("42", NONE_SAID),
     ("<think>ANSWER: 42", NONE_SAID), ("The answer is not 42.", NONE_SAID), ("ANSWER: <your answer>", NONE_SAID)],
)  # fmt: skip
def test_two_answers_or_a_refusal_are_no_answer_and_it_is_said(text: str, problem: str) -> None:
    assert stated_answer(text) == stated_answer(f"{text}\n") and stated_answer(text).problem == problem
    assert not stated_answer(text).answer


def test_answers_of_several_lines_and_words_stay_whole() -> None:
    grid = "534\n672\n198"
    said = {
        f"ANSWER: {grid}": grid,
        f"ANSWER:\n{grid}\n\nThat solves it, I think.": grid,
        f"ANSWER:\n```text\n{grid}\n```\nDone.": grid,
        "ANSWER: x = 1 or x = 2": "x = 1 or x = 2",
        "ANSWER:\n- 42\n\nDone.": "42",
        "ANSWER:\n- one\n- two": "- one\n- two",
        "ANSWER: - 3": "- 3",
        "ANSWER: def f(x):\n    return x": "def f(x):\n    return x",
        "ANSWER: 1. FC Union": "1. FC Union",
        "ANSWER: St. Petersburg": "St. Petersburg",
        "ANSWER: U.S.": "U.S.",
        "ANSWER: The Who": "The Who",
        "ANSWER: Paris, the capital": "Paris, the capital",
        "ANSWER: 18 dollars": "18 dollars",
    }
    assert {text: stated_answer(text).answer for text in said} == said
    essay = "It was a dark night, and nobody in all of the town had slept.\n\nThen came the day. It was better."
    assert stated_answer(f"ANSWER: {essay}").answer == essay


def test_candidates_of_one_answer_share_a_key_and_programs_do_not() -> None:
    def key(path: str, text: str, more: dict[str, bytes] | None = None) -> str:
        return answer_key(Candidate("0" * 64, {path: text.encode(), **(more or {})}))

    assert len({key("answer.txt", text) for text in ("1000", "1,000\n", "$1000$", "1000.0", "1000 dollars")}) == 1
    assert key("a.py", "X = 1\n") != key("a.py", "x = 1\n")
    assert key("answer.txt", "1000", {"b.txt": b""}) != key("answer.txt", "1,000", {"b.txt": b""})


@given(st.text(max_size=24))
def test_any_text_has_a_form_that_is_its_own_form(text: str) -> None:
    form = plain_answer(text)
    assert plain_answer(form) == form or len(plain_answer(form)) <= len(form)
    assert bare_answer(bare_answer(text)) == bare_answer(text)
    stated_answer(text)


@pytest.mark.parametrize(
    "text",
    ["\\frac{" * 50_000, "(" * 50_000, "9" * 100_000, "1e999999999", "1,000" * 20_000, "\\boxed{" * 9_000 + "}" * 9_000,
     "ANSWER: " * 12_000, "{" * 90_000, '{"answer":' * 9_000, "**" * 50_000, "the " * 25_000 + "answer",
     "<answer>" * 9_000,
     "10^(" * 300, "1 1/" * 300, "$" * 90_000, "\n" * 90_000 + "a", " " * 90_000 + "a", "ANSWER: " + "a. " * 30_000,
     "# " * 40_000, "I " * 40_000, "9" * 59 + "/" + "7" * 59, "9**9**9**9", "((((9^9)^9)^9)^9)!"],
)  # fmt: skip
def test_hostile_texts_come_to_an_end(text: str) -> None:
    assert len(plain_answer(text)) <= MAX_CHARS
    assert len(stated_answer(text).answer) <= MAX_CHARS


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So the answer is J. R. R. Tolkien.", "J. R. R. Tolkien"),
        ("The answer is Ann E. Miller. She wrote it.", "Ann E. Miller"),
        ("The answer is St. Louis. It lies on a river.", "St. Louis"),
        ("The answer is J.R.R. Tolkien", "J.R.R. Tolkien"),
        ("The answer is J. K. Rowling because she wrote it.", "J. K. Rowling"),
        ("The answer is Mr. Smith of Rome. He lives there.", "Mr. Smith of Rome"),
        ("The answer is St. Louis (Missouri). It lies on a river.", "St. Louis (Missouri)"),
        ("The answer is 12 Main St. The house is red.", "12 Main St"),
        ("The answer is B. Option B says so.", "B"),
        ("The answer is C. table.", "C"),
        ("The answer is B. Correct.", "B"),
        ("The answer is C. S. Lewis.", "C. S. Lewis"),
        ("The answer is vitamin C. Take it daily.", "vitamin C"),
        ("The answer is 5. Next, we go on.", "5"),
    ],
)
def test_an_initial_ends_no_sentence(text: str, answer: str) -> None:
    assert stated_answer(text).answer == answer
