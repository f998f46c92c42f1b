"""`groundwire doctor` on the real machine."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from cli import groundwire

from groundwire.cli._doctor import EXTRAS


def test_the_doctor_tries_each_part_and_names_the_cure(tmp_path: Path) -> None:
    ran = groundwire("doctor", "--json")
    findings = {f["name"]: f for f in ran.data["findings"]}
    assert (ran.code, ran.data["healthy"]) == (0, True)
    assert findings["sandbox bubblewrap"]["ok"]
    assert findings["ledger"]["ok"]
    sick = groundwire("doctor", "--db", "sqlite:////proc/none/x.db")
    assert sick.code == 3
    assert "✗ ledger" in sick.out
    assert "→" in sick.out


def test_the_doctor_looks_for_an_engine_and_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA H200, 1000, 143771, 580.1'\necho 'NVIDIA H200, [Unknown Error], 1, 1'\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    findings = {f["name"]: f for f in groundwire("doctor", "--json").data["findings"]}
    assert "vllm" in findings
    gpu = findings["gpu"]
    assert (gpu["ok"], gpu["needed"]) == (False, False)
    assert gpu["detail"] == "NVIDIA H200: 1000 of 143771 MiB free, driver 580.1"
    assert "gpu_memory_utilization" in gpu["cure"]


def test_every_extra_is_looked_for_and_named_apart_from_what_it_is_for() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = set(pyproject["project"]["optional-dependencies"])
    assert EXTRAS.keys() | {"local", "embeddings", "vllm"} == extras
    said = groundwire("doctor", env={"COLUMNS": "80", "NO_COLOR": "1"}).out
    assert "extra openai-compatible  " in said
    assert all(f"extra {extra} " in said for extra in EXTRAS)
