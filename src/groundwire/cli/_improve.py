"""`groundwire improve`: samples, judges, keeps what is verified, trains, evaluates, and goes on; each step once.

Every sample and verdict is in the ledger, in runs that name the improvement, the round and the set of tasks. What was
done is found there and in the folder, so that the same command goes on wherever it was ended.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.benchmarks import Item
from groundwire.cli._arms import Main
from groundwire.cli._graph_choice import SAMPLES
from groundwire.cli._improve_parts import (
    BROKEN,
    Improve,
    ImprovedRound,
    ModelPlace,
    SampledSet,
    SampleRun,
    SampleTally,
    served_rewards,
    task_source,
)
from groundwire.cli._improve_report import best_of, held_out, report_of, together, write_report, write_whole
from groundwire.cli._repair import open_store, unique_run
from groundwire.cli._suite import Shard, Suite, TaskSource, chosen
from groundwire.cli._text import print_line
from groundwire.core._errors import ConfigError, ModelRejected, SealError
from groundwire.core._ids import new_id
from groundwire.core._masking import telling_lines, texts_of
from groundwire.core._paths import expand_user
from groundwire.core._records import EpisodeEnd, RunEnd, RunRecord
from groundwire.core._signals import canonical
from groundwire.core._tasks import Task
from groundwire.core._text import plain, plural
from groundwire.evaluation._improvement import SelfTraining, gain_of, mean_share
from groundwire.evaluation._measuring import as_data
from groundwire.graphs.run._result import EXIT_CODES
from groundwire.memory import SqlStore
from groundwire.training._catalogue import form
from groundwire.training._exporting import ExportReport, ExportRules, export
from groundwire.training._leaks import Leaks
from groundwire.training._runs import trajectories_of
from groundwire.training._schema import Options
from groundwire.training._trajectories import Flaw
from groundwire.training._writing import opened
from groundwire.training.improving._keeping import Kept, kept_of
from groundwire.training.improving._overlap import EvalTexts
from groundwire.training.improving._samples import diversity, samples_of
from groundwire.training.improving._training import TrainingJob, check_trainable, revision_of, train

STATE = "improve.json"
MOST_BROKEN = 0.1
"""Share of episodes in which the model or the machine failed, from which a run is no measurement."""
RUNS_LOOKED_AT = 2000
SEEDS_APART = 100_003
"""Between the seeds of two rounds."""
FORMS = {"sft": "sft", "dpo": "dpo", "kto": "kto", "grpo": "rlvr"}
"""Of each method, the export that it reads."""


class Improvement:
    """The loop from its first model to its report.

    Args:
        asked: what is asked for.
        as_json: for scripts: a JSON object a line.
    """

    def __init__(self, asked: Improve, *, as_json: bool) -> None:
        self.asked = asked
        self.as_json = as_json
        self.console = Console(stderr=as_json, highlight=False)
        self.out = expand_user(asked.out)
        self.base = ModelPlace.of(asked.model)
        self.rounds: list[ImprovedRound] = []
        self.stopped = ""
        self._id = ""
        self._seconds: dict[str, float] = {}
        self._backend: Any = None

    def blocking(self) -> int:
        """Runs it.

        Returns:
            0; 1 where it ended before its last round, and the report says why.
        """
        try:
            return asyncio.run(self._all())
        except KeyboardInterrupt:
            self.say("interrupted; everything so far is kept: the same command goes on from here", "yellow")
            return 130

    def say(self, text: str, style: str = "") -> None:
        """A line for people."""
        self.console.print(Text(plain(text, limit=1000), style=style), soft_wrap=True)

    def tell(self, kind: str, **told: Any) -> None:
        """A line for scripts."""
        if self.as_json:
            print_line({"type": kind, **told})

    async def _all(self) -> int:
        asked = self.asked
        check_trainable(self.base.folder)
        if asked.training.method == "grpo":
            asked.training.group_of(asked.samples)
        self.train_items = chosen(self._source(asked.tasks).items(), asked.limit, Shard())
        self.eval_items = {name: chosen(self._source(name).items(), asked.eval_limit, Shard()) for name in asked.evals}
        self._check_overlap()
        self._claim()
        try:
            return await self._rounds()
        finally:
            await self._let_go()

    def _source(self, text: str) -> TaskSource:
        return task_source(text, case_s=self.asked.case_s)

    # --- before anything is paid for

    def _check_overlap(self) -> None:
        every = [item.task for items in self.eval_items.values() for item in items]
        self.texts = EvalTexts([item.task for item in self.train_items], every)
        found = self.texts.overlaps
        if found and not self.asked.drop_overlaps:
            shown = ", ".join(f"{one.task} is {one.of} ({100 * one.share:.0f} % alike)" for one in found[:3])
            raise ConfigError(
                f"The eval set overlaps with the training tasks: {plural(len(found), 'task')}: {shown}.",
                do="Take them out, or let them be left out of the training tasks:  --drop-overlaps",
            )
        gone = {one.task for one in found}
        self.train_items = [item for item in self.train_items if item.task.id not in gone]
        if not self.train_items:
            raise ConfigError("No training task is left that is not in the eval set.", do="Name other tasks.")
        if gone:
            self.say(f"left out of the training tasks, since the eval set has them: {len(gone)}", "yellow")

    def _claim(self) -> None:
        """The folder is this improvement's, and stays it."""
        self.out.mkdir(parents=True, exist_ok=True)
        state = self.out / STATE
        wanted = self.asked.as_data()
        if not state.is_file():
            if any(self.out.iterdir()):
                raise ConfigError(f"{self.out} is not empty, and no improvement's.", do="Name another folder.")
            self._id = new_id()
            write_whole(state, json.dumps({"id": self._id, "asked": wanted}, indent=2))
            return
        told: dict[str, Any] = json.loads(state.read_text())
        self._id = str(told["id"])
        known: dict[str, Any] = told["asked"]
        if odd := sorted(name for name in wanted if wanted[name] != known.get(name)):
            raise ConfigError(
                f"{self.out} holds an improvement that was asked for with another {', '.join(odd)}.",
                do="Give the same options, or another folder with --out.",
            )
        self._seconds = dict(told.get("seconds", {}))
        self.say(f"going on with improvement {self._id}", "dim")

    # --- rounds

    async def _rounds(self) -> int:
        asked = self.asked
        current = ImprovedRound(0, self.base.folder, revision_of(self.base.folder))
        while True:
            self.rounds.append(current)
            for name, items in self.eval_items.items():
                current.evaluated[name] = await self._sampled(current, name, items, asked.eval_samples)
            last = current.number >= asked.rounds
            if not last or asked.keeping.arm != "verified":
                current.sampled = await self._sampled(current, "train", self.train_items, asked.samples)
            self._tell_round(current)
            if last:
                break
            if why := self._why_stop():
                self.stopped = why
                break
            rows = await self._kept(current.number + 1)
            if rows is None:
                break
            current = await self._trained(current, rows)
        self._finish()
        return 1 if self.stopped else 0

    def _why_stop(self) -> str:
        sampled = [one.sampled for one in self.rounds if one.sampled is not None]
        first = sampled[0].tasks.values()
        several = [one for one in first if sum(one.programs.values()) > 1]
        if len(self.rounds) == 1 and several and all(len(one.programs) == 1 for one in several):
            return "all samples of every task are one program: there is nothing to choose from; raise --temperature"
        training = SelfTraining(
            trained_on=[mean_share(one.shares) for one in sampled],
            kept=[self._acceptance(one) for one in sampled],
            diversity=[diversity(one.tasks.values()) for one in sampled],
            evaluated=[together(one) for one in self.rounds],
        )
        why = training.why_stop()
        if why and self.asked.go_on:
            self.say(f"warning: {why}; going on, as asked", "yellow")
            return ""
        return why

    def _acceptance(self, sampled: SampledSet) -> float:
        """Share of a round's samples that its arm lets through."""
        rules = replace(self.asked.keeping, per_task=len(sampled.samples) or 1, easy=2.0)
        drawn = sum(one.samples for one in sampled.tasks.values())
        return len(kept_of(sampled.samples, rules).turns) / drawn if drawn else 0.0

    async def _sampled(self, of: ImprovedRound, name: str, items: Sequence[Item], samples: int) -> SampledSet:
        """Samples of a set of tasks by a round's model, from the ledger where they are there."""
        asked = self.asked
        about: dict[str, Any] = {
            "improve": {
                "id": self._id,
                "round": of.number,
                "set": name,
                "rows_digest": of.rows_digest,
                "trained": dict(of.trained),
            },
            "model_revision": of.revision,
        }
        opinions = asked.keeping.arm == "model-judged" and name == "train"
        place = list(self.eval_items).index(name) if name in self.eval_items else len(self.eval_items)
        seed = asked.seed + SEEDS_APART * (1 + of.number) + place
        settings = asked.settings.model_copy(
            update={
                "model": self.base.spec(of.place if of.number else None),
                "width": samples,
                "max_trials": asked.settings.max_trials or 1,
                "seed": seed,
                "rejudge": 0 if asked.settings.rejudge is None else asked.settings.rejudge,
            }
        )
        own = {"temperature": asked.temperature, "answer_tokens": asked.answer_tokens}
        if opinions:
            own["opinions"] = True
        # whoever asks the same of the same weights is given the same samples, so that controls share their first round
        drawn = [[item.task.id, item.task.tree.digest] for item in items]
        told = [of.revision, drawn, samples, seed, asked.graph, own, settings.max_trials, asked.case_s]
        key = hashlib.sha256(canonical(told).encode()).hexdigest()
        about["improve"]["key"] = key
        suite = Suite(
            graph=asked.graph,
            source=self._source(asked.tasks if name == "train" else name),
            settings=settings,
            limit=asked.limit if name == "train" else asked.eval_limit,
            select="last",
            at_once=asked.at_once,
            graph_options=own if asked.graph == SAMPLES else {},
        )
        named = f"round {of.number}, {'training tasks' if name == 'train' else name}"
        async with aclosing(open_store(settings)) as store:
            run, is_over = await _known(store, key)
            seconds = 0.0
            if not is_over:
                started = time.monotonic()
                working = SampleRun(suite, about, named, as_json=self.as_json, run_id=run.id if run else "")
                main = await working.ran()
                await self._keep(main.parts.backend)
                seconds = time.monotonic() - started
                run = await unique_run(store, main.run_id)
                self._check_whole(main, len(items))
            assert run is not None
            episodes = [trajectory async for trajectory in trajectories_of(store, [run])]
        wanted = {item.task.id for item in items}
        episodes = [one for one in episodes if one.task in wanted]
        if broken := next((one for one in episodes if Flaw.BROKEN_SEAL in one.flaws), None):
            raise SealError(
                f"A signal of episode {broken.episode} is not what was sealed.", do="See  groundwire verify RUN"
            )
        judged, tasks = samples_of(episodes)
        self._took(of, "sample" if name == "train" else f"evaluate {name}", seconds)
        return SampledSet(run.id, judged, tasks, episodes, seconds)

    def _check_whole(self, main: Main, tasks: int) -> None:
        tally = main.tally
        assert isinstance(tally, SampleTally)
        broken = sum(count for reason, count in tally.reasons.items() if EXIT_CODES[reason] in BROKEN)
        if broken > MOST_BROKEN * tasks:
            raise ModelRejected(
                f"In {broken} of {plural(tasks, 'episode')} the model or the machine failed: {tally.broken}",
                do="Nothing is measured by these. Mend it; the same command runs them again.",
            )
        if tally.done < tasks:
            raise ConfigError("The run's total budget is used up.", do="Raise it; the same command goes on.")

    async def _keep(self, backend: Any) -> None:
        """One engine at a time, for as long as its model is asked: starting it takes longer than most answers."""
        if self._backend is not None and self._backend.model != backend.model:
            await self._let_go()
        elif self._backend is not None:
            return
        self._backend = backend

    async def _let_go(self) -> None:
        backend, self._backend = self._backend, None
        if hasattr(backend, "aclose"):
            await backend.aclose()

    def _took(self, of: ImprovedRound, stage: str, seconds: float) -> None:
        """Keeps how long a stage took, in whichever process did it; a stage that was cut off counts from its last
        start."""
        key = f"{of.number} {stage}"
        if seconds:
            self._seconds[key] = round(seconds, 2)
            state = self.out / STATE
            told: dict[str, Any] = json.loads(state.read_text())
            write_whole(state, json.dumps({**told, "seconds": self._seconds}, indent=2))
        if key in self._seconds:
            of.seconds[stage] = self._seconds[key]

    # --- what is trained on

    async def _kept(self, number: int) -> tuple[Path, Kept, ExportReport] | None:
        asked = self.asked
        sampled = [one.sampled for one in self.rounds if one.sampled is not None]
        samples = [sample for one in sampled for sample in one.samples]
        rules = replace(
            asked.keeping, seed=asked.seed, with_failed=asked.training.method == "kto", per_task=self._per_task(number)
        )
        kept = kept_of(samples, rules)
        folder = self.out / f"round-{number}"
        folder.mkdir(exist_ok=True)
        file = folder / "rows.jsonl"
        kind = form(FORMS[asked.training.method])
        # questions, for a method that samples anew, are those of the model that is trained further
        grpo = asked.training.method == "grpo"
        episodes = [trajectory for one in (sampled[-1:] if grpo else sampled) for trajectory in one.trajectories]
        self.texts.refused.clear()
        with opened(file, kind) as sink:
            report = export(
                kind,
                episodes,
                sink,
                options=Options(keep_failed=rules.arm != "verified" or asked.training.method in ("dpo", "kto")),
                rules=ExportRules(
                    leaks=Leaks(secrets=_secrets(self.train_items)),
                    filters=[kept, self.texts],
                ),
            )
        if not report.rows:
            drawn = sum(one.samples for each in sampled for one in each.tasks.values())
            right = sum(sample.right for sample in samples)
            what = f"of {plural(drawn, 'sample')} {right} are right" if rules.arm == "verified" else rules.arm
            self.stopped = (
                f"no row is left to train on ({what}): draw more samples (--samples), take easier tasks or a larger"
                " model"
            )
            return None
        self.say(
            f"round {number}: "
            + (
                plural(report.rows, "question")
                if grpo
                else f"{plural(report.rows, 'row')} of {plural(len(kept.tasks), 'task')}"
            )
            + (f", {kept.wanted} wanted" if report.rows < kept.wanted else ""),
            "dim",
        )
        return file, kept, report

    def _per_task(self, number: int) -> int:
        """A later round has the right samples of all before it, and room for half as many more."""
        most = self.asked.keeping.per_task
        return most + (number - 1) * max(1, most // 2)

    async def _trained(self, before: ImprovedRound, rows: tuple[Path, Kept, ExportReport]) -> ImprovedRound:
        asked = self.asked
        file, kept, report = rows
        await self._let_go()  # a trainer wants the memory that an engine holds
        folder = file.parent
        further = before.place if asked.from_last and before.number else None
        adapter = further if further and (further / "adapter_config.json").is_file() else None
        job = TrainingJob(
            model=self.base.folder if adapter or further is None else further,
            adapter=adapter,
            rows=file,
            out=folder / "model",
            work=folder / "training",
            seed=asked.seed,
            options=asked.training,
        )
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        started = time.monotonic()
        is_new = not (job.out / "training.json").is_file()
        with self.console.status("training: starting") as status:

            def progress(said: Mapping[str, Any]) -> None:
                if "step" in said:
                    status.update(f"training: step {said['step']} of {said['steps']}, loss {float(said['loss']):.3f}")
                    self.tell("training", round=before.number + 1, **said)

            trained = await self._train(job, progress)
        after = ImprovedRound(
            before.number + 1, job.out, revision_of(job.out), kept=kept, report=report, rows_digest=digest
        )
        after.trained = trained
        self._took(after, "train", time.monotonic() - started if is_new else 0.0)
        self.say(
            f"round {after.number}: {plural(int(trained['steps']), 'step')} trained, loss {float(trained['loss']):.3f}",
            "dim",
        )
        return after

    async def _train(self, job: TrainingJob, progress: Callable[[Mapping[str, Any]], None]) -> Mapping[str, Any]:
        asked = self.asked
        if job.options.method != "grpo" or (job.out / "training.json").is_file():
            return await train(job, progress)
        with served_rewards(task_source(asked.tasks), asked.settings) as (url, token):
            more = {
                "reward_url": url,
                "group": job.options.group_of(asked.samples),
                "max_completion": asked.answer_tokens,
                "temperature": asked.temperature,
            }
            return await train(replace(job, more=more, token=token), progress)

    # --- what it came to

    def _tell_round(self, one: ImprovedRound) -> None:
        for name, each in one.evaluated.items():
            share = mean_share(each.shares)
            gain = gain_of(self.rounds[0].evaluated[name].shares, each.shares)
            self.tell("round", round=one.number, set=name, run=each.run, right=share, **_numbers(gain))
            self.say(
                f"round {one.number}  {name}: " + (gain.sentence() if one.number else f"{100 * share:.1f} % right")
            )

    def _finish(self) -> None:
        report = report_of(
            self.asked,
            self.rounds,
            improvement=self._id,
            stopped=self.stopped,
            best=best_of(self.rounds, self.stopped),
            held_out=held_out(self.rounds, self.texts),
        )
        handed = self.rounds[report.best].place
        write_report(self.out, report, handed)
        if self.stopped:
            self.say(f"ended: {self.stopped}", "bold yellow")
        self.say(f"report: {self.out / 'report.html'}", "dim")
        self.say(f"use it:  --model {self.base.spec(handed if report.best else None)}", "dim")
        self.tell("summary", exit_code=1 if self.stopped else 0, **as_data(report))


def improve(asked: Improve, *, as_json: bool) -> int:
    """Improves a model.

    Returns:
        0; 1 where it ended before its last round, and the report says why.

    Raises:
        ConfigError, TaskError: something is missing or wrong; nothing was paid for.
        GroundwireError: a training failed, or the model could not be asked; the same command goes on.
    """
    return Improvement(asked, as_json=as_json).blocking()


async def _known(store: SqlStore, key: str) -> tuple[RunRecord | None, bool]:
    """The run of these samples, where it has begun, and whether it is over; one that broke does not count."""
    for run in await store.runs(limit=RUNS_LOOKED_AT):
        config: dict[str, Any] = json.loads(run.config)
        about: dict[str, Any] = config.get("improve") or {}
        if about.get("key") != key:
            continue
        ends = await store.ends(run.id)
        over = any(isinstance(end, RunEnd) for end in ends)
        codes = [EXIT_CODES[end.stop_reason] for end in ends if isinstance(end, EpisodeEnd)]
        if over and sum(code in BROKEN for code in codes) > MOST_BROKEN * len(codes):
            continue
        return run, over
    return None, False


def _secrets(items: Sequence[Item]) -> Sequence[str]:
    """Telling lines of the hidden tests, which no row may hold."""
    found: dict[str, None] = {}
    for task in (item.task for item in items):
        found |= dict.fromkeys(_hidden_lines(task))
    return tuple(found)


def _hidden_lines(task: Task) -> Sequence[str]:
    if task.hidden is None:
        return ()
    shown = "\n".join(texts_of(task.tree))
    return [line for line in telling_lines(texts_of(task.hidden.tree)) if line not in shown]


def _numbers(gain: Any) -> dict[str, Any]:
    return {name: getattr(gain, name) for name in ("tasks", "difference", "low", "high", "ratio", "p")}
