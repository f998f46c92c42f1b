"""Lines of plain and gzipped files, within bounds."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from groundwire.core import _text as textlines
from groundwire.core._errors import RecordingError
from groundwire.core._text import json_lines, json_value, lines_of

TEXT = "one\nzwei \N{LATIN SMALL LETTER U WITH DIAERESIS}\r\n\nlast without an end"
LINES = [(1, "one"), (2, "zwei ü"), (3, ""), (4, "last without an end")]


@pytest.mark.parametrize("packed", [False, True])
def test_plain_and_gzipped_files_whatever_they_are_called(tmp_path: Path, packed: bool) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(gzip.compress(TEXT.encode()) if packed else TEXT.encode())
    assert list(lines_of(file)) == LINES


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.touch()
    assert list(lines_of(file)) == []


@pytest.mark.parametrize("kept", [3, 9, 25, -9, -1])
def test_a_gzipped_file_that_is_cut_short_says_so(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(TEXT.encode() * 50)[:kept])
    with pytest.raises(RecordingError, match=r"log\.gz is damaged after line \d+") as caught:
        list(lines_of(file))
    assert "cut short or damaged" in caught.value.do


def test_a_gzipped_file_with_a_flipped_bit_says_so(tmp_path: Path) -> None:
    body = bytearray(gzip.compress(b"some text\n" * 300))
    body[-6] ^= 1
    file = tmp_path / "log.gz"
    file.write_bytes(body)
    with pytest.raises(RecordingError, match="damaged after line 300"):
        list(lines_of(file))


def test_what_was_read_before_the_damage_was_already_given(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"fine\n\xff\xfe\n")
    lines = lines_of(file)
    assert next(lines) == (1, "fine")
    with pytest.raises(RecordingError, match="log:2: the line is no UTF-8"):
        next(lines)


def test_a_line_is_bounded_also_where_a_small_file_unpacks_to_a_huge_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textlines, "MAX_LINE_BYTES", 1024 * 1024)
    file = tmp_path / "bomb.gz"
    file.write_bytes(gzip.compress(b"ok\n" + b"0" * (8 * 1024 * 1024)))
    lines = lines_of(file)
    assert next(lines) == (1, "ok")
    with pytest.raises(RecordingError, match=r"bomb\.gz:2: the line is longer than 1 MiB"):
        next(lines)


def test_a_line_of_the_greatest_length_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textlines, "MAX_LINE_BYTES", 8)
    file = tmp_path / "log"
    file.write_bytes(b"1234567\n12345678")
    assert [line for _, line in lines_of(file)] == ["1234567", "12345678"]


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(RecordingError, match="can't be read"):
            list(lines_of(path))


def test_json_lines_pass_over_empty_lines_and_keep_the_numbers(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text('{"a":1}\n\n  \n{"b":[2]}')
    assert list(json_lines(file)) == [(1, {"a": 1}), (4, {"b": [2]})]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"a": ', "this is no JSON"),
        ("[1]", "the line is JSON, but no object"),
        ("null", "the line is JSON, but no object"),
        ("[" * 100_000, "this is nested too deeply"),
        ('{"n": ' + "9" * 5000 + "}", "this is no JSON"),
    ],
)
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "log"
    file.write_text(f'{{"a": 1}}\n{line}\n')
    lines = json_lines(file)
    next(lines)
    with pytest.raises(RecordingError, match=f"log:2: {problem}"):
        next(lines)


def test_json_of_a_whole_file_names_the_file() -> None:
    assert json_value("[1, 2]", "x") == [1, 2]
    with pytest.raises(RecordingError, match="trial: this is no JSON"):
        json_value("[1, 2", "trial")
