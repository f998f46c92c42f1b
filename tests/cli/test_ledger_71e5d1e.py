"""A ledger that version 0.1 wrote still shows, verifies, replays, reports and exports (`tests/data/ledger_71e5d1e`)."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from cli import groundwire

FIXTURE = Path(__file__).parents[1] / "data" / "ledger_71e5d1e"
RUNS: dict[str, dict[str, Any]] = json.loads((FIXTURE / "runs.json").read_text())
REPLAYED = [run for run, then in RUNS.items() if then["replays"]]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user whose ledger and keys these are."""
    folder = tmp_path_factory.mktemp("version_0_1")
    keys = folder / "state" / "groundwire" / "keys"
    keys.mkdir(parents=True, mode=0o700)
    for run, then in RUNS.items():
        (keys / run).write_bytes(bytes.fromhex(then["key"]))
        (keys / run).chmod(0o600)
    data = folder / "data" / "groundwire"
    data.mkdir(parents=True)
    (data / "groundwire.db").write_bytes(lzma.decompress((FIXTURE / "ledger.db.xz").read_bytes()))
    return {f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("data", "state", "config", "cache")}


def ends(shown: dict[str, Any]) -> list[dict[str, Any]]:
    """Of each episode that `show --json` gave: its task, how it ended, and how many records it has."""
    return [
        {
            "task": each["episode"]["task_id"],
            **next(
                (
                    {"verdict": record["verdict"], "stop_reason": record["stop_reason"]}
                    for record in each["records"]
                    if record["kind"] == "EpisodeEnd"
                ),
                {"verdict": None, "stop_reason": None},
            ),
            "records": len(each["records"]),
        }
        for each in shown["episodes"]
    ]


@pytest.mark.parametrize("run", RUNS)
def test_each_run_shows_as_it_ended_and_its_seals_verify(run: str, homes: dict[str, str]) -> None:
    then = RUNS[run]
    shown = groundwire("show", run, "--json", env=homes)
    assert shown.code == 0, shown.err
    assert shown.data["run"]["graph"] == then["graph"]
    assert (shown.data["seals"]["verified"], shown.data["seals"]["broken"]) == (then["seals_verified"], [])
    assert ends(shown.data) == then["episodes"]


@pytest.mark.parametrize("run", REPLAYED)
def test_what_repaired_then_replays_record_by_record(run: str, homes: dict[str, str]) -> None:
    replayed = groundwire("replay", run, "--verify", "--json", env=homes)
    assert replayed.code == 0, replayed.out + replayed.err
    assert replayed.data["same"] is True


def test_runs_are_reported_and_exported(homes: dict[str, str], tmp_path: Path) -> None:
    runs = [run for run, then in RUNS.items() if then["graph"] == "code_repair"]
    reported = groundwire("report", *runs, "--json", env=homes)
    assert reported.code == 0, reported.err
    out = tmp_path / "rows.jsonl"
    exported = groundwire("export", *runs, "--format", "sft", "--out", out, env=homes)
    assert exported.code == 0, exported.err
    assert out.read_text().strip()
