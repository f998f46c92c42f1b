"""Starts a training in a process of its own, follows it, and says what is wrong in words that help."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from groundwire.core._errors import ConfigError, GroundwireError, TrainingError
from groundwire.core._text import plain

Method = Literal["sft", "dpo", "kto", "grpo"]
METHODS: tuple[Method, ...] = ("sft", "dpo", "kto", "grpo")
PROGRAM = Path(__file__).with_name("trainer.py")
WEIGHTS = ("*.safetensors", "*.bin", "config.json", "adapter_config.json", "tokenizer.json", "chat_template.jinja")
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRL_EXPERIMENTAL_SILENCE": "1",
}
"""Nothing is fetched: what is trained lies in a folder."""
TAIL = 1500
"""Characters of the trainer's last words that are shown."""
LONGEST_LINE = 16 << 20
"""Bytes of a line that a library may write among the trainer's own."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How a model is trained.

    Args:
        method: the trainer's.
        lora: rank of a LoRA adapter on all linear layers; 0: all weights are trained.
        merge: the adapter is merged into the weights; False: the folder holds the adapter alone.
        epochs: times that each row is seen.
        learning_rate: at its highest.
        batch_size: rows of one step; where memory is short, several smaller batches make one.
        max_length: tokens of a row; what is longer is cut off.
        beta: of DPO, KTO and GRPO: how near the model stays to what it was.
        memory_bytes: the most that the training may take beyond what its libraries take; 0: no limit.
        python: interpreter that the trainers are installed for; None: this one.
        environment: further variables of the trainer's process.
    """

    method: Method = "sft"
    lora: int = 0
    merge: bool = True
    epochs: int = 3
    learning_rate: float = 5e-5
    batch_size: int = 32
    max_length: int = 1024
    beta: float = 0.1
    memory_bytes: int = 0
    python: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Raises:
        ConfigError: a number is out of range.
        """
        wrong = {
            "--epochs": self.epochs < 1,
            "--learning-rate": not 0 < self.learning_rate < 1,
            "--batch-size": self.batch_size < 1,
            "--max-length": self.max_length < 16,
            "--lora": self.lora < 0,
            "--method": self.method not in METHODS,
            "--beta": self.beta < 0,
        }
        if found := [flag for flag, is_wrong in wrong.items() if is_wrong]:
            raise ConfigError(f"{found[0]} is out of range.", do="See  groundwire improve --help")
        if self.python is not None and not os.access(self.python, os.X_OK):
            raise ConfigError(
                f"{self.python} is no program that can be started.",
                do="Name an interpreter that has the trainers with --trainer-python, or leave it out for this one.",
            )
        if self.method == "kto" and self.batch_size < 2:
            raise ConfigError("kto compares the rows of a step with each other.", do="Give  --batch-size 2  or more.")

    def group_of(self, samples: int) -> int:
        """How many samples of a task GRPO compares: as many as are drawn, or fewer, so that groups fill a step.

        Args:
            samples: of a task that are drawn.

        Raises:
            ConfigError: no group of two or more does.
        """
        fitting = (n for n in range(min(samples, self.batch_size), 1, -1) if self.batch_size % n == 0)
        if not (found := next(fitting, 0)):
            raise ConfigError(
                f"grpo compares samples of a task in a step: no group of 2 to {samples} fills {self.batch_size} rows.",
                do="Give a --batch-size that is a multiple of --samples, and at least 2 of these.",
            )
        return found

    def as_data(self) -> dict[str, Any]:
        """What makes one training differ from another."""
        kept = asdict(self)
        for name in ("python", "environment", "memory_bytes"):
            del kept[name]
        return kept


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """One training.

    Args:
        model: folder of the weights that it begins with.
        rows: JSON lines, as `groundwire export` writes them.
        out: the folder that it makes.
        work: its spec, checkpoints and log.
        seed: of the order of rows and all that is random.
        options: how.
        adapter: folder of an adapter of that model which is trained further; None: a new one, where one is asked for.
        more: what GRPO is told besides: where rewards come from, how many samples of a task and how (`trainer.py`).
        token: of the server that rewards.
    """

    model: Path
    rows: Path
    out: Path
    work: Path
    seed: int
    options: TrainingOptions
    adapter: Path | None = None
    more: Mapping[str, Any] | None = None
    token: str = ""

    def spec(self) -> dict[str, Any]:
        """What the program is told."""
        places = {name: str(getattr(self, name).resolve()) for name in ("model", "rows", "out", "work")}
        own = self.options.as_data() | {"memory_bytes": self.options.memory_bytes, "warmup_steps": 0}
        adapter = str(self.adapter.resolve()) if self.adapter else ""
        return {**places, "adapter": adapter, "seed": self.seed, **own, **(self.more or {})}


async def train(job: TrainingJob, progress: Callable[[Mapping[str, Any]], None]) -> Mapping[str, Any]:
    """Trains, where that was not done before; a training that was cut off goes on from its last epoch. Cancelled, it
    ends the trainer.

    Args:
        job: what is to be trained.
        progress: told of each step.

    Returns:
        What it came to: steps, loss, seconds, versions.

    Raises:
        ConfigError: the model has no chat template, its tokenizer fails, there is no row, a package is missing.
        TrainingError: there was not enough memory, or the trainer failed or was ended.
    """
    if (job.out / "training.json").is_file():
        return json.loads((job.out / "training.json").read_text())
    job.work.mkdir(parents=True, exist_ok=True)
    spec = job.work / "spec.json"
    spec.write_text(json.dumps(job.spec(), indent=2))
    command = [str(job.options.python or sys.executable), str(PROGRAM), str(spec)]
    environment = {**os.environ, **QUIET, **dict(job.options.environment)}
    if job.token:
        environment["GROUNDWIRE_REWARD_TOKEN"] = job.token
    log = job.work / "trainer.log"
    pipe = asyncio.subprocess.PIPE
    with log.open("ab") as errors:
        try:
            # its input stays open for as long as this process is there, and tells it so
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=errors, env=environment, limit=LONGEST_LINE
            )
        except OSError as error:
            raise ConfigError(
                f"The trainer can't be started with {command[0]}: {error.strerror}.",
                do="Name another interpreter:  --trainer-python PYTHON",
            ) from error
    try:
        assert process.stdout is not None
        async for line in process.stdout:
            if (said := _line(line)) is not None:
                progress(said)
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code or not (job.out / "training.json").is_file():
        raise _failure(job, code, log)
    return json.loads((job.out / "training.json").read_text())


def _line(line: bytes) -> Mapping[str, Any] | None:
    """A line of progress; a library's own words are none."""
    try:
        said: object = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None  # pyright: ignore[reportUnknownVariableType]


ADVICE: Mapping[str, tuple[str, str]] = {
    "chat_template": (
        "{model} has no chat template, so it can be neither asked nor trained by messages",
        "Take a model that is tuned for instructions, or put a chat_template.jinja into its folder.",
    ),
    "tokenizer": (
        "The tokenizer of {model} fails",
        "Load it with the version of transformers that it was saved with, and see that what it reads comes back.",
    ),
    "rows": ("There is nothing to train {model} on", "See what was left out, and why, in the report."),
    "model": ("{model} can't be loaded", "See that its folder is whole: config.json, *.safetensors, tokenizer files."),
    "package": (
        "A package that trains is missing",
        'pip install "groundwire[improve]", or name an interpreter that has it:  --trainer-python',
    ),
    "memory": (
        "There is not enough memory to train {model}, even row by row",
        "Train an adapter (--lora 16), cut rows off sooner (--max-length), or use a machine with more memory.",
    ),
}


def _failure(job: TrainingJob, code: int, log: Path) -> GroundwireError:
    try:
        told: dict[str, str] = json.loads((job.work / "failed.json").read_text())
    except (OSError, ValueError):
        told = {}
    kind, detail = told.get("kind", ""), plain(told.get("detail", ""), limit=400)
    if kind in ADVICE:
        what, do = ADVICE[kind]
        what = f"{what.format(model=job.model.name)}: {detail}" if detail else what.format(model=job.model.name)
        return TrainingError(what, do=do) if kind == "memory" else ConfigError(what, do=do)
    if code < 0:
        return TrainingError(
            f"The trainer was ended by signal {-code}"
            + (", as a machine that runs out of memory does." if code == -9 else "."),
            do="The same command goes on from its last epoch. Its log: " + str(log),
        )
    tail = log.read_bytes()[-TAIL:].decode("utf-8", "replace") if log.is_file() else ""
    said = detail or plain(tail.strip().splitlines()[-1] if tail.strip() else "no word", limit=400)
    return TrainingError(f"The trainer failed: {said}", do=f"See its log: {log}. The same command tries it again.")


def revision_of(folder: Path) -> str:
    """sha256 over a model folder's weights, configuration and tokenizer: what makes it answer as it does.

    Raises:
        ConfigError: the folder holds no model.
    """
    files = sorted({path for pattern in WEIGHTS for path in folder.glob(pattern)})
    if not any(path.name in ("config.json", "adapter_config.json") for path in files):
        raise ConfigError(
            f"{folder} is not a model: it has no config.json.",
            do="Give a folder in the Hugging Face layout (config.json, *.safetensors, tokenizer files).",
        )
    whole = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{path.name} {digest}\n".encode())
    return whole.hexdigest()


def check_trainable(folder: Path) -> None:
    """Says before anything is paid for if a model can't be trained: it has no chat template.

    Raises:
        ConfigError: why.
    """
    if (folder / "chat_template.jinja").is_file():
        return
    try:
        told: dict[str, Any] = json.loads((folder / "tokenizer_config.json").read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The tokenizer of {folder.name} can't be read: {error}.",
            do="See that its folder holds tokenizer_config.json and tokenizer.json.",
        ) from error
    if not told.get("chat_template"):
        what, do = ADVICE["chat_template"]
        raise ConfigError(f"{what.format(model=folder.name)}.", do=do)
