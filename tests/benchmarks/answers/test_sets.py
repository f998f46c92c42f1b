"""Every set in its published form: a few rows of our own, read, asked, and judged by their key."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from groundwire.benchmarks import BENCHMARKS, Item, benchmark
from groundwire.benchmarks._catalogue import EXACT, OPEN
from groundwire.benchmarks.answers._key import is_question, is_right, key_of, word_f1
from groundwire.benchmarks.answers._questions import PASSAGES, last_boxed, number_in
from groundwire.core._errors import GroundwireError, RecordingError, TaskError

CHOICES = [
    {"label": letter, "text": text}
    for letter, text in zip("ABCDE", ("a lid", "rain", "mud", "ink", "tin"), strict=True)
]
GPQA = {
    "Question": "Which of these decays first?",
    "Correct Answer": "the muon",
    "Incorrect Answer 1": "the proton",
    "Incorrect Answer 2": "the electron",
    "Incorrect Answer 3": "the photon",
    "Record ID": "rec1",
    "High-level domain": "Physics",
}
ROWS: dict[str, tuple[str, list[Any]]] = {
    "gsm8k": (
        "test.jsonl",
        [{"question": "Ann has 3 bags of 4 nuts. How many nuts?", "answer": "3 × 4 = <<3*4=12>>12\n#### 12"}],
    ),
    "math": (
        "test/algebra/7.json",
        [
            {
                "problem": "Solve $2x=1$.",
                "level": "Level 1",
                "type": "Algebra",
                "solution": "So $x=\\boxed{\\frac{1}{2}}$.",
            }
        ],
    ),
    "math-500": (
        "test.jsonl",
        [
            {
                "problem": "What is $3^2$?",
                "solution": "$\\boxed{9}$",
                "answer": "9",
                "subject": "Algebra",
                "level": 1,
                "unique_id": "test/algebra/9.json",
            }
        ],
    ),
    "aime": (
        "aime_2024_problems.jsonl",
        [
            {"ID": "2024-I-1", "Problem": "Count them.", "Solution": "…", "Answer": 33},
            {"id": 2, "problem": "Count again.", "answer": "025"},
        ],
    ),
    "amc": ("amc23.jsonl", [{"id": 0, "problem": "Find the sum.", "answer": 142.0, "url": "…"}]),
    "olympiadbench": (
        "OE_TO_maths_en_COMP.json",
        [
            {
                "id": 1,
                "question": "Find $n$.",
                "final_answer": ["$7$"],
                "is_multiple_answer": False,
                "modality": "Text-only",
                "unit": None,
            },
            {"id": 2, "question": "Prove it.", "final_answer": None},
            {"id": 3, "question": "Read it off the picture.", "final_answer": ["1"], "modality": "Multimodal"},
        ],
    ),
    "gpqa": ("gpqa_diamond.csv", [GPQA]),
    "mmlu": (
        "test/astronomy_test.csv",
        [{"question": "What is it, then?", "A": "a star", "B": "a moon, full", "C": "dust", "D": "gas", "answer": "B"}],
    ),
    "commonsenseqa": (
        "dev_rand_split.jsonl",
        [
            {
                "id": "c1",
                "answerKey": "B",
                "question": {"stem": "What makes streets wet?", "question_concept": "wet", "choices": CHOICES},
            }
        ],
    ),
    "processbench": (
        "gsm8k.json",
        [
            {
                "id": "g-0",
                "generator": "x",
                "problem": "2+2+2?",
                "steps": ["2+2=5", "5+2=7"],
                "final_answer_correct": False,
                "label": 0,
            },
            {
                "id": "g-1",
                "generator": "x",
                "problem": "2+2?",
                "steps": ["2+2=4"],
                "final_answer_correct": True,
                "label": -1,
            },
        ],
    ),
    "hotpotqa": (
        "hotpot_dev_distractor_v1.json",
        [
            {
                "_id": "h1",
                "question": "Who built it?",
                "answer": "The Harbour Guild",
                "type": "bridge",
                "level": "hard",
                "supporting_facts": [["Tower", 0]],
                "context": [["Tower", ["It was built.", " By the Harbour Guild."]], ["Sea", ["Wet."]]],
            }
        ],
    ),
    "2wiki": (
        "dev.json",
        [
            {
                "_id": "w1",
                "question": "Is it older?",
                "answer": "yes",
                "type": "comparison",
                "context": [["Old", ["Very."]]],
                "evidences": [],
            }
        ],
    ),
    "musique": (
        "musique_ans_v1.0_dev.jsonl",
        [
            {
                "id": "2hop__1_2",
                "question": "Where was she born?",
                "answer": "Pellin",
                "answer_aliases": ["Old Pellin"],
                "answerable": True,
                "paragraphs": [{"idx": 0, "title": "She", "paragraph_text": "Born in Pellin.", "is_supporting": True}],
            },
            {"id": "2hop__3_4", "question": "Where not?", "answer": "", "answerable": False, "paragraphs": []},
        ],
    ),
    "bamboogle": ("bamboogle.csv", [{"Question": "Who led it, before?", "Answer": "Odo Fenn"}]),
    "nq": ("NQ-open.dev.jsonl", [{"question": "who sings it", "answer": ["Ilsa Torrend", "Torrend"]}]),
    "triviaqa": (
        "wikipedia-dev.json",
        [
            {
                "QuestionId": "tc_1",
                "Question": "Which metal?",
                "Answer": {"Value": "Osmium", "Aliases": ["Os"], "NormalizedAliases": ["os"]},
            }
        ],
    ),
    "popqa": (
        "popQA.tsv",
        [
            {
                "id": "41",
                "subj": "Odo",
                "prop": "occupation",
                "obj": "x",
                "question": "What is Odo's occupation?",
                "possible_answers": '["politician", "pol"]',
            }
        ],
    ),
}
RIGHT: dict[str, tuple[str, str]] = {
    "gsm8k": ("12", "13"),
    "math": ("\\frac{1}{2}", "2"),
    "math-500": ("9", "6"),
    "aime": ("33", "34"),
    "amc": ("142", "143"),
    "olympiadbench": ("7", "8"),
    "mmlu": ("B", "A"),
    "commonsenseqa": ("(b)", "C"),
    "processbench": ("0", "1"),
    "hotpotqa": ("harbour guild", "the guild"),
    "2wiki": ("Yes.", "no"),
    "musique": ("old Pellin", "Pell"),
    "bamboogle": ("odo fenn", "Odo"),
    "nq": ("Torrend", "Ilsa"),
    "triviaqa": ("os", "iron"),
    "popqa": ("Politician", "poet"),
}
"""An answer that the key of a set's first row takes, and one that it does not."""


def written(folder: Path, name: str) -> Path:
    """A set's rows in a folder, under the name and in the form that they are published in."""
    file, rows = ROWS[name]
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="") as out:
            table = csv.DictWriter(out, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            if name != "mmlu":
                table.writeheader()
            table.writerows(rows)
    elif name == "triviaqa":
        path.write_text(json.dumps({"Data": rows, "Version": 1}, indent=1))
    elif name == "math":
        path.write_text(json.dumps(rows[0], indent=4))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text(json.dumps(rows))
    return folder


def read(folder: Path, name: str) -> Sequence[Item]:
    return list(benchmark(name).items(written(folder, name)))


@pytest.mark.parametrize(
    ("said", "key", "right"),
    [
        ("3 + 4 = 7", "7", True),
        ("$3 \\cdot 4 = 12$", "12", False),  # no plain sum: as it is
        ("$40 - $15 = $25", "25", True),
        ("(3 + 4) × 2 = 14 apples", "14", True),
        ("3 + 4 = 8", "7", False),
        ("3 + 4 = 7 = 8", "8", False),
        ("7 = 7", "7", False),
        ("4 * 6 = 24", "4 * 6 = 24", True),
        ("3 * 8 = 24", "4 * 6 = 24", False),
    ],
)
def test_a_sum_with_its_result_is_that_result(said: str, key: str, right: bool) -> None:
    assert is_right(said, (key,), "value") is right


@pytest.mark.parametrize("name", [*EXACT, *OPEN])
def test_a_published_form_is_read_and_its_key_judges(name: str, tmp_path: Path) -> None:
    items = read(tmp_path, name)
    first = items[0].task
    assert is_question(first) and first.hidden is not None and first.family == name and first.id.startswith(f"{name}/")
    answers, compare = key_of(first.hidden)
    right, wrong = RIGHT.get(name, (answers[0], "E"))
    assert is_right(right, answers, compare) and not is_right(wrong, answers, compare)
    assert not is_right("", answers, compare) and not is_right("x" * 20_000, answers, compare)
    seen = "\n".join((first.public().prompt, *(body.decode() for body in first.public().tree.files.values())))
    assert "hidden/key.json" not in seen and "####" not in seen and "boxed" not in seen
    assert first.public().hidden is None


def test_what_no_key_can_judge_is_left_out(tmp_path: Path) -> None:
    assert [item.task.id for item in read(tmp_path / "o", "olympiadbench")] == ["olympiadbench/1"]
    assert [item.task.id for item in read(tmp_path / "m", "musique")] == ["musique/2hop__1_2"]


def test_passages_come_with_the_item_and_the_two_halves_of_processbench_are_told_apart(tmp_path: Path) -> None:
    (item,) = read(tmp_path / "h", "hotpotqa")
    assert item.task.tree.files[PASSAGES] == b"Tower: It was built. By the Harbour Guild.\n\nSea: Wet.\n"
    assert [item.split for item in read(tmp_path / "p", "processbench")] == ["wrong", "right"]


def test_the_right_option_of_gpqa_is_not_always_the_same_letter(tmp_path: Path) -> None:
    letters: set[str] = set()
    for number in range(24):
        row = {**GPQA, "Question": f"{GPQA['Question']} ({number})"}
        file = tmp_path / "gpqa_diamond.csv"
        with file.open("w", newline="") as out:
            table = csv.DictWriter(out, list(row))
            table.writeheader()
            table.writerow(row)
        (item,) = benchmark("gpqa").items(tmp_path)
        assert item.task.hidden is not None
        (key,), _ = key_of(item.task.hidden)
        assert f"{key}. the muon" in item.task.prompt
        letters.add(key)
    assert letters == set("ABCD")


def test_numbers_are_written_one_way(tmp_path: Path) -> None:
    assert [number_in(v) for v in (142.0, "025", "3/4", 7, "1e400", "")] == ["142", "25", "3/4", "7", "1e400", ""]
    assert last_boxed("\\boxed{1} then \\boxed{\\frac{1}{2}}") == "\\frac{1}{2}" and last_boxed("\\boxed{1") == ""


def test_f1_is_the_published_one() -> None:
    assert word_f1("the Harbour Guild of Velmar", ["Harbour Guild"]) == pytest.approx(2 * 2 / (4 + 2))
    assert word_f1("yes it is", ["yes"]) == 0 and word_f1("Yes", ["yes"]) == 1
    assert word_f1("", ["x"]) == 0 and word_f1("x", []) == 0


def test_a_gzipped_file_and_parquet_are_read_too(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow
    from pyarrow import parquet

    rows = ROWS["gsm8k"][1]
    (tmp_path / "test.jsonl.gz").write_bytes(gzip.compress(json.dumps(rows[0]).encode()))
    whole: Any = parquet
    arrow: Any = pyarrow
    whole.write_table(arrow.Table.from_pylist(rows), tmp_path / "test-0.parquet")
    for file in ("test.jsonl.gz", "test-0.parquet"):
        assert len(list(benchmark("gsm8k").items(tmp_path / file))) == 1


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("gsm8k", "test.jsonl", '{"question": "x", "answer": "no mark"}'),
        ("gsm8k", "test.jsonl", '{"question": "x"}'),
        ("math", "1.json", '{"problem": "x", "solution": "nothing boxed"}'),
        ("mmlu", "a_test.csv", "q,1,2,3,4,E\n"),
        ("popqa", "popQA.tsv", "id\tquestion\tpossible_answers\n1\tq\tnot json\n"),
        ("processbench", "gsm8k.json", '[{"id": "a", "problem": "p", "steps": ["s"], "label": 4}]'),
        (
            "commonsenseqa",
            "dev_rand_split.jsonl",
            '{"id": "a", "answerKey": "Q9", "question": {"stem": "s", "choices": []}}',
        ),
        ("bamboogle", "bamboogle.csv", "Who,What\nx,y\n"),
    ],
)
def test_a_damaged_row_is_named_by_its_place(name: str, file: str, text: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(RecordingError, match=file.replace(".", r"\.")):
        list(benchmark(name).items(tmp_path))


def test_a_missing_file_says_what_is_wanted_and_where_it_is_published(tmp_path: Path) -> None:
    for name in (*EXACT, *OPEN):
        with pytest.raises(TaskError) as caught:
            list(BENCHMARKS[name]().items(tmp_path))
        assert "https://" in caught.value.do and isinstance(caught.value, GroundwireError)


def test_of_several_files_with_one_name_none_is_taken_at_random(tmp_path: Path) -> None:
    written(tmp_path / "gsm8k", "gsm8k")
    written(tmp_path / "math-500", "math-500")
    with pytest.raises(TaskError, match="Several files") as caught:
        list(benchmark("gsm8k").items(tmp_path))
    assert "--data" in caught.value.do
    (item,) = benchmark("gsm8k").items(tmp_path / "gsm8k")
    assert item.task.family == "gsm8k"
