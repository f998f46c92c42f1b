"""Versioned prompts: known by digest, filled once, and what is filled in is never looked at again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import groundwire.agents
from groundwire.agents.templates import load_prompt

FOLDER = Path(groundwire.agents.__file__).parent / "prompts"
NAMES = [
    "already_tried_v1",
    "correct_answer_v1",
    "program_task_v1",
    "reflect_v1",
    "repair_edits_v2",
    "repair_schema_v1",
    "repair_whole_v2",
]


def test_every_prompt_loads_with_the_digest_of_its_file() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.md")) == NAMES
    for name in NAMES:
        prompt = load_prompt(name)
        assert prompt.digest == hashlib.sha256((FOLDER / f"{name}.md").read_bytes()).hexdigest()
        assert prompt.fields() and prompt.user
    assert load_prompt("correct_answer_v1").system == ""


@given(st.text(), st.text())
@example("$evidence", "{task} $$ ${reflection} %s")
def test_what_is_filled_in_stays_as_it_is(task: str, evidence: str) -> None:
    prompt = load_prompt("repair_edits_v2")
    values = dict.fromkeys(prompt.fields(), "") | {"task": f"<task>{task}</task>", "evidence": f"<e>{evidence}</e>"}
    system, user = prompt.messages(**values)
    assert (system.role, user.role) == ("system", "user")
    assert system.content == prompt.system.replace("$$", "$")
    assert user.content == f"<task>{task}</task>\n\nMay be edited: \n\n<e>{evidence}</e>\n\nAnswer now."


def test_values_and_placeholders_must_agree() -> None:
    prompt = load_prompt("correct_answer_v1")
    with pytest.raises(TypeError, match="tool_error"):
        prompt.messages()
    with pytest.raises(TypeError, match="other"):
        prompt.messages(tool_error="x", other="y")


@pytest.mark.parametrize("name", ["missing_v1", "../templates", "/etc/hostname"])
def test_an_unknown_prompt(name: str) -> None:
    with pytest.raises(FileNotFoundError):
        load_prompt(name)
