# pyright: basic, reportMissingImports=false
"""An output check for a Pydantic AI agent that only an outside signal can fail, and that alone lets it try again.

python examples/pydantic_ai_output.py   (pip install "groundwire[pydantic-ai]")
"""

from tempfile import TemporaryDirectory

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from groundwire import Candidate
from groundwire.integrations.gated import GroundedOutput, OutputGate

ANSWERS = iter(["print(1", "print(1)"])


def compiles(candidate: Candidate) -> None:
    """What judges: no model's word is in it."""
    compile(candidate.text, "answer.py", "exec")


def main() -> None:
    """The model's first answer does not compile."""
    model = FunctionModel(lambda messages, info: ModelResponse([TextPart(next(ANSWERS))]))  # or "openai:gpt-5-mini"
    with TemporaryDirectory() as folder:
        gate = OutputGate(
            compiles,
            fails_on=SyntaxError,
            tries=3,
            db=f"sqlite:///{folder}/ledger.db",
            told=lambda ruling: print(ruling.verdict, "sealed" if ruling.signal else "", ruling.detail),
        )
        agent = Agent(model, retries=3, capabilities=[GroundedOutput(gate)])
        print(agent.run_sync("Print the number 1, in Python.").output)


if __name__ == "__main__":
    main()
