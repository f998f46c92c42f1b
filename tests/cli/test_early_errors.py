"""What can be known before a run is made is refused before it is made, in JSON too."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli import BUGGY, groundwire, lay_out

KEY = "OPENAI_API_KEY"
SERVER = "openai-compatible:http://127.0.0.1:9/v1#m"
WRONG: dict[str, tuple[tuple[str, ...], str, str]] = {
    "sandbox": (("--sandbox", "nope"), "There is no sandbox 'nope'", "bubblewrap"),
    "model id": (("--model", "gpt5"), "no provider of the model 'gpt5'", "openai/gpt-5-mini"),
    "provider": (("--model", "openia/gpt-5-mini"), "no provider of the model 'openia/gpt-5-mini'", "PROVIDER/MODEL"),
    "key": (("--model", "openai/gpt-5-mini"), f"{KEY} is not set", f"export {KEY}=…"),
    "price": (("--model", SERVER, "--max-usd", "1"), "so --max-usd can't be kept", "--usd-per-token"),
    "number": (("--width", "0"), "Invalid value for '--width'", "--help"),
    "flag": (("--no-such",), "No such option: --no-such", "--help"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (KEY, "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    return lay_out(tmp_path / "shop", BUGGY)


@pytest.mark.parametrize("name", WRONG)
def test_it_is_one_json_object_and_no_run_is_made(project: Path, name: str) -> None:
    flags, what, do = WRONG[name]
    ran = groundwire("repair", project, *flags, "--json")
    assert ran.code == 2 == ran.data["error"]["exit_code"]
    assert what in ran.data["error"]["what"]
    assert do in ran.data["error"]["do"]
    assert f"error: {ran.data['error']['what'][:40]}" in ran.err
    assert groundwire("show", "--json").data == []


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    for command in (("repair",), ("run", "code_repair")):
        ran = groundwire(*command, tmp_path / "none", "--json")
        assert (ran.code, "is not a folder" in ran.data["error"]["what"]) == (2, True)


def test_a_run_of_many_tasks_needs_the_key_too(project: Path) -> None:
    ran = groundwire("run", "code_repair", project, "--model", "openai/gpt-5-mini", "--json")
    assert (ran.code, KEY in ran.data["error"]["what"]) == (2, True)
    assert groundwire("show", "--json").data == []


def test_without_json_it_is_said_on_stderr_alone(project: Path) -> None:
    ran = groundwire("repair", project, "--sandbox", "nope")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: There is no sandbox 'nope'.\n  Choose one of: bubblewrap, landlock, docker, subprocess.\n"


@pytest.mark.parametrize(("shell", "says"), [("bash", "complete "), ("zsh", "#compdef"), ("fish", "complete ")])
def test_each_shell_has_its_completion(shell: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GROUNDWIRE_COMPLETE", f"source_{shell}")
    ran = groundwire()
    assert ran.code == 0 and says in ran.out and "groundwire" in ran.out
