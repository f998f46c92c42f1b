"""Every command's help is short of nothing: `-h`, and examples that can be given as they stand; and how errors end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cli import groundwire
from typer.main import get_command

from groundwire.cli import main
from groundwire.cli.commands import _app


def command(name: str) -> Any:
    group: Any = get_command(_app.app)
    return group.get_command(None, name)


EXAMPLES = [example for source in vars(_app)["_SOURCES"].values() for example in source.examples]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_help_can_be_given_as_it_stands(example: str) -> None:
    name, *flags = shlex.split(example)
    assert command(name).make_context(name, flags).params


@pytest.mark.parametrize("words", [(), ("repair",), ("memory", "list")], ids=" ".join)
def test_h_is_help(words: Sequence[str]) -> None:
    short, long = groundwire(*words, "-h"), groundwire(*words, "--help")
    assert short.code == 0 and short.out == long.out and "-h, --help" in short.out


def test_examples_stand_a_line_each() -> None:
    lines = groundwire("repair", "--help").out.splitlines()
    at = lines.index("  Examples:")
    assert lines[at + 1] == '    groundwire repair . --test "pytest -q"' and lines[at + 3] == ""


def test_a_wrong_name_of_something_is_told_what_was_meant(tmp_path: Path) -> None:
    for words, meant in (
        (("run", "code_repiar", tmp_path), "Did you mean code_repair"),
        (("graphs", "parallel_refin"), "Did you mean parallel_refine"),
        (("bench", "humanevl", "--data", tmp_path), "Did you mean humaneval"),
        (("run", "graph.py", tmp_path), "graph.py:FUNCTION"),
        (("show", "--db", "old.db"), "Write sqlite:///old.db"),
        (("verify", "nofile.json"), "and no file of that name"),
    ):
        ran = groundwire(*words)
        assert (ran.code in (2, 6), meant in ran.err) == (True, True), ran.err


def test_what_is_wrong_in_a_task_is_said_in_one_line_without_a_library_s_words(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text('prompt = "p"\nfrobnicate = 1\n')
    ran = groundwire("run", "code_repair", tmp_path)
    assert ran.code == 2 and "task.toml can't be used: frobnicate: Extra inputs are not permitted." in ran.err
    assert "pydantic" not in ran.err and "_Spec" not in ran.err


def test_a_full_disk_behind_standard_output_is_an_error_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["groundwire", "--version"])
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with Path("/dev/full").open("w", buffering=1) as full, pytest.raises(SystemExit) as ended:
        monkeypatch.setattr(sys, "stdout", full)
        main()
    said = capfd.readouterr().err
    assert ended.value.code == 6 and "can't be written: the disk is full" in said and "Traceback" not in said


def test_an_interrupt_while_the_program_is_loaded_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupts:
        def find_spec(self, name: str, *_more: object) -> None:
            if name == "groundwire.cli.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "groundwire.cli.commands")
    monkeypatch.setattr(sys, "meta_path", [Interrupts(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "interrupted\n")
