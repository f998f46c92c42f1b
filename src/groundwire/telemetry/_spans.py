"""Spans and metrics for people who run OpenTelemetry; without it, one look at a variable.

On where the program that groundwire runs in has set up OpenTelemetry itself, or where the standard variables ask for an
exporter (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER` …); extra `otel`. Nothing of it
is imported before. An episode is a span, its trials are the spans under it, and their model calls and judgings are
under those; each signal is an event of its judging. What is said follows the semantic conventions for generative AI.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from groundwire.core._models import Completion, Request
from groundwire.core._signals import Signal

if TYPE_CHECKING:
    from groundwire.telemetry._sdk import EpisodeSpan


ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
)
EXPORTERS = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER")

_current: ContextVar[EpisodeSpan | None] = ContextVar("groundwire_episode_span", default=None)
_log = logging.getLogger(__name__)


class ToldOfCall(Protocol):
    """Told how a model call ended."""

    def answered(self, completion: Completion) -> None:
        """The answer, once it may be shown."""
        ...


class ToldOfEpisode(Protocol):
    """Told how an episode ended."""

    def ended(
        self,
        *,
        error: Exception | None = None,
        answer: Callable[[], str] = str,
        **facts: str | int | float | bool,
    ) -> None:
        """What came of it.

        Args:
            error: what ended it, where an error did.
            answer: what stands at its end; made and told only where content is asked for.
            facts: by name.
        """
        ...


class _Nobody:
    """Where nobody listens."""

    def answered(self, completion: Completion) -> None:
        """See `ToldOfCall`."""

    def ended(
        self,
        *,
        error: Exception | None = None,
        answer: Callable[[], str] = str,
        **facts: str | int | float | bool,
    ) -> None:
        """See `ToldOfEpisode`."""


_NOBODY = _Nobody()


def is_wanted() -> bool:
    """True where spans and metrics have somewhere to go."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    return _is_set_up() or any(os.environ.get(name) for name in ENDPOINTS) or any(map(_named, EXPORTERS))


def _named(variable: str) -> bool:
    return os.environ.get(variable, "").strip().lower() not in ("", "none")


def _is_set_up() -> bool:
    api: Any = sys.modules.get("opentelemetry.trace")
    if api is None:
        return False
    return not isinstance(api.get_tracer_provider(), api.ProxyTracerProvider | api.NoOpTracerProvider)


@contextmanager
def episode_span(graph: str, *, prompt: str = "", **ids: str) -> Generator[ToldOfEpisode]:
    """A span around one episode. An error that leaves the block is written down in it.

    Args:
        graph: the graph's name.
        prompt: what is to be solved; told only where content is asked for.
        ids: of the run, the episode and the task: `run_id`, `episode_id`, `task_id`.
    """
    if not is_wanted() or (sdk := _loaded()) is None:
        yield _NOBODY
        return
    with sdk.episode_span(graph, _is_set_up(), ids, prompt) as span:
        token = _current.set(span)
        try:
            yield span
        finally:
            _current.reset(token)


def model_call_span(model: str, request: Request, trial: int) -> AbstractContextManager[ToldOfCall]:
    """A span around one model call, under the trial's. An error that leaves the block is written down in it.

    Args:
        model: the id as the user named it.
        request: what is asked.
        trial: in which trial.
    """
    episode = _current.get()
    return nullcontext(_NOBODY) if episode is None else episode.call(model, request, trial)


def judging_span(tool: str, trial: int) -> AbstractContextManager[None]:
    """A span around what one tool node judges in one superstep, under the trial's.

    Args:
        tool: the node's name.
        trial: in which trial; 0: the baseline.
    """
    episode = _current.get()
    return nullcontext() if episode is None else episode.judging(tool, trial)


def tell_of_signal(signal: Signal) -> None:
    """An evaluation event in the span of what judges; call it once the ledger has been given the signal."""
    episode = _current.get()
    if episode is not None:
        episode.signal(signal)


def _loaded() -> Any:
    try:
        from groundwire.telemetry import _sdk as sdk
    except ImportError as error:
        _warn(f"OTEL_* variables ask for telemetry, but {error.name} is not installed: pip install 'groundwire[otel]'")
        return None
    return sdk


_warned: set[str] = set()


def _warn(what: str) -> None:
    """Once: telemetry that does not work is no reason to stop."""
    if what not in _warned:
        _warned.add(what)
        _log.warning(what)
