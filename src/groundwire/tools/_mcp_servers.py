"""Tools of an MCP server (Model Context Protocol), through the official SDK: a program, or an address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from subprocess import DEVNULL
from typing import Any, cast

from groundwire.core._errors import ConfigError
from groundwire.core._models import ToolSpec
from groundwire.tools._functions import CallableTool, Outcome, last_line

EXTRA = 'pip install "groundwire[mcp]"'
PAGES = 20
"""Of a server's list of tools; more is no list that a model could read."""


class McpTool:
    """One tool of a connected server. What it says of itself and gives back is as hostile as any text from outside.

    Args:
        client: the SDK's connected client.
        spec: the tool as the server described it when it was connected; later changes are not taken over.
        irreversible: True for what can't be undone.
        once: True where the same call again can bring nothing new, and is refused.
        timeout_s: wall seconds that one call may take.
    """

    def __init__(self, client: Any, spec: ToolSpec, *, irreversible: bool, once: bool, timeout_s: float) -> None:
        self.spec = spec
        self.irreversible = irreversible
        self.once = once
        self._client = client
        self.timeout_s = timeout_s

    def problem(self, arguments: Mapping[str, Any]) -> str:
        """Why these arguments don't fit the server's schema, in one line; empty where they do. Nothing is called."""
        import jsonschema

        try:
            jsonschema.validate(arguments, self.spec.parameters)
        except jsonschema.ValidationError as error:
            return f"{error.json_path}: {error.message}"[:256]
        except jsonschema.SchemaError as error:
            return f"the server's own schema is wrong: {error.message}"[:256]
        return ""

    async def call(self, arguments: Mapping[str, Any]) -> Outcome:
        """Calls the tool on its server. A time-out is a tool error; the server may still be at work."""
        clock = asyncio.timeout(self.timeout_s)
        try:
            async with clock:
                result = await self._client.call_tool(self.spec.name, dict(arguments))
        except TimeoutError as error:
            late = f"no answer within {self.timeout_s:g} s; it may still be at work"
            return Outcome(late if clock.expired() else last_line(error), ok=False)
        except Exception as error:  # the SDK's and the transport's alike: to the actor it is a tool that failed
            return Outcome(last_line(error), ok=False)
        text = "\n".join(getattr(part, "text", f"[{part.type} left out]") for part in result.content)
        return Outcome(last_line(text) or "it gave no reason", ok=False) if result.is_error else Outcome(text)


@asynccontextmanager
async def mcp_tools(
    server: str | Sequence[str],
    *,
    only: Collection[str] | None = None,
    irreversible: Collection[str] = (),
    once: Collection[str] = (),
    env: Mapping[str, str] | None = None,
    timeout_s: float = 30.0,
) -> AsyncGenerator[tuple[CallableTool, ...]]:
    """Connects to a server, and gives its tools while the block lasts.

    Args:
        server: the address of a server (streamable HTTP), or a command that is started and talked to (stdio), split;
            never given to a shell. It runs as you, with few environment variables.
        only: names of the tools to take; None: all. A server may offer others tomorrow: name what you need.
        irreversible: names of tools that can't be undone. A tool that its server calls destructive is one too.
        once: names of tools where the same call again is refused.
        env: environment variables that the command sees besides.
        timeout_s: wall seconds for one call, and for connecting.

    Raises:
        ConfigError: the SDK is not installed, the server can't be reached, or it lacks a tool that was named.
    """
    async with _connected(_client(server, env), server, timeout_s) as client:
        listed = await _listed(client)
        wanted = listed.keys() if only is None else only
        lacking = sorted({*wanted, *irreversible, *once} - listed.keys())
        if lacking:
            raise ConfigError(
                f"The MCP server has no tool {', '.join(lacking)}.", do=f"It has {', '.join(sorted(listed))}."
            )
        yield tuple(
            McpTool(
                client, spec, irreversible=name in irreversible or destructive, once=name in once, timeout_s=timeout_s
            )
            for name, (spec, destructive) in listed.items()
            if name in wanted
        )


@asynccontextmanager
async def _connected(client: Any, server: str | Sequence[str], timeout_s: float) -> AsyncGenerator[Any]:
    try:
        async with asyncio.timeout(timeout_s):
            await client.__aenter__()
    except Exception as error:
        shown = server if isinstance(server, str) else server[0]
        raise ConfigError(
            f"The MCP server {shown!r} can't be reached: {_first(error)}.",
            do="Start it by hand to see what it says; check the address or command.",
        ) from error
    try:
        yield client
    finally:
        await client.__aexit__(None, None, None)


async def _listed(client: Any) -> dict[str, tuple[ToolSpec, bool]]:
    found: dict[str, tuple[ToolSpec, bool]] = {}
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            hints = tool.annotations
            destructive = bool(hints and hints.destructive_hint and not hints.read_only_hint)
            spec = ToolSpec(name=tool.name, description=tool.description or "", parameters=tool.input_schema)
            found[tool.name] = (spec, destructive)
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _first(error: BaseException) -> str:
    """What an exception, or the first of a group, says."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("tuple[BaseException, ...]", error.exceptions)[0]  # pyright: ignore[reportUnknownMemberType]
    return last_line(error)


def _client(server: str | Sequence[str], env: Mapping[str, str] | None) -> Any:
    try:
        from mcp import Client, StdioServerParameters, stdio_client
    except ImportError as error:
        raise ConfigError("MCP servers can't be used: the mcp package is not installed.", do=EXTRA) from error
    if isinstance(server, str):
        return Client(server)
    command = StdioServerParameters(command=server[0], args=list(server[1:]), env=dict(env) if env else None)
    # what a server says to people is not shown: nothing from outside reaches a terminal as it is
    return Client(stdio_client(command, errlog=cast("Any", DEVNULL)))
