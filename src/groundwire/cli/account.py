"""What an episode's verdicts rest on, in lines for people and as data for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from groundwire.cli.text import plain, plural

if TYPE_CHECKING:
    from groundwire.graphs.run.account import Account, WrittenTests

__all__ = ["account_data", "account_lines"]

NAMES_SHOWN = 5
TRADE_OFFS_SHOWN = 3


def account_lines(account: Account) -> Iterator[tuple[str, str]]:
    """(text, style) of what a person should know; nothing where all went plainly."""
    if account.flaky:
        yield f"flaky, so never acted on: {_named(account.flaky)}", "yellow"
    if account.rejudged or account.retries:
        parts: list[str] = []
        if account.rejudged:
            parts.append(f"{plural(account.rejudged, 'verdict')} judged again ({account.rejudged_s:.1f} s)")
        if account.retries:
            parts.append(f"{plural(account.retries, 'judging')} repeated after trouble")
        yield ", ".join(parts), "dim"
    if account.trade_offs:
        yield f"{plural(len(account.trade_offs), 'trade-off')} refused: fixes some cases, breaks others", "yellow"
        for trade in account.trade_offs[:TRADE_OFFS_SHOWN]:
            yield f"  trial {trade.trial}: fixes {_named(trade.fixes)}; breaks {_named(trade.breaks)}", "dim"
    if account.written is not None:
        yield _written(account.written), "yellow"
    if account.disagrees:
        yield f"the model's own tests disagree: {plain(account.disagrees, limit=200)}", "yellow"
    if account.hidden_accesses:
        times = "once" if account.hidden_accesses == 1 else f"{account.hidden_accesses} times"
        yield (
            f"hidden tests laid out {times}, {account.steering} of these before the last proposal",
            ("red" if account.steering else "dim"),
        )
    if account.opinions:
        yield f"opinions count here: {', '.join(account.opinions)}", "yellow"
    if account.oracle:
        yield "oracle: the answer key was used", "yellow"


def account_data(account: Account) -> dict[str, Any]:
    """The same for `--json`, whole."""
    return asdict(account)


def _named(names: tuple[str, ...]) -> str:
    shown = plain(", ".join(names[:NAMES_SHOWN]), limit=300)
    return f"{shown} and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else shown


def _written(written: WrittenTests) -> str:
    checked = "checked against a reference" if written.validated else "not checked against anything"
    return f"{plural(written.kept, 'test')} written by a model, {written.dropped} dropped, {checked}"
