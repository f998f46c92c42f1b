"""Pages of the docs run as they are printed, and links between them lead somewhere."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from grid import Grid
from page_runs import blocks_of, environment, run_page

from groundwire import FeedbackGraph
from groundwire.core import environment_task
from groundwire.models import ScriptedBackend

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = ("reference/", "examples/")
"""Pages that the site makes of the code (docs/_site)."""

NOT_RUN = {
    "training.md": "trainers; tests/training/test_trl.py makes a step of each",
    "grounding.md": "tests/test_grounding_docs.py runs it, example by example",
}
PARTS = ("audit",)
"""Shown to be read by the audit, not to be run: its own tests audit them."""


def read(path: str) -> str:
    """Reads."""
    return path


def nobody_minds(*_: object) -> bool:
    """Stands for a function of the reader's."""
    return True


GIVEN: Mapping[str, Any] = {
    "MODEL": "openai/gpt-5-mini",
    "graph": FeedbackGraph(),
    "trajectories": (),
    "range": lambda *given: range(min(2, given[-1])) if given == (100,) else range(*given),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    "Maze": Grid,
    "environment_task": environment_task,
    "read": read,
    "delete": read,
    "pay": read,
    "check": lambda answer: "not that",  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    "obeys_policy": nobody_minds,
    "is_complete": lambda text: "",  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    "input": lambda prompt: "",  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
}
"""What the parts of programs on the pages take from the reader's own."""
FILES = {
    "my_task/task.toml": 'prompt = "What is 1 + 2?"\neditable = ["answer.txt"]\n',
    "my_task/answer.txt": "",
    "my_task/check.py": "assert open('answer.txt').read().strip() == '3'\n",
    "my_project/one.py": "ONE = 2\n",
    "my_project/test_one.py": "from one import ONE\n\n\ndef test_one():\n    assert ONE == 1\n",
    "passages.txt": "The Velmar lighthouse was built in 1893.\n\nIt is white.",
}


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, str]]:
    """A folder with a project in it, a home of its own, and models that answer without a key."""
    env = environment(tmp_path)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "work"
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    def answering(*_args: object, **_options: object) -> ScriptedBackend:
        return ScriptedBackend(lambda request: "ANSWER: 3")

    monkeypatch.setattr("groundwire.models._litellm.LiteLLMBackend", answering)
    monkeypatch.setattr("groundwire.models._openai_compatible.OpenAICompatibleBackend.from_spec", answering)
    return folder, env


def pages() -> list[str]:
    """Pages with code that runs."""
    found = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))]
    told = [name for name in found if not name.startswith(PARTS) and name not in NOT_RUN]
    return [name for name in told if any(b.kind in ("python", "console") for b in blocks_of((DOCS / name).read_text()))]


@pytest.mark.slow
@pytest.mark.parametrize("name", pages())
def test_a_page_runs_as_printed(name: str, reader: tuple[Path, dict[str, str]]) -> None:
    folder, env = reader
    run_page((DOCS / name).read_text(), folder, env, GIVEN)


@pytest.mark.parametrize("name", NOT_RUN)
def test_what_is_not_run_is_python_all_the_same(name: str) -> None:
    for block in blocks_of((DOCS / name).read_text()):
        if block.kind == "python":
            compile(block.text, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_a_loop_in_a_dozen_lines_is_no_longer_than_that() -> None:
    blocks = [b for b in blocks_of((DOCS / "short-forms.md").read_text()) if b.kind == "python"][:3]
    shared = sum("import" in line for line in blocks[0].text.splitlines())
    for number, block in enumerate(blocks):
        lines = [line for line in block.text.splitlines() if line.strip()]
        assert len(lines) + (shared if number else 0) <= 12 + 6 * bool(number), block.text
    assert len([line for line in blocks[0].text.splitlines() if line.strip()]) <= 12


def test_the_order_of_the_pages_bears_pages_that_come_and_go() -> None:
    nav = runpy.run_path(str(DOCS / "_site" / "_nav.py"))["nav_of"]
    few = nav(
        [
            "index.md",
            "concepts.md",
            "new.md",
            "audit-rules/no-exit.md",
            "audit-anything.md",
            "graphs/index.md",
            "graphs/a.md",
        ]
    )
    assert few == [
        "index.md",
        {"Guides": [{"Auditing": ["audit-anything.md", {"Rules": ["audit-rules/no-exit.md"]}]}]},
        {"Concepts": ["concepts.md"]},
        {"Graphs": ["graphs/index.md", "graphs/a.md"]},
        {"More": ["new.md"]},
    ]


@pytest.mark.parametrize("guide", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_links_lead_somewhere(guide: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", guide.read_text()):
        assert target.removeprefix("../").startswith(MADE) or (guide.parent / target).exists(), target


def test_the_files_that_the_map_names_are_there() -> None:
    package = ROOT / "src" / "groundwire"
    named = set(re.findall(r"`([\w.]+(?:/[\w.]+)+\.(?:py|sh|md|toml|yaml))`", (ROOT / "AGENTS.md").read_text()))
    assert len(named) > 10
    assert not [path for path in sorted(named) if not (ROOT / path).exists() and not (package / path).exists()]


def test_every_memory_command_is_in_the_guide() -> None:
    from groundwire.cli.commands._memory import memory

    text = (DOCS / "memory.md").read_text()
    for command in memory.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        assert f"`{name}" in text or f", `{name} " in text, name
