# pyright: basic, reportMissingImports=false
"""What inspect_ai makes of groundwire: a program that its Python runs; prints what came of it as JSON.

inspect_runs.py FOLDER: evaluations with a model that plays texts, their logs below FOLDER, our ledger in FOLDER/l.db.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from inspect_ai import Task as InspectTask
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate

from groundwire import Task, Tree
from groundwire.integrations.inspect import grounded_loop, inspect_task, sealed_verdict, tasks_of_dataset

CODE, TEST = "def add(a, b):\n    return a - b\n", "from add import add\n\ndef test_add():\n    assert add(2, 3) == 5\n"
FIXED = "FILE: add.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n"


def playing(*texts: str):
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)  # else it counts by a download
    return get_model("mockllm/model", custom_outputs=outputs)


def in_capitals(candidate) -> str:
    return "" if candidate.text.strip().isupper() else "it is not in capitals"


def main(folder: Path) -> None:
    db = f"sqlite:///{folder / 'l.db'}"
    repair = Task("add", prompt="Mend add().", tree=Tree({"add.py": CODE.encode(), "test_add.py": TEST.encode()}))
    loud = [Sample(input="Say hello loudly.", target="HELLO", id="loud")]
    given = Task.of("A word in capitals.", id="loud", answer="word.txt")
    runs = {
        "loop": (
            InspectTask(dataset=loud, solver=grounded_loop(check=in_capitals, db=db), scorer=sealed_verdict(db=db)),
            playing("hello", "Write it in capitals.", "HELLO"),
        ),
        "wrong": (
            InspectTask(
                dataset=loud,
                solver=grounded_loop(check=in_capitals, trials=1, reflect=False, db=db),
                scorer=sealed_verdict(db=db),
            ),
            playing("hello"),
        ),
        "other_solver": (
            InspectTask(dataset=loud, solver=generate(), scorer=sealed_verdict(check=in_capitals, db=db)),
            playing("HELLO"),
        ),
        "ours": (inspect_task([repair], db=db), playing(FIXED)),
        "limit": (
            InspectTask(
                dataset=loud,
                solver=grounded_loop(check=in_capitals, db=db),
                scorer=sealed_verdict(db=db),
                token_limit=1,
            ),
            playing("hello", "again", "HELLO"),
        ),
    }
    assert given.answer_file == "word.txt"
    for name, (task, model) in runs.items():
        (log,) = evaluate(task, model=model, display="none", log_dir=str(folder / "logs" / name))
        (sample,) = log.samples
        score = next(iter((sample.scores or {}).values()), None)
        told = {
            "run": name,
            "status": log.status,
            "error": sample.error.message if sample.error else "",
            "limit": sample.limit.type if sample.limit else "",
            "output": sample.output.completion,
            "value": str(score.value) if score else "",
            "metadata": dict(score.metadata or {}) if score else {},
            "calls": sum(event.event == "model" for event in sample.events),
            "accuracy": next(
                (m.value for s in (log.results.scores if log.results else ()) for m in s.metrics.values()), None
            ),
            "log": log.location,
        }
        print(json.dumps(told))
    asked = [
        Sample(input="2 + 2?", target="4", id="sum"),
        Sample(input="Which is a fish?", choices=["cat", "eel"], target="B"),
    ]
    print(json.dumps({"run": "dataset", "tasks": [[one.id, one.prompt] for one in tasks_of_dataset(asked)]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
