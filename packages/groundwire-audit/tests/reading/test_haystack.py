"""Pipelines of Haystack: which outputs lead back, and what decides that they are given."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import written

from groundwire_audit._discover import audit_path

START = """
import json
import subprocess
import requests
from haystack import Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.generators import OpenAIGenerator
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.joiners import BranchJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.components.routers import ConditionalRouter
from haystack.components.tools import ToolInvoker
from haystack.components.validators import JsonSchemaValidator
from haystack.tools import Tool

@component
class Validator:
    @component.output_types(valid=list, invalid=list)
    def run(self, replies: list):
        CHECK
"""
PARSES = """try:
            json.loads(replies[0])
            return {"valid": replies}
        except ValueError as error:
            return {"invalid": [str(error)]}"""
RUNS = """done = subprocess.run(["python", "-c", replies[0]])
        if done.returncode == 0:
            return {"valid": replies}
        return {"invalid": replies}"""
JUDGES = """verdict = OpenAIGenerator().run(prompt=f"Good? {replies[0]}")["replies"][0]
        if "yes" in verdict:
            return {"valid": replies}
        return {"invalid": replies}"""
LOOP = """
p = Pipeline(max_runs_per_component=5)
p.add_component("prompt", PromptBuilder(template="{{question}} {{invalid}}"))
p.add_component("llm", OpenAIGenerator())
p.add_component("validator", Validator())
p.connect("prompt", "llm")
p.connect("llm", "validator")
p.connect("validator.invalid", "prompt.invalid")
"""
ROUTED = """
routes = [{{"condition": "{{{{{0}}}}}", "output": "{{{{replies}}}}", "output_name": "again", "output_type": str}},
          {{"condition": "{{{{True}}}}", "output": "{{{{replies}}}}", "output_name": "done", "output_type": str}}]
p = Pipeline()
p.add_component("llm", OpenAIChatGenerator(tools=tools))
p.add_component("router", ConditionalRouter(routes))
p.add_component(name="joiner", instance=BranchJoiner(list))
p.connect("joiner.value", "llm.messages")
p.connect("llm.replies", "router.replies")
"""
BACK = 'p.connect("router.again", "joiner")\n'
THROUGH_SEARCH = """
p.add_component("search", InMemoryBM25Retriever(document_store=store))
p.connect("router.again", "search.query")
p.connect("search.documents", "joiner")
"""
THROUGH_TOOLS = """
p.add_component("tools", ToolInvoker(tools=tools))
p.connect("router.again", "tools.messages")
p.connect("tools.tool_messages", "joiner")
"""
TOOL = "def get(url):\n    return requests.get(url).text\ntools = [Tool(name='get', function=get)]\n"


@pytest.mark.parametrize(
    ("source", "way", "wanted", "kind"),
    [
        (START.replace("CHECK", PARSES) + LOOP, "prompt → llm → validator → prompt", "grounded", "form only"),
        (START.replace("CHECK", RUNS) + LOOP, "prompt → llm → validator → prompt", "grounded", "executed code"),
        (START.replace("CHECK", JUDGES) + LOOP, "prompt → llm → validator → prompt", "ungrounded", "model's judgement"),
        (
            START.replace("CHECK", "...") + "tools = None\n" + ROUTED.format("'MORE' in replies[0].text") + BACK,
            "llm → router → joiner → llm",
            "ungrounded",
            "model's judgement",
        ),
        (
            START.replace("CHECK", "...") + "tools = None\n" + ROUTED.format("'MORE' in replies[0]") + THROUGH_SEARCH,
            "llm → router → search → joiner → llm",
            "partly",
            "outside, not deciding",
        ),
        (
            START.replace("CHECK", "...") + TOOL + ROUTED.format("replies[0].tool_calls | length > 0") + THROUGH_TOOLS,
            "llm → router → tools → joiner → llm",
            "tool_loop",
            "tools",
        ),
        (
            START.replace("CHECK", "...")
            + """
p = Pipeline()
p.add_component("llm", OpenAIChatGenerator())
p.add_component("validator", JsonSchemaValidator(json_schema=schema))
p.add_component("joiner", BranchJoiner(list))
p.connect("joiner", "llm")
p.connect("llm.replies", "validator.messages")
p.connect("validator.validation_error", "joiner")
""",
            "llm → validator → joiner → llm",
            "grounded",
            "form only",
        ),
    ],
)
def test_a_pipeline_goes_round_by_what_its_components_give(
    source: str, way: str, wanted: str, kind: str, tmp_path: Path
) -> None:
    found = {x.path: (str(x.verdict), x.kind) for x in audit_path(written(source, tmp_path)).loops}
    assert found == {way: (wanted, kind)}


def test_a_pipeline_that_leads_nowhere_back_has_no_loop(tmp_path: Path) -> None:
    source = START.replace("CHECK", PARSES) + LOOP.replace('p.connect("validator.invalid", "prompt.invalid")', "")
    report = audit_path(written(source, tmp_path))
    assert [(g.name, list(g.loops), list(g.findings)) for g in report.graphs] == [("p", [], [])]


def test_a_component_that_is_handed_in_makes_its_loop_unknown(tmp_path: Path) -> None:
    source = (
        START.replace("CHECK", PARSES)
        + "def made(validator):\n    "
        + LOOP.strip().replace("Validator()", "validator").replace("\n", "\n    ")
    )
    (loop,) = audit_path(written(source, tmp_path)).loops
    assert str(loop.verdict) == "unknown"


def test_a_component_of_another_library_makes_its_loop_unknown(tmp_path: Path) -> None:
    source = START.replace("CHECK", PARSES) + "from theirs import Checker\n" + LOOP.replace("Validator()", "Checker()")
    (loop,) = audit_path(written(source, tmp_path)).loops
    assert str(loop.verdict) == "unknown"
