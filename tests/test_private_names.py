"""Private names of others that we rely on: none slips in unseen, and each has a canary that says when it has moved.

A canary asserts what we make of the name, with the real package. The packages have an upper bound in pyproject.toml, so
that a version in which a name has moved reaches nobody before its canary has been seen to sing.
"""

from __future__ import annotations

import ast
import asyncio
import atexit
import dataclasses
import importlib.util
import inspect
import os
import re
import runpy
import socket
import threading
import tomllib
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from own_source import SOURCE, foreign_imports, is_private, parsed

from groundwire.models._library import load_litellm

DOCUMENTED = frozenset({"_exit", "_replace", "_mapping", "_asdict", "_fields", "_make"})
"""They only look private: `os._exit`, named tuples, rows of SQLAlchemy."""
Canary = Callable[[], object]
CANARIES: dict[str, tuple[str, Canary]] = {}
"""Private name → what to do when it has moved, and what asserts that it has not."""


def canary(*names: str, do: str) -> Callable[[Canary], Canary]:
    def keep(check: Canary) -> Canary:
        CANARIES.update(dict.fromkeys(names, (do, check)))
        return check

    return keep


def private_names(module: ast.Module) -> Iterator[str]:
    """Private modules and what is imported of them; private attributes that the file itself does not make."""
    for dotted in foreign_imports(module):
        if any(is_private(part) for part in dotted.split(".")):
            yield dotted
    own = set(_made(module))
    for node in ast.walk(module):
        match node:
            case ast.Attribute(attr=name, value=owner) if not (
                isinstance(owner, ast.Name) and owner.id in ("self", "cls")
            ):
                pass
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr" | "setattr" | "raw"), args=[_, ast.Constant(value=str(name)), *_]
            ):
                pass
            case ast.For(target=ast.Name(), iter=ast.Tuple(elts=names)) | ast.comprehension(iter=ast.Tuple(elts=names)):
                for each in names:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str) and _is_foreign(each.value, own):
                        yield each.value
                continue
            case _:
                continue
        if _is_foreign(name, own):
            yield name


def _is_foreign(name: str, own: set[str]) -> bool:
    return name.isidentifier() and is_private(name) and name not in own and name not in DOCUMENTED


def _made(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self" | "cls")):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case _:
                continue


# --- LangGraph and LangChain

GRAPHS = "look in langgraph's changes for what took its place"


def _configurable(**compiled: Any) -> dict[str, Any]:
    """What LangGraph hands a node that runs."""
    from langgraph.config import get_config
    from langgraph.graph import END, START, StateGraph

    seen: dict[str, Any] = {}

    def look(_state: dict[str, Any]) -> dict[str, Any]:
        seen.update(get_config().get("configurable", {}))
        return {}

    made: Any = StateGraph
    graph = made(dict)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    graph.add_edge("look", END)
    asyncio.run(graph.compile(**compiled).ainvoke({}, {"configurable": {"thread_id": "1"}}))
    return seen


@canary(
    "langgraph._internal._constants.CONFIG_KEY_SCRATCHPAD",
    do=f"graphs/build/_bounds.py refuses graphs that the proof has not seen by it; {GRAPHS}, else one is let through",
)
def _scratchpad() -> None:
    from langgraph._internal._constants import CONFIG_KEY_SCRATCHPAD

    scratchpad = _configurable()[CONFIG_KEY_SCRATCHPAD]
    assert callable(scratchpad.subgraph_counter)


@canary(
    "langgraph._internal._constants.CONFIG_KEY_CHECKPOINTER",
    do=f"graphs/run/_nodes.py knows by it whether a person can be asked; {GRAPHS}",
)
def _checkpointer() -> None:
    from langgraph._internal._constants import CONFIG_KEY_CHECKPOINTER
    from langgraph.checkpoint.memory import InMemorySaver

    assert _configurable().get(CONFIG_KEY_CHECKPOINTER) is None
    assert _configurable(checkpointer=InMemorySaver())[CONFIG_KEY_CHECKPOINTER] is not None


@canary(
    "_node_defaults",
    do=f"graphs/build/_compiler.py empties it, so that what a graph gives all its nodes is not given twice; {GRAPHS}",
)
def _node_defaults() -> None:
    from langgraph.graph import StateGraph
    from langgraph.types import RetryPolicy

    made: Any = StateGraph
    builder = made(dict)
    empty = type(builder._node_defaults)()
    assert builder._node_defaults == empty
    builder.set_node_defaults(retry_policy=RetryPolicy())
    assert builder._node_defaults != empty


@canary("_tools_by_name", do=f"groundwire_audit/live/_lift.py finds a ToolNode's tools by it; {GRAPHS}")
def _tools_by_name() -> None:
    prebuilt: Any = pytest.importorskip("langgraph.prebuilt")

    def tool(x: int) -> int:
        """A tool."""
        return x

    node: Any = prebuilt.ToolNode([tool])
    assert set(node._tools_by_name) == {"tool"}


@canary("_transform", do="groundwire_audit/live/_lift.py finds a RunnableGenerator's function by it")
def _transform() -> None:
    from langchain_core.runnables import RunnableGenerator

    def shout(words: Iterator[str]) -> Iterator[str]:
        yield from words

    assert vars(RunnableGenerator(shout))["_transform"] is shout


# --- pytest

PYTEST = "tools/inside/pytest_outcomes.py watches it, so that a candidate can't replace it; watch what took its place"


@canary("_pytest.runner", do=PYTEST)
def _runner() -> None:
    import _pytest.runner

    runner: Any = _pytest.runner
    assert inspect.isfunction(runner.CallInfo.from_call.__func__)
    assert list(inspect.signature(runner.runtestprotocol).parameters)[:3] == ["item", "log", "nextitem"]
    assert inspect.isfunction(runner.call_and_report)


@canary("_pytest.reports", do=PYTEST)
def _reports() -> None:
    import _pytest.reports

    assert _pytest.reports.TestReport is pytest.TestReport
    assert inspect.isfunction(pytest.TestReport.from_item_and_call.__func__)


@canary("_pytest.python", do=PYTEST)
def _python() -> None:
    import _pytest.python

    assert _pytest.python.Function is pytest.Function
    assert inspect.isfunction(pytest.Function.runtest)


@canary("_pytest.assertion.rewrite", do=PYTEST)
def _rewrite() -> None:
    import _pytest.assertion.rewrite as rewrite

    assert inspect.isfunction(rewrite.rewrite_asserts)
    assert inspect.isfunction(rewrite.AssertionRewriter.run)


@canary("_read_pyc", do="tools/inside/controls.py keeps pytest from bytecode that we have not rewritten")
def _read_pyc() -> None:
    import _pytest.assertion.rewrite as rewrite

    module: Any = rewrite
    assert "_read_pyc(" in inspect.getsource(module.AssertionRewritingHook.exec_module)


@canary("_hypothesis_internal_use_settings", do="tools/inside/controls.py keeps Hypothesis from looking for less")
def _hypothesis_settings() -> None:
    from hypothesis import given, settings
    from hypothesis import strategies as st

    @settings(max_examples=7)
    @given(st.integers())
    def test(_x: int) -> None: ...

    made: Any = test
    assert made._hypothesis_internal_use_settings.max_examples == 7


@canary(
    "_pytest", do="sandbox/guest/server.py loads pytest's own plugins before it forks; without it each fork loads them"
)
def _default_plugins() -> None:
    config: Any = importlib.import_module("_pytest.config")
    assert "assertion" in config.default_plugins
    for plugin in config.default_plugins:
        importlib.import_module(f"_pytest.{plugin}")


# --- other packages


@canary("_hidden_params", do="models read the price and the model that LiteLLM worked out from it")
def _hidden_params() -> None:
    if importlib.util.find_spec("litellm") is None:
        pytest.skip("LiteLLM is not installed")
    # not imported by hand: it would ask the network for its prices
    assert load_litellm().ModelResponse()._hidden_params.get("response_cost") is None


@canary("_response", do="sandbox/_container_run.py closes an attached stream by it; else connections are left open")
def _response() -> None:
    docker: Any = pytest.importorskip("docker")
    assert "sock._response = response" in inspect.getsource(docker.APIClient._get_raw_response_socket)


@canary("_sock", do="sandbox/_container_run.py writes to an attached stream by it: Docker's client gives a SocketIO")
def _sock() -> None:
    one, other = socket.socketpair()
    with one, other, one.makefile("rwb", buffering=0) as stream:
        held: Any = stream
        assert held._sock is one


@canary("_entity_infos", do="tools/environments/_alfworld.py names things by it, in words that people can read")
def _entity_infos() -> None:
    environments: Any = pytest.importorskip("textworld.envs")
    assert "self._entity_infos" in inspect.getsource(inspect.getmodule(environments.PddlEnv) or environments)


# --- the standard library


@canary(
    "_data", do="core/_masking.py sees by it cheaply whether the environment has changed; it falls back to os.environ"
)
def _data() -> None:
    environment: Any = os.environ
    assert environment._data[b"PATH"] == os.environ["PATH"].encode()


@canary(
    "_FIELD",
    "_FIELD_CLASSVAR",
    "_FIELD_INITVAR",
    do="tools/inside/crossing_codec.py sends them by name, for dataclasses.fields() of what is in another process",
)
def _kinds_of_fields() -> None:
    marks: Any = dataclasses

    @dataclasses.dataclass
    class Point:
        x: int

    (field,) = inspect.getattr_static(Point, "__dataclass_fields__").values()
    assert field._field_type is marks._FIELD
    assert marks._FIELD_CLASSVAR is not marks._FIELD_INITVAR


@canary(
    "_run_exitfuncs",
    "_shutdown",
    do="sandbox/guest/pyrun.py ends a forked interpreter with them, as Python ends itself",
)
def _ends() -> None:
    ending: Any = (atexit, threading)
    assert callable(ending[0]._run_exitfuncs)
    assert callable(ending[1]._shutdown)


@canary("_run_module_as_main", do="sandbox/guest/pyrun.py runs `-m MODULE` with it")
def _run_module_as_main() -> None:
    run: Any = runpy
    assert list(inspect.signature(run._run_module_as_main).parameters) == ["mod_name", "alter_argv"]


@canary(
    "_exception", "_testMethodName", do="tools/inside/unittest_main.py tells by them which module did not load, and why"
)
def _failed_test() -> None:
    loader = unittest.TestLoader()
    (failed,) = loader.loadTestsFromName("no_such_module_anywhere")
    stand_in: Any = failed
    assert isinstance(stand_in._exception, Exception)
    assert stand_in._testMethodName == "no_such_module_anywhere"


@canary(
    "_rewrite_test",
    "_should_rewrite",
    do="tools/inside/pytest_head_start.py rewrites the test modules' assertions once for all candidates with them",
)
def _rewrites() -> None:
    from _pytest.assertion import rewrite

    module: Any = rewrite
    assert list(inspect.signature(module._rewrite_test).parameters) == ["fn", "config"]
    assert callable(module.AssertionRewritingHook._should_rewrite)


@canary(
    "_session_start",
    "_sessionstarttime",
    do="tools/inside/pytest_head_start.py sets the reporter's clock by one of them, so that a run's time is its own",
)
def _began() -> None:
    from _pytest import terminal

    source = inspect.getsource(terminal.TerminalReporter)
    assert "self._session_start" in source or "self._sessionstarttime" in source


@canary(
    "_set_initial_conftests",
    do="tools/inside/pytest_head_start.py puts off the loading of conftests by it, until the candidate is there",
)
def _loads_conftests() -> None:
    assert callable(pytest.PytestPluginManager._set_initial_conftests)  # pyright: ignore[reportPrivateUsage]


@canary(
    "_addoption",
    do="tools/inside/pytest_plugin.py passes over `-n`, as xdist adds it: small letters have no other way",
)
def _adds_options() -> None:
    from _pytest.config.argparsing import OptionGroup

    assert callable(OptionGroup._addoption)  # pyright: ignore[reportPrivateUsage]


@canary(
    "opentelemetry._logs",
    "opentelemetry.sdk._logs",
    do="telemetry/ tells of each signal as an event by them; OpenTelemetry has no other name for its Logs API yet",
)
def _logs() -> None:
    from opentelemetry._logs import LogRecord, NoOpLogger, get_logger
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    assert {"context", "event_name", "attributes"} <= inspect.signature(LogRecord).parameters.keys()
    assert all(map(callable, (NoOpLogger("x").emit, get_logger, LoggerProvider.add_log_record_processor)))
    assert callable(BatchLogRecordProcessor)


# --- the tests


def _places() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for place, module in parsed().items():
        for name in private_names(module):
            known = max(
                (each for each in CANARIES if name == each or name.startswith(f"{each}.")), key=len, default=name
            )
            found.setdefault(known, []).append(place)
    return found


def test_every_private_name_has_a_canary_and_every_canary_a_use() -> None:
    places = _places()
    new = {name: where for name, where in places.items() if name not in CANARIES}
    assert not new, f"private names of others: {new}. Use something public, or give each a canary here"
    idle = CANARIES.keys() - places.keys()
    assert not idle, f"no longer used, so no canary is needed: {sorted(idle)}"


@pytest.mark.parametrize("name", CANARIES)
def test_a_private_name_is_what_we_take_it_for(name: str) -> None:
    do, check = CANARIES[name]
    try:
        check()
    except (ImportError, AttributeError, KeyError, TypeError, AssertionError) as error:
        pytest.fail(
            f"{name} is private and has moved ({type(error).__name__}: {error}).\n  {do}.\n"
            "  Until that is done, hold the package below this version in pyproject.toml."
        )


@pytest.mark.parametrize("package", ["docker", "langchain-core", "langgraph", "litellm", "pytest", "textworld"])
def test_a_package_with_private_names_has_an_upper_bound(package: str) -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    asked = [r for r in every if re.match(rf"{package}(\[[a-z]+\])?[<>=~]", r)]
    assert asked
    assert all("<" in requirement for requirement in asked), asked


def test_a_new_private_name_is_seen() -> None:
    source = """
import alien._inner
from alien import _hidden
class Ours:
    def __init__(self, thing):
        self._own = thing._theirs
        getattr(thing, "_by_name", thing._replace)
        for name in ("_looped", "public"):
            getattr(thing, name)
    def use(self, other):
        return other._own
"""
    expected = {"alien._inner", "alien._hidden", "_theirs", "_by_name", "_looped"}
    assert set(private_names(ast.parse(source))) == expected
