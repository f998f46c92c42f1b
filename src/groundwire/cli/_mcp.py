"""`groundwire mcp`: the server for coding agents."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire.cli._loopback import listener_on, token_of
from groundwire.core._errors import ConfigError
from groundwire.core._text import plain

EXTRA = 'pip install "groundwire[mcp]"'


def run_mcp(
    roots: Sequence[Path],
    flags: Mapping[str, Any],
    *,
    tests_from: str,
    http: bool,
    port: int,
    call_seconds: float,
    session_seconds: float,
    session_calls: int,
) -> int:
    """Serves until the client goes, or the process is asked to end.

    Args:
        roots: the folders that it is for.
        flags: settings.
        tests_from: whose tests judge.
        http: True: over HTTP on this machine; else over the standard streams.
        port: for HTTP; 0: any that is free.
        call_seconds: wall seconds of one call.
        session_seconds: wall seconds of all calls together.
        session_calls: how many calls may run something.

    Returns:
        0.

    Raises:
        ConfigError: a folder or the port can't be used, or the extra `mcp` is not installed.
    """
    try:
        from groundwire.cli.coding_agents._server import GroundwireServer, make_server
        from groundwire.cli.coding_agents._session import Projects, ToolLimits, ToolSession
        from groundwire.cli.coding_agents._transports import TOKEN_VARIABLE, serve_http, serve_stdio
    except ImportError as error:
        raise ConfigError(f"The server needs {error.name}.", do=EXTRA) from error
    _log_in_lines()
    projects = Projects(roots)
    limits = ToolLimits(call_seconds, session_seconds, session_calls)

    async def serve() -> None:
        own = GroundwireServer(projects, ToolSession(limits), flags, tests_from=tests_from)
        server = make_server(own)
        if http:
            await serve_http(server, listener_on(port), token_of(os.environ, TOKEN_VARIABLE))
        else:
            await serve_stdio(server)

    asyncio.run(serve())
    return 0


class _OneLine(logging.Formatter):
    """What went wrong, in one line: a client's own words may be in it, and standard error may be a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        trouble = record.exc_info[1] if record.exc_info else None
        said = f"{record.name}: {record.getMessage()}" + (f": {trouble!r}" if trouble else "")
        return plain(said, limit=1000)


def _log_in_lines() -> None:
    """Before the SDK sets logging up, which prints tracebacks with whatever is in them."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.ERROR, handlers=[handler])
