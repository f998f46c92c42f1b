"""What an export leaves out, whatever the form."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from recorded_runs import repairing, saying, trajectories

from groundwire.core._errors import ConfigError
from groundwire.training import Form, Rejected, Row, Trajectory
from groundwire.training._exporting import ExportRules, export
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import Options
from groundwire.training._trajectories import Author, Flaw
from groundwire.training._writing import opened


class Thought(Row):
    """A reflection, which no check has judged."""

    text: str
    """What a critic said."""


def thoughts(told: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row a reflection, and one that a check stands behind for each episode."""
    for one in told:
        for remark in one.remarks:
            parts = [written_by(remark.author, "text", remark.text)]
            yield Thought(provenance=provenance_of([(one, ())], parts, options), text=remark.text)
        parts = [written_by(Author.HUMAN, "text", one.prompt)]
        yield Thought(provenance=provenance_of([(one, list(one.attempts))], parts, options), text=one.prompt)


async def test_rows_that_only_a_model_stands_behind_are_left_out(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, repairing([saying("41"), saying("42")]))
    form = Form(name="thoughts", row=Thought, make=thoughts, about="")
    with opened(tmp_path / "rows.jsonl", form) as sink:
        report = export(form, told, sink)
    assert (report.rows, dict(report.rejected), dict(report.origins)) == (1, {"model_only": 1}, {"env": 1})
    with opened(tmp_path / "rows.jsonl", form) as sink:
        report = export(form, told, sink, rules=ExportRules(keep_model_only=True))
    assert dict(report.origins) == {"model": 1, "env": 1}
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2


async def test_a_row_is_one_line_for_every_reader(tmp_path: Path) -> None:
    odd = "one\u2028two\u2029three\x85four\r\n\x0b\x0c\x1c é 😀"
    told = await trajectories(tmp_path, repairing([saying(f"# {odd}"), saying("42")]))
    form = Form(name="thoughts", row=Thought, make=thoughts, about="")
    with opened(tmp_path / "rows.jsonl", form) as sink:
        told = [one.model_copy(update={"prompt": odd}) for one in told]
        assert export(form, told, sink).rows == 1
    (line,) = (tmp_path / "rows.jsonl").read_bytes().decode().splitlines()
    assert json.loads(line)["text"] == odd and "é 😀" in line


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if "rows" in path.name]


@pytest.mark.parametrize("trouble", [RuntimeError("the ledger is gone"), KeyboardInterrupt("gone")])
async def test_a_failure_half_way_leaves_what_was_there(tmp_path: Path, trouble: BaseException) -> None:
    told = await trajectories(tmp_path, repairing([saying("42")]))
    form = Form(name="thoughts", row=Thought, make=thoughts, about="")
    out = tmp_path / "rows.jsonl"
    out.write_text("old\n")

    def breaks() -> Iterator[Trajectory]:
        yield told[0]
        raise trouble

    with pytest.raises(type(trouble), match="gone"), opened(out, form) as sink:
        export(form, breaks(), sink)
    assert out.read_text() == "old\n" and names(tmp_path) == ["rows.jsonl"]
    before = os.umask(0o077)
    try:
        with opened(out, form) as sink:
            export(form, told, sink)
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o777 == 0o600, "what others may read is for the user to say"


def test_some_flaws_are_never_allowed() -> None:
    for flaw in (Flaw.BROKEN_SEAL, Flaw.NO_VERDICT):
        with pytest.raises(ConfigError, match=flaw):
            ExportRules(allowed=frozenset({flaw, Flaw.TRUNCATED}))
