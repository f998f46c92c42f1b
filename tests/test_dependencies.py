"""Whatever is imported is declared: among the dependencies, or in each extra that the module serves."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions

from own_source import SOURCE, foreign_imports, parsed

PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, Collection[str]] = {
    "models/_http_client.py": ("local", "openai-compatible", "vllm"),
    "models/_library.py": ("llm",),
    "models/_litellm_faults.py": ("llm",),
    "models/local_model/": ("local",),
    "models/_minilm.py": ("embeddings",),
    "models/_transformers.py": ("improve",),
    "models/_chat.py": ("llm", "local", "openai-compatible", "vllm", "improve"),
    "models/vllm_engine/": ("vllm",),
    "cli/_correctbench.py": ("eval",),
    "evaluation/": ("eval",),
    "core/math_equality.py": ("math",),
    "memory/_archive_files.py": ("archive",),
    "memory/_place.py": ("postgres",),
    "sandbox/_container_run.py": ("docker",),
    "sandbox/_docker_engine.py": ("docker",),
    "integrations/harbor/_agent.py": ("harbor",),
    "integrations/inspect/": ("inspect",),
    "logs/runs/_inspect.py": ("inspect",),
    "sandbox/_task_containers.py": ("docker",),
    "telemetry/": ("otel",),
    "tools/environments/": ("environments",),
    "tools/environments/_alfworld.py": ("alfworld",),
    "tools/environments/_reasoning_gym.py": ("worlds",),
    "tools/environments/_textarena.py": ("worlds",),
    "tools/_mcp_servers.py": ("mcp",),
    "cli/coding_agents/": ("mcp",),
    "viewer/": ("view",),
    "cli/_view.py": ("view",),
    "cli/_reward.py": ("training",),
    "cli/_ray_fleet.py": ("ray",),
    "benchmarks/answers/_rows.py": ("training",),
    "training/": ("training",),
    "training/improving/trainer.py": ("improve",),
    "integrations/gated/_pydantic_ai.py": ("pydantic-ai",),
    "integrations/gated/_openai_agents.py": ("openai-agents",),
    "integrations/gated/_langchain.py": ("langchain", "deepagents"),
    "integrations/gated/_dspy.py": ("dspy",),
    "integrations/rl/_verifiers.py": ("verifiers",),
    "integrations/rl/_openenv.py": ("openenv",),
    # it says so itself where scipy is not there
    "training/methods/_match_tir.py": ("eval",),
}
"""Place → the extras with any of which it is used; the longest place counts. What is in none needs no extra."""
SHIPPED_AS = {"agents": "openai-agents", "pydantic_ai": "pydantic-ai-slim", "sklearn": "scikit-learn"}
"""What is not called like the distribution that ships it, for where that is not installed."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirements: Collection[str]) -> set[str]:
    found = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requirements)
    return {canonical(match[0]) for match in found if match}


_owners = cache(packages_distributions)


@cache
def _files(name: str) -> frozenset[str]:
    return frozenset(str(path) for path in distribution(name).files or ())


def distribution_of(dotted: str) -> str:
    """Who ships a module; of packages that share a namespace the one that has its file."""
    parts = dotted.split(".")
    owners = sorted(set(_owners().get(parts[0], [])))
    for size in range(len(parts), 0, -1):
        path = "/".join(parts[:size])
        having = [owner for owner in owners if {f"{path}.py", f"{path}/__init__.py"} & _files(owner)]
        if len(having) == 1:
            return canonical(having[0])
    return canonical(owners[0] if len(owners) == 1 else SHIPPED_AS.get(parts[0], parts[0]))


def undeclared(place: str, imported: Iterable[str]) -> Iterator[str]:
    always, optional = named(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    extras = EXTRAS.get(max((known for known in EXTRAS if place.startswith(known)), key=len, default=""), ())
    for dotted in imported:
        wanted = distribution_of(dotted)
        lacking = [extra for extra in extras if wanted not in named(optional[extra])]
        if wanted not in always and (lacking or not extras):
            where = f"the extra {lacking[0]!r}" if lacking else "`dependencies`, or in an extra (EXTRAS says which)"
            yield f"{place} imports {dotted}, which is {wanted}: name it in pyproject.toml, in {where}"


def test_what_is_imported_is_declared() -> None:
    found = [line for place, module in parsed().items() for line in undeclared(place, foreign_imports(module))]
    assert not found, "\n".join(found)


def test_what_is_not_declared_is_told() -> None:
    assert list(undeclared("core/_tasks.py", ["numpy.array"])) == [
        "core/_tasks.py imports numpy.array, which is numpy: name it in pyproject.toml, in `dependencies`, "
        "or in an extra"
        " (EXTRAS says which)"
    ]
    (told,) = undeclared("training/_arrow.py", ["pyarrow", "numpy", "pydantic"])
    assert "the extra 'training'" in told


def test_every_place_is_there() -> None:
    assert all((SOURCE / place).exists() for place in EXTRAS)
    assert {extra for extras in EXTRAS.values() for extra in extras} <= PROJECT["optional-dependencies"].keys()


def test_the_reader_sees_every_way_of_importing() -> None:
    source = """
import a.b, os, importlib
from c.d import e
from groundwire import x
NAME = "f"
def later():
    importlib.import_module(NAME)
    import_module("g.h")
    import_module(f"i.{later}")
"""
    assert list(foreign_imports(ast.parse(source))) == ["a.b", "c.d.e", "f", "g.h", "i"]
    assert distribution_of("langgraph.checkpoint.base.BaseCheckpointSaver") == "langgraph-checkpoint"
    assert distribution_of("langgraph.graph.state") == "langgraph"
