"""Follows statements: names, conditions under which each is reached, and what is asked on the way."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from groundwire.auditing.conditions import NEVER
from groundwire.auditing.reading.assignment import assign
from groundwire.auditing.reading.branching import run_if, run_match
from groundwire.auditing.reading.containers import concatenated, shrunk
from groundwire.auditing.reading.definitions import run_class, run_function
from groundwire.auditing.reading.expressions import binary
from groundwire.auditing.reading.frames import Frame, Returned
from groundwire.auditing.reading.imports import run_import, run_import_from
from groundwire.auditing.reading.loops import leave_loop, run_loop
from groundwire.auditing.reading.merging import control, deep
from groundwire.auditing.reading.protection import run_try, run_with
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint, counts
from groundwire.auditing.values import NONE, Const, Items, Value, data

__all__ = ["run_statements"]


def run_statements(reader: Reader, body: Sequence[ast.stmt], frame: Frame) -> bool:
    """Follows a block; False if what comes after it is not reached."""
    return all(_statement(reader, statement, frame) for statement in body)


def _statement(reader: Reader, node: ast.stmt, frame: Frame) -> bool:
    reader.step()
    match node:
        case ast.Expr(value=inner):
            reader.value(inner, frame)
        case ast.Assign(targets=targets, value=inner):
            value = _assigned(reader, targets, inner, frame)
            for target in targets:
                assign(reader, target, value, frame)
        case ast.AnnAssign(target=target, value=inner):
            if inner is not None:
                assign(reader, target, reader.value(inner, frame), frame)
        case ast.AugAssign():
            _augmented(reader, node, frame)
        case ast.Return(value=inner):
            value = reader.value(inner, frame) if inner is not None else NONE
            frame.returned.append(Returned(value, frame.here(), frozenset(frame.asked), frame.module.place(node)))
            return False
        case ast.If():
            return run_if(reader, node, frame)
        case ast.Match():
            return run_match(reader, node, frame)
        case ast.For() | ast.AsyncFor() | ast.While():
            return run_loop(reader, node, frame)
        case ast.Break() | ast.Continue():
            return leave_loop(node, frame)
        case ast.Try() | ast.TryStar():
            return run_try(reader, node, frame)
        case ast.With() | ast.AsyncWith():
            return run_with(reader, node, frame)
        case ast.Raise():
            return _raise(reader, node, frame)
        case ast.Assert(test=test):
            holds = reader.truth(test, frame)
            frame.risks.add(control(holds))
            if holds != NEVER:
                frame.conditions.append(holds)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            run_function(reader, node, frame)
        case ast.ClassDef():
            run_class(reader, node, frame)
        case ast.Import():
            run_import(reader, node, frame)
        case ast.ImportFrom():
            run_import_from(reader, node, frame)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            frame.globals.update(names)
        case ast.Delete(targets=targets):
            _delete(reader, targets, frame)
        case _:
            pass
    return True


def _assigned(reader: Reader, targets: list[ast.expr], node: ast.expr, frame: Frame) -> Value:
    """A value; `i = i + 1` counts, however often it is gone through."""
    value = reader.value(node, frame)
    match node:
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add() | ast.Sub(), right=ast.Constant()) if any(
            isinstance(t, ast.Name) and t.id == name for t in targets
        ):
            return _counted(value, frame)
        case _:
            return value


def _counted(value: Value, frame: Frame) -> Value:
    if isinstance(value.thing, Const) and isinstance(value.thing.value, int):
        return data(value.taints, control(frame.here()), frozenset({Taint(Kind.COUNTER)}))
    return value


def _augmented(reader: Reader, node: ast.AugAssign, frame: Frame) -> None:
    load = _as_load(node.target)
    old, more = reader.value(load, frame), reader.value(node.value, frame)
    if isinstance(node.op, ast.Add) and isinstance(more.thing, Items):
        new = concatenated(old, more)
    else:
        new = binary(old, node.op, more)
        if (
            isinstance(more.thing, Const)
            and isinstance(more.thing.value, int)
            and counts(old.taints - control(frame.here()))
        ):
            new = data(deep(new), control(frame.here()), frozenset({Taint(Kind.COUNTER)}))
    assign(reader, node.target, new, frame)


def _as_load(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), target)
        case ast.Attribute(value=owner, attr=name):
            return ast.copy_location(ast.Attribute(owner, name, ast.Load()), target)
        case ast.Subscript(value=owner, slice=key):
            return ast.copy_location(ast.Subscript(owner, key, ast.Load()), target)
        case _:
            return target


def _raise(reader: Reader, node: ast.Raise, frame: Frame) -> bool:
    raised = reader.value(node.exc, frame) if node.exc is not None else None
    here = control(frame.here())
    frame.risks.add(here or (deep(raised) if raised is not None else frozenset[Taint]()))
    return False


def _delete(reader: Reader, targets: list[ast.expr], frame: Frame) -> None:
    for target in targets:
        if isinstance(target, ast.Subscript):
            owner = target.value
            assign(reader, owner, shrunk(reader.value(owner, frame)), frame)
