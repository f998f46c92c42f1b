"""Groups of flags: Typer reads them spelt out, the command gets them whole, each setting among them has its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from groundwire.cli.commands import _export, _first_steps, _learn, _ledger, _memory, _repair, _run
from groundwire.cli.commands._options import EpisodeLimits, Ledger, OfSettings, RunTotals, flags_in, spelt_out
from groundwire.core._settings import Settings


@dataclass(frozen=True, kw_only=True)
class Deep(OfSettings):
    """A group in a group."""

    max_usd: Annotated[float | None, typer.Option(min=0, help="Dollars.")] = None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Flags of each kind."""

    name: Annotated[str, typer.Argument(help="Who.")]
    many: Annotated[list[str] | None, typer.Option(help="Some.")] = None
    deep: Deep
    loud: Annotated[bool, typer.Option("--loud", "-l", help="Noise.")] = False


@dataclass(frozen=True, kw_only=True)
class Reworded(Deep):
    """The same flag in other words."""

    max_usd: Annotated[float | None, typer.Option(min=1, help="At least a dollar.")] = None


def program(command: Any) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    return app


def test_a_command_is_given_its_groups_as_they_were_filled_in() -> None:
    given: list[tuple[Group, int]] = []

    @spelt_out
    def go(group: Group, times: Annotated[int, typer.Option(help="Often.")] = 1) -> None:
        """Goes."""
        given.append((group, times))

    run = CliRunner().invoke
    assert (
        run(program(go), ["ada", "--many", "a", "--many", "b", "--max-usd", "2.5", "-l", "--times", "3"]).exit_code == 0
    )
    assert given == [(Group(name="ada", many=["a", "b"], deep=Deep(max_usd=2.5), loud=True), 3)]
    assert run(program(go), ["ada"]).exit_code == 0
    assert given[1] == (Group(name="ada", deep=Deep()), 1)
    wrong = run(program(go), ["ada", "--max-usd", "-1"])
    assert wrong.exit_code == 2 and "--max-usd" in wrong.output
    assert run(program(go), []).exit_code == 2, "a field without a default must be given"


def test_help_shows_the_flags_where_their_group_stands_and_in_the_words_of_a_subclass() -> None:
    @spelt_out
    def go(*, first: bool = False, deep: Reworded, last: bool = False) -> None:
        """Goes."""

    shown = CliRunner().invoke(program(go), ["--help"]).output
    assert shown.index("--first") < shown.index("--max-usd") < shown.index("--last")
    assert "At least a dollar." in shown and "Dollars." not in shown


def test_two_groups_with_one_flag_are_refused_when_the_command_is_made() -> None:
    def go(deep: Deep, limits: EpisodeLimits) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'max_usd'"):
        spelt_out(go)


def test_settings_are_found_at_any_depth_and_nothing_else_is() -> None:
    group = Group(name="ada", deep=Deep(max_usd=1.0), loud=True)
    assert flags_in(group, RunTotals(total_calls=4)) == {
        "max_usd": 1.0, "total_usd": None, "total_tokens": None, "total_calls": 4, "total_seconds": None,
    }  # fmt: skip


def of_settings(kind: Any) -> Iterator[Any]:
    if is_dataclass(kind):
        if issubclass(kind, OfSettings):  # pyright: ignore[reportArgumentType]  it is a class
            yield kind
        for inner in get_type_hints(kind).values():
            yield from of_settings(inner)


COMMANDS = (
    _repair.repair, _run.run, _run.bench, _learn.learn, _ledger.resume, _ledger.replay, _ledger.show, _ledger.report,
    _ledger.import_, _export.export, _first_steps.demo, _first_steps.doctor, _memory.list_, _memory.vacuum,
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.__name__)
def test_every_flag_of_settings_is_the_setting_of_its_name(command: Any) -> None:
    groups = [group for kind in get_type_hints(command.__wrapped__).values() for group in of_settings(kind)]
    assert groups, "each of these reads the ledger or a setting"
    for group in groups:
        assert {field.name for field in fields(group)} <= Settings.model_fields.keys(), group.__name__


def test_what_was_not_given_leaves_a_setting_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_MAX_CALLS", "7")
    settings = Settings.resolve(flags_in(EpisodeLimits(max_usd=2.0), Ledger()))
    assert (settings.max_calls, settings.max_usd, settings.db) == (7, 2.0, None)
