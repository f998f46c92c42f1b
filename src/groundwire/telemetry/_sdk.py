"""What is told to OpenTelemetry.

Names are those of the semantic conventions for generative AI (opentelemetry-semantic-conventions 0.66b); what they have
no name for begins with `groundwire.`. Prompts and answers are left out unless
`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for them, and secrets are masked in all that is told.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from urllib.parse import urlsplit

from opentelemetry import context, metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from groundwire.core._errors import GroundwireError
from groundwire.core._masking import Masker
from groundwire.core._models import Completion, Message, Request
from groundwire.telemetry import _export as export

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
CAPTURES = frozenset({"true", "1", "span_only", "span_and_event"})
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""LiteLLM's names of providers where the conventions have other ones."""

Value = str | int | float | bool | Sequence[str]


@contextmanager
def episode_span(graph: str, is_set_up: bool, ids: Mapping[str, str]) -> Generator[EpisodeSpan]:
    """The span of one episode.

    Args:
        graph: the graph's name.
        is_set_up: True where the program has providers of its own; else they are made as the environment says.
        ids: of the run, the episode and the task.
    """
    tracer, instruments = _of_the_program() if is_set_up else _of_the_environment()
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": graph,
        "gen_ai.conversation.id": ids.get("episode_id", ""),
        **{f"groundwire.{name}": value for name, value in ids.items()},
    }
    with _span(tracer, f"invoke_agent {graph}", SpanKind.INTERNAL, attributes) as span:
        episode = EpisodeSpan(tracer, instruments, span, ids)
        try:
            yield episode
        finally:
            episode.close()


class _Instruments:
    """The metrics."""

    def __init__(self, meter: metrics.Meter) -> None:
        self.duration = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )  # fmt: skip
        self.first_token = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk", "s", "Time to receive the first chunk.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )  # fmt: skip
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=TOKENS,
        )  # fmt: skip
        self.usd = meter.create_counter("groundwire.client.cost", "{USD}", "What model calls cost.")
        self.cached = meter.create_counter(
            "groundwire.client.cached_tokens", "{token}", "Input tokens that the provider took from its cache."
        )


@cache
def _of_the_environment() -> tuple[trace.Tracer, _Instruments]:
    tracer, meter = export.from_environment()
    return tracer, _Instruments(meter)


@cache
def _of_the_program() -> tuple[trace.Tracer, _Instruments]:
    return trace.get_tracer("groundwire"), _Instruments(metrics.get_meter("groundwire"))


class EpisodeSpan:
    """The span of an episode, and those of its trials: each from its first model call to the next one's, or the end."""

    def __init__(self, tracer: trace.Tracer, instruments: _Instruments, span: Span, ids: Mapping[str, str]) -> None:
        self._tracer = tracer
        self._instruments = instruments
        self._span = span
        self._ids = ids
        self._trial: tuple[int, Span] | None = None

    def ended(self, **facts: str | int | float | bool) -> None:
        """See `spans.ToldOfEpisode`."""
        self._span.set_attributes({f"groundwire.{name}": fact for name, fact in facts.items()})

    def close(self) -> None:
        """Ends the span of the trial that is under way."""
        if self._trial is not None:
            self._trial[1].end()
            self._trial = None

    @contextmanager
    def call(self, model: str, request: Request, trial: int) -> Generator[_CallSpan]:
        """See `spans.model_call_span`."""
        masker = Masker()
        attributes = {**_asked(masker(model), request), "groundwire.trial": trial}
        attributes["gen_ai.conversation.id"] = self._ids.get("episode_id", "")
        if _captures():
            attributes |= _content_of(request, masker)
        parent = trace.set_span_in_context(self._span_of(trial))
        with _span(self._tracer, f"chat {masker(model)}", SpanKind.CLIENT, attributes, parent) as span:
            call = _CallSpan(span, self._instruments, masker(model), masker)
            try:
                yield call
            except BaseException as error:
                call.failed(error)
                raise

    def _span_of(self, trial: int) -> Span:
        if self._trial is None or self._trial[0] < trial:
            self.close()
            started = self._tracer.start_span(
                f"trial {trial}",
                context=trace.set_span_in_context(self._span),
                attributes={"groundwire.trial": trial},
            )
            self._trial = (trial, started)
        return self._trial[1]


class _CallSpan:
    """The span of one model call, and what it adds to the metrics."""

    def __init__(self, span: Span, instruments: _Instruments, model: str, masker: Masker) -> None:
        self._span = span
        self._instruments = instruments
        self._masker = masker
        self._labels: dict[str, Value] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(model),
            "gen_ai.request.model": model,
        }
        self._began = time.monotonic()

    def answered(self, completion: Completion) -> None:
        """See `spans.ToldOfCall`."""
        duration_s = time.monotonic() - self._began
        self._span.set_attributes(_came(completion, self._masker))
        if _captures():
            messages = [_as_message("assistant", self._masker(text)) for text in completion.texts]
            self._span.set_attribute("gen_ai.output.messages", json.dumps(messages))
        labels = self._labels | {"gen_ai.response.model": self._masker(completion.model)}
        told = self._instruments
        told.duration.record(duration_s, labels)
        told.tokens.record(completion.prompt_tokens, labels | {"gen_ai.token.type": "input"})
        told.tokens.record(completion.completion_tokens, labels | {"gen_ai.token.type": "output"})
        if completion.first_token_s is not None:
            told.first_token.record(completion.first_token_s, labels)
        if completion.usd:
            told.usd.add(completion.usd, labels)
        if completion.cached_prompt_tokens:
            told.cached.add(completion.cached_prompt_tokens, labels)

    def failed(self, error: BaseException) -> None:
        """It ended without an answer that may be shown."""
        kind = type(error).__name__
        said = self._masker(error.what) if isinstance(error, GroundwireError) else kind
        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR, said))
        self._instruments.duration.record(time.monotonic() - self._began, self._labels | {"error.type": kind})


@contextmanager
def _span(
    tracer: trace.Tracer,
    name: str,
    kind: SpanKind,
    attributes: Mapping[str, Value],
    parent: context.Context | None = None,
) -> Generator[Span]:
    # errors are written down by us: their texts and tracebacks may hold what must not leave
    with tracer.start_as_current_span(
        name, parent, kind, attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        yield span


def _asked(model: str, request: Request) -> dict[str, Value]:
    asked: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(model),
        "gen_ai.request.model": model,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.output.type": "json" if request.json_schema is not None else "text",
        "groundwire.purpose": request.purpose,
    }
    if request.n != 1:
        asked["gen_ai.request.choice.count"] = request.n
    if request.seed is not None:
        asked["gen_ai.request.seed"] = request.seed
    if request.stop:
        asked["gen_ai.request.stop_sequences"] = request.stop
    address = model.partition(":")[2]
    if address.startswith(("http://", "https://")):
        parts = urlsplit(address)
        asked["server.address"] = parts.hostname or ""
        asked["server.port"] = parts.port or (443 if parts.scheme == "https" else 80)
    return asked


def _came(completion: Completion, masker: Masker) -> dict[str, Value]:
    came: dict[str, Value] = {
        "gen_ai.response.model": masker(completion.model),
        "gen_ai.response.finish_reasons": completion.finish_reasons,
        "gen_ai.usage.input_tokens": completion.prompt_tokens,
        "gen_ai.usage.output_tokens": completion.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": completion.cached_prompt_tokens,
        "groundwire.attempts": completion.attempts,
    }
    if completion.usd is not None:
        came["groundwire.usd"] = completion.usd
    if completion.first_token_s is not None:
        came["gen_ai.response.time_to_first_chunk"] = completion.first_token_s
    return came


def _provider(model: str) -> str:
    scheme, colon, _ = model.partition(":")
    provider, slash, _ = (scheme if colon else model).partition("/")
    if not slash:
        return scheme if colon or model == "local" else "unknown"
    return PROVIDERS.get(provider, provider)


def _captures() -> bool:
    return os.environ.get(CAPTURE, "").strip().lower() in CAPTURES


def _content_of(request: Request, masker: Masker) -> dict[str, Value]:
    def listed(messages: Sequence[Message]) -> str:
        return json.dumps([_as_message(m.role, masker(m.content)) for m in messages])

    return {
        "gen_ai.system_instructions": listed([m for m in request.messages if m.role == "system"]),
        "gen_ai.input.messages": listed([m for m in request.messages if m.role != "system"]),
    }


def _as_message(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
