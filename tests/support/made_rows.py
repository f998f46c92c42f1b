"""Rows of an export form as its published schema has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

import jsonschema

from groundwire.training import Rejected, Row, Trajectory
from groundwire.training._catalogue import form
from groundwire.training._schema import Options, json_schema

__all__ = ["made"]

R = TypeVar("R", bound=Row)


def made(
    name: str, told: Iterable[Trajectory], kind: type[R], *, target: str = "", origin: str = "env", **options: Any
) -> tuple[list[R], list[str]]:
    """A form's rows, each valid by its published schema and complete about who wrote what; and why others are none."""
    schema = json_schema(form(name))
    rows: list[R] = []
    reasons: list[str] = []
    for one in form(name).make(told, Options(target_model=target, **options)):
        if isinstance(one, Rejected):
            reasons.append(one.reason)
            continue
        assert isinstance(one, kind)
        jsonschema.validate(json.loads(one.model_dump_json()), schema)
        assert one.provenance.origins and one.provenance.origin == origin
        assert bool(one.provenance.signals) == (origin == "env")
        rows.append(one)
    return rows, reasons
