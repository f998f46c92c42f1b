"""Versioned prompts: known by digest, filled once, and what is filled in is never looked at again."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import groundwire.agents
from groundwire.agents.templates import load_prompt

FOLDER = Path(groundwire.agents.__file__).parent / "prompts"
PUBLISHED = {
    "already_tried_v1": "2f9598d76627f58746dfa51501e407be41dd3a1eb64670b75d77641ca4bd5754",
    "correct_answer_v1": "b3f001429ad30655acbf67d79b5ed58271d62417515118c12a7cd46acf665993",
    "program_task_v1": "e3d5235ed6dc8337229eea052afc90fb56409111ecb6f5ae9f5d88522efcf1f7",
    "reflect_v1": "af79f35a5998318a13ba2537560dac3c8e9a57fd8ba2f5084e91157479e464c7",
    "repair_edits_v2": "a14acbfe0043ab8b0ba5cc8ef33211cbdba99662d410a709c2d8c631e219e3e3",
    "repair_schema_v1": "e9c3d08ab23f45484bff9b7e0db6f33a3aa06e719b7c0e772e39a5fddc22cadf",
    "repair_whole_v2": "e6b3f18daaf5912fadec71f8bc6cc1b99efd4cb8765005ab49283240fc5e9164",
}
"""Ledgers name prompts by digest, so a file that is listed here is never edited: a change is a new version."""


def test_every_prompt_loads_with_the_digest_of_its_file() -> None:
    names = sorted(path.stem for path in FOLDER.glob("*.md"))
    assert PUBLISHED.keys() <= set(names)
    for name in names:
        prompt = load_prompt(name)
        assert prompt.digest == hashlib.sha256((FOLDER / f"{name}.md").read_bytes()).hexdigest()
        assert prompt.fields() and prompt.user and re.search(r"_v\d+$", name)
    assert load_prompt("correct_answer_v1").system == ""


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_prompt_is_never_edited(name: str) -> None:
    assert load_prompt(name).digest == PUBLISHED[name]


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
