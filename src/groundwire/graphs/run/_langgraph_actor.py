"""A LangGraph graph that somebody has already, as an actor: its model calls are reserved, paid and in the ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage
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
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import CandidateError, ConfigError
from groundwire.core._ids import seed_in
from groundwire.core._programs import ProgramRequest, ProgramResult
from groundwire.core._prompt_text import data
from groundwire.core._traits import ActorTraits
from groundwire.graphs.run._call_meter import CallMeter, Prices, UsdPerToken, play_back

MESSAGES = "messages"
TOKENS_OF_A_CALL = 4096


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
        self._prices = Prices(usd_per_token)
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
            await play_back(context.call, result.stdout)
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
