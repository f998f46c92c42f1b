"""Rows of a published method, held to its published schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import jsonschema
import pyarrow

from groundwire.training import Rejected, Row, Trajectory
from groundwire.training._arrow import schema_of
from groundwire.training._catalogue import form
from groundwire.training._exporting import ExportReport, ExportRules, export
from groundwire.training._leaks import Leaks
from groundwire.training._schema import Options, json_schema
from groundwire.training._writing import opened

__all__ = ["exported", "made"]

pa: Any = pyarrow  # it has no types
R = TypeVar("R", bound=Row)


def made(
    name: str, told: Iterable[Trajectory], kind: type[R], options: Options | None = None
) -> tuple[list[R], list[str]]:
    """A method's rows, and why others are none. Each is valid by its schema, fit for Parquet, backed by sealed signals
    and complete about who wrote what."""
    schema = json_schema(form(name))
    rows: list[R] = []
    reasons: list[str] = []
    for one in form(name).make(told, options or Options()):
        if isinstance(one, Rejected):
            reasons.append(one.reason)
            continue
        assert isinstance(one, kind)
        body = json.loads(one.model_dump_json())
        jsonschema.validate(body, schema)
        assert pa.Table.from_pylist([body], schema=schema_of(form(name))).num_rows == 1
        assert one.provenance.origins and one.provenance.signals and one.provenance.origin == "env"
        rows.append(one)
    return rows, reasons


def exported(
    name: str, told: Iterable[Trajectory], file: Path, gold: Mapping[str, Sequence[str]] | None = None
) -> tuple[list[dict[str, Any]], ExportReport]:
    """What `groundwire export` writes, and its account."""
    with opened(file, form(name)) as sink:
        report = export(form(name), told, sink, rules=ExportRules(leaks=Leaks(gold=gold or {})))
    return [json.loads(line) for line in file.read_text().splitlines()], report
