"""README's example runs as printed, and its promises about itself hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.cli._demo import write_projects

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_example_runs_as_printed(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) == 15
    assert write_projects(tmp_path / "tries", as_json=False) == 0
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("pass verified\n")
    assert "+        return self.start < other.end and other.start < self.end" in ran.stdout


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_two_commands_are_on_the_first_screen() -> None:
    head = "\n".join(README.splitlines()[:24])
    assert "make demo" in head
    assert "make test" in head


def test_it_is_a_screen_and_a_half_and_begins_with_the_install_from_the_repository() -> None:
    assert len(README.splitlines()) <= 80
    head = "\n".join(README.splitlines()[:16])
    assert "uvx --from git+REPOSITORY groundwire demo" in head
    assert head.index("uvx") < README.index("git clone")
    assert "pip install groundwire\n" not in README, "nothing is on the index yet; make release adds that line"


def test_what_compile_refuses_is_what_is_printed() -> None:
    from groundwire import FeedbackGraph
    from groundwire.agents import RuleCritic, SearchActor
    from groundwire.core import UngroundedLoopError
    from groundwire.tools import Pytest

    graph = FeedbackGraph().add_actor("write", SearchActor()).add_critic("reflect", RuleCritic())
    graph.add_tool("test", Pytest()).add_edge("write", "test").refine("test", via="reflect", to="write")
    graph.add_edge("write", "reflect").add_edge("reflect", "write")
    with pytest.raises(UngroundedLoopError) as caught:
        graph.compile()
    assert f"UngroundedLoopError: {caught.value.what}" in README
