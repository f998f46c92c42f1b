"""Conditions that could be meant at a place: borrowed from the file, or made of the variables that exist there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from groundwire.agents.search.bindings import Variable
from groundwire.agents.search.kinds import ITERABLES, NUMBERS, base, fit
from groundwire.agents.search.precedence import COMPARISON
from groundwire.agents.search.scene import Scene
from groundwire.agents.search.source import Site

__all__ = ["conditions"]

MAX_CONDITIONS = 60
MAX_BORROWED_CHARS = 50
NEAREST = 8
"""Variables that new conditions are made of."""


def conditions(site: Site, scene: Scene) -> list[tuple[str, float]]:
    """Conditions that could stand at a site, each with a weight: those of the file first, then simple new ones."""
    visible = scene.visible(site)
    place = (site.function, tuple(v.name for v in visible))
    known = scene.conditions.get(place)
    if known is None:
        known = scene.conditions[place] = _made(site, visible, scene)
    return known


def _made(site: Site, visible: list[Variable], scene: Scene) -> list[tuple[str, float]]:
    found: dict[str, float] = {}
    known = {v.name for v in visible}
    scope = set(scene.names(site.function))
    for donor in scene.donors_at(site):
        plain = donor.kind != "bool" or donor.text in ("True", "False") or len(donor.text) > MAX_BORROWED_CHARS
        if not plain and not (donor.names & scope) - known:
            near = 1.0 if donor.site.function is site.function else 0.4
            found.setdefault(donor.text if donor.level >= COMPARISON else f"({donor.text})", near)
    nearest = visible[:NEAREST]
    for variable in nearest:
        for text, weight in _simple(variable):
            found.setdefault(text, weight)
    for first, second in combinations(nearest, 2):
        for text, weight in _pairs(first, second):
            found.setdefault(text, weight)
    return sorted(found.items(), key=lambda item: -item[1])[:MAX_CONDITIONS]


def _simple(variable: Variable) -> Iterator[tuple[str, float]]:
    name, kind = variable.name, base(variable.kind)
    if kind in NUMBERS or not kind:
        yield from ((f"{name} > 0", 0.4), (f"{name} > 1", 0.2), (f"{name} != 0", 0.2), (f"{name} < 0", 0.2),
                    (f"{name} % 2 == 0", 0.25), (f"{name} % 2 == 1", 0.2), (f"{name} == 0", 0.2))  # fmt: skip
    if kind in ITERABLES or not kind:
        yield from ((name, 0.3), (f"not {name}", 0.3), (f"len({name}) > 1", 0.15))
    if kind == "bool":
        yield from ((name, 0.6), (f"not {name}", 0.6))
    if not kind:
        yield from ((f"{name} is None", 0.2), (f"{name} is not None", 0.2))
    if kind == "str":
        yield from ((f"{name}.isdigit()", 0.15), (f"{name}.isalpha()", 0.15), (f"{name}.isupper()", 0.1))


def _pairs(first: Variable, second: Variable) -> Iterator[tuple[str, float]]:
    a, b = first.name, second.name
    closeness = fit(first.kind, second.kind)
    if closeness >= 0.3:
        yield from ((f"{a} == {b}", 0.4 * closeness), (f"{a} != {b}", 0.4 * closeness),
                    (f"{a} < {b}", 0.3 * closeness), (f"{a} > {b}", 0.3 * closeness))  # fmt: skip
    if base(first.kind) in ITERABLES:
        yield from ((f"{b} in {a}", 0.2), (f"{b} not in {a}", 0.3))
    if base(second.kind) in ITERABLES:
        yield from ((f"{a} in {b}", 0.2), (f"{a} not in {b}", 0.3))
