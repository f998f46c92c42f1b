"""What is too much to follow is given up in the middle, and leaves nothing of the middle behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from groundwire_audit.reading import _source_reader as source_reader
from groundwire_audit.reading._conditions import TaintKind
from groundwire_audit.reading._frames import Effect, Frame, LoopFrame
from groundwire_audit.reading._modules import ModuleFinder
from groundwire_audit.reading._nodes import facts_of_graph
from groundwire_audit.reading._reader import TooComplex
from groundwire_audit.reading._source_reader import SourceReader
from groundwire_audit.reading._values import Const, Module, Scope, Table, data

STEPS = 400
MUCH = "d = [a + b + c for a in 'abcdefgh' for b in 'abcdefgh' for c in 'abcdefgh']"
MIDDLES = {
    "if": f"if x:\n {MUCH}",
    "else": f"if x:\n pass\nelse:\n {MUCH}",
    "match": f"match x:\n case 1:\n  {MUCH}",
    "for": f"for i in x:\n {MUCH}",
    "for over known items": f"for i in [1, 2]:\n {MUCH}",
    "for over a range": f"for i in range(9):\n {MUCH}",
    "while": f"while x:\n {MUCH}",
    "try": f"try:\n open('f').read()\n {MUCH}\nexcept OSError:\n pass",
    "except": f"try:\n open('f').read()\nexcept OSError:\n {MUCH}",
    "suppress": f"import contextlib\nwith contextlib.suppress(OSError):\n open('f').read()\n {MUCH}",
    "either": f"e = 1 if x else {MUCH[4:]}",
    "all of them": "while x:\n if x:\n  for i in x:\n"
    f"   try:\n    open('f').read()\n    {MUCH}\n   except OSError:\n    pass",
}


def reader_of(path: Path, steps: int = STEPS) -> SourceReader:
    return SourceReader(ModuleFinder([path], path), max_steps=steps)


def following(source: str, path: Path) -> tuple[SourceReader, Module, Frame]:
    file = path / "graph.py"
    file.write_text(source)
    reader = reader_of(path)
    module = reader.finder.open(file)
    frame = Frame(module, Scope())
    frame.scope.put("x", data())
    return reader, module, frame


@pytest.mark.parametrize("name", MIDDLES)
def test_a_frame_is_as_it_was(name: str, tmp_path: Path) -> None:
    reader, module, frame = following(MIDDLES[name], tmp_path)
    known, outer = Effect(TaintKind.MODEL, what="m"), LoopFrame(0)
    frame.add(known)
    frame.loop_stack.append(outer)
    frame.risks.add(frozenset())
    risks, asked = set(frame.risks), set(frame.asked)
    with pytest.raises(TooComplex):
        reader.run(module.code.tree.body, frame)
    assert frame.conditions == []
    assert frame.loop_stack == [outer]
    assert known in frame.effects
    assert asked <= frame.asked
    assert risks <= frame.risks
    assert reader.stack == []


def test_what_comes_after_it_is_under_none_of_its_conditions(tmp_path: Path) -> None:
    file = tmp_path / "graph.py"
    # the module's budget ends inside of it
    much = "\n".join(f"  y = {i}" for i in range(30_000))
    file.write_text(f"LIMITS = {{}}\nOLD = 1\nx = input()\nif x:\n NEW = 1\n while x:\n{much}\nLIMITS['n'] = 3\n")
    reader = reader_of(tmp_path, 250_000)
    module = reader.finder.open(file)
    reader.read_module(module)
    assert isinstance(module.scope, Scope)
    limits = module.scope.names["LIMITS"].thing
    assert isinstance(limits, Table)
    limit = limits.entries["n"]
    assert isinstance(limit.thing, Const) and limit.thing.value == 3
    assert not limit.taints, "nothing decides whether it is 3"
    assert {"OLD", "NEW"} <= module.scope.names.keys()


def test_the_budget_of_whoever_imports_it_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "graph.py"
    file.write_text("x = 1\n")
    reader = reader_of(tmp_path, 250_000)

    def fails(*_: object) -> bool:
        raise KeyError("a stranger's code nobody foresaw")

    monkeypatch.setattr(reader, "run", fails)
    with pytest.raises(KeyError):
        reader.read_module(reader.finder.open(file))
    for _ in range(200_000):
        reader.step()


NODES = f"""
from langgraph.graph import StateGraph
def small(state):
    return {{"a": 1}}
def large(state):
    {MUCH}
    return {{"a": d}}
g = StateGraph(dict)
g.add_node("small", small)
g.add_node("large", large)
"""


def test_a_node_that_is_too_large_is_unknown_and_the_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_reader, "NODE_STEPS", STEPS)
    file = tmp_path / "graph.py"
    file.write_text(NODES)
    reader = reader_of(tmp_path, 250_000)
    reader.read_module(reader.finder.open(file))
    (graph,) = reader.graphs
    facts = facts_of_graph(reader, graph)
    assert facts["small"].effects == ()
    (unseen,) = facts["large"].effects
    assert (unseen.kind, unseen.detail) == (TaintKind.UNKNOWN, "too complex: large is too large to follow")


def test_a_helper_that_calls_itself_at_many_places_is_followed_once(tmp_path: Path) -> None:
    calls = "\n".join(f" for a in x:\n  found += walk(a[{i}])" for i in range(40))
    source = f"def walk(x):\n found = []\n{calls}\n return found\ny = walk(x)"
    reader, module, frame = following(source, tmp_path)
    reader.refill(10_000)
    assert reader.run(module.code.tree.body, frame)


def test_reading_ends_when_its_time_does(tmp_path: Path) -> None:
    reader = SourceReader(ModuleFinder([tmp_path], tmp_path), until=time.process_time() - 1)
    with pytest.raises(TooComplex):
        for _ in range(1_000):
            reader.step()
