"""Which pytest plugins a project declares.

A plugin of an installed distribution is loaded only if the project names that distribution among its requirements or
plugins. Strangers in the same environment cost start-up time, and the verdict would rest on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.globs import matches
from groundwire.trees import Tree

__all__ = ["declared_names"]

_DECLARING = (
    "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", ".pytest.ini", "pytest.toml", "Pipfile",
    "noxfile.py", "environment*.yml", "environment*.yaml", "**/*requirements*.txt", "**/*requirements*.in",
    "**/*requirements*/**/*.txt", "**/*requirements*/**/*.in", "constraints*.txt",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMENT = re.compile(r"(?m)(^|\s)#.*$")
MAX_FILE_BYTES = 1024 * 1024


def declared_names(tree: Tree) -> frozenset[str]:
    """Names, normalised as on the package index, that the project's requirement and tool files mention.

    More than the plugins' names is in it; what counts is which of them are installed and carry a plugin.
    """
    return frozenset(_names(tree))


def _names(tree: Tree) -> Iterator[str]:
    for path, content in tree.files.items():
        if matches(path, _DECLARING) and len(content) <= MAX_FILE_BYTES:
            text = _COMMENT.sub("", content.decode("utf-8", "replace"))
            for word in _NAME.findall(text):
                yield re.sub(r"[-_.]+", "-", word).strip("-").lower()
