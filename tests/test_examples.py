"""Every example runs as it stands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cli import python
from peer_environments import python_with

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[1] / "examples"
EXPECTED = {
    "any_program.py": [
        *["fail 1 of 2"] * 2,
        "agent: exit status 0, told of test_leap.py::test_1900",
        *["fail 1 of 2"] * 2,
        "agent: exit status 0, told of test_leap.py::test_2000",
        *["pass 2 of 2"] * 2,
        "verified",
    ],
    "coding_agent.py": ["x + 1: fail, lesson kept", "x * 2: pass, lesson refused", "verified"],
    "http_world.py": [
        "A vault with three buttons.",
        "> blue",
        "It clicks.",
        "> blue",
        "blue was wrong: it locks.",
        "lost",
    ],
    "harbor_task.py": ["pass 2 reward 1 hello", ""],
    "inspect_loop.py": ["C pass: verified nothing was raised"],
    "deep_agent.py": ["fail go on", "pass end", "Done."],
    "dspy_optimizer.py": ["Answer in capital letters. 1.0"],
    "openai_agents_output.py": ["pass verified 12"],
    "openenv_tasks.py": ["Say hello loudly.", "0.0 False not in capitals", "1.0 True loud holds"],
    "pydantic_ai_output.py": [
        "fail sealed '(' was never closed (answer.py, line 1)",
        "pass sealed nothing was raised",
        "print(1)",
    ],
    "verifiers_tasks.py": [
        "hello [0.0]",
        "HELLO [1.0]",
        "? task GroundwireTask scoring: RuntimeError: the check is broken",
        "? [None]",
    ],
    "json_loop.py": ['pass 2 {"total": 12}', ""],
    "langgraph_agent.py": ["pass 2 12"],
    "own_check.py": ["fail 4 + 7 + 8 + 8 = 27", "fail (4 * 7) - 8 + 8 = 28", "pass (7 - 8 / 8) * 4 = 24", "verified"],
    "own_graph.py": [
        "parses: invalid syntax",
        "parses: fine",
        "works: area(2) is 6.28",
        "parses: fine",
        "works: fine",
        "3 drafts, verified",
    ],
    "mcp_tools.py": [
        "call fail step 1: arguments: $.count: 'six' is not of type 'integer'",
        "call go_on 42.0",
        "check pass the answer holds",
        "verified",
    ],
    "sql_loop.py": ["pass 3 SELECT who, sum(cups) FROM sale GROUP BY who", ""],
    "until_valid.py": ["told: Input should be greater than 0", 'pass 2 {"guests": 2}'],
    "own_tools.py": [
        "call fail step 1: KeyError: 'drft'",
        "call go_on old",
        "review fail contracts are kept; instead: delete the draft",
        "review go_on approved",
        "call go_on old draft is gone",
        "check pass the answer holds",
        "verified left: contract",
    ],
    "own_world.py": [
        "trial 1: red was wrong: it locks.",
        "  remembered: lost after 1 action: red. The last thing seen: red was wrong: it locks.",
        "trial 2: It clicks.",
        "trial 2: red was wrong: it locks.",
        "  remembered: lost after 2 actions: blue → red. The last thing seen: red was wrong: it locks.",
        *["trial 3: It clicks."] * 2,
        "trial 3: It opens.",
        "verified",
    ],
}


AGENTS = ("pydantic-ai-slim>=2.0,<3", "openai-agents>=0.24,<1", "langchain>=1.2,<2", "deepagents>=0.7,<1")
ENVIRONMENTS = ("verifiers>=0.4,<0.5", "openenv-core>=0.3,<0.4")
PEERS = {
    "inspect_loop.py": ("inspect-ai>=0.3.280,<0.4",),
    "deep_agent.py": AGENTS,
    "dspy_optimizer.py": ("dspy>=3.4,<4",),
    "openai_agents_output.py": AGENTS,
    "openenv_tasks.py": ENVIRONMENTS,
    "pydantic_ai_output.py": AGENTS,
    "verifiers_tasks.py": ENVIRONMENTS,
}
"""What an example needs that our own environment has not."""


def test_each_example_is_known() -> None:
    assert {p.name for p in EXAMPLES.glob("*.py")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_it_runs_and_says_what_it_should(name: str) -> None:
    if name in PEERS:
        command = [python_with(*PEERS[name]), EXAMPLES / name]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    else:
        ran = python(EXAMPLES / name)
        assert ran.code == 0, ran.err
        printed = ran.out
    assert printed.splitlines() == EXPECTED[name]
