"""What a verdict rests on is on the screen and in the JSON: flaky cases, trade-offs, hidden tests, model's tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import BUGGY, groundwire, lay_out

from groundwire.cli._outcome import account_data, account_lines
from groundwire.graphs.run._acceptance import TradeOff
from groundwire.graphs.run._account import OwnWord, VerdictAccount, WrittenTests

TEST = "python -m pytest -q"


def said(account: VerdictAccount) -> str:
    return "\n".join(f"{text} [{style}]" for text, style in account_lines(account))


def test_a_plain_episode_says_nothing() -> None:
    assert said(VerdictAccount()) == ""


@pytest.mark.parametrize(
    ("account", "line"),
    [
        (VerdictAccount(flaky=tuple("abcdefg")), "flaky, so never acted on: a, b, c, d, e and 2 more [yellow]"),
        (VerdictAccount(rejudged=1, rejudged_s=2.04), "1 verdict judged again (2.0 s) [dim]"),
        (
            VerdictAccount(rejudged=2, rejudged_s=3, retries=1),
            "2 verdicts judged again (3.0 s), 1 judging repeated after",
        ),
        (
            VerdictAccount(trade_offs=(TradeOff("new", 3, "old", ("a", "b"), ("c",)),)),
            "1 trade-off refused: fixes some cases, breaks others [yellow]\n  trial 3: fixes a, b; breaks c [dim]",
        ),
        (VerdictAccount(hidden_accesses=1), "hidden tests used once, 0 of these before the last proposal [dim]"),
        (VerdictAccount(hidden_accesses=2, steering=1), "used 2 times, 1 of these before the last proposal [red]"),
        (VerdictAccount(opinions=("human",)), "opinions were trusted here: human [yellow]"),
        (VerdictAccount(oracle=True), "oracle: the answer key was used [yellow]"),
        (
            VerdictAccount(own_words=(OwnWord("test", 1, 3, ("t::a",), ("mod.P",)),)),
            "test: in 1 of 3 cases a comparison that the patch's own code makes decided something: t::a; objects of"
            " mod.P were asked [yellow]",
        ),
        (
            VerdictAccount(written=WrittenTests(3, 2)),
            "3 tests written by a model, 2 dropped, not checked against anything",
        ),
        (
            VerdictAccount(written=WrittenTests(1, 0, True)),
            "1 test written by a model, 0 dropped, checked against a reference",
        ),
    ],
)
def test_what_a_reader_must_know_has_a_line(account: VerdictAccount, line: str) -> None:
    assert line in said(account)


def test_names_from_outside_can_not_reach_the_terminal() -> None:
    hostile = VerdictAccount(flaky=("\x1b[2Ja", "b\nc"), trade_offs=(TradeOff("n", 1, "o", ("\x07",), ("\u202ex",)),))
    assert not {"\x1b", "\x07", "\u202e"} & set(said(hostile))
    assert len(said(hostile).splitlines()) == 3


def test_all_of_it_is_data_too() -> None:
    data = account_data(VerdictAccount(flaky=("a",), trade_offs=(TradeOff("n", 1, "o", ("x",), ("y",)),)))
    assert json.loads(json.dumps(data))["trade_offs"] == [
        {"candidate": "n", "trial": 1, "against": "o", "fixes": ["x"], "breaks": ["y"]}
    ]


# --- the program


def script(tmp_path: Path, *answers: str) -> str:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    return f"scripted:{path}"


def test_tests_that_a_model_wrote_end_in_an_internal_pass_and_no_patch(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "project", {"mod.py": "def double(x):\n    return x\n"})
    model = script(
        tmp_path,
        "```python\nfrom mod import double\nassert double(2) == 4\n```",
        "FILE: mod.py\n```\ndef double(x):\n    return x * x\n```",
    )
    ran = groundwire("repair", project, "--model", model, "--model-tests")
    assert ran.code == 1
    assert "internal pass, not verified" in ran.out
    assert "1 test written by a model, 0 dropped, not checked against anything" in ran.out
    (episode,) = groundwire("show", ran.out.split()[1], "--json").data["episodes"]
    assert episode["account"]["written"] == {"kept": 1, "dropped": 0, "validated": False}
    end = episode["records"][-1]
    assert (end["stop_reason"], end["verdict"]) == ("internal_pass", "fail")


def test_what_the_users_tests_passed_is_handed_out_and_the_models_own_are_quoted(tmp_path: Path) -> None:
    users = "from mod import double\ndef test_two():\n    assert double(2) == 4\n"
    project = lay_out(tmp_path / "p", {"mod.py": "def double(x):\n    return x\n", "test_mod.py": users})
    model = script(
        tmp_path,
        "FILE: mod.py\n```\ndef double(x):\n    return x * x\n```",
        "```python\nfrom mod import double\nassert double(3) == 6\n```",
    )
    ran = groundwire("repair", project, "--model", model, "--own-tests", "--max-trials", "1", "--rejudge", "0")
    assert (ran.code, "verified patch: " in ran.out) == (0, True)
    assert "the model's own tests disagree: 0 of 1 test passed (1 failed)" in ran.out
    both = groundwire("repair", project, "--model", model, "--own-tests", "--model-tests")
    assert (both.code, "Use one of the two" in both.err) == (2, True)


def test_tests_can_not_be_written_without_a_model(tmp_path: Path) -> None:
    ran = groundwire("repair", lay_out(tmp_path / "p", BUGGY), "--model-tests")
    assert (ran.code, ran.err.splitlines()) == (
        2, ["error: Tests can't be written without a model.", "  Name one with --model."],
    )  # fmt: skip


@pytest.mark.parametrize(("flag", "signals"), [("0", 1), ("3", 4)])
def test_how_often_a_verdict_is_looked_at_again_is_a_flag(tmp_path: Path, flag: str, signals: int) -> None:
    passing = {"test_a.py": "def test_a():\n    pass\n"}
    ran = groundwire("repair", lay_out(tmp_path / "p", passing), "--rejudge", flag, "--json")
    assert (ran.data["stop_reason"], ran.data["signals"]) == ("already_passing", signals)
    assert ran.data["account"]["rejudged"] == signals - 1


def test_a_flaky_test_is_named_on_the_screen_and_in_the_record(tmp_path: Path) -> None:
    coin = {"test_coin.py": "import os\ndef test_coin():\n    assert os.urandom(1)[0] % 2\n"}
    project = lay_out(tmp_path / "p", coin)
    ran = groundwire("repair", project, "--rejudge", "30")
    assert ran.code == 3
    assert "flaky, so never acted on: test_coin.py::test_coin" in ran.out
    run_id = ran.out.split()[1]
    assert "flaky, so never acted on: test_coin.py::test_coin" in groundwire("show", run_id).out
    assert groundwire("show", run_id, "--json").data["episodes"][0]["account"]["flaky"] == ["test_coin.py::test_coin"]


def test_hidden_tests_show_their_failure_to_the_person_and_keep_nothing(tmp_path: Path) -> None:
    hidden = "from shop.price import total\ndef test_secret():\n    assert total([5]) == 55, 'ZEBRA-4711'\n"
    project = lay_out(tmp_path / "project", {**BUGGY, "secret/test_h.py": hidden})
    ran = groundwire("repair", project, "--test", f"{TEST} tests", "--hidden", f"{TEST} secret")
    assert ran.code == 1
    assert "ZEBRA-4711" in ran.out
    assert "(shown here only, stored nowhere)" in ran.out
    assert "hidden tests used once, 0 of these before the last proposal" in ran.out
    run_id = ran.out.split()[1]
    shown = groundwire("show", run_id)
    data = groundwire("show", run_id, "--json")
    assert "hidden   final judging: test gave pass" in shown.out
    assert "ZEBRA-4711" not in shown.out + data.out
    account = data.data["episodes"][0]["account"]
    assert (account["hidden_accesses"], account["steering"]) == (1, 0)
