# pyright: basic, reportMissingImports=false
"""A deep agent that says it is done, and is not until the project's tests say so. `create_agent` takes the same part.

python examples/deep_agent.py   (pip install "groundwire[deepagents]")
"""

from tempfile import TemporaryDirectory

from deepagents import create_deep_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from groundwire import Task
from groundwire.integrations.gated import GroundedMiddleware, OutputGate

TESTS = {"test_add.py": "from add import add\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
WRITE = {"name": "write_file", "id": "1", "args": {"file_path": "/add.py", "content": "add = lambda a, b: a - b\n"}}
EDIT = {"name": "edit_file", "id": "2", "args": {"file_path": "/add.py", "old_string": "-", "new_string": "+"}}


class Scripted(GenericFakeChatModel):
    """Stands for "openai:gpt-5-mini"."""

    def bind_tools(self, tools, **options):
        return self


said = [AIMessage("", tool_calls=[WRITE]), AIMessage("All tests pass."), AIMessage("", tool_calls=[EDIT]), "Done."]
with TemporaryDirectory() as folder:
    gate = OutputGate(
        None,  # the task's own tests judge, in the sandbox
        task=lambda prompt: Task.of(prompt, files=TESTS, answer="add.py", test="pytest -q"),
        db=f"sqlite:///{folder}/ledger.db",
        told=lambda ruling: print(ruling.verdict, "go on" if ruling.again else "end"),
    )
    agent = create_deep_agent(Scripted(messages=iter(said)), middleware=[GroundedMiddleware(gate, output="/add.py")])
    print(agent.invoke({"messages": [("user", "Write add() to /add.py.")]})["messages"][-1].text)
