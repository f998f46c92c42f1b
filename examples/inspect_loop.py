# pyright: basic, reportMissingImports=false
"""A grounded loop as inspect_ai's solver, and its sealed verdict as the score.

python examples/inspect_loop.py   (pip install "groundwire[inspect]")
"""

from tempfile import TemporaryDirectory

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from groundwire import Candidate
from groundwire.integrations.inspect import grounded_loop, sealed_verdict


def compiles(candidate: Candidate) -> None:
    """What judges: it does not know the target."""
    compile(candidate.text, "answer.py", "exec")


def main() -> None:
    """One sample; the model's first answer does not compile."""
    answers = [ModelOutput.from_content("mockllm/model", text) for text in ("print(1", "print(1)")]
    for answer in answers:
        answer.usage = ModelUsage(input_tokens=9, output_tokens=3, total_tokens=12)
    model = get_model("mockllm/model", custom_outputs=answers)  # or "openai/gpt-5-mini"
    with TemporaryDirectory() as folder:
        db = f"sqlite:///{folder}/ledger.db"
        solver = grounded_loop(check=compiles, fails_on=SyntaxError, reflect=False, db=db)
        task = inspect_ai.Task(
            dataset=[Sample("Print the number 1, in Python.")], solver=solver, scorer=sealed_verdict(db=db)
        )
        (log,) = inspect_ai.eval(task, model=model, display="none", log_dir=folder)
        for sample in log.samples or ():
            for score in (sample.scores or {}).values():
                print(score.value, score.explanation)


if __name__ == "__main__":
    main()
