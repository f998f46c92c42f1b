"""OpenTelemetry's providers as the standard OTEL_* variables describe them, for programs that have none of their own.

They are ours alone: nothing is set for the rest of the process. They send what is left at the end of the process.
"""

from __future__ import annotations

import logging
import os
from importlib.metadata import entry_points
from typing import Any

from opentelemetry._logs import Logger, NoOpLogger
from opentelemetry.metrics import Meter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer

from groundwire.core._version import __version__

NAME = "groundwire"
_log = logging.getLogger(__name__)


def from_environment() -> tuple[Tracer, Meter, Logger]:
    """A tracer, a meter and a logger whose exporters, resource, sampler and limits are those of the environment.

    An exporter that is not installed is left out, with a warning. Logs go out only where they are named: most viewers
    of traces take none, and events are in the spans too.
    """
    resource = _resource()
    tracers = TracerProvider(resource=resource)
    if (spans := _exporter("traces")) is not None:
        tracers.add_span_processor(BatchSpanProcessor(spans))
    readers = [PeriodicExportingMetricReader(found)] if (found := _exporter("metrics")) is not None else []
    meters = MeterProvider(metric_readers=readers, resource=resource)
    return tracers.get_tracer(NAME, __version__), meters.get_meter(NAME, __version__), _logger(resource)


def _resource() -> Resource:
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({} if named else {"service.name": NAME, "service.version": __version__})


def _logger(resource: Resource) -> Logger:
    is_named = os.environ.get("OTEL_LOGS_EXPORTER") or os.environ.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")
    exporter = _exporter("logs") if is_named else None
    if exporter is None:
        return NoOpLogger(NAME)
    loggers = LoggerProvider(resource=resource)
    loggers.add_log_record_processor(BatchLogRecordProcessor(exporter))
    return loggers.get_logger(NAME, __version__)


def _exporter(signal: str) -> Any:
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    name = os.environ.get(variable, "").strip().lower() or "otlp"
    if name == "none":
        return None
    if name == "otlp":
        named = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
        protocol = named or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
        name = "otlp_proto_grpc" if protocol.strip().lower() == "grpc" else "otlp_proto_http"
    found = list(entry_points(group=f"opentelemetry_{signal}_exporter", name=name))
    if not found:
        _log.warning("%s names %r, which is not installed: no %s are sent.", variable, name, signal)
        return None
    return found[0].load()()
