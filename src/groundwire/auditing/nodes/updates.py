"""What a node's return value writes into the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.auditing.conditions import Formula
from groundwire.auditing.reading.merging import control, deep, options
from groundwire.auditing.taints import Kind, Taint, Taints
from groundwire.auditing.values import Choice, Const, Instance, Items, State, Table, Value

__all__ = ["Write", "read_update", "united"]


@dataclass
class Write:
    """A key that is written.

    Args:
        taints: what all of the new value rests on.
        last: what its last item rests on, where it is a list.
        always: on every way through.
        own: it is the same value again.
    """

    taints: Taints
    last: Taints
    always: bool = True


def read_update(value: Value, when: Formula) -> dict[str, Write]:
    """The keys that a returned value writes."""
    match value.thing:
        case Table(entries=entries, rest=rest):
            found = {str(k): _write(v, when) for k, v in entries.items() if not _unchanged(str(k), v)}
            if rest is not None and deep(rest):
                found["*"] = Write(deep(rest), deep(rest), always=False)
            return found
        case State(written=written):
            return {k: _write(v, when) for k, v in written.items() if not _unchanged(k, v)}
        case Instance(attributes=attributes):
            return {k: _write(v, when) for k, v in attributes.items() if not _unchanged(k, v)}
        case Const(value=None):
            return {}
        case Choice():
            return united([read_update(v, when) for v, _ in options(value)])
        case _:
            return {"*": _write(value, when)}


def _unchanged(key: str, value: Value) -> bool:
    return value.taints == frozenset({Taint(Kind.KEY, key)}) and deep(value) == value.taints


def _write(value: Value, when: Formula) -> Write:
    taints = deep(value)
    if isinstance(value.thing, Const) or (not taints and isinstance(value.thing, Items)):
        taints |= control(when)
    return Write(taints, _last(value, taints))


def _last(value: Value, taints: Taints) -> Taints:
    match value.thing:
        case Items(items=held) if held:
            return deep(held[-1])
        case _:
            return taints


def united(updates: Sequence[dict[str, Write]]) -> dict[str, Write]:
    """All that may be written, and whether it always is."""
    made: dict[str, Write] = {}
    for name in dict.fromkeys(k for u in updates for k in u):
        parts = [u[name] for u in updates if name in u]
        made[name] = Write(
            frozenset[Taint]().union(*(p.taints for p in parts)),
            frozenset[Taint]().union(*(p.last for p in parts)),
            len(parts) == len(updates) and all(p.always for p in parts),
        )
    return made
