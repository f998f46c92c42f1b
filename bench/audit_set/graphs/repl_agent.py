from langchain.agents import create_agent
from langchain_experimental.utilities import PythonREPL
from langchain_core.tools import tool

repl = PythonREPL()


@tool
def python(code: str) -> str:
    """Run Python."""
    try:
        result = repl.run(code)
    except BaseException as e:
        return f"Failed: {e!r}"
    return f"Ran:\n{code}\nStdout: {result}"


agent = create_agent("openai:gpt-4o", tools=[python], system_prompt="You analyse data.")
