"""Writes small tasks that the smallest models solve at times, for a dry run of `improve.sh` on a CPU.

    python bench/gpu/easy_tasks.py FOLDER        -> FOLDER/train and FOLDER/eval, a task a folder

Of MBPP's first fifteen training tasks SmolLM2-135M-Instruct solved none in 180 samples: nothing could be trained.
"""

from __future__ import annotations

import sys
from pathlib import Path

TASKS = {
    "train": {
        "double": ("n", "Return n times two.", "[double(n) for n in (0, 3, -4)] == [0, 6, -8]"),
        "is_even": ("n", "Return True if n is even.", "[is_even(n) for n in (0, 3, -4)] == [True, False, True]"),
        "first": ("items", "Return the first element of a list.", "first([3, 1, 2]) == 3 and first('ab') == 'a'"),
        "total": ("numbers", "Return the sum of a list of numbers.", "total([1, 2, 3]) == 6 and total([]) == 0"),
        "shout": ("text", "Return the text in upper case.", "shout('aBc') == 'ABC' and shout('') == ''"),
        "smaller": ("a", "b", "Return the smaller of a and b.", "smaller(2, 1) == 1 and smaller(-3, 4) == -3"),
        "minus": ("a", "b", "Return a minus b.", "minus(7, 2) == 5 and minus(0, 4) == -4"),
        "cube": ("n", "Return n to the power of three.", "[cube(n) for n in (0, 2, -3)] == [0, 8, -27]"),
    },
    "eval": {
        "triple": ("n", "Return n times three.", "[triple(n) for n in (0, 3, -4)] == [0, 9, -12]"),
        "last": ("items", "Return the last element of a list.", "last([3, 1, 2]) == 2 and last('ab') == 'b'"),
        "larger": ("a", "b", "Return the larger of a and b.", "larger(2, 1) == 2 and larger(-3, -4) == -3"),
        "count_letters": ("text", "Return the length of the text.", "count_letters('abc') == 3"),
        "is_odd": ("n", "Return True if n is odd.", "[is_odd(n) for n in (0, 3, -5)] == [False, True, True]"),
    },
}
COMMAND = '[tests]\ncommand = "python -S -m unittest tests.test_it"\n'


def write(folder: Path) -> None:
    """Writes all of them, where they are not there yet."""
    for split, tasks in TASKS.items():
        for name, (*parameters, said, claim) in tasks.items():
            own = folder / split / name
            (own / "tests").mkdir(parents=True, exist_ok=True)
            stub = f'def {name}({", ".join(parameters)}):\n    """{said}"""\n    raise NotImplementedError\n'
            (own / "solution.py").write_text(stub)
            head = f"import unittest\n\nfrom solution import {name}\n\n\nclass It(unittest.TestCase):\n"
            (own / "tests" / "test_it.py").write_text(f"{head}    def test_it(self):\n        assert {claim}\n")
            (own / "task.toml").write_text(COMMAND)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
