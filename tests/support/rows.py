"""Trials by hand, for metrics whose answer is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundwire.core._signals import Origin, Verdict
from groundwire.evaluation import TrialRow, Trials

VERDICTS = {"+": Verdict.PASS, "-": Verdict.FAIL, "?": Verdict.NONE}


def episode(name: str, verdicts: str, *, task: str = "", hidden: str = "", **fields: Any) -> Sequence[TrialRow]:
    """One episode's trials, from 1 on.

    Args:
        name: the episode's id, and its task's where none is given.
        verdicts: a character a trial: `+` passed, `-` failed, `?` no verdict.
        task: the task's id.
        hidden: the hidden tests' verdicts, likewise; shorter: they judged no more.
        fields: of every row; a list gives each row its own.
    """
    rows: list[TrialRow] = []
    for at, said in enumerate(verdicts):
        own: dict[str, Any] = {key: value[at] if isinstance(value, list) else value for key, value in fields.items()}
        trigger = Origin.TESTS if at else None
        given: dict[str, Any] = {
            "trial": at + 1,
            "origin": Origin.TESTS,
            "trigger": trigger,
            "candidate": f"{name}{at}",
            **own,
        }
        known = VERDICTS[hidden[at]] if at < len(hidden) else Verdict.NONE
        rows.append(TrialRow(episode=name, task=task or name, visible=VERDICTS[said], hidden=known, **given))
    return rows


def trials(*episodes: Sequence[TrialRow]) -> Trials:
    """Episodes as columns."""
    return Trials.of(row for rows in episodes for row in rows)
