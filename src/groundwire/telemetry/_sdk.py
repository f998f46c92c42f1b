"""What is told to OpenTelemetry: a span an episode, its trials, their model calls and judgings, an event a signal.

Prompts and answers are left out unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for them, and secrets
are masked in all that is told.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache

from opentelemetry import context, metrics, propagate, trace
from opentelemetry._logs import Logger, LogRecord, NoOpLogger, SeverityNumber, get_logger
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from groundwire.core._errors import GroundwireError, PartError
from groundwire.core._masking import Masker
from groundwire.core._models import Completion, Request
from groundwire.core._signals import Signal, Verdict
from groundwire.telemetry import _export as export
from groundwire.telemetry import _said as said
from groundwire.telemetry._metrics import Instruments
from groundwire.telemetry._said import Attributes, Value

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
CAPTURES = frozenset({"true", "1", "span_only", "span_and_event"})
EVALUATION = "gen_ai.evaluation.result"
MAKE_CANDIDATES = frozenset({"propose", "correct", ""})
"""Purposes of calls whose answer may be what is judged; empty: an actor of somebody's own that names none."""
CARRIERS = ("TRACEPARENT", "TRACESTATE", "BAGGAGE")
"""Where a process finds the span that it was started in: OpenTelemetry's environment variables as carriers."""


@dataclass(frozen=True)
class _Sink:
    """Where it goes."""

    tracer: trace.Tracer
    instruments: Instruments
    logger: Logger


@cache
def _of_the_environment() -> _Sink:
    tracer, meter, logger = export.from_environment()
    return _Sink(tracer, Instruments(meter), logger)


@cache
def _of_the_program() -> _Sink:
    return _Sink(trace.get_tracer("groundwire"), Instruments(metrics.get_meter("groundwire")), get_logger("groundwire"))


@contextmanager
def episode_span(graph: str, is_set_up: bool, ids: Mapping[str, str], prompt: str) -> Generator[EpisodeSpan]:
    """The span of one episode, below the one that is under way in this process or that this process was started in.

    Args:
        graph: the graph's name.
        is_set_up: True where the program has providers of its own; else they are made as the environment says.
        ids: of the run, the episode and the task.
        prompt: what is to be solved.
    """
    sink = _of_the_program() if is_set_up else _of_the_environment()
    masker = Masker()
    name = said.shown(graph, masker)
    attributes: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.conversation.id": ids.get("episode_id", ""),
        **{f"groundwire.{key}": said.shown(value, masker) for key, value in ids.items()},
    }
    if prompt and _captures():
        attributes |= said.task_of(prompt, masker)
    with _span(sink.tracer, f"invoke_agent {name}", SpanKind.INTERNAL, attributes, _started_in()) as span:
        episode = EpisodeSpan(sink, span, name, ids.get("episode_id", ""), masker)
        try:
            yield episode
        except BaseException as error:
            episode.failed(error)
            raise
        finally:
            episode.close()


def _started_in() -> context.Context | None:
    """The span that this process was started in; None where one is under way already."""
    if trace.get_current_span().get_span_context().is_valid:
        return None
    carrier = {name.lower(): value for name in CARRIERS if (value := os.environ.get(name))}
    return propagate.extract(carrier) if carrier else None


@dataclass
class _Trial:
    """One trial's span, and which of its answers may be what was judged."""

    number: int
    span: Span
    responses: list[str] = field(default_factory=list[str])

    @property
    def response_id(self) -> str:
        """Of the one answer that the trial's candidates were made of; empty where there are several."""
        return self.responses[0] if len(self.responses) == 1 else ""

    def heard(self, completion: Completion, purpose: str) -> None:
        """An answer has come: a correction stands for what it corrects; a reflection, say, makes no candidate."""
        asked_for = purpose.partition(".")[0]
        if asked_for == "correct":
            del self.responses[-1:]
        if asked_for in MAKE_CANDIDATES:
            self.responses.append(completion.response_id)


class _Judging:
    """The span of one judging; what it came to is the best of its verdicts."""

    RANKS = (Verdict.NONE, Verdict.FAIL, Verdict.PASS)

    def __init__(self, span: Span) -> None:
        self.span = span
        self.fault = ""
        self._best: Signal | None = None
        self._why = ""
        self._signals = 0

    def told(self, signal: Signal, why: str) -> None:
        """One more was sealed."""
        self._signals += 1
        if self._best is None or self.RANKS.index(signal.verdict) >= self.RANKS.index(self._best.verdict):
            self._best, self._why = signal, why

    def end(self) -> None:
        """Says what it came to; no verdict is a fault, unless there was none to be had."""
        if self._best is None:
            return
        best = self._best
        self.span.set_attributes({"groundwire.verdict": best.verdict.value, "groundwire.signals": self._signals})
        if _captures():
            result = {"verdict": best.verdict.value, "explanation": self._why}
            self.span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        if best.reason is not None and best.reason not in said.NO_FAULT and not self.fault:
            self.fault = best.reason.value
            self.span.set_attribute("error.type", self.fault)
            self.span.set_status(Status(StatusCode.ERROR, self.fault))


_judging: ContextVar[_Judging | None] = ContextVar("groundwire_judging_span", default=None)


class EpisodeSpan:
    """The span of an episode, and those of its trials: each from its first call or judging to the next one's, or the
    end. The baseline's stand below the episode itself."""

    def __init__(self, sink: _Sink, span: Span, graph: str, id: str, masker: Masker) -> None:
        self._sink = sink
        self._span = span
        self._graph = graph
        self._id = id
        self._masker = masker
        self._trial = _Trial(0, span)
        self._began = time.monotonic()
        self._inference_calls = 0
        self._tool_calls = 0
        self._error = ""

    def ended(
        self,
        *,
        error: Exception | None = None,
        answer: Callable[[], str] = str,
        **facts: str | int | float | bool,
    ) -> None:
        """See `spans.ToldOfEpisode`."""
        self._span.set_attributes({f"groundwire.{name}": fact for name, fact in facts.items()})
        if _captures() and (text := answer()):
            self._span.set_attributes(said.result_of(text, self._masker))
        if error is not None:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """It ended with an error."""
        self._error = _mark_failed(self._span, error, self._masker)

    def close(self) -> None:
        """Ends the span of the trial that is under way, and adds the episode to the metrics."""
        self._end_trial()
        told, labels = self._sink.instruments, {"gen_ai.agent.name": self._graph}
        told.inference_calls.record(self._inference_calls, labels)
        told.tool_calls.record(self._tool_calls, labels)
        labels["gen_ai.operation.name"] = "invoke_agent"
        if self._error:
            labels["error.type"] = self._error
        told.agent_duration.record(time.monotonic() - self._began, labels)

    @contextmanager
    def call(self, model: str, request: Request, trial: int) -> Generator[_CallSpan]:
        """See `spans.model_call_span`."""
        self._inference_calls += 1
        named, masker = said.shown(model, self._masker), self._masker
        labels = said.identity(named)
        attributes: Attributes = {
            **labels,
            **said.asked(request, masker),
            **(said.read(request, masker) if _captures() else {}),
            "gen_ai.conversation.id": self._id,
            "groundwire.model": named,
            "groundwire.trial": trial,
        }
        current, judging = self._trial_of(trial), _judging.get()
        above = judging.span if judging is not None else current.span
        name = f"chat {labels['gen_ai.request.model']}"
        parent = trace.set_span_in_context(above)
        with _span(self._sink.tracer, name, SpanKind.CLIENT, attributes, parent) as span:
            call = _CallSpan(span, self._sink.instruments, labels, masker)
            try:
                yield call
            except BaseException as error:
                call.failed(error)
                raise
        if call.completion is not None and judging is None:
            current.heard(call.completion, request.purpose)

    @contextmanager
    def judging(self, tool: str, trial: int) -> Generator[None]:
        """See `spans.judging_span`."""
        self._tool_calls += 1
        named = said.shown(tool, self._masker)
        labels: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": named}
        attributes: Attributes = {**labels, "gen_ai.tool.type": "function", "groundwire.trial": trial}
        name = f"execute_tool {named}"
        parent = trace.set_span_in_context(self._trial_of(trial).span)
        began = time.monotonic()
        with _span(self._sink.tracer, name, SpanKind.INTERNAL, attributes, parent) as span:
            judging = _Judging(span)
            token = _judging.set(judging)
            try:
                yield
            except BaseException as error:
                judging.fault = _mark_failed(span, error, self._masker)
                raise
            finally:
                _judging.reset(token)
                judging.end()
                if judging.fault:
                    labels["error.type"] = judging.fault
                self._sink.instruments.tool_duration.record(time.monotonic() - began, labels)

    def signal(self, signal: Signal) -> None:
        """See `spans.tell_of_signal`."""
        current, judging = self._trial_of(signal.trial), _judging.get()
        attributes = said.evaluated(
            signal,
            self._masker,
            response_id="" if signal.trial == 0 else current.response_id,
            with_content=_captures(),
        )
        span = judging.span if judging is not None else current.span
        span.add_event(EVALUATION, attributes)
        if judging is not None:
            judging.told(signal, str(attributes["gen_ai.evaluation.explanation"]))
        told = ("groundwire.issuer", "groundwire.origin", "groundwire.verdict")
        self._sink.instruments.signals.add(1, {name: attributes[name] for name in told})
        if not isinstance(self._sink.logger, NoOpLogger):
            self._sink.logger.emit(
                LogRecord(
                    timestamp=time.time_ns(),
                    context=trace.set_span_in_context(span),
                    severity_number=SeverityNumber.INFO,
                    event_name=EVALUATION,
                    attributes=attributes,
                )
            )

    def _trial_of(self, number: int) -> _Trial:
        if self._trial.number < number:
            self._end_trial()
            started = self._sink.tracer.start_span(
                f"trial {number}",
                context=trace.set_span_in_context(self._span),
                attributes={"groundwire.trial": number},
            )
            self._trial = _Trial(number, started)
        return self._trial

    def _end_trial(self) -> None:
        if self._trial.span is not self._span:
            self._trial.span.end()


class _CallSpan:
    """The span of one model call, and what it adds to the metrics."""

    def __init__(self, span: Span, instruments: Instruments, labels: Attributes, masker: Masker) -> None:
        self.completion: Completion | None = None
        self._span = span
        self._instruments = instruments
        self._masker = masker
        self._labels = labels
        self._began = time.monotonic()

    def answered(self, completion: Completion) -> None:
        """See `spans.ToldOfCall`."""
        duration_s = time.monotonic() - self._began
        self.completion = completion
        self._span.set_attributes(said.answered(completion, self._masker))
        if _captures():
            self._span.set_attributes(said.wrote(completion, self._masker))
        labels: Attributes = {**self._labels, "gen_ai.response.model": said.shown(completion.model, self._masker)}
        told = self._instruments
        told.duration.record(duration_s, labels)
        if completion.first_token_s is not None:
            told.first_token.record(completion.first_token_s, labels)
        if completion.usd:
            told.usd.add(completion.usd, labels)
        counted: Attributes = {**labels, "gen_ai.token.modality": "text"}
        told.input_tokens.add(completion.prompt_tokens, counted)
        told.output_tokens.add(completion.completion_tokens, counted)
        if completion.cached_prompt_tokens:
            told.cached_tokens.add(completion.cached_prompt_tokens, counted)

    def failed(self, error: BaseException) -> None:
        """It ended without an answer that may be shown."""
        kind = _mark_failed(self._span, error, self._masker)
        self._instruments.duration.record(time.monotonic() - self._began, {**self._labels, "error.type": kind})


def _mark_failed(span: Span, error: BaseException, masker: Masker) -> str:
    """Says of a span how it failed; only our own errors' texts are known to quote nothing that must not leave."""
    kind = type(error).__name__
    span.set_attribute("error.type", kind)
    if isinstance(error, GroundwireError) and not isinstance(error, PartError):
        span.set_status(Status(StatusCode.ERROR, said.shown(error.what, masker)))
    else:
        span.set_status(Status(StatusCode.ERROR, kind))
    return kind


@contextmanager
def _span(
    tracer: trace.Tracer,
    name: str,
    kind: SpanKind,
    attributes: Mapping[str, Value],
    parent: context.Context | None,
) -> Generator[Span]:
    # errors are written down by us: their texts and tracebacks may hold what must not leave
    with tracer.start_as_current_span(
        name, parent, kind, attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        yield span


def _captures() -> bool:
    return os.environ.get(CAPTURE, "").strip().lower() in CAPTURES
