"""A task in Harbor's form, judged by its own verifier: in bubblewrap, since its Dockerfile needs nothing.

python examples/harbor_task.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from groundwire import FeedbackGraph
from groundwire.agents import LLMActor
from groundwire.integrations.harbor import HarborTask, HarborVerifier
from groundwire.models import ScriptedBackend

CHECK = '#!/bin/sh\n[ "$(cat /app/hello.txt)" = hello ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n'
FILES = {
    "task.toml": "[verifier]\ntimeout_sec = 30.0\n",
    "instruction.md": "Write the word hello into /app/hello.txt.\n",
    "environment/Dockerfile": "FROM python:3.12-slim\nWORKDIR /app\n",
    "tests/test.sh": CHECK,
}
DRAFTS = [f"FILE: hello.txt\n<<<<<<< SEARCH\n=======\n{word}\n>>>>>>> REPLACE" for word in ("bye", "hello")]


def main() -> None:
    """Reads the task, and lets its reward steer, which every signal then says."""
    with TemporaryDirectory() as folder:
        for path, text in FILES.items():
            (Path(folder) / path).parent.mkdir(exist_ok=True)
            (Path(folder) / path).write_text(text)
        task = HarborTask.from_folder(folder).task()
    verifier = HarborVerifier(oracle=True, task=task, sandbox="bubblewrap")
    result = FeedbackGraph.loop(LLMActor(ScriptedBackend(DRAFTS)), verifier).compile().run(task)
    print(result.verdict, result.trials, result.detail, result.text)


if __name__ == "__main__":
    main()
