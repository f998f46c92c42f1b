"""Agents that a framework asks again: what the check of their reply rests on decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import written

from groundwire_audit._discover import audit_path

PYDANTIC = """
import sqlite3
from pydantic_ai import Agent, ModelRetry
judge = Agent("m")
agent = Agent("m", retries=3)
@agent.output_validator
async def check(ctx, output: str) -> str:
"""
CREW = """
from crewai import Agent, Crew, Task
writer = Agent(role="w", goal="g", backstory="b")
def short(result):
    if len(result.raw.split()) > 200:
        return (False, "too long")
    return (True, result.raw)
"""
DSPY = """
import subprocess
import dspy
judge = dspy.Predict("answer -> good: bool")
"""


@pytest.mark.parametrize(
    ("source", "way", "wanted"),
    [
        (
            f"{PYDANTIC}    try:\n        sqlite3.connect('x').execute('EXPLAIN ' + output)\n"
            "    except sqlite3.Error as error:\n        raise ModelRetry(str(error))\n    return output\n",
            "agent → validator → agent",
            "grounded",
        ),
        (
            f"{PYDANTIC}    verdict = await judge.run('Good? ' + output)\n    if 'no' in verdict.output:\n"
            "        raise ModelRetry('again')\n    return output\n",
            "agent → validator → agent",
            "ungrounded",
        ),
        (f"from theirs import check\n{CREW}t = Task(guardrail=check)\n", "task → guardrail → task", "unknown"),
        (
            f"{CREW}from crewai.tasks.llm_guardrail import LLMGuardrail\n"
            "t = Task(guardrail=LLMGuardrail('It is friendly'))\nu = Task(guardrail=None)\n",
            "task → guardrail → task",
            "ungrounded",
        ),
        (f"{CREW}t = Task(description='d', agent=writer, guardrail=short)\n", "task → guardrail → task", "grounded"),
        (f"{CREW}t = Task(description='d', guardrail='It is friendly')\n", "task → guardrail → task", "ungrounded"),
        (
            f"{DSPY}def reward(args, pred):\n    return float(judge(answer=pred.answer).good)\n"
            "best = dspy.Refine(module=dspy.Predict('q -> answer'), N=3, reward_fn=reward, threshold=1.0)\n",
            "module → reward → module",
            "ungrounded",
        ),
        (
            f"{DSPY}def reward(args, pred):\n    return float(subprocess.run(['python', pred.code]).returncode == 0)\n"
            "best = dspy.BestOfN(module=dspy.Predict('q -> code'), N=3, reward_fn=reward, threshold=1.0)\n",
            "module → reward → module",
            "grounded",
        ),
        (
            f"{DSPY}def reward(args, pred):\n    return float(subprocess.run(['python', pred.code]).returncode == 0)\n"
            "best = dspy.Refine(dspy.Predict('q -> code'), 3, reward, 1.0)\n",
            "module → reward → module",
            "grounded",
        ),
    ],
)
def test_what_a_check_rests_on_decides_whether_an_agent_is_asked_again(
    source: str, way: str, wanted: str, tmp_path: Path
) -> None:
    assert [(x.path, str(x.verdict)) for x in audit_path(written(source, tmp_path)).loops] == [(way, wanted)]


def test_an_agent_with_a_check_keeps_its_tools(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}    if not output.isdigit():
        raise ModelRetry("a number, please")
    return output
@agent.tool_plain
def count(text: str) -> int:
    return len(open(text).read())
"""
    found = {x.path: str(x.verdict) for x in audit_path(written(source, tmp_path)).loops}
    assert found == {"agent → validator → agent": "grounded", "agent → tools → agent": "tool_loop"}
