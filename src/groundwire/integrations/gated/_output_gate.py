"""The gate for somebody else's loop: it judges and seals what an agent hands in, and alone lets it try again.

Each output is one step of an episode in the ledger. Between two of them nothing runs and nothing is held: the episode
is gone on with from its records, so that an agent that fails, or never comes back, leaves an unfinished episode there.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import aclosing
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import to_json

from groundwire.agents.patching._evidence import failing_evidence
from groundwire.agents.programs._plain_functions import FunctionActor
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Tool
from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.core._records import Record
from groundwire.core._signals import Signal, Verdict
from groundwire.core._tasks import Task
from groundwire.graphs import Budget, EpisodeResult, FeedbackApp, FeedbackGraph, SandboxOptions, code_repair
from groundwire.memory import SqlStore
from groundwire.tools import Check, HiddenTests, tool_for

T = TypeVar("T")
BY = "groundwire/output_gate"
CheckFunction = Callable[[Candidate], object]
FailsOn = type[Exception] | tuple[type[Exception], ...]
LOOP = "output_gate"
REPEATS = 2
"""Times that an agent may hand in what was judged before; the next time the episode is stuck."""
AGAIN = "Your last answer failed this check. Correct it."
SAME = "You have handed in the same answer once more, and it has failed. Hand in another one."


@dataclass(frozen=True)
class OutputRuling:
    """What became of one output.

    Args:
        verdict: PASS, FAIL, or none: nothing was found out.
        again: True if the gate has opened: this output failed, and another may be handed in.
        feedback: what the agent may be told, with what a tool said as data; empty where nothing is to be said.
        signal: what was sealed of this output; None where the episode ended before.
        stop_reason: why the episode ended; empty while it goes on.
        detail: one line for people.
        episode: where it stands in the ledger, RUN/EPISODE, by which the next output goes on with it.
    """

    verdict: Verdict
    again: bool
    feedback: str
    signal: Signal | None
    stop_reason: str
    detail: str
    episode: str
    repeats: int = 0
    """Outputs of the episode that had been judged before, in a row with this one."""


class OutputRefused(GroundwireError):
    """An output did not pass, and there is no further try: it failed in each, or there is no verdict on it.

    Args:
        ruling: on the last output.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, ruling: OutputRuling) -> None:
        failed = ruling.verdict is Verdict.FAIL
        super().__init__(
            f"The output {'failed' if failed else 'has no verdict'}: {ruling.stop_reason}. {ruling.detail}".strip(),
            do=f"groundwire show {ruling.episode.partition('/')[0]}",
        )
        self.ruling = ruling


@dataclass(frozen=True)
class OutputGate:
    """Judges outputs of an agent that runs elsewhere, each with a sealed signal, in a bounded number of tries.

        gate = OutputGate(lambda candidate: candidate.text.isupper(), tries=3)
        ruling = gate.judge("hello", prompt="Say hello loudly.")
        while ruling.again:
            ruling = gate.judge(ask(ruling.feedback), prompt="Say hello loudly.", after=ruling)

    Args:
        check: judges an output: a tool, or a function of the candidate, as for `groundwire.tools.Check`. No model's
            word is one. None: the task's own tests. A task's hidden tests have the last word, whatever judges before.
        tries: outputs of one episode.
        task: gives the task for a prompt: what else is in its tree (tests), and which file the output becomes. None:
            the output is the task's one file.
        fails_on: exceptions of `check` that are a FAIL.
        sandbox: where tests run, as `--sandbox` takes it.
        db: the ledger; None: the user's own.
        told: told of each ruling.

    Raises:
        ConfigError: there are no tries to give, or the check is none, or there is neither check nor task.
    """

    check: Tool | CheckFunction | None
    tries: int = 3
    task: Callable[[str], Task] | None = None
    fails_on: FailsOn = ()
    sandbox: str | None = None
    db: str | None = None
    told: Callable[[OutputRuling], object] | None = None

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ConfigError(f"OutputGate got tries={self.tries}.", do="Give it one try or more.")
        if self.check is None and self.task is None:
            raise ConfigError("Nothing judges the output.", do="Give OutputGate a check, or a task that has tests.")
        if hasattr(self.check, "judge") and self.fails_on:
            raise ConfigError("fails_on is for a function, and the check is a tool.", do="Leave it out.")
        if self.check is not None:
            self._tool(self.check)  # a check that is none is refused at once

    def _tool(self, check: Tool | CheckFunction) -> Tool:
        if hasattr(check, "judge"):
            return cast("Tool", check)
        function = cast("CheckFunction", check)
        name = getattr(function, "__name__", "check").replace("<lambda>", "check")
        if self.fails_on:
            return Check(function, fails_on=self.fails_on, name=name)
        return Check(cast("Any", function), name=name)

    async def ajudge(self, output: object, *, prompt: str, after: OutputRuling | None = None) -> OutputRuling:
        """Judges one output.

        Args:
            output: what the agent hands in: a text, a candidate, or what is judged as JSON.
            prompt: what the agent was asked.
            after: the ruling that let it try again; None: its first output.

        Returns:
            The ruling. `again` is True after a sealed FAIL alone, while tries are left.

        Raises:
            ConfigError: the output can't be written as JSON, or `after` let nobody try again.
            RecordNotFound: the ledger has no such episode for this prompt.
            Exception: what the check raises, as an error of yours; the output has no verdict then.
        """
        if after is not None and not after.again:
            raise ConfigError("The episode is over, and takes no further output.", do="Begin anew, without after=…")
        handed_in = output if isinstance(output, Candidate) else text_of_output(output)
        handing = _Handing(handed_in, after.repeats if after else 0)
        task = self.task(prompt) if self.task else Task.of(prompt)
        run, _, episode = after.episode.partition("/") if after else ("", "", "")
        async with aclosing(SqlStore(self.db)) as store:
            app = self._app(handing, task, store)
            run = run or await app.start_run({"by": BY})
            seen = _Newest()
            try:
                result = await app.arun(
                    task, run_id=run, episode_id=episode or None, observers=[seen], on_error="raise"
                )
            except _NextWanted as wanted:
                ruling = _again(wanted, run, seen.episode or episode)
            else:
                await app.end_run(run)
                ruling = _ended(result, seen.signal)
        if self.told is not None:
            self.told(ruling)
        return ruling

    def judge(self, output: object, *, prompt: str, after: OutputRuling | None = None) -> OutputRuling:
        """`ajudge` where nothing is awaited; inside a running event loop it holds that up."""
        return waited(self.ajudge(output, prompt=prompt, after=after))

    async def aallow(self, output: object, *, prompt: str, after: OutputRuling | None = None) -> OutputRuling:
        """`ajudge`, for a loop that goes round on `again` and ends on PASS.

        Raises:
            OutputRefused: the output did not pass, and there is no further try.
            Exception: as `ajudge`.
        """
        return _allowed(await self.ajudge(output, prompt=prompt, after=after))

    def allow(self, output: object, *, prompt: str, after: OutputRuling | None = None) -> OutputRuling:
        """`aallow` where nothing is awaited."""
        return _allowed(self.judge(output, prompt=prompt, after=after))

    def _app(self, handing: _Handing, task: Task, store: SqlStore) -> FeedbackApp:
        tool = tool_for(task.command) if self.check is None else self._tool(self.check)
        graph = (
            FeedbackGraph.loop(handing.propose, tool, name=LOOP)
            if task.hidden is None
            else code_repair(FunctionActor(handing.propose), None, tool, HiddenTests(), baseline=False)
        )
        return graph.compile(store=store, budget=Budget(trials=self.tries), sandbox=SandboxOptions(kind=self.sandbox))


def _allowed(ruling: OutputRuling) -> OutputRuling:
    if not ruling.again and ruling.verdict is not Verdict.PASS:
        raise OutputRefused(ruling)
    return ruling


class _NextWanted(Exception):
    """The gate has opened, and the next output is not there yet."""

    def __init__(self, context: ActorContext, repeats: int) -> None:
        super().__init__("the next output is awaited")
        self.context = context
        self.repeats = repeats


class _Handing:
    """Hands in one output, and the same one again only where it had been judged before and that is once too often."""

    def __init__(self, output: str | Candidate, repeats: int) -> None:
        self._output = output
        self._repeats = repeats
        self._trial = 0

    async def propose(self, context: ActorContext) -> str | Candidate:
        if not self._trial:
            self._trial = context.trial
        elif context.failing is None:
            pass  # a candidate without changes: nothing is judged of it
        elif context.trial != self._trial:
            raise _NextWanted(context, 0)
        elif self._repeats < REPEATS:
            raise _NextWanted(context, self._repeats + 1)
        return self._output


class _Newest:
    """The newest signal, and the episode that it is of."""

    def __init__(self) -> None:
        self.signal: Signal | None = None
        self.episode = ""

    def __call__(self, record: Record) -> None:
        if isinstance(record, Signal):
            self.signal, self.episode = record, record.episode_id


def _again(wanted: _NextWanted, run: str, episode: str) -> OutputRuling:
    failing = wanted.context.failing
    assert failing is not None  # the gate has opened for it
    signal = failing.signal
    told = f"{failing_evidence(signal)}\n\n{SAME if wanted.repeats else AGAIN}"
    detail = signal.evidence.detail
    return OutputRuling(Verdict.FAIL, True, told, signal, "", detail, f"{run}/{episode}", wanted.repeats)


def _ended(result: EpisodeResult, signal: Signal | None) -> OutputRuling:
    detail = result.detail or (signal.evidence.detail if signal else "")
    told = failing_evidence(signal) if signal and signal.verdict is Verdict.FAIL else ""
    return OutputRuling(
        result.verdict, False, told, signal, str(result.stop_reason), detail, f"{result.run_id}/{result.episode_id}"
    )


def text_of_output(output: object) -> str:
    """An output as the text that is judged: a text as it is, anything else as JSON.

    Raises:
        ConfigError: it can't be written as JSON.
    """
    if isinstance(output, str):
        return output
    try:
        return output.model_dump_json() if isinstance(output, BaseModel) else to_json(output).decode()
    except ValueError as error:  # pydantic's own error is one
        raise ConfigError(
            f"An output of the type {type(output).__name__} can't be judged: {error}",
            do="Let the agent give a text, or what JSON can hold.",
        ) from error


def waited(work: Coroutine[Any, Any, T]) -> T:
    """What `work` comes to; in a thread of its own, with the caller's context, where an event loop runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    came: Future[T] = Future()

    def run() -> None:
        try:
            came.set_result(asyncio.run(work))
        except BaseException as error:  # raised again below, where it is awaited
            came.set_exception(error)

    threading.Thread(target=copy_context().run, args=[run], name=LOOP).start()
    return came.result()
