"""Wirings that can't be meant: said before the proof, in the words of the builder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from inspect import isfunction, ismethod, signature
from typing import NamedTuple

from groundwire.core._errors import GraphError, UngroundedPartError
from groundwire.graphs.build._declarations import Parts, parts_of


class _Shape(NamedTuple):
    """What a part must be able to do."""

    article: str
    method: str
    arguments: str
    example: str


_SHAPES = {
    "actor": _Shape("an", "propose", "context, n", "LLMActor(MODEL)"),
    "critic": _Shape("a", "reflect", "context", "RuleCritic()"),
    "tool": _Shape("a", "judge", "candidate, task, context", "Pytest()"),
}
_AWAITED = ("Awaitable", "Coroutine")
_ASYNC = 0x80 | 0x100
"""Flags of a code object: a coroutine, or a generator that may be awaited."""


def check_part(name: str, part: object, kind: str) -> None:
    """Checks that what is added as an actor, a critic or a tool can be one.

    Args:
        name: the node's name.
        part: what was given.
        kind: `actor`, `critic` or `tool`.

    Raises:
        GraphError: naming what was given, what was expected, and a line to write.
    """
    shape = _SHAPES[kind]
    expected = f"{shape.article} {kind} is an object with  async def {shape.method}(self, {shape.arguments})"
    if isinstance(part, type):
        raise GraphError(
            f"{name} was given the class {part.__name__}; {expected}.",
            do=f'Make one of it:  graph.add_{kind}("{name}", {part.__name__}(…))',
        )
    method = getattr(part, shape.method, None)
    if not callable(method):
        what = "a function" if isfunction(part) or ismethod(part) else f"{type(part).__name__} {part!r:.60}"
        raise GraphError(
            f"{name} was given {what}; {expected}.",
            do=f'Write a class with that method, or take one that is there:  graph.add_{kind}("{name}", '
            f"{shape.example})",
        )
    if _is_plain(method):
        raise GraphError(
            f"{type(part).__name__}.{shape.method} of the node {name} is not async; {expected}.",
            do=f"Write  async def {shape.method}(self, {shape.arguments}):",
        )


def _is_plain(method: object) -> bool:
    """True for a function that is surely not awaited: it is not async, and does not say that it gives an awaitable."""
    function = getattr(method, "__func__", method)
    if not isfunction(function) or hasattr(function, "__wrapped__") or function.__code__.co_flags & _ASYNC:
        return False
    said = str(signature(function).return_annotation)
    return not any(word in said for word in _AWAITED)


def check_declared(parts: Parts) -> None:
    """Checks what each kind of edge may leave and lead to, also in nested graphs.

    Raises:
        GraphError: naming the edge and what to do.
    """
    for each in _all(parts):
        _check_gates(each)
        _check_joins(each)


def check_grounded(parts: Parts) -> None:
    """Checks that no part says of itself that it revises without a signal.

    Raises:
        UngroundedPartError: naming the first that does.
    """
    for name, kind in parts.ungrounded().items():
        raise UngroundedPartError(name, kind)


def check_parallel(parts: Parts) -> None:
    """Checks that no two nodes that write the episode's candidate are started in one step, also in nested graphs.

    Raises:
        GraphError: naming them.
    """
    for each in _all(parts):
        _check_parallel(each)


def _all(parts: Parts) -> Iterator[Parts]:
    yield parts
    for part in parts.graphs.values():
        inner = parts_of(part.graph)
        if inner is not None:
            yield from _all(inner)


def _check_gates(parts: Parts) -> None:
    begun_by_actor = {name for name in parts.graphs if _begins_with_actor(parts, name)}
    for (tool, kind), (via, to) in parts.gates.items():
        _expect(tool, parts.tools, "tool", f"{kind} leaves")
        _expect(to, {*parts.actors, *begun_by_actor}, "actor", f"{kind} leads to")
        if via is not None:
            _expect(via, parts.critics, "critic", f"{kind} goes via")
    _check_critics(parts)
    for tool, by in parts.confirms.items():
        _expect(tool, parts.tools, "tool", "confirm leaves")
        _expect(by, parts.tools, "tool", "confirm leads to")
    for tool, by in parts.refers.items():
        _expect(tool, parts.tools, "tool", "refer leaves")
        _expect(by, parts.tools, "tool", "refer leads to")
    _check_handing_on(parts)
    _check_hand_in(parts)
    for tool in {*(t for t, _ in parts.gates), *parts.confirms, *parts.refers}:
        if parts.has_plain_edges(tool):
            raise GraphError(
                f"{tool} has both gated and plain edges, and the plain ones would be taken whatever the verdict.",
                do="Remove the plain edge: a PASS and every stop lead to the end by themselves.",
            )


def _check_handing_on(parts: Parts) -> None:
    """No tool may come back to itself by way of others: nobody proposes anything there, so nothing would change."""
    leads_to = {tool: {parts.confirms.get(tool, ""), parts.refers.get(tool, "")} for tool in parts.tools}
    for tool in parts.tools:
        reached, pending = set[str](), list(leads_to[tool])
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending += leads_to.get(name, ())
        if tool in reached:
            others = ", ".join(sorted(reached & parts.tools.keys() - {tool})) or "itself"
            raise GraphError(
                f"{tool} hands on to {others}, and from there it comes back.",
                do="Let confirm and refer lead to a tool that has the last word.",
            )


def _check_hand_in(parts: Parts) -> None:
    for name, by in parts.hands_in().items():
        own = {r.source for r in parts.routers} | {source for sources, _ in parts.joins for source in sources}
        if name in own:
            raise GraphError(
                f"{name} must be able to lead to {by}, where what the user's tests passed is judged when the loop ends,"
                " and it has edges of its own that choose or wait.",
                do=f"Give {name} one plain edge.",
            )
    ways = {(to, parts.confirms[tool]) for (tool, _), (_, to) in parts.gates.items() if tool in parts.lasts}
    for name, by in sorted(ways):
        others = sorted(other for to, other in ways if to == name and other != by)
        if name not in parts.actors or others or any(router.source == name for router in parts.routers):
            raise GraphError(
                f"The last candidate of {name} can't be handed in to {by}: that takes one actor of this graph with"
                " plain edges, which answers to one such tool.",
                do='Use confirm(…, select="best"), or give the actor one plain edge.',
            )


def _check_critics(parts: Parts) -> None:
    leads_to: dict[str, str] = {}
    for via, to in parts.gates.values():
        if via is not None and leads_to.setdefault(via, to) != to:
            raise GraphError(
                f"{via} would lead to {leads_to[via]} and to {to} at once.",
                do=f'Add a critic of its own for {to}:  graph.add_critic("…", …)',
            )


def _begins_with_actor(parts: Parts, name: str) -> bool:
    inner = parts_of(parts.graphs[name].graph)
    return inner is not None and inner.begins_with_actor()


def _expect(name: str, kind: Collection[str], word: str, edge: str) -> None:
    if name not in kind:
        raise GraphError(
            f"{edge} {name!r}, which is not {'an' if word[0] in 'aeiou' else 'a'} {word}.",
            do=f"Known {word}s: {', '.join(sorted(kind)) or 'none'}.",
        )


def _check_joins(parts: Parts) -> None:
    stopping = set(parts.stopping())
    for sources, target in parts.joins:
        waits_for = sorted(stopping & set(sources))
        if waits_for:
            raise GraphError(
                f"{target} waits for {', '.join(waits_for)}, which may stop the episode instead.",
                do=f'Let it wait for plain nodes, and wire the actor by itself:  graph.add_edge("{waits_for[0]}", …)',
            )


def _check_parallel(parts: Parts) -> None:
    writers = {*parts.actors, *parts.critics, *parts.tools, *parts.stopping()}
    for name in parts.names:
        together = sorted(set(parts.targets(name)) & writers)
        if len(together) > 1:
            raise _clash(name, together)
    for router in parts.routers:
        if router.fan_out:
            _check_many(router.source, router.path_map.values(), writers)
    for name, part in (*parts.plain.items(), *parts.graphs.items()):
        if part.fan_out:
            _check_many(name, part.destinations, writers)


def _check_many(source: str, targets: Iterable[str], writers: Collection[str]) -> None:
    together = sorted(set(targets) & set(writers))
    if together:
        raise _clash(source, together)


def _clash(source: str, together: list[str]) -> GraphError:
    return GraphError(
        f"{source} can start {', '.join(together)} in one step, and an episode has one candidate at a time.",
        do="For several candidates in one trial, ask one actor for them:  graph.add_actor(…, width=4)",
    )
