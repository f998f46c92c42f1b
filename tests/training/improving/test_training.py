"""The trainer's process: what it makes, what it refuses, and that one that was killed goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from forking_python import trainers_python
from tiny_improving import TRAINED, model_made_by

from groundwire.core._errors import ConfigError, TrainingError
from groundwire.training.improving._training import (
    PROGRAM,
    TrainingJob,
    TrainingOptions,
    check_trainable,
    revision_of,
    train,
)
from groundwire.training.improving.trainer import is_memory, on_one_gpu

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_made_by(trainers_python(), tmp_path_factory.mktemp("weights") / "base", steps=2)


def job(base: Path, folder: Path, **options: Any) -> TrainingJob:
    rows = folder / "rows.jsonl"
    said = [task.conversation(*task) for task in TRAINED[:8]]
    rows.write_text("".join(json.dumps({"prompt": one[:1], "completion": one[1:]}) + "\n" for one in said))
    given: dict[str, Any] = {"epochs": 2, "batch_size": 4, "max_length": 128, "python": trainers_python(), **options}
    return TrainingJob(
        model=base, rows=rows, out=folder / "model", work=folder / "training", seed=0, options=TrainingOptions(**given)
    )


def nobody(_said: Mapping[str, Any]) -> None:
    """Nobody watches."""


def trained_by(asked: TrainingJob, progress: Callable[[Mapping[str, Any]], None] = nobody) -> Mapping[str, Any]:
    return asyncio.run(train(asked, progress))


def copied(base: Path, to: Path, *without: str, **instead: str) -> Path:
    to.mkdir()
    for file in base.iterdir():
        if file.name not in without:
            (to / file.name).write_bytes(file.read_bytes())
    for name, text in instead.items():
        (to / name.replace("_json", ".json")).write_text(text)
    return to


def test_a_model_without_a_chat_template_is_refused_before_anything_is_paid_for(base: Path, tmp_path: Path) -> None:
    check_trainable(base)
    with pytest.raises(ConfigError, match="bare has no chat template") as caught:
        check_trainable(copied(base, tmp_path / "bare", "chat_template.jinja"))
    assert "chat_template.jinja" in caught.value.do
    with pytest.raises(ConfigError, match="can't be read"):
        check_trainable(copied(base, tmp_path / "none", "chat_template.jinja", "tokenizer_config.json"))


def test_a_revision_is_of_weights_and_tokenizer_and_of_no_other_file(base: Path, tmp_path: Path) -> None:
    same = copied(base, tmp_path / "same")
    (same / "README.md").write_text("hello")
    assert revision_of(same) == revision_of(base)
    other = copied(base, tmp_path / "other")
    (other / "tokenizer.json").write_text("{}")
    assert revision_of(other) != revision_of(base)
    with pytest.raises(ConfigError, match="is not a model"):
        revision_of(tmp_path)


def test_a_tokenizer_that_fails_or_loses_spaces_is_a_clear_end(base: Path, tmp_path: Path) -> None:
    broken = copied(base, tmp_path / "broken", tokenizer_json='{"model": 1}')
    with pytest.raises(ConfigError, match="tokenizer of broken fails"):
        trained_by(job(broken, tmp_path))
    told = json.loads((base / "tokenizer.json").read_text())
    told["decoder"] = None
    told["pre_tokenizer"] = {"type": "Whitespace"}
    lossy = copied(base, tmp_path / "lossy", tokenizer_json=json.dumps(told))
    with pytest.raises(ConfigError, match="does not give back what it reads"):
        trained_by(job(lossy, tmp_path))
    assert not (tmp_path / "model").exists()


def test_out_of_memory_is_a_clear_end_and_a_killed_trainer_goes_on_from_its_last_epoch(
    base: Path, tmp_path: Path
) -> None:
    assert is_memory(RuntimeError("can't start new thread")) and not is_memory(RuntimeError("no such file"))
    with pytest.raises(TrainingError, match="not enough memory to train base") as caught:
        # what its libraries take beside the weights, once they begin to work, is more than that
        trained_by(job(base, tmp_path, memory_bytes=1 << 20, python=None))
    assert "--lora" in caught.value.do and not (tmp_path / "model").exists()

    def kill(said: Mapping[str, Any]) -> None:
        if said.get("step") == 3:  # the first of the second epoch
            found = subprocess.run(
                ["pgrep", "-P", str(os.getpid()), "-f", "trainer.py"], capture_output=True, text=True
            )
            for pid in found.stdout.split():
                os.kill(int(pid), signal.SIGKILL)

    with pytest.raises(TrainingError, match="ended by signal 9"):
        trained_by(job(base, tmp_path, python=None), kill)
    assert not (tmp_path / "model").exists()
    said: list[Mapping[str, Any]] = []
    trained = trained_by(job(base, tmp_path), said.append)
    assert "checkpoint-2" in str(next(one["resumed"] for one in said if "resumed" in one))
    assert [one["step"] for one in said if "step" in one] == [3, 4] and trained["steps"] == 4
    assert {"trl", "transformers", "torch"} <= trained["versions"].keys() and trained["seed"] == 0
    again: list[Mapping[str, Any]] = []
    assert trained_by(job(base, tmp_path), again.append) == trained and not again, "it is not done twice"
    made = {file.name for file in (tmp_path / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja", "training.json"} <= made


def test_a_trainer_whose_starter_is_gone_ends_before_it_writes_anything(base: Path, tmp_path: Path) -> None:
    asked = job(base, tmp_path)
    asked.work.mkdir()
    (asked.work / "spec.json").write_text(json.dumps(asked.spec()))
    # as whoever started it was killed at once: the pipe has no other end any more
    command = [trainers_python(), PROGRAM, asked.work / "spec.json"]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ran.returncode == 1 and not asked.out.exists() and not (asked.work / "failed.json").exists(), ran.stderr


def test_a_trained_model_ends_its_answers_where_the_first_one_did(base: Path, tmp_path: Path) -> None:
    told: dict[str, Any] = json.loads((base / "tokenizer_config.json").read_text())
    given = copied(base, tmp_path / "base", tokenizer_config_json=json.dumps({**told, "eos_token": "<s>"}))
    asked = job(given, tmp_path, epochs=1)
    trained_by(asked)
    for name in ("config.json", "generation_config.json"):
        assert (asked.out / name).read_bytes() == (base / name).read_bytes(), "not as the tokenizer says"


@pytest.mark.parametrize(("seen", "one"), [(None, "0"), ("2,3", "2"), ("GPU-a,GPU-b", "GPU-a"), ("", "")])
def test_a_step_has_its_rows_however_many_gpus_there_are(
    seen: str | None, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seen is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    on_one_gpu()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == one


def test_an_interpreter_that_cannot_be_started_is_refused_before_anything_is_paid_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no program that can be started"):
        TrainingOptions(python=tmp_path / "python")
    odd = tmp_path / "odd"
    odd.write_text("#!/nowhere/python\n")
    odd.chmod(0o700)
    asked = TrainingJob(
        model=tmp_path, rows=odd, out=tmp_path / "out", work=tmp_path / "work", seed=0,
        options=TrainingOptions(python=odd),
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"can't be started with .*odd"):
        trained_by(asked)


def test_a_step_of_grpo_is_made_of_whole_groups() -> None:
    assert TrainingOptions(method="grpo", batch_size=32).group_of(24) == 16
    assert TrainingOptions(method="grpo", batch_size=5).group_of(24) == 5
    for batch, samples in ((5, 4), (1, 24), (32, 1)):
        with pytest.raises(ConfigError, match=r"(?s)grpo compares samples .*--batch-size"):
            TrainingOptions(method="grpo", batch_size=batch).group_of(samples)


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"learning_rate": 0.0}, {"batch_size": 0}, {"lora": -1}, {"method": "x"}, {"beta": -1.0}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="out of range"):
        TrainingOptions(**wrong)
