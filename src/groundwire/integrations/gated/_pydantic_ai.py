"""Pydantic AI: a capability that judges an agent's output, and lets the model try again after a sealed FAIL alone.

Source: https://ai.pydantic.dev/capabilities (hooks on the output, one instance a run).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any, cast

from groundwire.core._errors import ConfigError
from groundwire.integrations.gated._output_gate import OutputGate, OutputRuling

EXTRA = 'pip install "groundwire[pydantic-ai]"'
NO_PROMPT = "(the agent was given messages alone)"
_Base: Any
try:
    _Base, _missing = importlib.import_module("pydantic_ai.capabilities").AbstractCapability, False
except ImportError:
    _Base, _missing = object, True


class GroundedOutput(_Base):
    """A capability of Pydantic AI's: the final output is judged by the gate.

        Agent("openai:gpt-5-mini", output_type=Booking, retries=3, capabilities=[GroundedOutput(gate)])

    After a sealed FAIL, and while the gate gives another try, the model is told what failed (`ModelRetry`), which
    counts as one of the agent's own retries: give it as many as the gate has tries. Partial outputs of a stream are
    not judged. An output that is no text is judged as JSON.

    Args:
        gate: judges.

    Raises:
        ConfigError: Pydantic AI is not installed.
        OutputRefused: from the run: the output did not pass, and there is no further try.
    """

    def __init__(self, gate: OutputGate) -> None:
        if _missing:
            raise ConfigError("Pydantic AI, 2 or newer, is not installed.", do=EXTRA)
        self.gate = gate
        self._after: OutputRuling | None = None

    async def for_run(self, ctx: Any) -> GroundedOutput:
        """One of its own for each run, since a run is an episode."""
        return GroundedOutput(self.gate)

    async def after_output_process(self, ctx: Any, *, output_context: Any, output: Any) -> Any:
        """Judges the final output."""
        if ctx.partial_output:
            return output
        self._after = await self.gate.aallow(output, prompt=_prompt_of(ctx), after=self._after)
        if self._after.again:
            raise importlib.import_module("pydantic_ai").ModelRetry(self._after.feedback)
        return output


def _prompt_of(ctx: Any) -> str:
    given = ctx.prompt
    parts = cast("Iterable[Any]", given if isinstance(given, list | tuple) else [given])
    text = "\n".join(part if isinstance(part, str) else "" for part in parts).strip()
    return text or NO_PROMPT
