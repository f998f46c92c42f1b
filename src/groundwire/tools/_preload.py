"""Which modules a fork server should have loaded before the first candidate comes."""

from __future__ import annotations

import re
from collections import Counter

from groundwire.core._candidates import Tree

MOST = 32
MAX_FILE_BYTES = 1024 * 1024
_IMPORT = re.compile(rb"(?m)^\s*(?:from|import)\s+([A-Za-z_][A-Za-z0-9_]*)")
_PLUGIN = re.compile(rb"(?:^|\s)-p[\s=]*([A-Za-z_][A-Za-z0-9_]*)")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


def imports_from_outside(tree: Tree) -> tuple[str, ...]:
    """Top-level modules that the project imports and does not hold itself, most used first.

    Left out is what pytest will load as a plugin: it wants to rewrite the assertions in there, and warns where it comes
    too late.
    """
    used: Counter[bytes] = Counter()
    unwanted: set[bytes] = set()
    for path, content in tree.files.items():
        if len(content) > MAX_FILE_BYTES:
            continue
        unwanted.update(_PLUGIN.findall(content))
        if path.endswith(".py"):
            used.update(set(_IMPORT.findall(content)))
            if b"pytest_plugins" in content:
                unwanted.update(_WORD.findall(content))
    own = {part for path in tree.files for part in path.removesuffix(".py").split("/")}
    names = (name.decode() for name, _ in used.most_common() if name not in unwanted)
    return tuple(n for n in names if n not in own and not n.startswith(("pytest", "_pytest")))[:MOST]
