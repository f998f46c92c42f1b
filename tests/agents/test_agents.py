"""The package's public names, and that it is cheap to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import groundwire.agents


def test_what_is_public_is_what_is_listed() -> None:
    assert dir(groundwire.agents) == groundwire.agents.__all__


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        groundwire.agents.Nobody  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, groundwire.agents\n"
        "heavy = {'litellm', 'openai', 'libcst', 'sqlalchemy', 'langgraph', 'docker', 'tenacity', 'pydantic'}\n"
        "before = sorted(heavy & set(sys.modules))\n"
        "from groundwire.agents import LLMActor, LLMCritic\n"
        "LLMActor('openai/m'), LLMCritic('openai/m')\n"
        "print(before, sorted((heavy - {'pydantic', 'tenacity'}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"
