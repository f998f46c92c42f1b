"""Versioned prompts: known by digest, filled once, and what is filled in is never looked at again."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import groundwire.agents
from groundwire.agents.prompting._templates import load_prompt

FOLDER = Path(groundwire.agents.__file__).parent / "prompts"
PUBLISHED = {
    "already_tried_v1": "2f9598d76627f58746dfa51501e407be41dd3a1eb64670b75d77641ca4bd5754",
    "answer_text_v1": "763a317f4060955e83180ecb473ab407e194b9ef46608cf1e649b8cc4df6b860",
    "argue_for_v1": "bd291049e1ba6db5683c501e24e70214578005392faeed2c1b449148265d8ccd",
    "choose_past_v1": "4d7123ac4aca4895f9556a3f0970dcac1d834b7c11b960f916b791e251987921",
    "correct_answer_v1": "b3f001429ad30655acbf67d79b5ed58271d62417515118c12a7cd46acf665993",
    "correct_own_v1": "58e2bd5af1aadccf18a5506fcb85e5d076e1b47e08522516aa389ef1a24681d9",
    "criticise_v1": "934bc1851d2aaebe4d428334352b11e8dd8e6fd3e136650800e884b9951669f9",
    "debate_against_v1": "81e45fae0eb52f01bc004700280cf6a018a8df505d8faeede6cf90b4b1f22999",
    "debate_for_v1": "de939222499b6d4644211aea36411d200a5c73c984dd93f701876b6ceb000282",
    "distil_workspace_v1": "c3b48b51871231e46a0846e689e7c6d3e987a6ad6e8e02708d4055318abe04bd",
    "find_bad_step_v1": "10275a8540000a236ccc06f86314cd34f55abae8a1cb6210e64955243695049c",
    "from_workspace_v1": "583aae11c4397769fdce1ca9f31bf676c1d9cfd4bee936981bbd4b24c132e3ec",
    "fuse_v1": "a8ee4617bffafaab58193e5ca1102644fbe677b738c067d3469094201af3498d",
    "judge_debate_v1": "8728b625c6c995e79cbc4b17d2e90e00c45224b58137baf8c527996a6885c401",
    "judge_own_v1": "d3601b5e739faba22f705eaeb0e0875b15577241b032fe0d6370948c7205247b",
    "judge_side_by_side_v1": "11428b1ab208d906489e6570cd8c5d5ca7ea62b623ece3f5e53c848c5c2efb26",
    "may_contradict_schema_v1": "f37d1a321320d7c98ec1b4d51826dccb04080c1b78c353a46d24814e6aa6ba02",
    "may_contradict_v1": "8e00435d466704d3e02eca6278e3de96a3ce41bbcee42a8fafe68a351bdc13ff",
    "moderate_v1": "ba9c5c10ef8fdabd5f545900329760848fb367437d9bda83181fb0288266a892",
    "program_task_v1": "e3d5235ed6dc8337229eea052afc90fb56409111ecb6f5ae9f5d88522efcf1f7",
    "rebuild_v1": "71e7696db6dbf31a3de2130bac12f3eddc368176a8adcbb00dfa03ba04828d57",
    "reflect_v1": "af79f35a5998318a13ba2537560dac3c8e9a57fd8ba2f5084e91157479e464c7",
    "repair_edits_v2": "a14acbfe0043ab8b0ba5cc8ef33211cbdba99662d410a709c2d8c631e219e3e3",
    "repair_schema_v1": "e9c3d08ab23f45484bff9b7e0db6f33a3aa06e719b7c0e772e39a5fddc22cadf",
    "repair_whole_v2": "e6b3f18daaf5912fadec71f8bc6cc1b99efd4cb8765005ab49283240fc5e9164",
    "resolve_step_v1": "c0086dcaae29962a952b071d0fd71a2fb7f91469a40e935b67fbb1ab20523196",
    "revise_v1": "6defb422d0696ad35c200c5d8b0588fc362b3ff6c084329b98d15e7698161e25",
    "round_table_again_v1": "0fe371f5c346e511261cd31a2c6a814c3b55374d5fdd7070d55fb0bcf437a9a8",
    "round_table_v1": "8c8f1e2aee53866829428f3ba661c55538a6d9e393bd6826aa86c80cfd1ec814",
    "split_steps_v1": "9c1b036929de0732ba59c4dd2fb3231aa6826a9c6eee75feccf1473b8cc54cd3",
    "synthesise_v1": "73831b879fc65fb3591cd84d521b7503d704a0d3041f2cc107808a9639c930bc",
    "verify_own_v1": "00ca0830be0a79c6e93514cc2b420ae3ff48bcbf2b4888b8af60ec786116ba96",
}
"""Ledgers name prompts by digest, so a file that is listed here is never edited: a change is a new version."""
PIECES = ("may_contradict", "go_on_to_the_end")
"""Put behind another text, as they are."""


def test_every_prompt_loads_with_the_digest_of_its_file() -> None:
    names = sorted(path.stem for path in FOLDER.glob("*.md"))
    assert PUBLISHED.keys() <= set(names)
    for name in names:
        prompt = load_prompt(name)
        assert prompt.digest == hashlib.sha256((FOLDER / f"{name}.md").read_bytes()).hexdigest()
        assert bool(prompt.fields()) is not name.startswith(PIECES)
        assert prompt.user and re.search(r"_v\d+$", name)
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
