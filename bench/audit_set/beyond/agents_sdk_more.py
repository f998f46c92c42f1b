"""More of the OpenAI Agents SDK."""

import subprocess

from agents import Agent, FunctionTool, Runner, function_tool
from agents.mcp import MCPServerStdio
from pydantic import BaseModel


class Check(BaseModel):
    good: bool
    why: str


writer = Agent(name="writer", instructions="Write code.")
checker = Agent(name="checker", instructions="Check.", output_type=Check)


@function_tool
async def shell(command: str) -> str:
    """Runs a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout


operator = Agent(name="operator", tools=[shell], model="gpt-4.1")
manager = Agent(
    name="manager",
    tools=[writer.as_tool(tool_name="write", tool_description="Writes")],
)
director = Agent(name="director", tools=[operator.as_tool("operate", "Operates the machine")])


class Team:
    def __init__(self):
        self.writer = writer
        self.checker = checker

    async def work(self, task: str, max_rounds: int = 4):
        draft = (await Runner.run(self.writer, task)).final_output
        rounds = 0
        while rounds < max_rounds:
            verdict = (await Runner.run(self.checker, draft)).final_output_as(Check)
            if verdict.good:
                return draft
            draft = (await Runner.run(self.writer, verdict.why)).final_output
            rounds += 1
        return draft


async def until_it_runs(task: str):
    code = (await Runner.run(writer, task)).final_output
    while True:
        done = subprocess.run(["python", "-c", code], capture_output=True, text=True)
        if done.returncode == 0:
            return code
        code = (await Runner.run(writer, done.stderr)).final_output


async def streamed(question: str):
    answer = ""
    done = False
    while not done:
        result = Runner.run_streamed(writer, question)
        async for event in result.stream_events():
            print(event.type)
        answer = result.final_output
        done = answer.endswith("FINISHED")
        question = "Go on: " + answer
    return answer
