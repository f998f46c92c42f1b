"""Verified experience that others can train on: trajectories out of a ledger, and rows in the forms that trainers read.

    ledger ─► reading ─► Trajectory ─► forms/NAME.py | methods/NAME.py ─► rows ─► filters ─► writing: JSONL or Parquet

Nothing that steers a run may import this: what is exported here is for people and for trainers.

**A new method adds one module**, `training/methods/NAME.py` (a column form that trainers read goes to `forms/`):

- its row type, a `schema.Row` with fields of its own, every one with a docstring or a description;
- a pure function from trajectories to rows: it gets an iterable that may be gone through more than once and yields
  `Row`s and, for each thing that it leaves out, a `schema.Rejected` that says why. It keeps no texts of more than one
  group in memory, reads no clock, no file and no environment, and makes each row"s `Provenance` with
  `provenance.provenance_of`;
- `FORM = Form(name=…, row=…, make=…, about=…)` as its last statement: that registers it under `NAME`, which is found by
  its file"s name, so no list has to be edited. `groundwire export --format NAME` and `--schema NAME` then work.

What only needs numbers (advantages, weights, scores) is a plain function in the same module, tested by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.training._catalogue import form, form_names
    from groundwire.training._exporting import export
    from groundwire.training._labels import with_labels
    from groundwire.training._runs import Trajectories, read_trajectory, trajectories_of
    from groundwire.training._schema import Form, Options, Rejected, Row, json_schema
    from groundwire.training._trajectories import Trajectory, Trial, Turn
    from groundwire.training._writing import opened
    from groundwire.training.methods._flawed_thinking import robustness
    from groundwire.training.rewards._judging import ScoredCompletion
    from groundwire.training.rewards._reward import TaskReward, reward

__all__ = [
    "Form",
    "Options",
    "Rejected",
    "Row",
    "ScoredCompletion",
    "TaskReward",
    "Trajectories",
    "Trajectory",
    "Trial",
    "Turn",
    "export",
    "form",
    "form_names",
    "json_schema",
    "opened",
    "read_trajectory",
    "reward",
    "robustness",
    "trajectories_of",
    "with_labels",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Form": "_schema",
        "Options": "_schema",
        "Rejected": "_schema",
        "Row": "_schema",
        "ScoredCompletion": "rewards._judging",
        "TaskReward": "rewards._reward",
        "Trajectories": "_runs",
        "Trajectory": "_trajectories",
        "Trial": "_trajectories",
        "Turn": "_trajectories",
        "export": "_exporting",
        "form": "_catalogue",
        "form_names": "_catalogue",
        "json_schema": "_schema",
        "opened": "_writing",
        "read_trajectory": "_runs",
        "reward": "rewards._reward",
        "robustness": "methods._flawed_thinking",
        "trajectories_of": "_runs",
        "with_labels": "_labels",
    },
)
