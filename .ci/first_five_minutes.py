"""Does what a newcomer does in the first five minutes, and writes it down: docs/first-five-minutes.md.

    .ci/bare python3 .ci/first_five_minutes.py [PAGE]      default: the page in docs

CI runs it in place of `make demo`, on a machine on which nothing is installed, and fails where a command does not end
as it has to. What is a person's own (paths, ids) is written as it would be anywhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = ".venv/bin/groundwire"
UNGROUNDED = """\
from groundwire import FeedbackGraph
from groundwire.agents import RuleCritic, SearchActor

graph = FeedbackGraph()
graph.add_actor("write", SearchActor()).add_critic("reflect", RuleCritic())
graph.add_edge("write", "reflect").add_edge("reflect", "write")
graph.compile()
"""
HEAD = """\
# The first five minutes

What each command printed in a fresh clone ({where}), recorded by
`.ci/first_five_minutes.py`, which CI runs. Long lines are cut.

"""


@dataclass(frozen=True)
class Step:
    """One command.

    Args:
        why: what a reader wants of it.
        shown: as it is written on the page.
        command: as it is run.
        code: the exit status that it has to have.
        last: lines of its end that are shown; 0: all.
    """

    why: str
    shown: str
    command: tuple[str, ...]
    code: int = 0
    last: int = 0


def steps(project: Path) -> list[Step]:
    """What is done, in order."""
    judged = ("--test", "python -m pytest -q tests", "--hidden", "python -m pytest -q checks")
    words = '--test "python -m pytest -q tests" --hidden "python -m pytest -q checks"'
    return [
        Step("Real repairs, then a small model that is checked from outside.", "make demo", ("make", "demo")),
        Step(
            "The same for a project of your own. Nothing is changed unless you say `--apply`.",
            f"groundwire repair my_project {words}",
            (PROGRAM, "repair", str(project), *judged),
        ),
        Step("What was tried, and what decided.", "groundwire show RUN", (PROGRAM, "show", "RUN"), last=12),
        Step(
            "A loop that no outside check can stop does not compile.",
            f"python - <<'EOF'\n{UNGROUNDED}EOF",
            (".venv/bin/python", "-c", UNGROUNDED),
            code=1,
            last=2,
        ),
        Step(
            "What is wrong is said before a run is made.",
            "groundwire repair my_project --model gpt5 --sandbox podman",
            (PROGRAM, "repair", str(project), "--model", "gpt5", "--sandbox", "podman"),
            code=2,
        ),
    ]


WIDTH = 118


def cleaned(text: str, project: Path) -> list[str]:
    """What was printed, without what is this machine's own."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")
    data = os.environ.get("XDG_DATA_HOME", str(Path.home() / ".local/share"))
    for own, instead in (
        (project, "my_project"),
        (data, "~/.local/share"),
        (ROOT, "groundwire"),
        (Path.home(), "~"),
    ):
        text = text.replace(str(own), instead)
    lines = [line.rstrip() for line in text.split("\n") if not line.startswith(("WARNING:", "make["))]
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines]


def record(page: Path) -> int:
    """Runs all, and writes the page; 1 where a command did not end as it has to."""
    parts, run, wrong = list[str](), "", list[str]()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "my_project"
        shutil.copytree(ROOT / "src/groundwire/demo/projects/1_booking", project)
        environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONWARNINGS": "ignore"}
        for step in steps(project):
            command = [run if word == "RUN" else word for word in step.command]
            started = time.monotonic()
            print(f"$ {step.shown}", flush=True)
            ran = subprocess.run(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            seconds = time.monotonic() - started
            print(f"{ran.stdout}\n-- exit status {ran.returncode}, {seconds:.0f} s", flush=True)
            if ran.returncode != step.code:
                wrong.append(f"{step.shown}: exit status {ran.returncode}, and {step.code} was expected")
            found = re.search(r"^run ([0-9a-f-]{13})", ran.stdout, re.MULTILINE)
            run = found[1] if found else run
            lines = cleaned(ran.stdout.strip("\n"), project)
            kept = [*(["…"] if len(lines) > step.last else []), *lines[-step.last :]] if step.last else lines
            body = "\n".join(kept)
            parts.append(f"{step.why}\n\n```\n$ {step.shown}\n{body}\n```\n\n{seconds:.0f} s.\n")
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    where = f"Linux, Python {sys.version_info.major}.{sys.version_info.minor}, {cores} cores, load {load:.0f}"
    page.write_text(HEAD.format(where=where) + "\n".join(parts), encoding="utf-8")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(record(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "first-five-minutes.md"))
