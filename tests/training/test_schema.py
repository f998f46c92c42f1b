"""The published schemas, as they are: whoever changes one raises its version."""

from __future__ import annotations

import hashlib
import json
from typing import Any, cast

import pytest

from groundwire.core._errors import ConfigError
from groundwire.training import form, form_names, json_schema
from groundwire.training._schema import VERSION, Options, Thresholds

SNAPSHOT: dict[int, dict[str, str]] = {
    2: {
        "dpo": "71c946f5fa8b",
        "grpo": "23066d7609cd",
        "kto": "8c117946b007",
        "prm": "b4aaf81d2d4a",
        "rlvr": "baac881aecf9",
        "sft": "4243422ee260",
        "trajectory": "28731e53883e",
        "agent_r": "20aca8221d24",
        "anchored_pairs": "71c946f5fa8b",
        "consistent_answers": "dce6f1790ace",
        "error_recovery": "98f52f2ad9b0",
        "fission_grpo": "c9117d85339a",
        "flawed_thinking": "1c1d30e7e626",
        "glad": "23961b99c0a5",
        "hybrid_refining": "c908019d71d8",
        "intervention": "54f1c292684d",
        "match_tir": "4a2232734559",
        "mistake_tuning": "62c82e300626",
        "repair_from_evidence": "45e1c751e11f",
        "rise": "70e527a2a0a8",
        "rl2f": "56c113096eb9",
        "rlhs": "8f4518dd21e7",
        "score_steps": "1ec76762e63f",
        "selective_rewrites": "33b101a89ab0",
        "step_entropies": "afcbf32336e2",
        "stream_of_search": "79dcc97e72d4",
        "student_traces": "d2955fcb6d65",
        "two_attempts": "ea0c562ef5ea",
    },
}
"""By version: of each format, a digest of its fields, their types and which are required; words may change."""


def digest_of(name: str) -> str:
    """Of what a reader of the rows relies on: names, types, defaults, requirements; no description."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            told = cast("dict[str, Any]", value)
            return {key: bare(item) for key, item in told.items() if key not in ("description", "title", "$id")}
        return [bare(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value

    schema = bare(json_schema(form(name)))
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()[:12]


def test_a_schema_that_changes_has_another_version() -> None:
    """Raise `VERSION`, add what `digest_of` gives under it, and leave the older ones as they are."""
    assert max(SNAPSHOT) == VERSION
    assert {name: digest_of(name) for name in form_names()} == SNAPSHOT[VERSION]
    assert all(json_schema(form(name))["$id"].endswith(f".v{VERSION}") for name in form_names())


def test_numbers_are_set_by_their_names() -> None:
    told = Thresholds.of(["agent_r_alpha=0.4", " rise_tau = 1 "])
    assert (told.agent_r_alpha, told.rise_tau, told.agent_r_beta) == (0.4, 1.0, 0.2)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("agent_r_gamma=1", "no 'agent_r_gamma' to be set"),
        ("rise_tau", "sets no number"),
        ("rise_tau=much", "sets no number"),
        ("rise_tau=0", "out of range"),
        ("rise_tau=nan", "out of range"),
        ("match_tir_discount=1.5", "out of range"),
        ("empg_k=-1", "out of range"),
    ],
)
def test_a_number_that_can_not_be_is_refused(told: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Thresholds.of([told])


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="least_group"):
        Options(least_group=0)


def test_every_format_that_masks_is_tried_with_the_installed_trainer() -> None:
    """A format that says what is learned in columns of its own belongs into `MASKED` of test_trl.py."""
    masks = {
        name
        for name in form_names()
        for column, field in form(name).row.model_fields.items()
        if column in ("loss_mask", "segments") or (column == "turns" and field.annotation is not int)
    }
    assert masks == {"sft", "error_recovery", "agent_r", "intervention", "rl2f"}
