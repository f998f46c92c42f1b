"""What OpenTelemetry is told, read from its own in-memory exporter and from a real OTLP receiver on loopback."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import pytest
from guessing import ANSWER, Check, Guesser, answer, no_verdict

from groundwire import FeedbackApp, FeedbackGraph, Task
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext, ToolContext
from groundwire.core._errors import HiddenLeak, ModelRetryable
from groundwire.core._models import Completion, Message, OnText, Request
from groundwire.core._signals import NoVerdict, Observation, Signal
from groundwire.graphs.run._firewall import Firewall
from groundwire.telemetry import _spans as spans
from groundwire.telemetry import episode_span, is_wanted, model_call_span

pytest.importorskip("opentelemetry.sdk", reason='no telemetry: pip install "groundwire[otel]"')

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from groundwire.telemetry import _export as export
from groundwire.telemetry import _sdk as sdk

TASK = Task(id="guess", family="words", prompt="solve it", tree=Tree({ANSWER: b"nothing"}))
SECRET = "sk-proj-abcdefghijklmnop123456"
ASK = Request(
    messages=(Message(role="system", content="be brief"), Message(role="user", content=f"my key is {SECRET}")),
    n=2, max_tokens=50, seed=3, stop=("END",), purpose="propose",
)  # fmt: skip


class Paid:
    """A model of two words, the second right, that can stream and costs money."""

    model = "openai/gpt-9"

    def __init__(self) -> None:
        self.words = iter(["wrong", "right"])
        self.asked = count(1).__next__
        self.streamed = 0

    async def complete(self, request: Request) -> Completion:
        return Completion(
            texts=(next(self.words),) * request.n, model="gpt-9-2026", prompt_tokens=100, completion_tokens=7, usd=0.25,
            finish_reasons=("stop", "length"), attempts=2, cached_prompt_tokens=40, first_token_s=0.5,
            response_id=f"chatcmpl-{self.asked()}",
        )  # fmt: skip

    async def stream(self, request: Request, on_text: OnText) -> Completion:
        self.streamed += 1
        on_text(0, "wri")
        on_text(0, "ting")
        return await self.complete(request)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return 1.0


class Asker:
    def __init__(self, backend: Any) -> None:
        self.backend = backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        completion = await context.call(self.backend, ASK)
        return [answer(context.task, completion.texts[0])]


def app(backend: Any) -> FeedbackApp:
    graph = FeedbackGraph(name="words").add_actor("write", Asker(backend)).add_tool("test", Check())
    return graph.add_edge("write", "test").refine("test", to="write").compile()


class Told:
    """What was told."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        self.metrics = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.meters = MeterProvider(metric_readers=[self.metrics])
        self.logs = InMemoryLogRecordExporter()
        self.loggers = LoggerProvider()
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self.logs))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans.get_finished_spans() if span.name == name]

    def points(self) -> dict[tuple[str, Any], Any]:
        found: dict[tuple[str, Any], Any] = {}
        data: Any = json.loads(self.metrics.get_metrics_data().to_json())  # pyright: ignore[reportOptionalMemberAccess]
        for metric in data["resource_metrics"][0]["scope_metrics"][0]["metrics"]:
            for point in metric["data"]["data_points"]:
                of = point["attributes"]
                found[metric["name"], of.get("error.type") or of.get("groundwire.verdict")] = point
        return found


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Generator[Told]:
    kept = Told()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    made = (kept.tracers.get_tracer("t"), kept.meters.get_meter("t"), kept.loggers.get_logger("t"))
    monkeypatch.setattr(export, "from_environment", lambda: made)
    sdk._of_the_environment.cache_clear()  # pyright: ignore[reportPrivateUsage]  it is made once a process
    yield kept
    sdk._of_the_environment.cache_clear()  # pyright: ignore[reportPrivateUsage]
    kept.tracers.shutdown()
    kept.meters.shutdown()
    kept.loggers.shutdown()


def test_an_episode_its_trials_their_calls_and_judgings(told: Told) -> None:
    result = app(Paid()).run(TASK)
    (episode,) = told.named("invoke_agent words")
    trials = [*told.named("trial 1"), *told.named("trial 2")]
    calls, judgings = told.named("chat gpt-9"), told.named("execute_tool test")
    assert len(trials) == len(calls) == len(judgings) == 2
    for trial, call, judging in zip(trials, calls, judgings, strict=True):
        assert trial.parent == episode.context
        assert call.parent == judging.parent == trial.context
    said = dict(episode.attributes or {})
    assert said["gen_ai.operation.name"] == "invoke_agent"
    assert said["gen_ai.conversation.id"] == said["groundwire.episode_id"] == result.episode_id
    assert (said["groundwire.stop_reason"], said["groundwire.verdict"]) == ("verified", "pass")
    assert (said["groundwire.usd"], said["groundwire.task_id"]) == (0.5, "guess")
    assert dict(judgings[1].attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "test",
        "gen_ai.tool.type": "function",
        "groundwire.signals": 1,
        "groundwire.trial": 2,
        "groundwire.verdict": "pass",
    }
    assert dict(calls[1].attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.conversation.id": result.episode_id,
        "gen_ai.request.model": "gpt-9",
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 50,
        "gen_ai.request.choice.count": 2,
        "gen_ai.request.seed": 3,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.output.type": "text",
        "gen_ai.response.id": "chatcmpl-2",
        "gen_ai.response.model": "gpt-9-2026",
        "gen_ai.response.finish_reasons": ("stop", "length"),
        "gen_ai.response.time_to_first_chunk": 0.5,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "groundwire.attempts": 2,
        "groundwire.model": "openai/gpt-9",
        "groundwire.purpose": "propose",
        "groundwire.trial": 2,
        "groundwire.usd": 0.25,
    }, "no prompt and no answer unless asked for"
    points = told.points()
    inference = "gen_ai.client.inference"
    assert points[f"{inference}.duration", None]["count"] == 2
    assert points[f"{inference}.time_to_first_chunk", None]["sum"] == 1.0
    assert points[f"{inference}.usage.input_tokens", None]["value"] == 200
    assert points[f"{inference}.usage.output_tokens", None]["value"] == 14
    assert points[f"{inference}.usage.cache_read.input_tokens", None]["value"] == 80
    assert points["groundwire.client.cost", None]["value"] == 0.5
    assert [points[f"gen_ai.invoke_agent.{what}", None]["sum"] for what in ("inference_calls", "tool_calls")] == [2, 2]
    assert points["gen_ai.invoke_agent.duration", None]["count"] == 1
    assert points["gen_ai.execute_tool.duration", None]["count"] == 2
    assert [points["groundwire.signals", verdict]["value"] for verdict in ("fail", "pass")] == [1, 1]


def test_each_signal_is_an_evaluation(told: Told) -> None:
    """In the span that it was sealed in, and as an event of its own for who collects those."""
    graph = app(Paid())
    result = graph.run(TASK)
    records = asyncio.run(graph.store.records(result.episode_id))
    sealed = [record for record in records if isinstance(record, Signal)]
    judgings = told.named("execute_tool test")
    for trial, signal, judging, log in zip((1, 2), sealed, judgings, told.logs.get_finished_logs(), strict=True):
        (event,) = judging.events
        holds = trial == 2
        assert event.name == log.log_record.event_name == "gen_ai.evaluation.result"
        assert dict(event.attributes or {}) == dict(log.log_record.attributes or {}) == {
            "gen_ai.evaluation.name": "test",
            "gen_ai.evaluation.score.label": "pass" if holds else "fail",
            "gen_ai.evaluation.score.value": float(holds),
            "gen_ai.evaluation.explanation": f"{int(holds)} of 1 cases hold",
            "gen_ai.response.id": f"chatcmpl-{trial}",
            "groundwire.candidate": signal.candidate_digest,
            "groundwire.isolation": "in_process",
            "groundwire.issuer": "test",
            "groundwire.oracle": False,
            "groundwire.origin": "verifier",
            "groundwire.signal_id": signal.id,
            "groundwire.trial": trial,
            "groundwire.verdict": "pass" if holds else "fail",
        }  # fmt: skip
        assert judging.context
        assert (log.log_record.trace_id, log.log_record.span_id) == (judging.context.trace_id, judging.context.span_id)
        assert judging.status.is_unset, "a FAIL is no error of the tool"


class Undecided:
    """Asks as often as it is told to, and proposes what came last."""

    def __init__(self, *purposes: str) -> None:
        self.backend = Paid()
        self.backend.words = iter(["right"] * len(purposes))
        self.purposes = purposes

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        asked = [ASK.model_copy(update={"purpose": purpose, "seed": i}) for i, purpose in enumerate(self.purposes)]
        said = [await context.call(self.backend, one) for one in asked]
        return [answer(context.task, said[-1].texts[0])]


@pytest.mark.parametrize(
    ("purposes", "wanted"),
    [
        (("propose",), "chatcmpl-1"),
        (("propose", "correct"), "chatcmpl-2"),
        (("propose.plan", "reflect.after"), "chatcmpl-1"),
        (("propose", "propose"), None),
        (("reflect",), None),
    ],
)
def test_the_answer_that_was_judged_is_named_where_it_is_one(
    told: Told, purposes: tuple[str, ...], wanted: str | None
) -> None:
    graph = FeedbackGraph().add_actor("write", Undecided(*purposes)).add_tool("test", Check())
    graph.add_edge("write", "test").refine("test", to="write").compile().run(TASK)
    (event,) = told.named("execute_tool test")[0].events
    assert dict(event.attributes or {}).get("gen_ai.response.id") == wanted


def test_a_model_that_judges_is_asked_in_the_judging(told: Told) -> None:
    class Judge(Check):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            await context.call(Paid(), ASK)
            return await super().judge(candidate, task, context)

    graph = FeedbackGraph().add_actor("write", Guesser([["right"]])).add_tool("test", Judge())
    graph.add_edge("write", "test").refine("test", to="write").compile().run(TASK)
    (judging,), (call,) = told.named("execute_tool test"), told.named("chat gpt-9")
    assert call.parent == judging.context
    said = dict(judging.events[0].attributes or {})
    assert said["groundwire.origin"] == "other_model"
    assert "gen_ai.response.id" not in said, "it is the judge's, not the candidate's"


def test_what_a_part_of_the_users_raised_is_told_by_its_kind_alone(told: Told) -> None:
    class Broken(Check):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            raise ValueError(f"the hidden tests say {SECRET}")

    graph = FeedbackGraph(name="words").add_actor("write", Guesser([["right"]])).add_tool("test", Broken())
    loop = graph.add_edge("write", "test").refine("test", to="write").compile()
    (result,) = loop.batch([TASK])
    assert result.error is not None
    for name in ("execute_tool test", "invoke_agent words"):
        (span,) = told.named(name)
        assert dict(span.attributes or {})["error.type"] in ("ValueError", "PartError")
        assert "hidden" not in span.to_json()


def test_no_verdict_is_no_score_and_says_why(told: Told) -> None:
    graph = FeedbackGraph(name="words").add_actor("write", Asker(Paid()))
    graph.add_tool("test", Check(override=lambda _text: no_verdict(NoVerdict.SANDBOX)))
    graph.add_edge("write", "test").refine("test", to="write").compile().run(TASK)
    (judging,) = told.named("execute_tool test")
    said = dict(judging.events[-1].attributes or {})
    assert (said["gen_ai.evaluation.score.label"], said["error.type"]) == ("none", "sandbox")
    assert "gen_ai.evaluation.score.value" not in said
    assert (dict(judging.attributes or {})["error.type"], judging.status.is_ok) == ("sandbox", False)
    assert told.points()["gen_ai.execute_tool.duration", "sandbox"]["count"] == 1


def test_what_is_said_is_told_where_it_is_asked_for_with_secrets_masked(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sdk.CAPTURE, "SPAN_ONLY")
    app(Paid()).run(TASK)
    said = dict(told.named("chat gpt-9")[0].attributes or {})
    assert json.loads(str(said["gen_ai.system_instructions"])) == [{"type": "text", "content": "be brief"}]
    assert json.loads(str(said["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": "my key is [masked key]"}]}
    ]
    assert json.loads(str(said["gen_ai.output.messages"]))[1]["parts"][0]["content"] == "wrong"
    episode = dict(told.named("invoke_agent words")[0].attributes or {})
    assert "solve it" in str(episode["gen_ai.input.messages"])
    assert "+right" in json.loads(str(episode["gen_ai.output.messages"]))[0]["parts"][0]["content"]
    (event,) = told.named("execute_tool test")[0].events
    assert dict(event.attributes or {})["gen_ai.evaluation.explanation"] == "0 of 1\nright"
    judged = dict(told.named("execute_tool test")[0].attributes or {})
    assert json.loads(str(judged["gen_ai.tool.call.result"])) == {"verdict": "fail", "explanation": "0 of 1\nright"}
    assert SECRET not in "".join(span.to_json() for span in told.spans.get_finished_spans())


def test_a_failed_call_says_so_without_its_secrets(told: Told) -> None:
    class Broken(Paid):
        async def complete(self, request: Request) -> Completion:
            raise ModelRetryable(f"busy, and your key {SECRET} is fine")

    app(Broken()).run(TASK)
    (call,) = told.named("chat gpt-9")
    assert dict(call.attributes or {})["error.type"] == "ModelRetryable"
    assert call.status.description == "busy, and your key [masked key] is fine"
    assert not call.events
    (episode,) = told.named("invoke_agent words")
    assert dict(episode.attributes or {})["error.type"] == "ModelRetryable"
    points = told.points()
    assert points["gen_ai.client.inference.duration", "ModelRetryable"]["count"] == 1
    assert points["gen_ai.invoke_agent.duration", "ModelRetryable"]["count"] == 1


def test_a_replay_tells_of_no_calls(told: Told) -> None:
    graph = app(Paid())
    result = graph.run(TASK)
    told.spans.clear()
    asyncio.run(graph.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id))
    assert not told.spans.get_finished_spans()


def test_streamed_text_is_seen_by_who_watches_and_by_nobody_else() -> None:
    backend, said = Paid(), list[str]()

    def on_text(_sample: int, text: str) -> None:
        said.append(text)

    app(backend).run(TASK, on_text=on_text)
    assert said == ["wri", "ting"] * 2
    backend = Paid()
    app(backend).run(TASK)
    assert backend.streamed == 0


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_METRICS_EXPORTER": "console"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_when_it_is_on(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], wanted: bool) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_wanted() is wanted


def test_a_missing_package_is_said_once_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "groundwire.telemetry._sdk", None)
    monkeypatch.delattr("groundwire.telemetry._sdk")
    monkeypatch.setattr(spans, "_warned", set[str]())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            with episode_span("words") as episode, model_call_span("m", ASK, 1) as call:
                call.answered(Completion(texts=("x",)))
                episode.ended(usd=1.0)
    (record,) = caplog.records
    assert "groundwire[otel]" in record.getMessage()


class Receiver:
    """Takes OTLP over HTTP, as a collector does."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        self.headers: list[str | None] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.bodies.append((self.path, body))
                receiver.headers.append(self.headers["authorization"])
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


PROGRAM = """
import sys
from groundwire.telemetry import episode_span, judging_span, model_call_span, tell_of_signal
from groundwire.core._models import Completion, Message, Request
from groundwire.core._seal import Mint
from groundwire.core._signals import Observation, Origin, Verdict

ask = Request(messages=(Message(role="user", content="what is asked"),))
seen = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS)
signal = Mint("r1", bytes(32)).signal(seen, episode_id="e1", trial=1, issuer="test", candidate_digest="d")
def run():
    with episode_span("words", episode_id="e1", prompt="what is wanted") as episode:
        with model_call_span("openai/gpt-9", ask, 1) as call:
            call.answered(Completion(texts=("what came",), usd=0.5, prompt_tokens=3))
        with judging_span("test", 1):
            tell_of_signal(signal)
assert not any(name.startswith("opentelemetry") for name in sys.modules)
run()
from opentelemetry import trace
assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider), "ours is ours alone"

# a program with providers of its own
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
kept = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
with trace.get_tracer("mine").start_as_current_span("mine"):
    run()
spans = {span.name: span for span in kept.get_finished_spans()}
assert spans["invoke_agent words"].parent == spans["mine"].context, "what is under way here comes first"
print(list(spans))
"""
TRACE, STARTED_IN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_the_standard_variables_are_all_it_takes() -> None:
    """A real export in a real process, flushed at its end and read as a collector reads it; below the span that the
    process was started in. A program that has set up its own is used instead."""
    receiver = Receiver()
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20cGs6c2s=,x-langfuse-ingestion-version=4",
        "OTEL_LOGS_EXPORTER": "otlp",
        "TRACEPARENT": f"00-{TRACE}-{STARTED_IN}-01",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, timeout=600, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == "['chat gpt-9', 'execute_tool test', 'trial 1', 'invoke_agent words', 'mine']"
    receiver.server.shutdown()
    receiver.server.server_close()
    sent = dict(receiver.bodies)
    assert sent.keys() == {"/v1/traces", "/v1/metrics", "/v1/logs"}
    assert not any(b"what " in body for body in sent.values())
    assert set(receiver.headers) == {"Basic cGs6c2s="}

    (resource,) = ExportTraceServiceRequest.FromString(sent["/v1/traces"]).resource_spans
    assert plain(resource.resource.attributes)["service.name"] == "groundwire"
    spans = {span.name: span for span in resource.scope_spans[0].spans}
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    assert spans["invoke_agent words"].parent_span_id.hex() == STARTED_IN
    assert plain(spans["chat gpt-9"].attributes)["gen_ai.usage.input_tokens"] == 3
    (event,) = spans["execute_tool test"].events
    said = plain(event.attributes)
    assert (event.name, said["groundwire.origin"]) == ("gen_ai.evaluation.result", "tests")
    assert (said["gen_ai.evaluation.score.value"], said["gen_ai.evaluation.score.label"]) == (0.0, "fail")

    (log,) = ExportLogsServiceRequest.FromString(sent["/v1/logs"]).resource_logs[0].scope_logs[0].log_records
    assert (log.event_name, plain(log.attributes)) == (event.name, said)
    assert log.span_id == spans["execute_tool test"].span_id

    measured = ExportMetricsServiceRequest.FromString(sent["/v1/metrics"]).resource_metrics[0].scope_metrics[0].metrics
    assert {"gen_ai.client.inference.duration", "gen_ai.execute_tool.duration", "groundwire.signals"} <= {
        metric.name for metric in measured
    }


def plain(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def test_an_answer_that_holds_hidden_tests_is_not_told(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where answers are asked for."""

    def leaks(_self: Firewall, completion: Completion) -> None:
        raise HiddenLeak("a line of the hidden tests")

    monkeypatch.setenv(sdk.CAPTURE, "SPAN_ONLY")
    monkeypatch.setattr(Firewall, "take_answer", leaks)
    app(Paid()).run(TASK)
    (call,) = told.named("chat gpt-9")
    said = dict(call.attributes or {})
    assert said["error.type"] == "HiddenLeak"
    assert "gen_ai.output.messages" not in said
