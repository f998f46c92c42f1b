"""Any program as the actor: it edits files, groundwire judges them and tells it what failed.

Each verdict is looked at a second time before anything rests on it.

python examples/any_program.py
"""

import sys

from groundwire import EpisodeResult, Signal, Task, Tree
from groundwire.agents import CommandActor, RuleCritic
from groundwire.core import ProgramRun
from groundwire.graphs import code_repair
from groundwire.tools import HiddenTests, Pytest

PROJECT = {
    "leap.py": b"def is_leap(year):\n    return year % 4 == 0\n",
    "test_leap.py": b"from leap import is_leap\n\n"
    b"def test_1900():\n    assert not is_leap(1900)\n\ndef test_2000():\n    assert is_leap(2000)\n",
}
# stands for a coding agent's command line: it reads what failed, and edits the files in its current folder
AGENT = """
import json, os, pathlib

task = json.loads(pathlib.Path(os.environ["GROUNDWIRE_TASK_FILE"]).read_text())
print("told of", *(case["id"] for case in task["failing"]["cases"]))
ideas = ["year % 4 == 0 and year % 100 != 0", "year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)"]
pathlib.Path("leap.py").write_text(f"def is_leap(year):\\n    return {ideas[task['trial'] - 1]}\\n")
"""


def main() -> None:
    """Builds the loop and runs it."""
    actor = CommandActor([sys.executable, "-c", AGENT], timeout_s=60)
    app = code_repair(actor, RuleCritic(), Pytest(), HiddenTests()).compile()
    for item in app.stream(Task(id="leap", prompt="Leap years are wrong.", tree=Tree(PROJECT))):
        if isinstance(item, ProgramRun):
            print(f"agent: exit status {item.exit_code}, {item.stdout.strip()}")
        elif isinstance(item, Signal):
            print(item.verdict, len(item.evidence.passed()), "of", len(item.evidence.cases))
        elif isinstance(item, EpisodeResult):
            print(item.stop_reason)


if __name__ == "__main__":
    main()
