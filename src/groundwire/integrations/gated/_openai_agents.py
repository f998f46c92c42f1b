"""OpenAI Agents SDK: a run that is judged and gone on with after a sealed FAIL alone, and a guardrail on the output.

Source: https://openai.github.io/openai-agents-python (guardrails, results).
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any, cast

from groundwire.core._errors import ConfigError
from groundwire.core._signals import Verdict
from groundwire.integrations.gated._output_gate import OutputGate, OutputRefused, OutputRuling

EXTRA = 'pip install "groundwire[openai-agents]"'


def agents_sdk() -> Any:
    """The SDK.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        sdk = importlib.import_module("agents")
    except ImportError as error:
        raise ConfigError("The OpenAI Agents SDK is not installed.", do=EXTRA) from error
    if not hasattr(sdk, "Runner"):
        raise ConfigError("Another package named `agents` stands before the OpenAI Agents SDK.", do=EXTRA)
    return sdk


async def run_grounded(agent: Any, input: Any, gate: OutputGate, **options: Any) -> tuple[Any, OutputRuling]:
    """`Runner.run`, until the output passes: after a sealed FAIL the agent goes on, told what failed.

        result, ruling = await run_grounded(agent, "A haiku.", OutputGate(is_a_haiku, tries=3))

    Args:
        agent: the SDK's.
        input: as `Runner.run` takes it.
        gate: judges; its tries are the runs.
        **options: of `Runner.run`.

    Returns:
        The last result of the SDK's, and the ruling on it, which is a PASS.

    Raises:
        ConfigError: the SDK is not installed.
        OutputRefused: no output passed, or there is no verdict.
        Exception: what `Runner.run` raises.
    """
    runner, prompt = agents_sdk().Runner, prompt_of(input)
    ruling: OutputRuling | None = None
    while True:
        result = await runner.run(agent, input, **options)
        ruling = await gate.aallow(result.final_output, prompt=prompt, after=ruling)
        if not ruling.again:
            return result, ruling
        if "session" in options:  # it holds what was said before
            input = [{"role": "user", "content": ruling.feedback}]
        else:
            input = [*result.to_input_list(), {"role": "user", "content": ruling.feedback}]


def sealed_guardrail(gate: OutputGate, *, prompt: str = "", name: str = "groundwire") -> Any:
    """An output guardrail: its tripwire is triggered by a sealed FAIL alone, and no verdict is an error.

        Agent("writer", output_guardrails=[sealed_guardrail(OutputGate(check))])

    A guardrail has one look at each output, so each is an episode of one try; `run_grounded` tries again.

    Args:
        gate: judges.
        prompt: what the agent is asked, for the ledger; empty: its name and instructions.
        name: the guardrail's, in traces.

    Returns:
        The SDK's guardrail, whose `output_info` is the ruling.

    Raises:
        ConfigError: the SDK is not installed.
        OutputRefused: from the run: there is no verdict on the output.
    """
    sdk, once = agents_sdk(), replace(gate, tries=1)

    async def look(context: Any, agent: Any, output: Any) -> Any:
        asked = prompt or f"{agent.name}: {agent.instructions if isinstance(agent.instructions, str) else ''}"
        ruling = await once.ajudge(output, prompt=asked)
        if ruling.verdict is Verdict.NONE:
            raise OutputRefused(ruling)
        failed = ruling.verdict is Verdict.FAIL
        return sdk.GuardrailFunctionOutput(output_info=ruling, tripwire_triggered=failed)

    return sdk.OutputGuardrail(guardrail_function=look, name=name)


def prompt_of(input: Any) -> str:
    """What a run is asked: the text, or the last text of a user's in a list of items."""
    if isinstance(input, str):
        return input
    for item in reversed(cast("list[Any]", input)):
        if isinstance(item, dict) and cast("dict[str, Any]", item).get("role") == "user":
            content = cast("dict[str, Any]", item).get("content")
            if isinstance(content, str) and content.strip():
                return content
            texts = [str(part.get("text", "")) for part in cast("list[dict[str, Any]]", content or ())]
            if joined := "\n".join(filter(None, texts)).strip():
                return joined
    return "(the agent was given no text)"
