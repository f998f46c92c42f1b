"""What `groundwire improve` is asked for, and its runs of samples: a model, sets of tasks, and what came of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from groundwire.benchmarks import BENCHMARKS
from groundwire.cli._arms import Control, Main, RunArm
from groundwire.cli._graph_choice import SAMPLES, Builder
from groundwire.cli._run import SuiteRun
from groundwire.cli._suite import Suite, TaskSource
from groundwire.cli._tally import EndedEpisode, Tally
from groundwire.core._errors import ConfigError
from groundwire.core._paths import expand_user
from groundwire.core._settings import Settings
from groundwire.core._text import plural
from groundwire.evaluation._improvement import Shares, TaskShare
from groundwire.graphs.run._result import EXIT_CODES
from groundwire.memory import SqlStore
from groundwire.training._exporting import ExportReport
from groundwire.training._trajectories import Trajectory
from groundwire.training.improving._keeping import KeepingRules, Kept
from groundwire.training.improving._samples import CountedSample, TaskSamples
from groundwire.training.improving._training import TrainingOptions
from groundwire.training.rewards._judging import CASE_S

BROKEN = frozenset({5, 6, 7, 130})
"""Exit codes of episodes in which the model or the machine failed: they say nothing of the model."""
_SCHEME = re.compile(r"(vllm|vllm-server|transformers):(.+)", re.DOTALL)

# What is asked for.


class ModelPlace(NamedTuple):
    """A model's folder, and how it is asked.

    Args:
        scheme: `vllm`, `vllm-server` or `transformers`.
        folder: of the weights.
        options: what the model's form is told besides.
    """

    scheme: str
    folder: Path
    options: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, text: str) -> ModelPlace:
        """From `FOLDER`, `vllm:FOLDER?max_model_len=2048` or `transformers:FOLDER`.

        Raises:
            ConfigError: it is no folder of weights.
        """
        match = _SCHEME.fullmatch(text)
        scheme = match[1] if match else "vllm" if find_spec("vllm") else "transformers"
        rest, _, query = (match[2] if match else text).partition("?")
        folder = expand_user(rest)
        if not (folder / "config.json").is_file():
            raise ConfigError(
                f"{rest} is not a folder of weights: it has no config.json.",
                do="Only what lies here can be trained: give a folder in the Hugging Face layout, or vllm:FOLDER.",
            )
        return cls(scheme, folder.resolve(), tuple(parse_qsl(query, keep_blank_values=True)))

    def spec(self, folder: Path | None = None) -> str:
        """As `--model` has it.

        Args:
            folder: other weights; an adapter is asked through these ones. None: these ones.
        """
        options = self.options
        if folder is not None and (folder / "adapter_config.json").is_file():
            options, folder = (*options, ("lora", str(folder))), None
        query = f"?{urlencode(options)}" if options else ""
        return f"{self.scheme}:{folder or self.folder}{query}"


def task_source(text: str, *, case_s: float = 0.0) -> TaskSource:
    """Tasks from a folder of them, or from a public benchmark: `NAME:DATA` or `NAME:DATA@SPLIT`.

    Args:
        text: as on the command line.
        case_s: see `TaskSource`.

    Raises:
        ConfigError, TaskError: there is no such thing.
    """
    name, colon, rest = text.partition(":")
    if colon and name in BENCHMARKS:
        data, _, split = rest.rpartition("@") if "@" in rest else (rest, "", "")
        source = TaskSource("bench", (expand_user(data),), name, split=split, case_s=case_s)
    else:
        source = TaskSource("folders", (expand_user(text),), case_s=case_s)
    source.check()
    return source


@dataclass(frozen=True, kw_only=True)
class Improve:
    """What is asked for; see the command's flags."""

    model: str
    tasks: str
    evals: Sequence[str]
    out: Path
    rounds: int = 2
    samples: int = 24
    eval_samples: int = 24
    temperature: float = 0.8
    answer_tokens: int = 512
    case_s: float = CASE_S
    graph: str = SAMPLES
    keeping: KeepingRules = field(default_factory=KeepingRules)
    training: TrainingOptions = field(default_factory=TrainingOptions)
    from_last: bool = False
    go_on: bool = False
    drop_overlaps: bool = False
    limit: int | None = None
    eval_limit: int | None = None
    at_once: int | None = None
    seed: int = 0
    settings: Settings = field(default_factory=Settings)

    def as_data(self) -> dict[str, Any]:
        """What must be the same where it is gone on with."""
        return {
            "model": self.model,
            "tasks": self.tasks,
            "evals": list(self.evals),
            "samples": self.samples,
            "eval_samples": self.eval_samples,
            "temperature": self.temperature,
            "answer_tokens": self.answer_tokens,
            "case_s": self.case_s,
            "graph": self.graph,
            "keeping": asdict(self.keeping),
            "training": self.training.as_data(),
            "from_last": self.from_last,
            "drop_overlaps": self.drop_overlaps,
            "limit": self.limit,
            "eval_limit": self.eval_limit,
            "seed": self.seed,
        }


@contextmanager
def served_rewards(source: TaskSource, settings: Settings) -> Generator[tuple[str, str]]:
    """Where a trainer of GRPO has its rewards from, and the token: `groundwire reward serve` in a process of its own.

    All that it judges is in the ledger, sealed.

    Raises:
        ConfigError: it can't be started.
    """
    command = [sys.executable, "-c", "from groundwire.cli import main; main()", "reward", "serve", "--record", "--json"]
    if source.kind == "bench":
        command += ["--bench", source.name, "--data", str(source.paths[0])]
        command += ["--split", source.split] if source.split else []
    else:
        command += [argument for path in source.paths for argument in ("--tasks", str(path))]
    for flag, value in (("--sandbox", settings.sandbox), ("--db", settings.db)):
        command += [flag, value] if value else []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            told: dict[str, Any] = json.loads(line) if line.startswith(b"{") else {}
            if "url" not in told:
                said = told.get("error", {}).get("what", "no word")
                raise ConfigError(f"The server of rewards did not start: {said}", do="Try  groundwire reward serve")
            yield str(told["url"]), str(told["token"])
        finally:
            server.terminate()


# One run of samples.


class SampleTally(Tally):
    """A bar that moves, and no line an episode."""

    broken = ""
    """What the first episode said in which the model or the machine failed."""

    def ended(self, result: EndedEpisode, split: str, *, seed: int) -> None:
        """One more episode."""
        self.tokens += result.tokens
        self.usd += result.usd
        if EXIT_CODES[result.stop_reason] in BROKEN and not self.broken:
            self.broken = str(result.error or result.detail or result.stop_reason)
        self._count(result.stop_reason)


class SampleRun(SuiteRun):
    """A model's samples of one set of tasks, in the ledger.

    Args:
        suite: what is run.
        about: of the improvement, for the run's record.
        name: for people.
    """

    go_on = "groundwire resume"

    def __init__(
        self,
        suite: Suite,
        about: Mapping[str, Any],
        name: str,
        *,
        as_json: bool,
        run_id: str = "",
    ) -> None:
        super().__init__(suite, as_json=as_json, run_id=run_id)
        self._about = about
        self._named = name
        self.used: Main | None = None

    async def ran(self) -> Main:
        """Runs what has not ended."""
        await self._all()
        assert self.used is not None
        return self.used

    def main(self, builder: Builder, store: SqlStore) -> Main:
        """See `SuiteRun`."""
        self.used = super().main(builder, store)
        return self.used

    def tally(self, arm: RunArm, episodes: int) -> Tally:
        """See `SuiteRun`."""
        return SampleTally(self._named, episodes, self.console, as_json=self.as_json)

    def config(self) -> Mapping[str, Any]:
        """See `SuiteRun`."""
        return self._about

    def head(self, tasks: int) -> str:
        """See `SuiteRun`."""
        return f"{self._named}   {plural(tasks, 'task')} × {self.suite.settings.width} samples"

    async def last_lines(self, main: Main, controls: Sequence[Control]) -> None:
        """See `SuiteRun`: what it came to is told with the round."""


@dataclass(frozen=True)
class SampledSet:
    """What a model's samples of a set of tasks came to.

    Args:
        run: the run's id.
        samples: the judged answers.
        tasks: by task.
        trajectories: the episodes.
        seconds: that it took just now; 0: it had been done before.
    """

    run: str
    samples: Sequence[CountedSample]
    tasks: Mapping[str, TaskSamples]
    trajectories: Sequence[Trajectory]
    seconds: float

    @property
    def shares(self) -> Shares:
        """As evaluation reads them."""
        return {name: TaskShare(samples=one.samples, right=one.right) for name, one in self.tasks.items()}


@dataclass
class ImprovedRound:
    """One model of the loop, and what became of it.

    Args:
        number: 0: what it began with.
        place: its folder.
        revision: of its weights.
        evaluated: by name of the eval set.
        sampled: the training tasks, where they were sampled.
        kept: what it was trained on.
        report: of the export of that.
        rows_digest: sha256 of the rows' file.
        trained: what the training came to.
        seconds: by stage.
    """

    number: int
    place: Path
    revision: str
    evaluated: dict[str, SampledSet] = field(default_factory=dict[str, SampledSet])
    sampled: SampledSet | None = None
    kept: Kept | None = None
    report: ExportReport | None = None
    rows_digest: str = ""
    trained: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
