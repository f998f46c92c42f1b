"""The server through a second client: FastMCP's, in an environment of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from cli import PROGRAM
from peer_environments import python_with
from work_trees import committed

pytestmark = pytest.mark.slow
SCRIPT = """
import asyncio, json, os, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def main():
    program, root = sys.argv[1:]
    transport = StdioTransport(command=program, args=["mcp", "--root", root], env=dict(os.environ))
    async with Client(transport) as client:
        tools = sorted(tool.name for tool in await client.list_tools())
        judged = await client.call_tool("verify", {})
        signal = await client.read_resource(f"groundwire://signals/{judged.structured_content['signal_id']}")
        outside = await client.call_tool("verify", {"project": "/etc"}, raise_on_error=False)
        prompt = await client.get_prompt("grounded_fix", {"project": "shop"})
        print(json.dumps({
            "tools": tools, "verdict": judged.structured_content["verdict"], "signal": json.loads(signal[0].text),
            "outside": outside.is_error, "prompt": prompt.messages[0].content.text,
        }))

asyncio.run(main())
"""


def test_a_second_client_gets_the_same(tmp_path: Path) -> None:
    command = [python_with("fastmcp"), "-c", SCRIPT, PROGRAM, committed(tmp_path / "shop")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["tools"] == ["audit", "history", "recall", "reflect", "repair", "verify"]
    assert (said["verdict"], said["signal"]["verdict"], said["signal"]["as_sealed"]) == ("fail", "fail", True)
    assert said["outside"] is True
    assert said["prompt"].startswith("Make the tests of shop pass")
