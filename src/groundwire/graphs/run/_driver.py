"""One episode through LangGraph: from its input, a checkpoint or a person's answer to its end or a pause."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphRecursionError, InvalidUpdateError
from langgraph.types import Command

from groundwire.core._errors import (
    BudgetExceeded,
    GraphError,
    GroundwireError,
    HiddenLeak,
    ModelError,
    PartError,
    StorageError,
)
from groundwire.core._records import EpisodeEnd, StopReason
from groundwire.graphs.run._episode import Episode

Durability = Literal["exit", "async", "sync"]
OnError = Literal["raise", "end"]
"""What comes of an error that is no outcome, one in a user's own part as a rule: it is raised, and the episode can be
gone on with; or it ends the episode (`internal_error`)."""
SAID_CHARS = 2000


@dataclass(frozen=True)
class Driven:
    """How a drive ended.

    Args:
        error: what ended the episode, where an error did.
        interrupts: what a person is asked, where it paused.
    """

    error: GroundwireError | None = None
    interrupts: Sequence[object] = ()


async def drive(
    langgraph: Any,
    episode: Episode,
    fresh: Mapping[str, Any],
    *,
    durability: Durability,
    supersteps: int,
    goes_on: bool = False,
    config: Mapping[str, Any] | None = None,
    resume: Any = None,
    on_error: OnError = "raise",
) -> Driven:
    """Runs an episode until it ends or pauses, and writes its end.

    Args:
        langgraph: the compiled graph.
        episode: what its nodes work with.
        fresh: the state it starts from where no checkpoint of its own waits.
        durability: when checkpoints are written.
        supersteps: the most that LangGraph may take.
        goes_on: True if the ledger knew the episode, so that a checkpoint of it may wait.
        config: LangGraph's config.
        resume: the answer to an interrupt.
        on_error: what comes of an error that is no outcome.

    Raises:
        StorageError: the ledger can't be written, or read.
        GraphError: two nodes wrote the episode's state in one superstep; not with `on_error="end"`.
        Exception: whatever else a part raised; not with `on_error="end"`.
    """
    try:
        return await _drive(
            langgraph,
            episode,
            fresh,
            durability=durability,
            supersteps=supersteps,
            goes_on=goes_on,
            config=config,
            resume=resume,
        )
    except StorageError:
        raise
    except Exception as error:
        if on_error == "raise":
            raise
        return await end_in_error(episode, error)


async def end_in_error(episode: Episode, error: Exception) -> Driven:
    """Ends an episode with an error that is no outcome; the ledger has what it says, unless that is hidden."""
    ours = error if isinstance(error, GroundwireError) else part_error(error)
    try:
        await episode.finish(_end_of(episode, StopReason.INTERNAL_ERROR, _said(ours.what)))
    except HiddenLeak:
        kept = f"{type(error).__name__}: what it says is of the hidden tests"
        await episode.finish(_end_of(episode, StopReason.INTERNAL_ERROR, kept))
    return Driven(ours)


def part_error(error: Exception) -> PartError:
    """An error that is none of ours as one: which it is, and where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({Path(at.filename).name}:{at.lineno}, in {at.name})" for at in last)
    part = PartError(f"{type(error).__name__}: {_said(_text_of(error))}{where}", do="Fix the part that raised it.")
    part.__cause__ = error
    return part


def _text_of(error: Exception) -> str:
    try:
        return str(error)
    except Exception as own:
        return f"its text can't be made: {type(own).__name__}"


def _end_of(episode: Episode, reason: StopReason, detail: str) -> EpisodeEnd:
    from groundwire.graphs.run._result import end_of  # here: no episode needs it before its end

    return end_of(episode, reason, detail)


def _said(text: str) -> str:
    return text if len(text) <= SAID_CHARS else f"{text[:SAID_CHARS]} …"


async def _drive(
    langgraph: Any,
    episode: Episode,
    fresh: Mapping[str, Any],
    *,
    durability: Durability,
    supersteps: int,
    goes_on: bool,
    config: Mapping[str, Any] | None,
    resume: Any,
) -> Driven:
    settings: dict[str, Any] = {"recursion_limit": supersteps, **(config or {})}
    options: dict[str, Any] = {}
    if langgraph.checkpointer is not None:
        options["durability"] = durability
        settings["configurable"] = {"thread_id": episode.id, **settings.get("configurable", {})}
    deadline = asyncio.timeout(episode.meter.seconds_left())
    try:
        with _by_itself():
            start: Any = Command(resume=resume) if resume is not None else fresh
            if goes_on and resume is None and await _waits(langgraph, episode, settings):
                start = None
            async with deadline:
                state = await _run(langgraph, episode, start, settings, options)
    except TimeoutError:
        if not deadline.expired():
            raise  # a part's own: its file, its server or its lock was too slow
        error = episode.meter.out_of_time()
    except GraphRecursionError as loops:
        if _is_of_a_node(loops):
            raise
        error = BudgetExceeded(
            "steps",
            f"{supersteps} supersteps were taken and no node led to the end.",
            do="Look for a loop of plain nodes.",
        )
    except InvalidUpdateError as clash:
        if _is_of_a_node(clash):
            raise
        raise GraphError(
            f"Two nodes wrote the same field of the state in one superstep: {clash}",
            do="Let one of them run after the other, or give each a field of its own.",
        ) from clash
    except (BudgetExceeded, HiddenLeak, ModelError) as trouble:
        error = trouble
    else:
        if state.get("__interrupt__"):
            return Driven(interrupts=tuple(state["__interrupt__"]))
        if not state["stop_reason"] and await _pauses(langgraph, settings):
            return Driven(interrupts=("paused",))
        await episode.finish(_last_record(episode, state))
        return Driven()
    await episode.finish(_end_of(episode, _reason(error), error.what))
    return Driven(error)


async def _run(langgraph: Any, episode: Episode, start: Any, settings: Any, options: Mapping[str, Any]) -> Any:
    """Runs it; an error that came of a cancellation, or hid it, is one."""
    episode.driven()
    try:
        return await langgraph.ainvoke(start, settings, context=episode, **options)
    except Exception as error:
        if episode.is_cancelled:
            raise asyncio.CancelledError from error
        raise
    finally:
        episode.let_go()


def _is_of_a_node(error: Exception) -> bool:
    """True if a node raised it, of a graph of its own perhaps: LangGraph notes on such an error which node that was."""
    return any("During task with name" in note for note in getattr(error, "__notes__", ()))


def _reason(error: BudgetExceeded | HiddenLeak | ModelError) -> StopReason:
    if isinstance(error, BudgetExceeded):
        return StopReason(f"budget_{error.kind}")
    return StopReason.HIDDEN_LEAK if isinstance(error, HiddenLeak) else StopReason.MODEL_ERROR


async def _waits(langgraph: Any, episode: Episode, settings: Mapping[str, Any]) -> bool:
    """True if a checkpoint of this episode has steps to go, so that no plain node runs again that had finished."""
    if langgraph.checkpointer is None:
        return False
    checkpoint = await langgraph.aget_state(settings)
    return bool(checkpoint.next) and checkpoint.values.get("episode_id") == episode.id


async def _pauses(langgraph: Any, settings: Mapping[str, Any]) -> bool:
    """True where it stopped before or after a node that it was told to stop at."""
    if langgraph.checkpointer is None:
        return bool(langgraph.interrupt_before_nodes or langgraph.interrupt_after_nodes)
    return bool((await langgraph.aget_state(settings)).next)


def _last_record(episode: Episode, state: Mapping[str, Any]) -> EpisodeEnd:
    if state["stop_reason"]:
        return _end_of(episode, StopReason(state["stop_reason"]), state["detail"])
    reason = StopReason.NO_VERDICT if episode.history.best is None else StopReason.EXHAUSTED
    return _end_of(episode, reason, "A plain node led to the end; no tool had stopped the episode.")


@contextmanager
def _by_itself() -> Generator[None]:
    """An episode that an actor of another one runs is no part of that one's graph: it was proved by itself."""
    token = var_child_runnable_config.set(None)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
