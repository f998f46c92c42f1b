"""The demo's functions: each can be written, and its tests tell that from the stub."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.agents.patching._stubs import find_stub
from groundwire.core._tasks import Task
from groundwire.demo._writing import function_tasks

WRITTEN = {
    "last_or_none": "return items[-1] if items else None",
    "full_name": "return f'{last}, {first}'",
    "shipping_cost": "return 5 if weight_kg <= 10 else 8",
    "initials": "return ''.join(word[0].upper() for word in name.split())",
    "seconds_in": "return hours * 3600 + minutes * 60",
    "longest_word": "return max(words, key=len, default='')",
    "is_weekend": "return day.lower() in ('saturday', 'sunday')",
    "price_with_tax": "return cents * (100 + percent) // 100",
    "swap_ends": "return [items[-1], *items[1:-1], items[0]]",
    "merge_counts": "return {key: a.get(key, 0) + b.get(key, 0) for key in a | b}",
    "clamp": "return max(low, min(value, high))",
    "shout": "return text.upper() + '!'",
    "without": "return [item for item in items if item != unwanted]",
    "average": "return sum(numbers) / len(numbers) if numbers else 0.0",
    "count_spaces": "return text.count(' ')",
    "to_celsius": "return (fahrenheit - 32) * 5 / 9",
    "add_pairs": "return [x + y for x, y in zip(a, b)]",
    "negatives_first": "return sorted(numbers, key=lambda number: number >= 0)",
    "repeat_text": "return '-'.join([text] * times)",
    "short_words": "return [word for word in text.split() if len(word) <= longest]",
}
TASKS = {task.id: task for task in function_tasks()}


def outcomes_of(task: Task, module: str) -> dict[str, bool]:
    """Whether each test, the hidden ones too, passes with `module` in the function's place."""
    written: dict[str, Any] = {}
    exec(module, written)
    assert task.hidden is not None
    files = [content for path, content in task.tree.files.items() if path.startswith("test_")]
    outcomes: dict[str, bool] = {}
    for number, content in enumerate([*files, *task.hidden.tree.files.values()]):
        names: dict[str, Any] = {task.id: written[task.id]}
        exec(content.decode().partition("\n")[2], names)
        for name in [n for n in names if n.startswith("test_")]:
            try:
                names[name]()
                outcomes[f"{number}::{name}"] = True
            except (AssertionError, NotImplementedError):
                outcomes[f"{number}::{name}"] = False
    return outcomes


def test_there_are_twenty() -> None:
    assert TASKS.keys() == WRITTEN.keys() and len(TASKS) == 20


@pytest.mark.parametrize("name", WRITTEN)
def test_each_can_be_written_and_its_tests_tell(name: str) -> None:
    task = TASKS[name]
    module = find_stub(task).filled(f"\n    {WRITTEN[name]}\n")
    assert module is not None
    right, stub = outcomes_of(task, module), outcomes_of(task, task.tree.files[f"{name}.py"].decode())
    assert len(right) >= 4
    assert all(right.values()), right
    assert not any(stub.values())
