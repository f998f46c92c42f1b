"""The functional API: loops in the source of an entrypoint."""

import subprocess
from pathlib import Path

import requests
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.types import interrupt
from pydantic import BaseModel

llm = ChatAnthropic(model="claude-sonnet-4")


class Verdict(BaseModel):
    passed: bool
    why: str


@task
def write(topic: str, remarks: str = "") -> str:
    return llm.invoke(f"Write about {topic}. {remarks}").content


@task
def grade(text: str) -> Verdict:
    return llm.with_structured_output(Verdict).invoke("Grade: " + text)


@task
def run_tests(code: str) -> int:
    Path("candidate.py").write_text(code)
    return subprocess.run(["pytest", "-q"]).returncode


@entrypoint()
def story(topic: str) -> str:
    remarks = ""
    while True:
        text = write(topic, remarks).result()
        verdict = grade(text).result()
        if verdict.passed:
            break
        remarks = verdict.why
    return text


@entrypoint()
def bounded_story(topic: str) -> str:
    text = write(topic).result()
    for _ in range(3):
        verdict = grade(text).result()
        if verdict.passed:
            return text
        text = write(topic, verdict.why).result()
    return text


@entrypoint()
def program(topic: str) -> str:
    code = write(topic).result()
    while run_tests(code).result() != 0:
        code = write(topic, "The tests fail.").result()
    return code


@entrypoint()
def reviewed(topic: str) -> str:
    text = write(topic).result()
    answer = interrupt({"text": text})
    while answer != "ok":
        text = write(topic, answer).result()
        answer = interrupt({"text": text})
    return text


@tool
def get_page(url: str) -> str:
    """Gets a page."""
    return requests.get(url).text


with_tools = llm.bind_tools([get_page])
by_name = {"get_page": get_page}


@task
def call_llm(messages):
    return with_tools.invoke(messages)


@task
def call_tool(call):
    found = by_name[call["name"]].invoke(call["args"])
    return ToolMessage(content=found, tool_call_id=call["id"])


@entrypoint()
def browse(messages):
    reply = call_llm(messages).result()
    while True:
        if not reply.tool_calls:
            break
        results = [call_tool(c).result() for c in reply.tool_calls]
        messages = messages + [reply] + results
        reply = call_llm(messages).result()
    return messages


@entrypoint()
async def translate(sentences: list) -> list:
    done = []
    for sentence in sentences:
        done.append(await write(sentence))
    return done


@entrypoint()
def debate(topic: str) -> str:
    text = topic
    for round in range(4):
        text = write(text, "Argue for it.").result()
        text = write(text, "Argue against it.").result()
    return text
