# pyright: basic, reportMissingImports=false
"""An agent of the OpenAI Agents SDK that goes on after a sealed FAIL alone, and is done on a sealed PASS.

python examples/openai_agents_output.py   (pip install "groundwire[openai-agents]")
"""

import asyncio
from tempfile import TemporaryDirectory

from agents import Agent, Model, ModelResponse, RunConfig, Usage  # noqa: TID251  the SDK
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from groundwire.integrations.gated import OutputGate, run_grounded

ANSWERS = iter(["a dozen", "12"])


class Scripted(Model):
    """Stands for "gpt-5-mini"."""

    async def get_response(self, *args, **kwargs):
        text = ResponseOutputText(text=next(ANSWERS), type="output_text", annotations=[])
        said = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError  # nothing is streamed here


async def main() -> None:
    with TemporaryDirectory() as folder:
        gate = OutputGate(lambda answer: answer.text.isdigit() or "no number", db=f"sqlite:///{folder}/ledger.db")
        agent, config = Agent("counter", model=Scripted()), RunConfig(tracing_disabled=True)
        result, ruling = await run_grounded(agent, "How many cups? The number alone.", gate, run_config=config)
        print(ruling.verdict, ruling.stop_reason, result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
