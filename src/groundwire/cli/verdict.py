"""What correction bought, in one line for each control arm: `reflection helped`, `hurt`, or `can't tell`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from groundwire.cli.repair import unique_run
from groundwire.errors import ConfigError
from groundwire.memory import SqlStore

__all__ = ["say_what_correction_bought"]


async def say_what_correction_bought(
    store: SqlStore, main: str, controls: Sequence[str]
) -> Sequence[Mapping[str, Any]]:
    """Compares a run with its control arms, paired by task and seed.

    Args:
        store: the ledger.
        main: the run's id.
        controls: the ids of its control arms.

    Returns:
        For each control a line for people in `said`, with the numbers behind it. Where what measures is not installed,
        the line says so: the run is in the ledger all the same.
    """
    if not controls:
        return []
    try:
        from groundwire.evaluation.comparing import compare
        from groundwire.evaluation.reading import read_run
        from groundwire.evaluation.verdicts import what_it_lacks
    except ConfigError as error:
        return [{"control_run": run_id, "said": str(error)} for run_id in controls]
    arm = await read_run(store, await unique_run(store, main))
    bought: list[Mapping[str, Any]] = []
    for run_id in controls:
        control = await read_run(store, await unique_run(store, run_id))
        compared = compare(arm.trials, control.trials)
        said = compared.sentence(what_it_lacks(control))
        bought.append({"control_run": run_id, "answer": compared.answer, "said": said, **asdict(compared)})
    return bought
