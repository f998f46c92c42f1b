"""A coding agent that can't praise itself: this file starts itself once more as the agent, which asks the MCP server.

python examples/coding_agent.py        (pip install "groundwire[mcp]")
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from groundwire import EpisodeResult, Task
from groundwire.agents import CommandActor
from groundwire.core import ProgramRun
from groundwire.graphs import code_repair
from groundwire.tools import HiddenTests, Pytest

TESTS = "from twice import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
FILES = {"twice.py": "def double(x):\n    return x\n", "test_twice.py": TESTS}


async def agent() -> None:
    """Stands for a model: tries a change, asks for a verdict, keeps what the failure taught, tries again."""
    module = Path("twice.py")
    async with Client(StdioServerParameters(command=sys.executable, args=["-m", "groundwire", "mcp"])) as groundwire:
        for body in ("x + 1", "x * 2"):
            await asyncio.to_thread(module.write_text, f"def double(x):\n    return {body}\n")
            said: Any = (await groundwire.call_tool("verify", {})).structured_content
            lesson = {"signal_id": said["signal_id"], "text": f"{body} was not it"}
            kept = await groundwire.call_tool("reflect", lesson)
            print(f"{body}: {said['verdict']}, lesson {'refused' if kept.is_error else 'kept'}")


def main() -> None:
    """The loop around the agent judges for itself."""
    homes = ["HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]
    actor = CommandActor([sys.executable, str(Path(__file__).resolve()), "agent"], isolated=False, env=homes)
    app = code_repair(actor, None, Pytest(), HiddenTests()).compile()
    for item in app.stream(Task.of("Make double() pass.", files=FILES, test="python -m pytest -q")):
        if isinstance(item, ProgramRun):
            print(item.stdout.strip())
        elif isinstance(item, EpisodeResult):
            print(item.stop_reason)


if __name__ == "__main__":
    asyncio.run(agent()) if sys.argv[1:] == ["agent"] else main()
