"""Agents of the OpenAI Agents SDK: tools, handoffs, and loops around the runner."""

import asyncio
from dataclasses import dataclass
from typing import Literal

import requests
from agents import (
    Agent,
    CodeInterpreterTool,
    ItemHelpers,
    Runner,
    TResponseInputItem,
    WebSearchTool,
    function_tool,
    handoff,
    trace,
)
from pydantic import BaseModel


@function_tool
def city_weather(city: str) -> str:
    """The weather of a city."""
    return requests.get("https://wttr.in/" + city).text


@function_tool
def jot(text: str) -> str:
    """Jots something down."""
    return "jotted: " + text


@dataclass
class Evaluation:
    feedback: str
    score: Literal["pass", "needs_improvement", "fail"]


class Plan(BaseModel):
    searches: list[str]


outliner = Agent(name="outliner", instructions="Write an outline.")
evaluator = Agent[None](name="evaluator", instructions="Be strict.", output_type=Evaluation)
weather_agent = Agent(name="weather_agent", instructions="Weather.", tools=[city_weather])
jotter = Agent(name="jotter", instructions="Jot.", tools=[jot])
web_agent = Agent(name="web_agent", instructions="Search.", tools=[WebSearchTool()])
analyst = Agent(name="analyst", tools=[CodeInterpreterTool(tool_config={"type": "code_interpreter"})])
planner = Agent(name="planner", output_type=Plan)

# there and back: a quarrel of two agents
refunds = Agent(name="refunds", instructions="Refunds.")
sales = Agent(name="sales", instructions="Sales.", handoffs=[refunds])
refunds.handoffs.append(sales)

# one way only
spanish = Agent(name="spanish", instructions="Spanish only.")
triage = Agent(name="triage", instructions="Triage.", handoffs=[spanish, handoff(weather_agent)])


async def outline_until_good():
    items: list[TResponseInputItem] = [{"content": input("Topic? "), "role": "user"}]
    latest = None
    with trace("judge"):
        while True:
            outline = await Runner.run(outliner, items)
            items = outline.to_input_list()
            latest = ItemHelpers.text_message_outputs(outline.new_items)
            evaluation = await Runner.run(evaluator, items)
            result: Evaluation = evaluation.final_output
            if result.score == "pass":
                break
            items.append({"content": result.feedback, "role": "user"})
    return latest


async def chat():
    agent = weather_agent
    items = []
    while True:
        said = input("You: ")
        items.append({"role": "user", "content": said})
        result = await Runner.run(agent, items)
        print(result.final_output)
        items = result.to_input_list()
        agent = result.last_agent


async def search_more(topic: str):
    notes = ""
    for _ in range(5):
        plan = await Runner.run(planner, topic + notes)
        if not plan.final_output.searches:
            break
        for query in plan.final_output.searches:
            found = await Runner.run(web_agent, query)
            notes += found.final_output
    return notes


def fixed_rounds():
    text = "start"
    for _ in range(3):
        text = Runner.run_sync(outliner, text).final_output
    return text
