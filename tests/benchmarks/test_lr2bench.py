"""LR²Bench: six families in the published layout, made here; the key accepts itself and nothing one cell off."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from cli import groundwire
from judging import by_hidden, by_visible

from groundwire.benchmarks import Item, benchmark
from groundwire.benchmarks.lr2bench import Lr2Bench, Match
from groundwire.benchmarks.lr2bench._loader import Published, PuzzleRow, puzzle_of
from groundwire.benchmarks.lr2bench.rules import FAMILIES, problem, rules_of
from groundwire.core._errors import RecordingError, TaskError
from groundwire.core._signals import Verdict
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.tools.environments.worlds._sudoku import generate, solutions

ITEMS = 10
QUOTE = "A test that runs tells more than ten that could, and one that fails tells most."


@dataclass(frozen=True)
class Made:
    """A puzzle as it is published, and its key."""

    fields: dict[str, Any]
    key: Any


def crossword(draw: random.Random) -> Made:
    letters = [[draw.choice(string.ascii_uppercase) for _ in range(3)] for _ in range(3)]
    words = {f"{n}-ACROSS": "".join(letters[r]) for n, r in ((1, 0), (4, 1), (5, 2))}
    words |= {f"{c + 1}-DOWN": "".join(row[c] for row in letters) for c in range(3)}
    grid = [["1", "2", "3"], ["4", "?", "?"], ["5", "?", "?"]]
    return Made({"grid": grid, "clue": "ACROSS\n1\nSome letters"}, words)


def acrostic(draw: random.Random) -> Made:
    letters = [draw.choice(string.ascii_uppercase) for _ in range(12)]
    return Made({"puzzle": "1 2 3 # 4 5", "hint": ""}, {str(n): one for n, one in enumerate(letters, start=1)})


def logic(draw: random.Random) -> Made:
    values = {"days": ["Mon 1", "Tue 2", "Wed 3"], "names": ["Ada", "Bram", "Cleo"], "pets": ["cat", "dog", "eel"]}
    order = {header: draw.sample(all_of, 3) for header, all_of in values.items() if header != "days"}
    rows = [{"days": values["days"][n], **{header: order[header][n] for header in order}} for n in range(3)]
    return Made({"value": values, "clue": {"1": "Ada has no eel."}}, rows)


def cryptogram(draw: random.Random) -> Made:
    plain = sorted(set(QUOTE.upper()) & set(string.ascii_uppercase))
    cipher = dict(zip(plain, draw.sample(string.ascii_uppercase, len(plain)), strict=True))
    text = "".join(cipher.get(one, one) for one in QUOTE.upper())
    key = {hidden: shown for shown, hidden in cipher.items()}
    return Made({"text": text, "author": "us", "hints": [], "mapping": key}, key)


def sudoku(draw: random.Random) -> Made:
    given = generate(4, 6, draw)
    (filled,) = solutions(given)
    rows = [[list(grid[at : at + 4]) for at in range(0, 16, 4)] for grid in (given, filled)]
    return Made({"grid": rows[0]}, rows[1])


def drop(draw: random.Random) -> Made:
    words = draw.sample(QUOTE.upper().strip(".").replace(",", "").split(), 6)
    text = f"{'#'.join(words)}."
    text += "#" * (-len(text) % 9)
    key = [list(text[at : at + 9]) for at in range(0, len(text), 9)]
    grid = [[str(c + 1) if one.isalpha() else one for c, one in enumerate(row)] for row in key]
    columns = ["".join(sorted(row[c] for row in key if row[c].isalpha())) for c in range(9)]
    return Made({"grid": grid, "candidate": columns, "answer": "the quote itself", "author": "us"}, key)


MAKE: dict[str, Callable[[random.Random], Made]] = {
    "crossword": crossword,
    "acrostic": acrostic,
    "logic": logic,
    "cryptogram": cryptogram,
    "sudoku": sudoku,
    "drop": drop,
}


def made(family: str, number: int) -> Made:
    return MAKE[family](random.Random(f"{family}/{number}"))


def written(folder: Path) -> Path:
    """The data as it is published: a folder a family and level, and one file of answers."""
    keys: dict[str, list[dict[str, str]]] = {}
    for place, family in enumerate(FAMILIES):
        file = folder / "data" / f"{place}-{family}" / "easy" / "data.jsonl"
        file.parent.mkdir(parents=True)
        puzzles = [made(family, number) for number in range(ITEMS)]
        shown = [{"tag": n, "example_text": f"Puzzle {n} of {family}.", **p.fields} for n, p in enumerate(puzzles)]
        file.write_text("".join(f"{json.dumps(row)}\n" for row in shown))
        given = [{"grid": p.fields["grid"], "answer": p.key} if family == "sudoku" else p.key for p in puzzles]
        keys[family] = [{"tag": str(n), "level": "easy", "answer": json.dumps(key)} for n, key in enumerate(given)]
    (folder / "data" / "answer.json").write_text(json.dumps(keys, indent=4))
    return folder


def match(puzzle: dict[str, Any], key: object, answer: str) -> Match:
    return Published("x", puzzle["family"], "x", puzzle, key).match(answer)


def one_cell_off(key: Any) -> Iterator[Any]:
    """The key with one cell changed, for every cell."""
    copies = json.dumps(key)
    places: list[tuple[Any, ...]]
    if isinstance(key, list):
        rows = cast("list[dict[str, Any] | list[Any]]", key)
        places = [(n, k) for n, row in enumerate(rows) for k in (row if isinstance(row, dict) else range(len(row)))]
    else:
        places = [(name,) for name in key]
    for place in places:
        changed = json.loads(copies)
        holder = changed[place[0]] if len(place) == 2 else changed
        old = holder[place[-1]]
        holder[place[-1]] = old % 4 + 1 if isinstance(old, int) else f"{'Z' if old[:1] != 'Z' else 'Q'}{old[1:]}"
        yield changed


@pytest.mark.parametrize("family", FAMILIES)
def test_the_key_accepts_itself_and_rejects_every_one_cell_change(family: str) -> None:
    for number in range(ITEMS):
        puzzle = made(family, number)
        read = puzzle_of(family, PuzzleRow.model_validate({"tag": 1, "example_text": "x", **puzzle.fields}), puzzle.key)
        right = match(read, puzzle.key, json.dumps(puzzle.key))
        assert right.exact and right.partial() and right.of > 0
        assert match(read, puzzle.key, json.dumps(puzzle.key).lower().replace("  ", " ")).exact, "case is no difference"
        assert [problem(rule, read, json.dumps(puzzle.key)) for rule in rules_of(family)] == [""] * len(
            rules_of(family)
        )
        for changed in one_cell_off(puzzle.key):
            off = match(read, puzzle.key, json.dumps(changed))
            assert not off.exact and off.right in (0, off.of - 1), "a cell that is given counts for all"
        blank = json.dumps(read["blank"])
        assert match(read, puzzle.key, blank).right == 0
        assert any(problem(rule, read, blank) for rule in rules_of(family)), "an empty form is no answer"


def test_half_right_is_a_partial_match() -> None:
    puzzle = made("acrostic", 0)
    read = puzzle_of("acrostic", PuzzleRow(tag=1, example_text="x"), puzzle.key)
    half = {name: one if int(name) <= 6 else "?" for name, one in puzzle.key.items()}
    found = match(read, puzzle.key, json.dumps(half))
    assert (found.right, found.of, found.exact, found.partial(), found.partial(0.6)) == (6, 12, False, True, False)


BROKEN: dict[str, tuple[str, str, Callable[[Any], Any], str]] = {
    "letters that cross": ("crossword", "crossings", lambda k: {**k, "1-ACROSS": "QQQ"}, "cross at row 1, column 1"),
    "a word too long": ("crossword", "lengths", lambda k: {**k, "4-ACROSS": "LONGER"}, "4-ACROSS has 3 cells"),
    "two letters": ("acrostic", "letters", lambda k: {**k, "3": "AB"}, "3 holds 'ab'"),
    "a value twice": ("logic", "values", lambda k: [k[0] | {"pets": "cat"}, k[1] | {"pets": "cat"}, k[2]], "pets does"),
    "a day moved": ("logic", "given", lambda k: [k[1], k[0], k[2]], "row 1, days is given as 'mon 1'"),
    "a letter twice": ("cryptogram", "one_to_one", lambda k: dict.fromkeys(k, "E"), "E stands for more than one"),
    "a clue changed": ("sudoku", "given", lambda k: [k[1], k[0], k[2], k[3]], "is given as"),
    "a digit twice": ("sudoku", "digits", lambda k: [[1, 1, 1, 1], *k[1:]], "row 1 does not hold each digit"),
    "other letters": ("drop", "columns", lambda k: [["Q" * c.isalpha() or c for c in r] for r in k], "column 1 does"),
    "a cell missing": ("acrostic", "form", lambda k: {n: one for n, one in k.items() if n != "7"}, "7 is missing"),
    "another form": ("sudoku", "form", lambda k: {"grid": k}, "the answer is no JSON list"),
    "a list in a cell": ("drop", "form", lambda k: [[[1]], *k[1:]], "row 1, column 1 holds neither"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_rule_that_is_broken_is_named(case: str) -> None:
    family, rule, change, why = BROKEN[case]
    puzzle = made(family, 1)
    read = puzzle_of(family, PuzzleRow.model_validate({"tag": 1, "example_text": "x", **puzzle.fields}), puzzle.key)
    assert why in problem(rule, read, json.dumps(change(puzzle.key)))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"1": NaN', "null", "9" * 5000, "x" * 300_000])
def test_what_is_no_answer_is_wrong_and_breaks_nothing(text: str) -> None:
    read = puzzle_of("sudoku", PuzzleRow.model_validate({"tag": 1, "example_text": "x", "grid": [[1]]}), [[1]])
    assert problem("form", read, text).startswith("the answer ")
    assert match(read, [[1]], text).right == 0


async def test_ten_items_a_family_are_judged_in_the_sandbox_and_the_key_is_nowhere_to_be_seen(tmp_path: Path) -> None:
    items = list(benchmark("lr2bench").items(written(tmp_path)))
    with_keys = list(Lr2Bench().published(tmp_path))
    assert [one.id for one in with_keys] == [item.task.id for item in items]
    assert all(one.match(json.dumps(one.key)).exact for one in with_keys)
    assert [item.split for item in items] == [family for family in FAMILIES for _ in range(ITEMS)]
    boxes = Sandboxes(None)
    try:
        for item in items[::ITEMS]:
            await _judge(item, boxes)
    finally:
        await boxes.aclose()
    for item in items:
        secret = json.dumps(made(item.split, int(item.task.id.rpartition("/")[2])).key)
        public = item.task.public()
        seen = "\n".join((public.prompt, *(body.decode() for body in public.tree.files.values())))
        assert secret not in seen and "the quote itself" not in seen and '"mapping"' not in seen


async def _judge(item: Item, boxes: Sandboxes) -> None:
    key = made(item.split, 0).key
    right, wrong = ({"answer.json": json.dumps(one).encode()} for one in (key, next(one_cell_off(key))))
    assert await by_visible(item.task, right, boxes) is Verdict.PASS, item.task.id
    assert await by_hidden(item.task, right, boxes) is Verdict.PASS, item.task.id
    assert await by_hidden(item.task, wrong, boxes) is Verdict.FAIL, item.task.id


def test_bench_runs_it_and_a_rule_that_failed_leads_to_the_answer(tmp_path: Path) -> None:
    key = made("sudoku", 0).key
    twice = [key[0], key[0], *key[2:]]
    replies = [f"Filled in.\n\nFILE: answer.json\n```\n{json.dumps(one)}\n```\n" for one in (twice, key)]
    script = tmp_path / "script.jsonl"
    script.write_text("".join(f"{json.dumps(text)}\n" for text in (replies[0], "Two rows are the same.", replies[1])))
    asked = ("--split", "sudoku", "--limit", "1", "--model", f"scripted:{script}", "--json")
    ran = groundwire(
        "bench", "lr2bench", "--data", str(written(tmp_path)), *asked, "--db", f"sqlite:///{tmp_path}/l.db"
    )
    assert ran.code == 0, ran.err + ran.out
    episode = next(json.loads(line) for line in ran.out.splitlines() if '"episode"' in line)
    assert (episode["task_id"], episode["stop_reason"], episode["hidden"]) == ("sudoku/easy/0", "verified", "pass")


def test_what_is_wrong_with_the_files_is_said_with_its_place(tmp_path: Path) -> None:
    data = written(tmp_path) / "data"
    answers = json.loads((data / "answer.json").read_text())
    (data / "answer.json").write_text(json.dumps(answers | {"drop": answers["drop"][1:]}))
    with pytest.raises(TaskError, match=r"5-drop/easy/data\.jsonl:1: .*answer\.json holds no answer to it"):
        list(benchmark("lr2bench").items(data))
    (data / "answer.json").write_text(json.dumps(answers | {"logic": [{"tag": "1"}]}))
    with pytest.raises(RecordingError, match=r"answer\.json, logic 1: this is no row .*level"):
        list(benchmark("lr2bench").items(data))
    (data / "answer.json").write_text("[]")
    with pytest.raises(TaskError, match="no JSON object of families"):
        list(benchmark("lr2bench").items(data / "answer.json"))
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "answer.json").write_text("{}")
    with pytest.raises(TaskError, match="no puzzle beside"):
        list(benchmark("lr2bench").items(tmp_path / "alone"))


def test_a_published_answer_that_breaks_a_rule_of_its_puzzle_takes_that_rule_away(tmp_path: Path) -> None:
    data = written(tmp_path) / "data"
    answers = json.loads((data / "answer.json").read_text())
    odd = dict.fromkeys(made("cryptogram", 0).key, "E")
    answers["cryptogram"][0]["answer"] = json.dumps(odd)
    (data / "answer.json").write_text(json.dumps(answers))
    drops = data / "5-drop" / "easy" / "data.jsonl"
    first, *rest = drops.read_text().splitlines()
    ragged = json.loads(first)
    ragged["candidate"].append("X")
    drops.write_text("\n".join([json.dumps(ragged), *rest]))
    found = {
        item.task.id: item.task.tree.files["tests/test_rules.py"] for item in benchmark("lr2bench").items(tmp_path)
    }
    assert b"test_one_to_one" not in found["cryptogram/easy/0"] and b"test_letters" in found["cryptogram/easy/0"]
    assert b"test_one_to_one" in found["cryptogram/easy/1"]
    assert b"test_columns" not in found["drop/easy/0"] and b"test_columns" in found["drop/easy/1"]
