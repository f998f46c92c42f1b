"""LangChain and Deep Agents: a middleware that ends an agent's run on a sealed PASS alone; tools in and out.

Source: https://docs.langchain.com/oss/python/langchain/middleware (hooks, jumps, state of a middleware's own).
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, cast

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ValidationError

from groundwire.core._errors import ConfigError
from groundwire.core._models import ToolSpec
from groundwire.core._signals import Verdict
from groundwire.integrations.gated._output_gate import OutputGate, OutputRuling
from groundwire.tools import FunctionTool
from groundwire.tools._functions import CallableTool, CallResult, last_line

EXTRA = 'pip install "groundwire[langchain]"'
KEPT = "groundwire_gate"
_Base: Any
_State: Any
try:
    _types: Any = importlib.import_module("langchain.agents.middleware.types")
    _Base, _missing = _types.AgentMiddleware, False

    class _GateState(_types.AgentState):
        """What the middleware keeps: where the episode stands, and how often an output was handed in again."""

        # what it extends is known at run time alone
        groundwire_gate: NotRequired[Annotated[list[Any] | None, _types.PrivateStateAttr]]  # pyright: ignore[reportInvalidTypeForm]

    _State = _GateState

except ImportError:
    _types, _Base, _State, _missing = None, object, None, True


def _may_jump(method: Any) -> Any:
    return method if _missing else _types.hook_config(can_jump_to=["model"])(method)


class GroundedMiddleware(_Base):
    """A middleware for `create_agent` and Deep Agents: the run ends on a sealed PASS, and goes on after a sealed FAIL.

        create_agent("openai:gpt-5-mini", tools, middleware=[GroundedMiddleware(gate)])
        create_deep_agent(middleware=[GroundedMiddleware(gate, output="/slug.py")])

    Where the agent would end, its output is judged. Where the gate gives another try, the model is told what failed;
    else the run ends with `OutputRefused`. Where it stands is in the agent's state, so that a checkpointer keeps it.

    Args:
        gate: judges.
        output: what is judged, read from the agent's state: a file of a deep agent's own, by its path; or a function of
            the state. None: the structured response, or else the text of the last message.

    Raises:
        ConfigError: LangChain is not installed; from a run: there is no such file.
        OutputRefused: from a run: the output did not pass, and there is no further try.
    """

    state_schema = _State

    def __init__(self, gate: OutputGate, *, output: str | Callable[[Mapping[str, Any]], object] | None = None) -> None:
        if _missing:
            raise ConfigError("LangChain, 1 or newer, is not installed.", do=EXTRA)
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  it is LangChain's
        self.gate = gate
        self._output = output

    @property
    def name(self) -> str:
        """Its name among the agent's nodes."""
        return "groundwire"

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """A run is an episode: what the thread's last one left is put away."""
        return {KEPT: None}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """See `before_agent`."""
        return {KEPT: None}

    @_may_jump
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Judges the output."""
        return _update(self.gate.allow(self._handed_in(state), prompt=_prompt_in(state), after=_after(state)))

    @_may_jump
    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Judges the output."""
        return _update(await self.gate.aallow(self._handed_in(state), prompt=_prompt_in(state), after=_after(state)))

    def _handed_in(self, state: Mapping[str, Any]) -> object:
        if callable(self._output):
            return self._output(state)
        if self._output is not None:
            return _file_in(state, self._output)
        structured = state.get("structured_response")
        return _text(state["messages"][-1]) if structured is None else structured


def _file_in(state: Mapping[str, Any], path: str) -> str:
    files: Mapping[str, Any] = state.get("files") or {}
    if path not in files:
        return ""  # what was asked for is not there, which is for the check to say
    content: str | list[str] = files[path]["content"]
    return content if isinstance(content, str) else "\n".join(content)


def _text(message: BaseMessage) -> str:
    return str(message.text)


def _prompt_in(state: Mapping[str, Any]) -> str:
    """What the run was asked: the newest message of a person's that is none of the gate's."""
    asked = [
        message
        for message in cast("Sequence[BaseMessage]", state["messages"])
        if isinstance(message, HumanMessage) and message.name != KEPT
    ]
    return (_text(asked[-1]) if asked else "").strip() or "(the agent was given no text)"


def _after(state: Mapping[str, Any]) -> OutputRuling | None:
    kept = state.get(KEPT)
    return None if kept is None else OutputRuling(Verdict.FAIL, True, "", None, "", "", str(kept[0]), int(kept[1]))


def _update(ruling: OutputRuling) -> dict[str, Any] | None:
    if not ruling.again:
        return None
    told = HumanMessage(ruling.feedback, name=KEPT)
    return {"messages": [told], KEPT: [ruling.episode, ruling.repeats], "jump_to": "model"}


# Tools, in and out.


class _LangChainTool:
    """A tool of LangChain's that an actor of ours may call."""

    def __init__(self, tool: BaseTool, *, irreversible: bool, once: bool, timeout_s: float) -> None:
        self.irreversible = irreversible
        self.once = once
        self._tool = tool
        self._timeout_s = timeout_s
        self._schema: Any = cast("Any", tool.tool_call_schema)
        is_json = isinstance(self._schema, dict)
        parameters: Any = self._schema if is_json else self._schema.model_json_schema()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        self.spec = ToolSpec(name=tool.name, description=tool.description, parameters=parameters)

    def problem(self, arguments: Mapping[str, Any]) -> str:
        """See `CallableTool`. A schema that is plain JSON is looked at by the tool itself."""
        if isinstance(self._schema, type) and issubclass(self._schema, BaseModel):
            try:
                self._schema.model_validate(dict(arguments))
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        return ""

    async def call(self, arguments: Mapping[str, Any]) -> CallResult:
        """See `CallableTool`."""
        clock = asyncio.timeout(self._timeout_s)
        try:
            async with clock:
                result: Any = await self._tool.ainvoke(dict(arguments))
        except TimeoutError as error:
            late = f"no answer within {self._timeout_s:g} s; it may still be at work"
            return CallResult(late if clock.expired() else last_line(error), ok=False)
        except Exception as error:  # whatever a tool raises is what the world answered
            return CallResult(last_line(error), ok=False)
        return CallResult(result if isinstance(result, str) else str(result))


def tools_from_langchain(
    *tools: BaseTool, irreversible: Sequence[str] = (), once: Sequence[str] = (), timeout_s: float = 30.0
) -> tuple[CallableTool, ...]:
    """Tools of LangChain's, for `Toolbox` and the actors that take one.

    Args:
        *tools: `@tool` functions, toolkits' tools.
        irreversible: names of those that can't be undone.
        once: names of those where the same call again is refused.
        timeout_s: wall seconds for one call.

    Raises:
        ConfigError: one is no tool of LangChain's, or a name is of none.
    """
    names = [tool.name if isinstance(tool, BaseTool) else repr(tool)[:60] for tool in tools]  # pyright: ignore[reportUnnecessaryIsInstance]
    for tool in tools:
        if not isinstance(tool, BaseTool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"This is no tool of LangChain's: {tool!r:.80}.", do="Decorate the function with @tool.")
    if lacking := sorted({*irreversible, *once} - set(names)):
        raise ConfigError(f"There is no tool {', '.join(lacking)}.", do=f"There are {', '.join(names)}.")
    return tuple(
        _LangChainTool(tool, irreversible=tool.name in irreversible, once=tool.name in once, timeout_s=timeout_s)
        for tool in tools
    )


def langchain_tools(*tools: CallableTool | Callable[..., Any]) -> list[BaseTool]:
    """Our tools as LangChain's: functions, `FunctionTool`, those of MCP servers.

    Arguments that don't fit and calls that fail are a `ToolException`, which an agent is told of.

    Args:
        *tools: tools, or plain functions.

    Raises:
        ConfigError: a function can't be a tool.
    """
    return [_as_langchain(tool if isinstance(tool, CallableTool) else FunctionTool(tool)) for tool in tools]


def _as_langchain(tool: CallableTool) -> BaseTool:
    async def called(**arguments: Any) -> str:
        problem = tool.problem(arguments)
        result = CallResult(problem, ok=False) if problem else await tool.call(arguments)
        if not result.ok:
            raise ToolException(result.text)
        return result.text

    def called_and_awaited(**arguments: Any) -> str:
        return asyncio.run(called(**arguments))

    return StructuredTool(
        name=tool.spec.name,
        description=tool.spec.description or tool.spec.name,
        args_schema=dict(tool.spec.parameters),
        func=called_and_awaited,
        coroutine=called,
        handle_tool_error=True,
    )
