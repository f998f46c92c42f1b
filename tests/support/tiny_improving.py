"""A model of some hundred thousand weights that solves a part of tiny tasks, made here, and the tasks: what a loop of
self-training needs to be run whole on a CPU."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tiny_language_model import tokenizer_of

__all__ = ["EVALUATED", "TRAINED", "Sum", "make_model", "model_made_by", "write_tasks"]

WORDS = {"+": "plus", "-": "minus", "*": "times"}
STEPS, ROWS = 260, 20
RIGHT = 0.4
"""Share of right programs in what the model has read: enough that it reads the operator, and no more."""
WRITTEN = (*WORDS, "%", "|")
"""Operators that a program may have."""
INPUTS = (3, 17, 40)


class Sum(tuple[str, int]):
    """One task: x with an operator and a number."""

    @property
    def name(self) -> str:
        """Its id."""
        return f"{WORDS[self[0]]}-{self[1]}"

    @property
    def stub(self) -> str:
        """The module as it stands first."""
        return f'def f(x):\n    """Return x {WORDS[self[0]]} {self[1]}."""\n    raise NotImplementedError\n'

    @property
    def tests(self) -> str:
        """What judges."""
        wanted = [eval(f"{x} {self[0]} {self[1]}") for x in INPUTS]
        head = "import unittest\n\nfrom solution import f\n\n\nclass Sums(unittest.TestCase):\n    def test_f(self):\n"
        return f"{head}        assert [f(x) for x in {INPUTS}] == {wanted}\n"

    def conversation(self, operator: str, number: int) -> list[dict[str, str]]:
        """As the model is asked, and an answer."""
        asked = f"Write a Python function `f(x)`. Return x {WORDS[self[0]]} {self[1]}."
        answer = f"```python\ndef f(x):\n    return x {operator} {number}\n"
        return [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]


EVERY = [Sum((operator, number)) for operator in WORDS for number in range(2, 10)]
HELD_OUT = {"+": (3, 6, 9), "-": (2, 5, 8), "*": (4, 7, 9)}
"""So that each operator and each number is learned from, and these pairs are not."""
EVALUATED = [one for one in EVERY if one[1] in HELD_OUT[one[0]]]
TRAINED = [one for one in EVERY if one not in EVALUATED]


def write_tasks(folder: Path, tasks: Sequence[Sum]) -> Path:
    """The tasks as folders; returns their folder."""
    for task in tasks:
        own = folder / task.name
        (own / "tests").mkdir(parents=True)
        (own / "solution.py").write_text(task.stub)
        (own / "tests" / "test_f.py").write_text(task.tests)
        # bare unittest starts in half of pytest's time
        (own / "task.toml").write_text('[tests]\ncommand = "python -S -m unittest tests.test_f"\n')
    return folder


def make_model(folder: Path, *, steps: int = STEPS, seed: int = 0) -> Path:
    """Trains the model from nothing on programs most of which are wrong, and saves it; returns the folder."""
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    draw = random.Random(seed)
    # several threads that wait for each other take several times as long on a busy machine
    torch.set_num_threads(1)

    def program(task: Sum) -> list[dict[str, str]]:
        right = draw.random() < RIGHT
        operator = task[0] if right else draw.choice([one for one in WRITTEN if one != task[0]])
        return task.conversation(operator, task[1])

    texts = ["".join(m["content"] for m in program(task)) for task in EVERY for _ in range(3)]
    tokenizer = tokenizer_of(texts)
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(steps):
        rows = [tokenizer.apply_chat_template(program(draw.choice(EVERY)), tokenize=False) for _ in range(ROWS)]
        batch = tokenizer(rows, return_tensors="pt", padding=True, add_special_tokens=False)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


MAKING = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from tiny_improving import make_model
make_model(pathlib.Path(sys.argv[2]), steps=int(sys.argv[3]))
"""


def model_made_by(python: Path, folder: Path, *, steps: int = STEPS) -> Path:
    """The same, made by another Python, so that this process need not import torch."""
    subprocess.run([python, "-c", MAKING, str(Path(__file__).parent), folder, str(steps)], check=True)
    return folder
