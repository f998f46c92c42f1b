"""A grounded loop as inspect_ai's solver, its sealed verdict as a score, and tasks both ways."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from groundwire.agents import LLMActor, LLMCritic
from groundwire.benchmarks.answers._key import question_task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ActorContext, Critic, Tool
from groundwire.core._errors import ConfigError, ModelRejected, SealError, TaskError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._records import StopReason
from groundwire.core._seal import FileKeys, verify
from groundwire.core._signals import Signal, Verdict
from groundwire.core._signing import signer
from groundwire.core._tasks import Task
from groundwire.graphs import Budget, EpisodeResult, FeedbackApp, FeedbackGraph, SandboxOptions, code_repair
from groundwire.memory import SqlStore
from groundwire.tools import Check, HiddenTests, tool_for

KEPT = "groundwire"
"""Where a sample's store holds what the loop came to."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BROKEN = frozenset({StopReason.MODEL_ERROR, StopReason.INTERNAL_ERROR, StopReason.STORAGE_ERROR})
CheckFunction = Callable[[Candidate], object]
FailsOn = type[Exception] | tuple[type[Exception], ...]
PURPOSE = "groundwire/grounded_loop"
SCORER = "groundwire/sealed_verdict"


def inspect_part(module: str) -> Any:
    """A module of inspect_ai.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError("inspect_ai is not installed.", do='pip install "groundwire[inspect]"') from error


@dataclass(frozen=True)
class InspectBackend:
    """inspect_ai's model as a backend: its provider, its cache, its limits; each call is in its log and in our ledger.

    Args:
        name: as `get_model` takes it; empty: the one that is evaluated.
    """

    name: str = ""

    @property
    def model(self) -> str:
        """See `Backend`."""
        return str(self._model())

    def _model(self) -> Any:
        return inspect_part("inspect_ai.model").get_model(self.name or None)

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. What fails is inspect_ai's to try again, so nothing is worth another try here."""
        parts = inspect_part("inspect_ai.model")
        kinds = {
            "system": parts.ChatMessageSystem,
            "user": parts.ChatMessageUser,
            "assistant": parts.ChatMessageAssistant,
        }
        if odd := next((one.role for one in request.messages if one.role not in kinds), ""):
            raise ModelRejected(f"A message of the role {odd} can't be put to inspect_ai's model.", do="Use no tools.")
        asked = [kinds[one.role](content=one.content) for one in request.messages]
        config = parts.GenerateConfig(
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            stop_seqs=list(request.stop) or None,
            seed=request.seed,
        )
        limit: Any = inspect_part("inspect_ai.util").LimitExceededError
        try:
            outputs: list[Any] = [await self._model().generate(asked, config=config) for _ in range(request.n)]
        except limit:
            raise
        except Exception as error:  # a provider may raise anything
            raise ModelRejected(f"{self.model} failed: {error}", do="See inspect_ai's log.") from error
        if failed := next((output.error for output in outputs if output.error), ""):
            raise ModelRejected(f"{self.model} gave an error: {failed}", do="See inspect_ai's log.")
        usages = [output.usage for output in outputs if output.usage]
        costs = [usage.total_cost for usage in usages]
        return Completion(
            texts=tuple(output.completion for output in outputs),
            model=str(outputs[0].model),
            prompt_tokens=sum(usage.input_tokens for usage in usages),
            completion_tokens=sum(usage.output_tokens for usage in usages),
            usd=sum(costs) if usages and None not in costs else None,
            finish_reasons=tuple(str(output.stop_reason) for output in outputs),
        )

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`."""
        return await asyncio.gather(*(self.complete(request) for request in requests))

    def price(self, request: Request) -> float | None:
        """Unknown before: inspect_ai's own limits hold the cost."""
        return None


@dataclass(frozen=True)
class _Loop:
    """What a sample's episode is made of.

    Args:
        tasks: ours, by the id of their sample.
        check: judges the one answer of any other sample.
    """

    tasks: Mapping[str, Task]
    check: Tool | None
    trials: int
    reflect: bool
    sandbox: SandboxOptions
    db: str | None
    runs: dict[str, str]
    """The run of each way of judging, once its first episode has begun."""
    begun: asyncio.Lock

    def task(self, state: Any) -> Task:
        """The sample as a task of ours.

        Raises:
            TaskError: nothing outside of the model judges it.
        """
        known = self.tasks.get(str(state.sample_id))
        if known is not None:
            return known
        if self.check is None:
            raise TaskError(
                f"Nothing outside of the model judges sample {state.sample_id}.",
                do="Give grounded_loop(check=…), a function of the answer that does not know the target; or make the"
                " dataset of groundwire's tasks: inspect_task(tasks).",
            )
        return Task.of(state.input_text, id=str(state.sample_id), family="inspect")

    def graph(self, task: Task, actor: Actor, critic: Critic | None) -> FeedbackGraph:
        """The loop for a task."""
        if task.id in self.tasks:
            baseline = task.kind == "repair"
            return code_repair(actor, critic, tool_for(task.command), HiddenTests(), baseline=baseline)
        assert self.check is not None
        return FeedbackGraph.loop(actor, self.check, critic=critic, name="inspect_loop")

    async def run(self, task: Task, actor: Actor, critic: Critic | None) -> tuple[EpisodeResult, Mapping[str, Any]]:
        """Runs it, in the ledger, and says what it came to for the sample's store."""
        graph = self.graph(task, actor, critic)
        async with aclosing(SqlStore(self.db)) as store:
            app = graph.compile(store=store, budget=Budget(trials=self.trials), sandbox=self.sandbox)
            run_id = await self._run_of(graph.name, app)
            result = await app.arun(task, run_id=run_id, on_error="end")
        limit = result.error.__cause__ if result.error else None
        if limit is not None and isinstance(limit, inspect_part("inspect_ai.util").LimitExceededError):
            raise limit  # the sample's limit is inspect_ai's to tell of; the episode is in the ledger
        if result.error is not None and result.stop_reason in BROKEN:
            raise result.error  # nothing was found out about the model: inspect_ai decides whether it is tried again
        return result, _told(result)

    async def _run_of(self, name: str, app: FeedbackApp) -> str:
        async with self.begun:
            if name not in self.runs:
                self.runs[name] = await app.start_run({"by": PURPOSE})
            return self.runs[name]


def _loop(
    tasks: Iterable[Task],
    check: Tool | CheckFunction | None,
    trials: int,
    reflect: bool,
    sandbox: str | None,
    db: str | None,
    fails_on: FailsOn,
) -> _Loop:
    known = {task.id: task for task in tasks}
    return _Loop(
        tasks=known,
        check=_tool(check, fails_on),
        trials=trials,
        reflect=reflect,
        sandbox=SandboxOptions(kind=sandbox),
        db=db,
        runs={},
        begun=asyncio.Lock(),
    )


def _tool(check: Tool | CheckFunction | None, fails_on: FailsOn) -> Tool | None:
    if check is None or hasattr(check, "judge"):
        return cast("Tool | None", check)
    if fails_on:
        return Check(cast("Callable[[Candidate], object]", check), fails_on=fails_on, name="check")
    return Check(cast("Callable[[Candidate], bool | str]", check), name="check")


def grounded_loop(
    *,
    check: Tool | CheckFunction | None = None,
    tasks: Iterable[Task] = (),
    trials: int = 3,
    reflect: bool = True,
    model: str | Backend = "",
    sandbox: str | None = None,
    db: str | None = None,
    fails_on: FailsOn = (),
) -> Any:
    """A solver that tries again only after a sealed FAIL from outside of the model.

        Task(dataset=samples, solver=grounded_loop(check=compiles), scorer=sealed_verdict())

    Args:
        check: judges the one answer of a sample: a tool, or a function of the candidate as for
            `groundwire.tools.Check`. It must not know the target: that would be the answer key, steering.
        tasks: groundwire's tasks whose samples are in the dataset, by their ids (`inspect_task`): judged by their own
            tests, visible ones in the loop and hidden ones at the end.
        trials: tries of each sample.
        reflect: the model reflects on each failure first.
        model: a model of inspect_ai's, by name, or a backend of groundwire's; empty: the one that is evaluated.
        sandbox: where tests run, as `--sandbox` takes it.
        db: the ledger; None: the user's own.
        fails_on: exceptions of `check` that are a FAIL.

    Returns:
        A solver of inspect_ai. The sample's output is the last answer, and its store holds the verdict and the signal.

    Raises:
        ConfigError: inspect_ai is not installed, or nothing is named that judges.
    """
    loop = _loop(tasks, check, trials, reflect, sandbox, db, fails_on)
    if loop.check is None and not loop.tasks:
        raise ConfigError(
            "grounded_loop has nothing outside of the model that judges.",
            do="Give check=…, a function of the answer, or tasks=…, which bring their tests.",
        )
    parts = inspect_part("inspect_ai.solver")
    backend: Backend = InspectBackend(model) if isinstance(model, str) else model

    def made() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            task = loop.task(state)
            critic = LLMCritic(backend) if loop.reflect else None
            result, told = await loop.run(task, LLMActor(backend), critic)
            _put(state, task, result, told)
            return state

        return solve

    return parts.solver(PURPOSE)(made)()


def sealed_verdict(
    *,
    tasks: Iterable[Task] = (),
    check: Tool | CheckFunction | None = None,
    sandbox: str | None = None,
    db: str | None = None,
    fails_on: FailsOn = (),
) -> Any:
    """A scorer whose score is a sealed verdict: C for a PASS, I for a FAIL, and unscored where there is none.

    After `grounded_loop` it verifies the seal of what the loop came to. After any other solver it judges the answer
    itself, as the one file that the task lets be written. The metadata holds the signal and the run's public key, with
    which anybody can verify it (`groundwire.core.verify`).

    Args:
        tasks: as for `grounded_loop`.
        check: as for `grounded_loop`.
        sandbox: as for `grounded_loop`.
        db: as for `grounded_loop`.
        fails_on: as for `grounded_loop`.

    Returns:
        A scorer of inspect_ai, with its accuracy and standard error.

    Raises:
        ConfigError: inspect_ai is not installed.
    """
    loop = _loop(tasks, check, 1, False, sandbox, db, fails_on)
    scoring = inspect_part("inspect_ai.scorer")

    def made() -> Any:
        async def score(state: Any, target: Any) -> Any:
            told: Mapping[str, Any] | None = state.store.get(KEPT)
            if told is None:
                task = loop.task(state)
                _, told = await loop.run(task, _Given(state.output.completion), None)
            return _score(scoring, told)

        return score

    metrics = [scoring.accuracy(), scoring.stderr()]
    return scoring.scorer(metrics=metrics, name=SCORER)(made)()


def inspect_task(
    tasks: Iterable[Task],
    *,
    solver: Any = None,
    trials: int = 3,
    sandbox: str | None = None,
    db: str | None = None,
    **options: Any,
) -> Any:
    """groundwire's tasks as a task of inspect_ai: a sample each, scored by sealed verdicts.

    Args:
        tasks: with their tests.
        solver: another solver, whose answer is judged as the one file that a task lets be written; None:
            `grounded_loop`.
        trials: as for `grounded_loop`.
        sandbox: as for `grounded_loop`.
        db: as for `grounded_loop`.
        **options: of inspect_ai's `Task`.

    Raises:
        ConfigError: inspect_ai is not installed, or there is no task.
    """
    known = list(tasks)
    inspect_ai, data = inspect_part("inspect_ai"), inspect_part("inspect_ai.dataset")
    samples = [
        data.Sample(input=task.prompt, id=task.id, metadata={"family": task.family, "tree": task.tree.digest})
        for task in known
    ]
    solving = solver or grounded_loop(tasks=known, trials=trials, sandbox=sandbox, db=db)
    scorer = sealed_verdict(tasks=known, sandbox=sandbox, db=db)
    return inspect_ai.Task(dataset=samples, solver=solving, scorer=scorer, **options)


def tasks_of_dataset(dataset: Iterable[Any], *, family: str = "inspect") -> list[Task]:
    """The samples of a dataset of inspect_ai as tasks: questions, whose target is the answer key.

    The key judges once, at the end, and steers only where that is asked for; with choices the answer is a letter.

    Args:
        dataset: samples with a target.
        family: tasks that share lessons.

    Raises:
        TaskError: a sample has no target, or files and a sandbox of its own.
    """
    found: list[Task] = []
    for number, sample in enumerate(dataset, start=1):
        id = str(number if sample.id is None else sample.id)
        if sample.files or sample.setup:
            raise TaskError(f"Sample {id} has files of its own, which its sandbox alone holds.", do="Leave it out.")
        targets = [one for one in ([sample.target] if isinstance(sample.target, str) else sample.target) if one.strip()]
        if not targets:
            raise TaskError(f"Sample {id} has no target, so nothing judges it.", do="Leave it out.")
        text = _text_of(sample.input)
        if sample.choices:
            listed = "\n".join(f"{LETTERS[place]}) {choice}" for place, choice in enumerate(sample.choices[:26]))
            text = f"{text}\n\n{listed}\n\nAnswer with the letter of the right choice."
        found.append(question_task(id, text, targets, family=family))
    return found


def _text_of(given: Any) -> str:
    if isinstance(given, str):
        return given
    return "\n\n".join(str(message.text) for message in given)


class _Given:
    """Proposes one text that somebody else wrote, once."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`."""
        task = context.task
        body = self._text.encode("utf-8", "surrogatepass")
        candidate = Candidate(task.tree.digest, {task.answer_file: body}, note="the sample's output")
        return () if candidate.digest in context.tried else (candidate,)


def _told(result: EpisodeResult) -> Mapping[str, Any]:
    """What a sample's store holds: plain data, so that it is in the log as it is."""
    signal = result.hidden or (result.best.signal if result.best else None)
    public = signer(result.run_id, FileKeys().load(result.run_id)).public.hex
    return {
        "run": result.run_id,
        "episode": result.episode_id,
        "verdict": result.verdict.value,
        "stop_reason": result.stop_reason.value,
        "detail": result.detail,
        "trials": result.trials,
        "signals": result.signals,
        "signal": signal.to_json() if signal else "",
        "public_key": public,
    }


def _put(state: Any, task: Task, result: EpisodeResult, told: Mapping[str, Any]) -> None:
    """The answer as the sample's output, and the outcome into its store."""
    parts = inspect_part("inspect_ai.model")
    answer = _answer(task, result)
    state.output = parts.ModelOutput.from_content(model=str(state.model), content=answer)
    state.messages.append(parts.ChatMessageAssistant(content=answer, source="generate"))
    state.store.set(KEPT, dict(told))


def _answer(task: Task, result: EpisodeResult) -> str:
    judged = result.best or result.unconfirmed
    if judged is None:
        return ""
    written = {path: body for path, body in judged.candidate.changes.items() if body is not None}
    if len(judged.candidate.changes) == len(written) == 1:
        return next(iter(written.values())).decode("utf-8", "replace")
    return result.patch or "\n".join(sorted(judged.candidate.changes))


def _score(scoring: Any, told: Mapping[str, Any]) -> Any:
    """The score of what a sample's store holds. A PASS counts only with a signal that says so and whose seal holds."""
    metadata = dict(told)
    said = f"{told['verdict']}: {told['stop_reason']} {told['detail']}".strip()
    try:
        signal = Signal.from_json(told["signal"]) if told["signal"] else None
        if signal is not None:
            verify(signal, FileKeys().load(told["run"]))
    except (SealError, ValueError) as error:
        return scoring.Score.unscored(reason="scoring_failed", explanation=str(error), metadata=metadata)
    passed = told["verdict"] == Verdict.PASS
    if passed and (signal is None or signal.verdict is not Verdict.PASS):
        said = "It is said to have passed, and no sealed signal says so."
        return scoring.Score.unscored(reason="scoring_failed", explanation=said, metadata=metadata)
    if told["verdict"] == Verdict.NONE:
        return scoring.Score.unscored(reason="scoring_failed", explanation=said, metadata=metadata)
    return scoring.Score(value=scoring.CORRECT if passed else scoring.INCORRECT, explanation=said, metadata=metadata)
