"""Pipelines of Haystack: a component runs once its inputs are there, and only the outputs that it gives lead on."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from groundwire_audit._report import SourcePlace
from groundwire_audit.reading._conditions import ALWAYS, Formula, Taint, TaintKind, Taints, Test, all_of, negate, when
from groundwire_audit.reading._conditions import key as key_of_state
from groundwire_audit.reading._frames import Arguments, Effect, Frame, deep, merge, truth
from groundwire_audit.reading._graph import END, START, DeclaredEdge, DeclaredGraph, DeclaredNode, GraphValue
from groundwire_audit.reading._graph_methods import run_graph
from groundwire_audit.reading._knowledge import class_name, describe
from groundwire_audit.reading._langgraph_calls import tool_list
from groundwire_audit.reading._models import run_tool
from groundwire_audit.reading._reader import Entry, Reader
from groundwire_audit.reading._values import (
    CommandValue,
    Const,
    External,
    FunctionValue,
    Handle,
    Instance,
    Items,
    ModelValue,
    Scope,
    Table,
    Value,
    const,
    data,
    unknown,
)

FIXED: Taints = frozenset({Taint(TaintKind.FIXED)})
FORM: Taints = frozenset({Taint(TaintKind.FORM, what="the schema")})


@dataclass(eq=False)
class Pipeline:
    """A pipeline, as it is put together.

    Args:
        reader: follows what components do.
        graph: as which it is declared.
        inputs: component → input → outputs that are connected to it.
        targets: component → output → components that it leads to; the output `""` stands for the only one.
    """

    reader: Reader
    graph: DeclaredGraph
    inputs: dict[str, dict[str, list[str]]] = field(default_factory=dict[str, dict[str, list[str]]])
    targets: dict[str, dict[str, list[str]]] = field(default_factory=dict[str, dict[str, list[str]]])

    def method(self, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
        """`add_component`, `connect`, `run`."""
        place = frame.module.place(node)
        match name:
            case "add_component":
                called, component = given.get(0, "name"), given.get(1, "instance")
                if called is not None and isinstance(called.thing, Const):
                    self._add(str(called.thing.value), component or unknown("a component is not in sight"), place)
            case "connect":
                self._connect(_word(given.get(0, "sender")), _word(given.get(1, "receiver")))
            case "run" | "run_async":
                return run_graph(self.reader, self.graph, node, frame, given)
            case _:
                pass
        return Value(GraphValue(self.graph))

    def _add(self, name: str, component: Value, place: SourcePlace) -> None:
        node = self.graph.nodes[name] = DeclaredNode(name, self._runs(name, component, place), place, (END,))
        run = self._own(component)
        if run is not None:
            node.enter = lambda state: Entry(run, self._arguments(name, run), lambda given: self._leads(name, given))
        self.graph.edges.append(DeclaredEdge(START, name, place))

    def _connect(self, sender: str, receiver: str) -> None:
        (source, _, output), (target, _, taken) = sender.partition("."), receiver.partition(".")
        if source not in self.graph.nodes or target not in self.graph.nodes:
            return
        self.inputs.setdefault(target, {}).setdefault(taken, []).append(f"{source}:{output}")
        self.targets.setdefault(source, {}).setdefault(output, []).append(target)
        node = self.graph.nodes[source]
        node.destinations = tuple(dict.fromkeys((*(node.destinations or ()), target)))
        self.graph.edges = [e for e in self.graph.edges if e.target != target or e.source != START]
        if not any(e.source == START for e in self.graph.edges):
            self.graph.edges.append(DeclaredEdge(START, next(iter(self.graph.nodes)), self.graph.place))

    def _runs(self, name: str, component: Value, place: SourcePlace) -> Value:
        def run(called: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
            ways = self._given(name, component, place, frame)
            return merge([(self._leads(name, value), opens) for value, opens in ways])

        return Value(Handle({}, run))

    def _given(self, name: str, component: Value, place: SourcePlace, frame: Frame) -> list[tuple[Value, Formula]]:
        """What a component gives: its outputs, each set of them with when."""
        match component.thing:
            case Router(routes=routes):
                return self._routed(name, routes, frame)
            case Runner(tools=tools):
                for tool in tools or ():
                    run_tool(self.reader, "", tool, Arguments([self._all(name)]), ast.Pass(), frame)
                if tools is None:
                    frame.add(Effect(TaintKind.UNKNOWN, "its tools are not in sight", name, place))
                said = frozenset({Taint(TaintKind.WORLD, "tool", name)})
                return [(Value(Table({}, data(said))), ALWAYS)]
            case ModelValue(label=label):
                frame.add(Effect(TaintKind.MODEL, "", label, place))
                reply = frozenset({Taint(TaintKind.MODEL, "text", label)})
                return [(Value(Table({}, data(reply))), ALWAYS)]
            case GraphValue(graph=graph):
                return [(Value(Table({}, run_graph(self.reader, graph, ast.Pass(), frame))), ALWAYS)]
            case External(path=path):
                return self._of_library(name, path, place, frame)
            case _:
                why = next((t.detail for t in component.taints if t.detail), "a component is not in sight")
                frame.add(Effect(TaintKind.UNKNOWN, why, name, place))
                return [(Value(Table({}, unknown(why))), ALWAYS)]

    def _of_library(self, name: str, path: str, place: SourcePlace, frame: Frame) -> list[tuple[Value, Formula]]:
        last, known = class_name(path), describe(path.replace("()", ""))
        passed = self._all(name)
        if last == "JsonSchemaValidator":
            wrong = when(Test(FORM, op="raises", text="the reply does not fit its schema"))
            valid = Value(Table({"validated": passed}))
            return [(valid, negate(wrong)), (Value(Table({"validation_error": data(FORM)})), wrong)]
        if known.kind == "model" or last.endswith("Generator"):
            frame.add(Effect(TaintKind.MODEL, "", last, place))
            return [(Value(Table({}, data(frozenset({Taint(TaintKind.MODEL, "text", last)})))), ALWAYS)]
        if known.kind == "world":
            frame.add(Effect(TaintKind.WORLD, known.detail, last, place))
            return [(Value(Table({}, data(frozenset({Taint(TaintKind.WORLD, known.detail, last)})))), ALWAYS)]
        if not path.startswith("haystack"):
            why = f"{last} is not in sight"
            frame.add(Effect(TaintKind.UNKNOWN, why, name, place))
            return [(Value(Table({}, unknown(why))), ALWAYS)]
        return [(Value(Table({}, passed)), ALWAYS)]

    def _own(self, component: Value) -> Value | None:
        """Of a component of somebody's own: its `run(self, replies)`."""
        if not isinstance(component.thing, Instance):
            return None
        cls = component.thing.of
        run = self.reader.attribute(component, "run", Frame(cls.module, Scope(cls.scope), "run", 1))
        return run if isinstance(run.thing, FunctionValue) else None

    def _arguments(self, name: str, run: Value) -> Arguments:
        assert isinstance(run.thing, FunctionValue)
        own = run.thing.node.args
        taken = [a.arg for a in (*own.posonlyargs, *own.args, *own.kwonlyargs) if a.arg != "self"]
        return Arguments([], {a: self._input(name, a, only=len(taken) == 1) for a in taken})

    def _input(self, name: str, taken: str, *, only: bool) -> Value:
        connected = self.inputs.get(name, {})
        held = connected.get(taken) or (connected.get("") if only or len(connected) == 1 else None)
        return data(*(key_of_state(h) for h in held)) if held else data(FIXED)

    def _all(self, name: str) -> Value:
        held = [h for outputs in self.inputs.get(name, {}).values() for h in outputs]
        return data(*(key_of_state(h) for h in held)) if held else data(FIXED)

    def _routed(self, name: str, routes: Value, frame: Frame) -> list[tuple[Value, Formula]]:
        """`ConditionalRouter([{"condition": "{{…}}", "output_name": …}])`: the first that holds."""
        ways: list[tuple[Value, Formula]] = []
        before: list[Formula] = []
        for route in routes.thing.items if isinstance(routes.thing, Items) else []:
            entries = route.thing.entries if isinstance(route.thing, Table) else {}
            named = entries.get("output_name")
            outputs = named.thing.items if named is not None and isinstance(named.thing, Items) else [named]
            holds = self._template(name, _word(entries.get("condition")), frame)
            given = Table({_word(o): self._all(name) for o in outputs if o is not None})
            ways.append((Value(given), all_of([*before, holds])))
            before.append(negate(holds))
        return ways or [(Value(Table({}, self._all(name))), ALWAYS)]

    def _template(self, name: str, text: str, frame: Frame) -> Formula:
        """A condition in Jinja, read as Python where it can be."""
        plain = LENGTH.sub(r"len(\1)", re.sub(r"^\s*\{\{(.*)\}\}\s*$", r"\1", text, flags=re.DOTALL))
        try:
            node = ast.parse(FILTER.sub("", plain).strip().replace("\n", " "), mode="eval").body
        except (SyntaxError, ValueError):
            return when(Test(deep(self._all(name)), text=text, constant=True))
        scope = Scope(frame.module.scope)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id != "len":
                fixed = {"true": True, "false": False, "True": True, "False": False, "none": None}
                scope.put(part.id, const(fixed[part.id]) if part.id in fixed else self._input(name, part.id, only=True))
        return truth(self.reader.value(node, Frame(frame.module, scope, frame.name, frame.depth + 1)), text)

    def _leads(self, name: str, given: Value) -> Value:
        """The components that some outputs lead to, and what they are given."""
        targets = self.targets.get(name, {})
        outputs = given.thing if isinstance(given.thing, Table) else Table({}, given)
        found = [t for o, held in targets.items() if o in outputs.entries or outputs.rest is not None for t in held]
        found += targets.get("", []) if outputs.entries else []
        update = {f"{name}:{o}": v for o, v in outputs.entries.items()}
        if outputs.rest is not None:
            update.update({f"{name}:{o}": outputs.rest for o in targets if f"{name}:{o}" not in update})
        if "" in targets and outputs.entries:
            update[f"{name}:"] = data(*(deep(v) for v in outputs.entries.values()))
        goto = [const(t) for t in dict.fromkeys(found)] or [const(END)]
        return Value(CommandValue(Value(Items("list", goto)), Value(Table(dict(update)))))


LENGTH = re.compile(r"([\w.\[\]]+)\s*\|\s*(?:length|count)\b")
FILTER = re.compile(r"\|\s*\w+(\([^)]*\))?")


def _word(value: Value | None) -> str:
    held = value.thing.value if value is not None and isinstance(value.thing, Const) else None
    return held if isinstance(held, str) else "?"


@dataclass(frozen=True, slots=True, eq=False)
class Router(Handle):
    """`ConditionalRouter(routes)`."""

    routes: Value


@dataclass(frozen=True, slots=True, eq=False)
class Runner(Handle):
    """`ToolInvoker(tools=[…])`: runs the tools that a model asked for. `tools`: None where they are not known."""

    tools: tuple[Value, ...] | None


def _nothing(name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return data(given.taints())


def _pipeline(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`Pipeline(max_runs_per_component=…)`."""
    place = frame.module.place(node)
    graph = DeclaredGraph(frame.name, place, kind="chat", compiled=True, ends="a limit of runs only")
    graph.method = Pipeline(reader, graph).method
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def _router(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return Value(Router({}, _nothing, given.get(0, "routes") or data()))


def _runner(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return Value(Runner({}, _nothing, tool_list(given.get(0, "tools"))))


MAKERS = {"Pipeline": _pipeline, "AsyncPipeline": _pipeline, "ConditionalRouter": _router, "ToolInvoker": _runner}
"""Last name of what is called → what makes it."""
