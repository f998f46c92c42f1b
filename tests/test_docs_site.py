"""The docs as a site: built strictly, with every page, its twin in Markdown, the reference and the commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import groundwire.agents
from groundwire.cli.commands import app as commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENEROUS_CHARS = 30_000
"""A page that is longer is two."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


pytestmark = pytest.mark.slow


def test_every_page_is_there_twice_and_listed_once(site: Path) -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    listed = re.findall(r"^- \[[^\n]*\]\(([^)]+)\)", (site / "llms.txt").read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert pages <= set(listed)
    for page in listed:
        assert (site / page).read_text().startswith("# "), page
        name = page.removesuffix(".md").removesuffix("index")
        assert (site / name / "index.html").is_file(), page


def test_twins_lead_to_twins(site: Path) -> None:
    for page in site.rglob("*.md"):
        text = re.sub(r"^ *(`{3,}).*?^ *\1 *$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\((?!\w+:)([^)#\s]+)", re.sub(r"`[^`]*`", "", text)):
            assert (page.parent / target).exists(), f"{page.relative_to(site)}: {target}"


def test_every_public_name_and_every_command_has_its_place(site: Path) -> None:
    page = (site / "reference/python/groundwire.agents/index.html").read_text()
    for name in groundwire.agents.__all__:
        assert f'id="groundwire.agents.{name}"' in page, name
    assert "what the model is told that it is to do" in page.replace("\n", " ")
    group: Any = get_command(commands)
    for name in group.commands:
        assert (site / f"reference/cli/{name}/index.html").is_file(), name
    assert "--max-usd" in (site / "reference/cli/repair/index.html").read_text()


def test_the_search_knows_the_pages(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text())
    texts = {entry["location"]: entry["text"] for entry in index["docs"]}
    assert "sealed" in texts["concepts/"]
    assert any(place.startswith("reference/python/groundwire/#groundwire.FeedbackGraph") for place in texts)


def test_no_page_asks_another_server_for_what_it_shows(site: Path) -> None:
    for path in site.rglob("*.html"):
        loads = re.findall(
            r'<(?:script|img|iframe)[^>]* src="(https?:[^"]+)"|<link[^>]* href="(https?:[^"]+)"', path.read_text()
        )
        assert not loads, f"{path.relative_to(site)}: {loads}"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_no_page_is_too_long(page: Path) -> None:
    assert len(page.read_text()) < GENEROUS_CHARS
