"""Whole lines: the region of a statement, and its text at another indentation."""

from __future__ import annotations

import libcst as cst

from groundwire.agents.search.scene import Scene
from groundwire.agents.search.source import Site, Splice

__all__ = ["is_movable", "line_region", "nested", "reindented", "removed", "siblings", "step"]


def is_movable(site: Site, scene: Scene) -> bool:
    """True if the statement owns its lines: nothing else stands on them, and none is inside a long text."""
    source = scene.source
    if not source.is_first_on_line(site):
        return False
    start, end = line_region(site, scene)
    text = source.data[start:end]
    return b'"""' not in text and b"'''" not in text and b"\\\n" not in text


def line_region(site: Site, scene: Scene) -> tuple[int, int]:
    """First byte of its first line, and the byte after its last line's end."""
    source = scene.source
    return source.line_start(site.line), source.line_start(source.last_line(site) + 1)


def reindented(site: Site, indent: str, scene: Scene) -> str:
    """The statement's lines at another indentation, with a line end."""
    source = scene.source
    old = source.indent(site)
    start, end = line_region(site, scene)
    lines = source.data[start:end].decode().splitlines(keepends=True)
    moved = "".join(indent + line[len(old) :] if line.startswith(old) else line for line in lines)
    return moved if moved.endswith(("\n", "\r")) else moved + source.newline


def nested(site: Site, scene: Scene) -> str:
    """The indentation one level below a statement's own: that of its block, where it has one."""
    for block in (site.child("body"), site.child("orelse")):
        if block is None or not isinstance(block.node, cst.IndentedBlock) or not block.children:
            continue
        if scene.source.is_first_on_line(block.children[0]):
            return scene.source.indent(block.children[0])
    return scene.source.indent(site) + step(scene)


def step(scene: Scene) -> str:
    """One level of indentation, as the file's functions have it."""
    for function in scene.source.functions:
        body = function.child("body")
        if body is not None and body.children and scene.source.is_first_on_line(body.children[0]):
            outer, inner = scene.source.indent(function), scene.source.indent(body.children[0])
            if inner.startswith(outer) and len(inner) > len(outer):
                return inner[len(outer) :]
    return "    "


def siblings(site: Site) -> list[Site]:
    """The statements of the block it stands in, itself included."""
    return [s for s in site.parent.children if s.is_statement] if site.parent is not None else []


def removed(site: Site, scene: Scene) -> Splice:
    """Its lines go; a block that would be empty keeps a `pass`."""
    start, end = line_region(site, scene)
    if len(siblings(site)) > 1:
        return Splice(start, end, "")
    return Splice(site.start, site.end, "pass")
