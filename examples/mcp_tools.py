"""Tools of an MCP server: this file starts itself a second time as the server, and an agent uses its tools.

python examples/mcp_tools.py        (pip install "groundwire[mcp]")
"""

import asyncio
import sys

from mcp.server import MCPServer

from groundwire import EpisodeResult, Signal, Task
from groundwire.agents import ToolActor
from groundwire.graphs import tool_recovery
from groundwire.models import ScriptedBackend
from groundwire.tools import AnswerCheck, Toolbox, mcp_tools

SERVER = MCPServer("shop", log_level="ERROR")


@SERVER.tool()
def price(item: str, count: int) -> float:
    """Price of some items."""
    return {"lamp": 7.0, "chair": 30.0}[item] * count


# stands for a model: ToolActor("openai/gpt-5-mini", tools.specs) asks a real one
MODEL = ScriptedBackend(
    [
        '{"tool": "price", "arguments": {"item": "lamp", "count": "six"}}',
        '{"tool": "price", "arguments": {"item": "lamp", "count": 6}}',
        '{"answer": "42"}',
    ]
)


async def main() -> None:
    """Connects, builds the loop and runs it."""
    async with mcp_tools([sys.executable, __file__, "serve"]) as shop:
        tools = Toolbox(*shop)
        check = AnswerCheck(lambda answer: float(answer) == 42)
        app = tool_recovery(ToolActor(MODEL, tools.specs), tools, check).compile()
        async for item in app.astream(Task(id="lamps", prompt="What do six lamps cost?")):
            if isinstance(item, Signal):
                print(item.issuer, item.reason or item.verdict, item.evidence.stdout or item.evidence.detail)
            elif isinstance(item, EpisodeResult):
                print(item.stop_reason)


if __name__ == "__main__":
    SERVER.run() if sys.argv[1:] == ["serve"] else asyncio.run(main())
