"""The program `groundwire mcp` over its two transports: clients that vanish, cancel, flood, or bring no token."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from cli import BUGGY, PROGRAM, lay_out
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from processes import left_of, wait_for_sandbox

from groundwire.cli._loopback import listener_on, token_of
from groundwire.cli._mcp import run_mcp
from groundwire.cli.coding_agents._transports import MOST_MESSAGE_BYTES, TOKEN_VARIABLE
from groundwire.core._errors import ConfigError

pytestmark = pytest.mark.slow
VERSION = "2025-06-18"
HELLO = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}
SLEEPS = {**BUGGY, "tests/test_price.py": "import time\n\n\ndef test_some():\n    time.sleep(3600)\n"}
WITHIN_S = 60.0


class ByHand:
    """A client of its own making, of the protocol as it was in 2025: JSON lines over the program's streams."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, "mcp", *map(str, arguments)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def send(self, method: str, params: Any = None, number: int | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.write(json.dumps(message if number is None else {**message, "id": number}))

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError("the server has gone")

    def greet(self) -> dict[str, Any]:
        self.send("initialize", HELLO, 1)
        said = self.answer(1)
        self.send("notifications/initialized")
        return said["result"]

    def call(self, tool: str, number: int, **arguments: Any) -> None:
        self.send("tools/call", {"name": tool, "arguments": arguments}, number)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "shop", SLEEPS)


@pytest.fixture
def client(project: Path) -> Iterator[ByHand]:
    made = ByHand("--root", project)
    yield made
    made.process.kill()
    made.process.wait()
    for stream in (made.process.stdin, made.process.stdout, made.process.stderr):
        assert stream is not None
        with suppress(OSError):  # what nobody reads any more can't be flushed
            stream.close()


def test_a_flood_a_cancellation_and_a_client_that_vanishes_mid_call(client: ByHand) -> None:
    assert client.greet()["serverInfo"]["name"] == "groundwire"
    client.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"x": "y" * MOST_MESSAGE_BYTES}}))
    client.write("no JSON \x1b[31m")
    client.send("ping", number=3)
    assert client.answer(3)["result"] == {}
    # a text that was cut within an emoji, as JavaScript cuts it, behind a whole one and a backslash
    client.call("reflect", 31, signal_id="x", text="\\ud83d \U0001f600 cut \ud83d")
    assert "no signal" in client.answer(31)["result"]["content"][0]["text"]
    client.send("prompts/get", {"name": "\x1b[31m\nnone"}, 32)
    assert "Unknown prompt" in client.answer(32)["error"]["message"]
    client.call("verify", 4)
    running = wait_for_sandbox(client.process.pid)
    client.send("notifications/cancelled", {"requestId": 4, "reason": "enough"})
    assert not left_of(running)
    client.send("ping", number=5)
    assert client.answer(5)["result"] == {}
    client.call("history", 6)
    (run,) = client.answer(6)["result"]["structuredContent"]["runs"]
    assert run["verdict"] == "not ended"
    client.call("verify", 7)
    running = wait_for_sandbox(client.process.pid)
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(WITHIN_S) == 0
    assert not left_of(running)
    assert client.process.stderr is not None
    said = client.process.stderr.read()
    assert "Unknown prompt" in said and "\x1b" not in said and "Traceback" not in said


def test_nothing_is_left_running_when_the_server_is_asked_to_end_mid_call(client: ByHand) -> None:
    client.greet()
    client.call("verify", 2)
    running = wait_for_sandbox(client.process.pid)
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait(WITHIN_S) == 0
    assert not left_of(running)


@pytest.fixture
def served(project: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    process = subprocess.Popen(
        [PROGRAM, "mcp", "--http", "--root", str(project)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert process.stderr is not None
    address = process.stderr.readline().removeprefix("mcp: ").strip()
    token = process.stderr.readline().removeprefix("Authorization: Bearer ").strip()
    yield process, address, token
    process.terminate()
    process.communicate()


async def test_http_answers_who_brings_the_token_from_this_machine(
    served: tuple[subprocess.Popen[str], str, str],
) -> None:
    process, address, token = served
    host, port = re.fullmatch(r"http://([0-9.]+):(\d+)/mcp", address).groups()  # type: ignore[union-attr]
    assert host == "127.0.0.1"
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    accept = {"Accept": "application/json, text/event-stream"}
    mine = {**accept, "Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=accept, timeout=60) as web:
        for wrong in ({}, {"Authorization": f"Bearer {token}x"}, {"Authorization": "Basic x"}):
            assert (await web.post(address, json=hello, headers=wrong)).status_code == 401
        evil = {**mine, "Origin": "http://evil.example"}
        assert (await web.post(address, json=hello, headers=evil)).status_code == 403
        rebound = {**mine, "Host": f"evil.example:{port}"}
        assert (await web.post(address, json=hello, headers=rebound)).status_code == 421
        flood = {**hello, "params": {"x": "y" * MOST_MESSAGE_BYTES}}
        assert (await web.post(address, json=flood, headers=mine)).status_code == 413
    async with (
        httpx.AsyncClient(headers=mine, timeout=60) as web,
        Client(streamable_http_client(address, http_client=cast("Any", web))) as client,
    ):
        assert len((await client.list_tools()).tools) == 6
    # a client of 2025 that hangs up in the middle of a call
    with httpx.Client(headers=mine, timeout=60) as web:
        session = {"Mcp-Session-Id": web.post(address, json=hello).headers["mcp-session-id"]}
        web.post(address, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        asked: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "verify"}}
        request = web.build_request("POST", address, json=asked, headers=session)
        answer = web.send(request, stream=True)
        running = wait_for_sandbox(process.pid)
        answer.close()
    assert not left_of(running)
    with httpx.Client(headers={**accept, "Authorization": f"bearer  {token}"}, timeout=60) as web:
        ping = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
        assert web.post(address, json=ping, headers=session).status_code == 200, "its session goes on"
    assert process.poll() is None


def test_the_port_is_this_machines_alone_and_a_short_token_is_none() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match="another program has it"):
            listener_on(taken.getsockname()[1])
    assert len(token_of({}, TOKEN_VARIABLE)) > 40
    with pytest.raises(ConfigError, match="16 characters"):
        token_of({"GROUNDWIRE_MCP_TOKEN": "short"}, TOKEN_VARIABLE)


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"call_seconds": 1, "session_seconds": 1, "session_calls": 1}
    monkeypatch.setitem(sys.modules, "groundwire.cli.coding_agents._server", None)
    with pytest.raises(ConfigError) as raised:
        run_mcp([Path()], {}, tests_from="HEAD", http=False, port=0, **limits)
    assert raised.value.do == 'pip install "groundwire[mcp]"'
