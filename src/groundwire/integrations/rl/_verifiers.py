"""verifiers (its v1: tasksets and harnesses): our tasks as a taskset, a taskset as a world.

Source: https://docs.primeintellect.ai/verifiers (v1: `Taskset`, `Task`, `Trace`, rewards).
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, cast

from groundwire.agents.programs._plain_functions import candidate_of
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Tool
from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._scene import Scene, Status
from groundwire.core._tasks import Task
from groundwire.integrations.gated import OutputRuling
from groundwire.integrations.rl._tasks import CheckFunction, checked_tasks, gate_of, part_of, reward_of, shown
from groundwire.tools import World

EXTRA = "verifiers"
REWARD = "sealed_verdict"
KEPT = "groundwire"
FILE_BYTES = 1024 * 1024
FILES = 1000
TASKS = 10_000
"""Tasks of a taskset that are read; an endless one is cut there."""


def verifiers_taskset(
    tasks: Iterable[Task],
    *,
    check: Tool | CheckFunction | None = None,
    fails_on: type[Exception] | tuple[type[Exception], ...] = (),
    sandbox: str | None = None,
    db: str | None = None,
) -> Any:
    """Our tasks as a class of taskset, whose reward is a sealed verdict: 1 for a PASS, 0 for a FAIL.

        Haikus = verifiers_taskset(tasks, check=is_a_haiku)      # in the module of a taskset package
        __all__ = ["Haikus"]

    Where there is no verdict the scoring fails: the trace is not `ok`, and its reward is None, never 0. Where a task
    lets one file be written, the last reply is that file. Else its files are put into the harness's runtime, and what
    stands there afterwards is judged. Hidden tests are neither in the data nor in the runtime.

    Args:
        tasks: with their tests.
        check: judges instead of these; as for `OutputGate`.
        fails_on: exceptions of `check` that are a FAIL.
        sandbox: where tests run, as `--sandbox` takes it.
        db: the ledger; None: the user's own.

    Returns:
        The class. The signal of each reward is in `trace.info["groundwire"]`.

    Raises:
        ConfigError: verifiers is not installed, there is no task, or two have one id.
        TaskError: a task is a world.
    """
    vf = part_of("verifiers.v1", EXTRA)
    known = {task.id: task for task in checked_tasks(tasks)}

    async def judged(ours: Task, trace: Any, runtime: Any) -> float:
        gate = gate_of(ours, check, tries=1, fails_on=fails_on, sandbox=sandbox, db=db)
        output = trace.last_reply if _is_answer(ours) else await _files_in(ours, runtime)
        ruling = await gate.ajudge(output, prompt=ours.prompt)
        trace.info[KEPT] = _told(ruling)
        return reward_of(ruling)

    class GroundwireTask(vf.Task[vf.TaskData]):
        """A task of ours."""

        async def setup(self, trace: Any, runtime: Any) -> None:
            ours = known[self.data.id]
            if not _is_answer(ours):
                for path, content in ours.public().tree.files.items():
                    await runtime.write(path, content)

        async def sealed_verdict(self, task: Any, trace: Any, runtime: Any = None) -> float:
            return await judged(known[task.id], trace, runtime)

    GroundwireTask.sealed_verdict = vf.reward(GroundwireTask.sealed_verdict)

    class GroundwireTaskset(vf.Taskset[GroundwireTask]):
        """Tasks of ours."""

        def load(self) -> Iterable[Any]:
            for ours in known.values():
                prompt = shown(ours) if _is_answer(ours) else ours.prompt
                data = vf.TaskData(id=ours.id, name=ours.id, prompt=prompt)
                yield GroundwireTask(data, self.config.task)

    return GroundwireTaskset


def _is_answer(task: Task) -> bool:
    try:
        return bool(task.answer_file)
    except TaskError:
        return False


async def _files_in(task: Task, runtime: Any) -> Candidate:
    """What the files of a runtime are now, of those that a candidate may change."""
    if runtime is None:
        raise TaskError(f"Task {task.id} is judged by its files, and there is no runtime.", do="Score it in its run.")
    listed = await runtime.run(["find", ".", "-type", "f", "-size", f"-{FILE_BYTES}c", "-print0"], {})
    if listed.exit_code:
        raise TaskError(f"The files of task {task.id} can't be listed: {listed.stderr[:200]}")
    there = {str(PurePosixPath(path)) for path in listed.stdout.split("\0") if path}
    wanted = sorted(path for path in there if task.may_edit(path))
    if len(wanted) > FILES:
        raise TaskError(f"There are {len(wanted)} files in the runtime of {task.id}.", do=f"At most {FILES} are read.")
    tree = task.public().tree.files
    changes: dict[str, bytes | None] = {path: await runtime.read(path, FILE_BYTES) for path in wanted}
    changes |= {path: None for path in tree if task.may_edit(path) and path not in there}
    # what is as it was goes too, so that a tree in which nothing was changed is judged as well
    return candidate_of(changes, task, verifiers_taskset)


def _told(ruling: OutputRuling) -> Mapping[str, Any]:
    told = {name: value for name, value in asdict(ruling).items() if name in ("stop_reason", "detail", "episode")}
    signal = ruling.signal.to_json() if ruling.signal else ""
    return {**told, "verdict": str(ruling.verdict), "signal": signal}


# Theirs, as a world.


def verifiers_world(
    taskset: Any, *, wins_at: float = 1.0, oracle: bool = True, name: str = "", prompt: str = "Answer the question."
) -> World:
    """A taskset of verifiers' as a world: the seed says which task, the one action is the reply, its rewards say.

        WORLD = verifiers_world(GSM8KTaskset(config))      # groundwire learn file.py:WORLD

    Tasks with a container, tools, or rewards that need a runtime have more to them than a reply, and are refused.

    Args:
        taskset: an instance.
        wins_at: the sum of rewards from which it is won.
        oracle: True where the rewards know the answer, as they mostly do; each verdict says so then.
        name: the world's; empty: the taskset's.
        prompt: what is asked for, besides the task's own text.

    Raises:
        ConfigError: verifiers is not installed, or this is no taskset.
    """
    vf = part_of("verifiers.v1", EXTRA)
    if not isinstance(taskset, vf.Taskset):
        raise ConfigError(
            f"This is no taskset of verifiers' v1: {taskset!r:.80}.",
            do="Give an instance:  MyTaskset(MyConfig()); load_environment(…) is the old form.",
        )
    if not math.isfinite(wins_at):
        raise ConfigError(f"wins_at={wins_at} is no reward.", do="Give a number.")
    known: tuple[Any, ...] = tuple(islice(cast("Iterable[Any]", taskset), TASKS))
    if not known:
        raise ConfigError("The taskset has no task.", do="Look at its configuration.")
    for task in known:
        _refuse_what_needs_more(task)
    return World(
        name=name or f"verifiers:{taskset.config.name or type(taskset).__name__}",
        make=lambda: VerifiersWorld(known, wins_at=wins_at, oracle=oracle),
        prompt=prompt,
        actions=1,
    )


def _refuse_what_needs_more(task: Any) -> None:
    needs = [
        what
        for what, does in (
            ("a container", task.NEEDS_CONTAINER or task.data.image),
            ("tools", task.toolsets(task.config)),
            ("a runtime for its rewards", any(map(_needs_runtime, [*task.hooks("reward"), *task.hooks("metric")]))),
            ("a model that judges", task.plugged_judges()),
            ("a user that opens the talk", task.data.prompt is None),
        )
        if does
    ]
    if needs:
        raise ConfigError(
            f"The task {task.data.name or task.data.idx} needs {' and '.join(needs)}.",
            do="Evaluate it with verifiers; a world here is one reply, judged by the task's own rewards.",
        )


def _needs_runtime(function: Callable[..., Any]) -> bool:
    parameter = inspect.signature(function).parameters.get("runtime")
    return parameter is not None and parameter.default is inspect.Parameter.empty


class VerifiersWorld:
    """One task of a taskset; see `Environment`. Made by `verifiers_world`.

    Args:
        tasks: the seed chooses one.
        wins_at: the sum of rewards from which it is won.
        oracle: see `JudgesByKey`.
    """

    def __init__(self, tasks: tuple[Any, ...], *, wins_at: float, oracle: bool) -> None:
        self.oracle = oracle
        self._tasks = tasks
        self._wins_at = wins_at
        self._task: Any = None

    def reset(self, seed: int) -> Scene:
        """See `Environment`."""
        self._task = self._tasks[seed % len(self._tasks)]
        return Scene(self._text())

    def act(self, action: str) -> Scene:
        """Scores the reply by the task's own rewards. What they raise is no verdict."""
        reward = asyncio.run(self._reward(action))
        won = reward >= self._wins_at
        return Scene(self._text(), Status.WON if won else Status.LOST, event=f"The reward is {reward:g}.")

    async def _reward(self, reply: str) -> float:
        vf = part_of("verifiers.v1", EXTRA)
        said = vf.AssistantMessage(content=reply)
        asked = vf.MessageNode(message=vf.UserMessage(content=self._task.data.prompt_text))
        answered = vf.MessageNode(message=said, parent=0, sampled=True)
        trace = vf.Trace(
            task=vf.TraceTask(type=type(self._task).__name__, data=self._task.data),
            agent=vf.AgentInfo(config=vf.AgentConfig()),
            nodes=[asked, answered],
            root_reply=reply,
        )
        await self._task.score(trace)
        if not trace.rewards:
            raise ValueError("the task has no reward")
        reward = float(trace.reward)
        if not math.isfinite(reward):
            raise ValueError(f"the reward is {reward}")
        return reward

    def _text(self) -> str:
        data = self._task.data
        return "\n\n".join(filter(None, (data.system_prompt, data.prompt_text)))

    def close(self) -> None:
        """See `Environment`."""
