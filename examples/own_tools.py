"""Plain functions as an agent's tools: a call that fails is made anew, and nothing is deleted without a rule's consent.

python examples/own_tools.py
"""

from groundwire import EpisodeResult, Signal, Task
from groundwire.agents import ToolActor
from groundwire.core import Call, Ruling
from groundwire.graphs import preflight
from groundwire.models import ScriptedBackend
from groundwire.tools import AnswerCheck, FunctionTool, RuleReviewer, Toolbox

PAPERS = {"draft": "old", "contract": "signed"}


def read(name: str) -> str:
    """Reads a paper."""
    return PAPERS[name]


def delete(name: str) -> str:
    """Deletes a paper for good."""
    return f"{PAPERS.pop(name)} {name} is gone"


def policy(call: Call) -> Ruling:
    """What may be deleted."""
    keep = call.arguments["name"] == "contract"
    return Ruling(False, "contracts are kept", "delete the draft") if keep else Ruling(True)


# stands for a model: ToolActor("openai/gpt-5-mini", tools.specs) asks a real one
MODEL = ScriptedBackend(
    [
        '{"tool": "read", "arguments": {"name": "drft"}}',
        '{"tool": "read", "arguments": {"name": "draft"}}',
        '{"tool": "delete", "arguments": {"name": "contract"}}',
        '{"tool": "delete", "arguments": {"name": "draft"}}',
        '{"answer": "deleted"}',
    ]
)


def main() -> None:
    """Builds the loop and runs it."""
    tools = Toolbox(read, FunctionTool(delete, irreversible=True))
    check = AnswerCheck(lambda answer: "draft" not in PAPERS or "the draft is still there")
    app = preflight(ToolActor(MODEL, tools.specs), tools, check, RuleReviewer(policy)).compile()
    for item in app.stream(Task(id="tidy", prompt="Delete the old draft.")):
        if isinstance(item, Signal):
            print(item.issuer, item.reason or item.verdict, item.evidence.stdout or item.evidence.detail)
        elif isinstance(item, EpisodeResult):
            print(item.stop_reason, "left:", *PAPERS)


if __name__ == "__main__":
    main()
