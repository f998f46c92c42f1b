"""A LangGraph graph that somebody has already, as an actor: its model calls are reserved, paid and in the ledger.

LangChain tells of each call before it is sent (`on_chat_model_start`) and when it has its answer. The first asks the
budget, and a refusal ends the call before it was made; the second books what the provider counted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import LLMResult
from langgraph.prebuilt import ToolNode

from groundwire.agents.patching._evidence import (
    attempt_as_data,
    failing_evidence,
    failing_of,
    lessons_as_data,
    lessons_to_show,
    reflection_as_data,
)
from groundwire.agents.programs._plain_functions import Proposals, candidate_of
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, ModelCaller
from groundwire.core._errors import (
    CandidateError,
    ConfigError,
    GroundwireError,
    ModelError,
    ModelRejected,
)
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Completion, Message, Request, ToolCall
from groundwire.core._programs import ProgramRequest, ProgramResult
from groundwire.core._prompt_text import data, estimate_tokens
from groundwire.core._signals import canonical
from groundwire.core._traits import ActorTraits
from groundwire.models._prices import Rates, prompt_tokens_bound

MESSAGES = "messages"
TOKENS_OF_A_CALL = 4096
UsdPerToken: TypeAlias = "tuple[float, float] | Mapping[str, tuple[float, float]]"


def from_langgraph(
    graph: Any,
    *,
    input: str | Callable[[ActorContext], Any] = MESSAGES,
    output: str | Callable[[Any], Proposals] = MESSAGES,
    usd_per_token: UsdPerToken | None = None,
    max_tokens: int = TOKENS_OF_A_CALL,
    timeout_s: float = 600.0,
) -> LangGraphActor:
    """A compiled LangGraph graph as an actor; one line gates its loop:

        app = FeedbackGraph.loop(from_langgraph(agent), Check(is_valid)).compile(budget=Budget(tokens=50_000))

    The graph is told the task, what it handed in last and what was reported about that, and runs from its start in each
    trial. Models that it calls by LangChain are metered; what it asks in other ways is not. A model whose provider
    counts no tokens is counted at 3.5 characters a token. The proof reads the graph too: a loop in it that nothing from
    outside decides is refused. A `ToolNode` touches the world; of other nodes `roles` of `add_actor` says so.

    Args:
        graph: compiled; its checkpointer, if any, gets a thread of its own in each trial.
        input: the field of its state that gets the text of the task (`messages`: as a message); or a function of the
            context that gives the whole state.
        output: the field that holds the answer in the end (`messages`: the last one's text); or a function of the final
            state, which gives what a plain function may propose: a text, texts by their paths, a candidate.
        usd_per_token: prices of prompt and completion, of all models or by a model's name; None: not known, so that a
            budget in dollars refuses each call.
        max_tokens: the most that a call writes, where the model does not say.
        timeout_s: wall seconds of one run.

    Raises:
        ConfigError: it is no compiled graph, or an argument is out of range.
    """
    return LangGraphActor(graph, input, output, usd_per_token, max_tokens, timeout_s)


class LangGraphActor:
    """Proposes what a LangGraph graph comes to; made by `from_langgraph`.

    A run is in the ledger as one of a program, so that a replay and a resumed episode take what it came to, and never
    run it again; the calls in it are there one by one.
    """

    def __init__(
        self,
        graph: Any,
        input: str | Callable[[ActorContext], Any],
        output: str | Callable[[Any], Proposals],
        usd_per_token: UsdPerToken | None,
        max_tokens: int,
        timeout_s: float,
    ) -> None:
        if not hasattr(graph, "ainvoke") or not hasattr(graph, "builder"):
            compiled = "  from_langgraph(graph.compile())" if hasattr(graph, "compile") else "a compiled StateGraph"
            raise ConfigError(f"from_langgraph got {type(graph).__name__}.", do=f"Give it a compiled graph: {compiled}")
        if max_tokens < 1 or timeout_s <= 0:
            raise ConfigError("from_langgraph got an argument out of range.", do="Use positive numbers.")
        for side in (input, output):
            _check_field(side, sorted(graph.builder.channels))
        self.traits = ActorTraits()
        self.graph_roles = _roles_of(graph)
        self._graph = graph
        self._input = input
        self._output = output
        self._prices = _Prices(usd_per_token)
        self._max_tokens = max_tokens
        self._timeout_s = timeout_s

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. The graph runs `n` times, one run after the other.

        Raises:
            BudgetExceeded: a call could cost more than is left; it was not sent.
            ModelRejected: a model failed, and the graph did not go on.
            CandidateError: what it came to is no proposal, or it took too long.
            Exception: what its nodes raise.
        """
        runs = [await self._run(context, number) for number in range(n)]
        return [candidate for candidate in runs if candidate is not None]

    async def _run(self, context: ActorContext, number: int) -> Candidate | None:
        told = text_of(context)
        request = ProgramRequest(
            command=("langgraph", str(getattr(self._graph, "name", "graph"))),
            prompt=told,
            tree=context.tree.digest,
            attempt=number + 1000 * context.escalation,
            seed=seed_in(context, "propose", call=number),
            timeout_s=self._timeout_s,
        )
        ran: list[ProgramResult] = []
        result = await context.program(request, partial(self._invoke, context, told, ran))
        if not ran:
            await _play_back(context.call, result.stdout)
        if result.ended_by:
            raise CandidateError("The graph ran out of time.", do=f"Raise timeout_s, which is {self._timeout_s:g}.")
        if result.error:
            raise CandidateError(result.error, do="Say where the answer is:  from_langgraph(graph, output=…)")
        return result.candidate

    async def _invoke(
        self, context: ActorContext, told: str, ran: list[ProgramResult], seconds: float
    ) -> ProgramResult:
        meter = CallMeter(context.call, self._prices, self._max_tokens)
        state = self._input(context) if callable(self._input) else _state(self._input, told)
        thread = f"{context.task.id}-{context.trial}-{context.escalation}-{time.monotonic_ns()}"
        config = {"callbacks": [meter], "configurable": {"thread_id": thread}}
        started = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                final = await self._graph.ainvoke(state, config)
        except TimeoutError:
            if time.monotonic() - started < seconds:
                raise  # a node's own
            result = ProgramResult(ended_by="wall_s", stdout=meter.asked, duration_s=time.monotonic() - started)
        except Exception as error:
            raise meter.cause_of(error) from error
        else:
            result = self._result(final, context, meter, time.monotonic() - started)
        finally:
            await meter.aclose()
        ran.append(result)
        return result

    def _result(self, final: Any, context: ActorContext, meter: CallMeter, seconds: float) -> ProgramResult:
        candidate, error = None, ""
        try:
            if isinstance(final, Mapping) and "__interrupt__" in final:
                raise CandidateError("The graph waits for a person (interrupt), and nobody is asked inside an actor.")
            proposal = self._output(final) if callable(self._output) else _field(final, self._output)
            if isinstance(proposal, list | tuple):
                proposal = next(iter(cast("Sequence[Any]", proposal)), None)
            candidate = None if proposal is None else candidate_of(proposal, context.task, self._graph)
        except CandidateError as problem:
            error = problem.what
        return ProgramResult(candidate=candidate, exit_code=0, stdout=meter.asked, duration_s=seconds, error=error)


def text_of(context: ActorContext) -> str:
    """What the graph is told: the task and its files, then what was handed in last and what was reported about it."""
    failing = failing_of(context)
    files = [
        data("file", content.decode("utf-8", "replace"), path=path)
        for path, content in sorted(context.tree.files.items())
        if content
    ]
    told = [
        context.task.prompt,
        *files,
        lessons_as_data(lessons_to_show(context)),
        attempt_as_data(context),
        failing_evidence(failing.signal) if failing else "",
        reflection_as_data(context),
        "Your last answer failed this check. Correct it." if failing and not failing.candidate.is_base else "",
    ]
    return "\n\n".join(part for part in told if part)


def _state(name: str, told: str) -> Any:
    return {name: [HumanMessage(told)] if name == MESSAGES else told}


def _field(final: Any, name: str) -> Any:
    value: Any = cast("Mapping[str, Any]", final)[name] if isinstance(final, Mapping) else getattr(final, name, None)
    if name != MESSAGES:
        return value
    last: Any = value[-1] if value else None
    return str(last.text) if isinstance(last, BaseMessage) else last


def _check_field(side: object, fields: Sequence[str]) -> None:
    if isinstance(side, str) and side not in fields:
        raise ConfigError(
            f"The graph's state has no field {side!r}.",
            do=f'Name one of its own, input="…", output="…": {", ".join(fields)}; or give a function.',
        )


def _roles_of(graph: Any) -> Mapping[str, str]:
    """Nodes that run tools, whatever a model says before or after: they touch the world each time."""
    name = getattr(graph, "name", "graph")
    nodes: Mapping[str, Any] = graph.builder.nodes
    return {f"{name}/{node}": "world" for node, spec in nodes.items() if isinstance(spec.runnable, ToolNode)}


async def _play_back(call: ModelCaller, asked: str) -> None:
    """Asks the ledger for the calls of a run that is not made again, so that a replay accounts for them too."""
    for line in asked.splitlines():
        try:
            model, request = json.loads(line)
            await call(_NobodyAsked(model), Request.model_validate(request))
        except ModelError:
            continue  # it failed then, and the graph went on


@dataclass(frozen=True)
class _NobodyAsked:
    """Stands where a backend is asked for: the ledger answers."""

    model: str

    async def complete(self, request: Request) -> Completion:
        raise ModelRejected("The ledger holds no answer to a call of a run that is not made again.")

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return 0.0


# What LangChain tells of its calls, as calls of this episode.


@dataclass(frozen=True)
class _Prices:
    given: UsdPerToken | None

    def of(self, model: str) -> Rates | None:
        given = self.given
        if isinstance(given, Mapping):
            return Rates.given(given.get(model))
        return Rates.given(given)


@dataclass
class _Foreign:
    """The `Backend` of a call that somebody else makes: it waits for what they were answered."""

    model: str
    rates: Rates | None
    sent: asyncio.Event = field(default_factory=asyncio.Event)
    answer: asyncio.Future[Completion] | None = None

    async def complete(self, request: Request) -> Completion:
        self.answer = asyncio.get_running_loop().create_future()
        self.sent.set()
        return await self.answer

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return self.rates and self.rates.usd(prompt_tokens_bound(request), request.n * request.max_tokens)


@dataclass
class _Open:
    backend: _Foreign
    request: Request
    call: asyncio.Task[Completion]


class CallMeter(BaseCallbackHandler):
    """Makes each model call of a LangChain run one of an episode's. LangChain tells it in threads of its own, so that
    it may wait for the budget there.

    Args:
        call: the episode's.
        prices: of the models.
        max_tokens: where a model does not say what it may write.
    """

    raise_error = True  # a refusal of the budget has to reach whoever calls
    run_inline = False

    def __init__(self, call: ModelCaller, prices: _Prices, max_tokens: int) -> None:
        self._call = call
        self._prices = prices
        self._max_tokens = max_tokens
        self._loop = asyncio.get_running_loop()
        self._open: dict[UUID, _Open] = {}
        self._asked: list[str] = []
        self._failure: tuple[BaseException, GroundwireError] | None = None

    @property
    def asked(self) -> str:
        """The requests that were sent, one a line, each with its model."""
        return "\n".join(self._asked)

    def cause_of(self, error: Exception) -> Exception:
        """What an error of the graph is to the episode: a model's, where a model's call raised it."""
        if self._failure is not None and self._failure[0] is error:
            return self._failure[1]
        return error

    async def aclose(self) -> None:
        """Ends what nobody will tell the end of."""
        calls = [one.call for one in self._open.values()]
        self._open.clear()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A chat is about to be sent."""
        self._wait(self._begin(run_id, tuple(_message(m) for chat in messages for m in chat), kwargs))

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """A text is about to be sent."""
        self._wait(self._begin(run_id, tuple(Message(role="user", content=p) for p in prompts), kwargs))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """It was answered."""
        self._wait(self._end(run_id, response))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It failed."""
        self._wait(self._fail(run_id, error))

    def _wait(self, work: Any) -> None:
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            work.close()
            raise ConfigError(
                "A node that is async calls a model without await, which holds up everything else.",
                do="Use  await model.ainvoke(…)  there, or make the node a plain def.",
            )
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _begin(self, run_id: UUID, messages: tuple[Message, ...], told: Mapping[str, Any]) -> None:
        request, model = self._request(run_id, messages, told)
        backend = _Foreign(model, self._prices.of(model))
        asked: Backend = backend
        call = self._loop.create_task(self._coroutine(asked, request))
        sent = self._loop.create_task(backend.sent.wait())
        await asyncio.wait({call, sent}, return_when=asyncio.FIRST_COMPLETED)
        sent.cancel()
        if call.done():
            call.result()  # the budget's refusal, or the firewall's
        self._asked.append(json.dumps([model, request.model_dump(mode="json")]))
        self._open[run_id] = _Open(backend, request, call)

    async def _coroutine(self, backend: Backend, request: Request) -> Completion:
        return await self._call(backend, request)

    async def _end(self, run_id: UUID, response: LLMResult) -> None:
        one = self._open.pop(run_id, None)
        if one is None or one.backend.answer is None or one.backend.answer.done():
            return
        one.backend.answer.set_result(_completion(response, one))
        await one.call

    async def _fail(self, run_id: UUID, error: BaseException) -> None:
        one = self._open.pop(run_id, None)
        if one is None or one.backend.answer is None or one.backend.answer.done():
            return
        failure = ModelRejected(
            f"{one.backend.model} failed inside the graph: {type(error).__name__}: {error!s:.300}",
            do="The graph calls it by itself: look at its model's settings.",
        )
        self._failure = (error, failure)
        one.backend.answer.set_exception(failure)
        await asyncio.gather(one.call, return_exceptions=True)

    def _request(self, run_id: UUID, messages: tuple[Message, ...], told: Mapping[str, Any]) -> tuple[Request, str]:
        given: Mapping[str, Any] = told.get("invocation_params") or {}
        about: Mapping[str, Any] = told.get("metadata") or {}
        most = given.get("max_tokens") or given.get("max_completion_tokens") or about.get("ls_max_tokens")
        temperature = given.get("temperature", about.get("ls_temperature"))
        model = given.get("model") or given.get("model_name") or about.get("ls_model_name") or given.get("_type")
        request = Request(
            messages=messages,
            n=given.get("n") or 1,
            max_tokens=int(most) if most else self._max_tokens,
            temperature=float(temperature) if temperature is not None else 0.0,
            # of its own for each: no answer of the ledger may stand for a call that is made anyway
            seed=run_id.int & (2**63 - 1),
            purpose="propose",
        )
        return request, str(model or "model")


def _message(message: BaseMessage) -> Message:
    roles = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
    calls = tuple(
        ToolCall(id=call.get("id") or "", name=call["name"], arguments=canonical(call["args"]))
        for call in getattr(message, "tool_calls", ())
    )
    return Message.model_validate(
        {
            "role": roles.get(message.type, "user"),
            "content": str(message.text),
            "tool_calls": calls,
            "answers": getattr(message, "tool_call_id", "") or "",
        }
    )


def _completion(response: LLMResult, one: _Open) -> Completion:
    generations: list[Any] = [g for several in response.generations for g in several]
    messages = [getattr(g, "message", None) for g in generations]
    found = (getattr(message, "usage_metadata", None) for message in messages)
    counted: Mapping[str, Any] = next((usage for usage in found if usage), None) or {}
    told: Mapping[str, Any] = (response.llm_output or {}).get("token_usage") or {}
    prompt: int | None = counted.get("input_tokens") or told.get("prompt_tokens")
    written: int | None = counted.get("output_tokens") or told.get("completion_tokens")
    if prompt is None:
        prompt = sum(estimate_tokens(message.content) for message in one.request.messages)
    if written is None:
        written = sum(estimate_tokens(str(g.text)) for g in generations)
    details: Mapping[str, Any] = counted.get("input_token_details") or {}
    calls = tuple(_message(m).tool_calls for m in messages if isinstance(m, BaseMessage))
    rates = one.backend.rates
    return Completion(
        texts=tuple(str(g.text) for g in generations),
        model=str((response.llm_output or {}).get("model_name") or one.backend.model),
        prompt_tokens=prompt,
        completion_tokens=written,
        cached_prompt_tokens=details.get("cache_read") or 0,
        usd=rates and rates.usd(prompt, written),
        tool_calls=calls if any(calls) else (),
    )
